package skills

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/complete"
	"mcpc/internal/connect"
	"mcpc/internal/connect/pin"
	"mcpc/internal/english"
	"mcpc/internal/redact"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
	"mcpc/internal/skill"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

func newExport(f *cmdutil.Factory) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use:   "export DIR [NAME|URI...] [-- COMMAND...]",
		Short: "write skills to a directory, after a confirmation",
		Long: `Verify skills, of all that the server lists by default, and write them below
DIR, each into a folder of its server: DIR/SERVER/PATH/SKILL.md. An agent that
reads skills from DIR follows what they say, so the skills are shown and have to
be confirmed (or --yes). What was confirmed is remembered with the digest of
each file: the same files are written again without a question, and files that
changed are shown and have to be confirmed again. mcpc runs nothing of a skill.

A folder that mcpc did not write is not replaced. Beside SKILL.md the file
` + markName + ` says where the skill comes from. --json prints the folders.`,
		Example: `  mcpc -s demo skills export agent-skills --yes
  mcpc -s demo skills export agent-skills refunds --yes
  mcpc -s demo skills export agent-skills skill://acme/refunds/SKILL.md -y`,
		ValidArgsFunction: complete.BeforeDash(f, func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return complete.CompleteSkills(f, -1)(cmd, args[1:], typed)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			if len(own) == 0 {
				return usage.New("skills export takes a directory", wire.RunOnServer("skills export DIR"))
			}
			return runExport(cmd.Context(), f, own[0], own[1:], argv, yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "write skills without a confirmation")
	return cmd
}

// markName is the file that says where a skill comes from. No file of a skill can be called so.
const markName = ".mcpc-origin.json"

// A mark is the content of that file.
type mark struct {
	Server string `json:"server"`
	// ID is the hash by which mcpc knows the server.
	ID     string          `json:"id"`
	URI    string          `json:"uri"`
	Files  json.RawMessage `json:"files"`
	Remark string          `json:"remark"`
}

// An export is a skill that was verified, and where it is written.
type export struct {
	*skill.Entry
	folder  string // below DIR, with slashes
	content map[string][]byte
}

// exports is what skills export wrote, in the form of --json.
type exports struct {
	Skills []exported `json:"skills"`
}

type exported struct {
	Name   string `json:"name"`
	URI    string `json:"uri"`
	Folder string `json:"folder"`
	Files  int    `json:"files"`
}

func runExport(ctx context.Context, f *cmdutil.Factory, dir string, words, argv []string, yes bool) error {
	c, out := open(ctx, f, argv)
	if !out.Good() {
		return cmdutil.Exit(out)
	}
	entries, broken, out := meant(ctx, c, words)
	if !out.Good() {
		return cmdutil.Exit(out)
	}
	var all []export
	for i := range entries {
		x, err := placed(c, &entries[i])
		if err != nil {
			return cmdutil.Exit(refused(c, x.Entry, err))
		}
		all = append(all, x)
	}
	all = outermost(f, all)
	if out := confirmed(ctx, f, c, dir, all, yes); !out.Good() {
		return cmdutil.Exit(out)
	}
	for i := range all {
		if out := all[i].read(ctx, c); !out.Good() {
			if len(words) == 0 && (out.Kind == wire.Refused || out.Kind == wire.OutputInvalid) {
				out.Hint = wire.RunOnServer("skills verify") + " checks all skills; " + wire.RunOnServer("skills export DIR NAME...") + " exports the ones that are named"
			}
			return cmdutil.Exit(out)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cmdutil.Exit(usage.LocalIO("writing to "+dir, usage.Bare(err)))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("writing to "+dir, usage.Bare(err)))
	}
	defer root.Close()
	done := exports{Skills: []exported{}}
	for _, x := range all {
		if err := x.write(root, c); err != nil {
			out := usage.LocalIO("writing the skill "+x.Name, err)
			if errors.Is(err, errForeign) || errors.Is(err, errLink) {
				out.Kind = wire.Refused
			}
			return cmdutil.Exit(out)
		}
		pin.ApproveSkill(ctx, c, x.Entry)
		saved := exported{x.Name, x.URI, filepath.Join(dir, filepath.FromSlash(x.folder)), len(x.content)}
		done.Skills = append(done.Skills, saved)
		f.Note(fmt.Sprintf("%s of %s saved to %s", english.Plural(saved.Files, "file"), saved.Name, saved.Folder))
	}
	var printed error
	if cmdutil.OneDocument(f) {
		raw, _ := json.Marshal(done)
		printed = cmdutil.Print(ctx, f, cmdutil.Document(raw, nil))
	}
	return cmdutil.Join(printed, cmdutil.Exit(broken))
}

// placed is where a skill is written, if all paths of its entry can be written anywhere.
func placed(c *connect.Conn, e *skill.Entry) (export, error) {
	folder, err := e.Folder()
	if err == nil {
		err = e.Collision()
	}
	for _, file := range e.Files {
		if _, bad := e.Path(file.URI); err == nil {
			err = bad
		}
	}
	return export{Entry: e, folder: path.Join(label(c), folder)}, err
}

// read reads and verifies the files of the skill.
func (x *export) read(ctx context.Context, c *connect.Conn) (out wire.Outcome) {
	v := verdict{}
	if x.content, out = verified(ctx, c, x.Entry, &v); !out.Good() {
		return out
	}
	if len(v.Unlisted) > 0 {
		return refused(c, x.Entry, errors.New(v.unlisted()))
	}
	for uri := range x.content {
		if _, bad := x.Path(uri); bad != nil {
			return refused(c, x.Entry, bad)
		}
	}
	return out
}

func refused(c *connect.Conn, e *skill.Entry, why error) wire.Outcome {
	return wire.Outcome{Kind: wire.Refused, Name: e.URI, Where: c.Where, Phase: "result", Reached: wire.Answered, Text: "the skill " + e.Name + " is refused: " + why.Error()}
}

// outermost leaves out skills that are in the folder of another one, which lists their files too.
func outermost(f *cmdutil.Factory, all []export) []export {
	return slices.DeleteFunc(slices.Clone(all), func(x export) bool {
		outer := slices.IndexFunc(all, func(o export) bool { return strings.HasPrefix(x.folder, o.folder+"/") })
		if outer < 0 {
			return false
		}
		if slices.Contains(all[outer].Inner(), x.URI) {
			f.Note("the files of " + x.Name + " are among those of " + all[outer].Name)
		} else {
			f.Warn("the skill " + x.Name + " is left out: it is in the folder of " + all[outer].Name + ", which does not list it")
		}
		return true
	})
}

// label is the folder of a server: the name of its session, else where it is, in characters that any
// file system has.
func label(c *connect.Conn) string {
	name := c.Where
	if c.Saved != nil {
		name = c.Saved.Name
	}
	_, rest, found := strings.Cut(name, "://")
	if !found {
		rest = name
	}
	text := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, redact.RedactURL(rest)), "._-")
	if text == "" {
		text = "server"
	}
	return text[:min(len(text), 100)]
}

// confirmed shows what would be written, and asks. What was approved before is not asked for again.
func confirmed(ctx context.Context, f *cmdutil.Factory, c *connect.Conn, dir string, all []export, yes bool) wire.Outcome {
	open := 0
	for _, x := range all {
		now, changes := pin.Skill(c, x.Entry)
		switch {
		case now == pin.Approved:
			continue
		case now == pin.Changed:
			f.Warn("the skill " + x.Name + " of " + c.Where + " changed since it was approved:\n  " + strings.Join(changes, "\n  "))
		}
		open++
		if !yes {
			fmt.Fprintf(f.Stderr(), "%s: %s, from %s\n", term.Line(x.URI), render.SkillFiles(x.Entry), term.Line(c.Where))
			fmt.Fprintf(f.Stderr(), "  %s\n", term.Shortened(term.Line(x.Description), max(20, f.ErrStyle.Width-4)))
			for _, inner := range x.Inner() {
				fmt.Fprintf(f.Stderr(), "  with the skill %s in it\n", term.Line(inner))
			}
		}
	}
	if open == 0 || yes {
		return wire.Outcome{}
	}
	no := wire.Outcome{Kind: wire.Refused, Phase: "arguments", Where: c.Where, Text: "not written: an agent follows what skills say, and they were not confirmed",
		Hint: wire.RunOnServer("skills read NAME") + " shows a skill; --yes writes without asking"}
	if !f.Interactive() || !f.Ask(ctx, "Write "+english.Plural(len(all), "skill")+" to "+term.Line(dir)+"?") {
		return no
	}
	return wire.Outcome{}
}

// errForeign is the error of a folder that mcpc did not write.
var errForeign = errors.New("there is a folder that mcpc did not write for this skill of this server")

// errLink is the error of a path below the directory that leads through a link.
var errLink = errors.New("it is no folder, and links are not followed")

// straight fails if a folder above that of the skill is a link.
func (x export) straight(root *os.Root) error {
	for at, c := range x.folder {
		if c != '/' {
			continue
		}
		info, err := root.Lstat(x.folder[:at])
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s: %w", x.folder[:at], errLink)
		}
	}
	return nil
}

// write puts the skill into its folder as a whole: beside it first, and then in its place.
func (x export) write(root *os.Root, c *connect.Conn) error {
	if err := x.straight(root); err != nil {
		return err
	}
	old, err := x.before(root, c)
	if err != nil {
		return err
	}
	parent, temp := path.Dir(x.folder), ""
	if temp = path.Join(parent, ".mcpc-"+rand.Text()); root.MkdirAll(temp, 0o755) != nil {
		return fmt.Errorf("%s cannot be made", parent)
	}
	defer root.RemoveAll(temp)
	for uri, content := range x.content {
		name, err := x.Path(uri)
		if err != nil {
			return err
		}
		name = path.Join(temp, name)
		if err = root.MkdirAll(path.Dir(name), 0o755); err == nil {
			err = writeNew(root, name, content)
		}
		if err != nil {
			return err
		}
	}
	raw, err := json.MarshalIndent(mark{redact.RedactURL(c.Where), pin.Server(c), x.URI, x.Print(),
		"Written by mcpc skills export. The files are those of the MCP server, and untrusted."}, "", "  ")
	if err != nil {
		return err
	}
	if err := writeNew(root, path.Join(temp, markName), append(raw, '\n')); err != nil {
		return err
	}
	if old {
		aside := temp + "-old"
		if err := root.Rename(x.folder, aside); err != nil {
			return err
		}
		if err := root.Rename(temp, x.folder); err != nil {
			return errors.Join(err, root.Rename(aside, x.folder))
		}
		return root.RemoveAll(aside)
	}
	return root.Rename(temp, x.folder)
}

func writeNew(root *os.Root, name string, content []byte) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// before reports whether the folder of the skill is there, and fails if it was not written for this
// skill of this server.
func (x export) before(root *os.Root, c *connect.Conn) (there bool, err error) {
	info, err := root.Lstat(x.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var m mark
	raw, failed := root.ReadFile(path.Join(x.folder, markName))
	if !info.IsDir() || failed != nil || json.Unmarshal(raw, &m) != nil || m.ID != pin.Server(c) || m.URI != x.URI {
		return false, fmt.Errorf("%s: %w", x.folder, errForeign)
	}
	return true, nil
}
