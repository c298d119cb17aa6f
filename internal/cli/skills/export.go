package skills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
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

// newExport returns the command `mcpc skills export`.
func newExport(f *cmdutil.Factory) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use:   "export DIR [NAME|URI...] [-- COMMAND...]",
		Short: "write skills to a directory, after a confirmation",
		Long: `Verify skills, by default all that the server lists, and write them below
DIR, each into a folder of its server: DIR/SERVER/PATH/SKILL.md. An agent
follows the instructions in the skills that it reads from DIR, so mcpc shows the
skills and asks for confirmation (or --yes). It remembers the confirmation with
the digest of each file: the same files are written again without asking, and
changed files need a new confirmation. mcpc runs no file of a skill.

mcpc does not replace a folder that it did not write, or in which files were
changed since. The file ` + originName + ` next to SKILL.md names the server of
the skill. --json prints the folders.`,
		Example: `  mcpc -s demo skills export agent-skills --yes
  mcpc -s demo skills export agent-skills refunds --yes
  mcpc -s demo skills export agent-skills skill://acme/refunds/SKILL.md -y`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return completeSkills(f, anyNumber)(cmd, args[1:], typed)
		},

		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			if len(own) == 0 {
				return usage.New("skills export takes a directory", wire.RunOnServer("skills export DIR"))
			}
			return runExport(cmd.Context(), f, own[0], own[1:], argv, yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "write skills without asking for confirmation")
	return cmd
}

// An export is a skill and the folder that it is written to. content has its files by URI; it is
// nil before read.
type export struct {
	*skill.Entry
	folder  string // below DIR, with slashes
	content map[string][]byte
}

// exportDocument is the JSON document of skills export: the skills that it wrote.
type exportDocument struct {
	Skills []exportedSkill `json:"skills"`
}

// exportedSkill is one skill that was written. Files is the number of its files.
type exportedSkill struct {
	Name   string `json:"name"`
	URI    string `json:"uri"`
	Folder string `json:"folder"`
	Files  int    `json:"files"`
}

// runExport verifies the named skills, or all listed skills if words is empty, asks for a
// confirmation, and writes them below dir. It writes nothing if a skill fails to verify or is
// refused. It returns the failure of a listed skill that could not be loaded after it wrote the
// other skills.
func runExport(ctx context.Context, f *cmdutil.Factory, dir string, words, argv []string, yes bool) error {
	c, out := open(ctx, f, argv)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	entries, broken, out := namedSkills(ctx, c, words)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	isSkill := slices.ContainsFunc(entries, func(e skill.Entry) bool { return e.Name == dir || e.URI == dir })
	if _, err := os.Stat(dir); len(words) == 0 && err != nil && isSkill { // the directory was forgotten
		return usage.New(
			"skills export takes a directory before the skill "+dir,
			wire.RunOnServer("skills export DIR "+dir)+" exports it; ./ before it makes it a directory",
		)
	}
	var all []export
	for i := range entries {
		x, err := planExport(c, &entries[i])
		if err != nil {
			return cmdutil.Exit(refusedOutcome(c, &entries[i], err))
		}
		all = append(all, x)
	}
	all = outermost(f, all)
	if out := confirmExport(ctx, f, c, dir, all, yes); !out.OK() {
		return cmdutil.Exit(out)
	}
	for i := range all { // read all skills before the first is written
		if out := all[i].read(ctx, c); !out.OK() {
			if len(words) == 0 && (out.Kind == wire.Refused || out.Kind == wire.OutputInvalid) {
				out.Hint = wire.RunOnServer("skills verify") + " checks all skills; " +
					wire.RunOnServer("skills export DIR NAME...") + " exports the ones that are named"
			}
			return cmdutil.Exit(out)
		}
	}
	root, err := openOrCreate(dir)
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("writing to "+dir, usage.Bare(err)))
	}
	defer root.Close()
	done := exportDocument{Skills: []exportedSkill{}}
	for _, x := range all {
		if err := x.write(root, c); err != nil {
			return cmdutil.Exit(writeFailure(x, err))
		}
		pin.ApproveSkill(ctx, c, x.Entry)
		saved := exportedSkill{x.Name, x.URI, filepath.Join(dir, filepath.FromSlash(x.folder)), len(x.content)}
		done.Skills = append(done.Skills, saved)
		f.Note(fmt.Sprintf("%s of %s saved to %s", english.Plural(saved.Files, "file"), saved.Name, saved.Folder))
	}
	var printed error
	if f.PrintsJSON() {
		raw, _ := json.Marshal(done)
		printed = cmdutil.Print(ctx, f, cmdutil.Document(raw, nil))
	}
	return cmdutil.Join(printed, cmdutil.Exit(broken))
}

// writeFailure returns the outcome for a skill that could not be written because of err. It is
// Refused if something else is in the place of the skill's folder.
func writeFailure(x export, err error) wire.Outcome {
	out := usage.LocalIO("writing the skill "+x.Name, err)
	if errors.Is(err, errForeign) || errors.Is(err, errLink) || errors.Is(err, errEdited) {
		out.Kind = wire.Refused
		out.Hint = "move it away, or export to another directory"
	}
	return out
}

// planExport returns the export of a skill with its folder. It fails if a path in the entry cannot
// be a file on every system, or if two paths collide.
func planExport(c *connect.Conn, e *skill.Entry) (export, error) {
	folder, err := e.Folder()
	if err != nil {
		return export{}, err
	}
	if err := e.Collision(); err != nil {
		return export{}, err
	}
	for _, file := range e.Files {
		if _, err := e.Path(file.URI); err != nil {
			return export{}, err
		}
	}
	return export{Entry: e, folder: path.Join(serverFolder(c), folder)}, nil
}

// read reads and verifies the files of the skill into x.content. It refuses a skill with a file
// that its entry does not list, or with a path that cannot be a file on every system.
func (x *export) read(ctx context.Context, c *connect.Conn) wire.Outcome {
	v := verdict{}
	var out wire.Outcome
	x.content, out = verifySkill(ctx, c, x.Entry, &v)
	if !out.OK() {
		return out
	}
	if len(v.Unlisted) > 0 {
		return refusedOutcome(c, x.Entry, errors.New(v.unlistedProblem()))
	}
	for uri := range x.content {
		if _, err := x.Path(uri); err != nil {
			return refusedOutcome(c, x.Entry, err)
		}
	}
	return out
}

// refusedOutcome returns the outcome for a skill that mcpc does not write.
func refusedOutcome(c *connect.Conn, e *skill.Entry, why error) wire.Outcome {
	return wire.Outcome{
		Kind: wire.Refused, Name: e.URI, ServerName: c.Where, Phase: "result", Reached: wire.Answered,
		Text: "the skill " + e.Name + " is refused: " + why.Error(),
	}
}

// outermost returns the skills that are not in the folder of another skill. It reports each skill
// that it leaves out: as a note if the entry of the outer skill lists it, else as a warning.
func outermost(f *cmdutil.Factory, all []export) []export {
	return slices.DeleteFunc(slices.Clone(all), func(x export) bool {
		outer := slices.IndexFunc(all, func(o export) bool { return strings.HasPrefix(x.folder, o.folder+"/") })
		if outer < 0 {
			return false
		}
		if slices.Contains(all[outer].Inner(), x.URI) {
			f.Note("the files of " + x.Name + " are among those of " + all[outer].Name)
		} else {
			f.Warn("the skill " + x.Name + " is left out: it is in the folder of " + all[outer].Name +
				", which does not list it")
		}
		return true
	})
}

// serverFolder returns the name of a server's folder: the name of its session, else its URL or
// command. Other characters than letters, digits, hyphens and dots become underscores. It has 1 to
// 100 bytes.
func serverFolder(c *connect.Conn) string {
	name := c.Where
	if c.Saved != nil {
		name = c.Saved.Name
	}
	if _, afterScheme, isURL := strings.Cut(name, "://"); isURL {
		name = afterScheme
	}
	folder := strings.Map(func(r rune) rune {
		isLetter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		isDigit := r >= '0' && r <= '9'
		if isLetter || isDigit || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, redact.RedactURL(name))
	folder = strings.Trim(folder, "._-")
	if folder == "" {
		return "server"
	}
	return folder[:min(len(folder), 100)]
}

// confirmExport shows the skills that would be written, and asks the user. It asks nothing if all
// skills were approved before, or if yes is set. The outcome is Refused if the user does not
// confirm or cannot be asked.
func confirmExport(
	ctx context.Context, f *cmdutil.Factory, c *connect.Conn, dir string, all []export, yes bool,
) wire.Outcome {
	unapproved := 0
	for _, x := range all {
		state, changes := pin.Skill(c, x.Entry)
		if state == pin.Approved {
			continue
		}
		if state == pin.Changed {
			f.Warn("the skill " + x.Name + " of " + c.Where + " changed since it was approved:\n  " +
				strings.Join(changes, "\n  "))
		}
		unapproved++
		if !yes {
			fmt.Fprintf(f.Stderr(), "%s: %s, from %s\n", term.Line(x.URI), render.SkillFiles(x.Entry), term.Line(c.Where))
			fmt.Fprintf(f.Stderr(), "  %s\n", term.Shorten(term.Line(x.Description), max(20, f.ErrStyle.Width-4)))
			for _, inner := range x.Inner() {
				fmt.Fprintf(f.Stderr(), "  with the skill %s in it\n", term.Line(inner))
			}
		}
	}
	if unapproved == 0 || yes {
		return wire.Outcome{}
	}
	refusal := wire.Outcome{
		Kind: wire.Refused, Phase: "arguments", ServerName: c.Where,
		Text: "not written: an agent follows what skills say, and they were not confirmed",
		Hint: wire.RunOnServer("skills read NAME") + " shows a skill; --yes writes without asking",
	}
	if !f.Interactive() || !f.Ask(ctx, "Write "+english.Plural(len(all), "skill")+" to "+term.Line(dir)+"?") {
		return refusal
	}
	return wire.Outcome{}
}
