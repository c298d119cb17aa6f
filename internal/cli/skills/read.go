package skills

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/skill"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// newRead returns the command `mcpc skills read`.
func newRead(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "read NAME|URI [FILE] [-- COMMAND...]",
		Short: "print SKILL.md or another file of a skill, verified",
		Long: `Print SKILL.md, or the FILE of the skill, after its size, its digest and its
front matter were compared with the skill's entry. FILE is relative to the
folder of SKILL.md. A file that the entry does not list is not read.`,
		Example: `  mcpc -s demo skills read refunds
  mcpc -s demo skills read refunds references/POLICY.md
  mcpc -s demo skills read skill://acme/refunds/SKILL.md -o SKILL.md`,
		ValidArgsFunction: completeSkillFile(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			if len(own) < 1 || len(own) > 2 {
				return usage.New(
					"skills read takes a skill, and optionally one of its files",
					wire.RunOnServer("skills get NAME")+" shows its files",
				)
			}
			return runRead(cmd.Context(), f, append(own, "")[:2], argv) // "" for a FILE that is omitted
		},
	}
}

// newVerify returns the command `mcpc skills verify`.
func newVerify(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "verify [NAME|URI...] [-- COMMAND...]",
		Short: "read all files of skills, and compare them with the entries",
		Long: `Read all files of the skills, by default of all that the server lists, and
compare size, digest and front matter with the entries. The first file that
differs ends the check of its skill, and the exit code is then 10. If the server
lists folders (directoryRead), files that the entry does not have are reported
too; of a dynamic skill these are the files that are read.`,
		Example: `  mcpc -s demo skills verify refunds
  mcpc -s demo skills verify refunds greeting --json
  mcpc -s demo skills verify skill://acme/refunds/SKILL.md`,
		ValidArgsFunction: completeSkills(f, anyNumber),
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			return runVerify(cmd.Context(), f, own, argv)
		},
	}
}

// runRead prints a file of a skill after it verifies the file. words has the skill and the file; an
// empty file name is SKILL.md.
func runRead(ctx context.Context, f *cmdutil.Factory, words, argv []string) error {
	c, out := open(ctx, f, argv)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	e, out := findSkill(ctx, c, words[0])
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	uri, err := e.Resolve(words[1])
	if err != nil {
		return cmdutil.Exit(c.Unsent(
			"resources/read",
			words[1],
			"not read: "+err.Error(),
			wire.RunOnServer("skills get "+e.Name)+" shows the files of the skill",
		))
	}
	content, _, out := readFile(ctx, c, &e, uri)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	f.Note(fmt.Sprintf("%s of the skill %s of %s: verified", strings.TrimPrefix(uri, e.Root+"/"), e.Name, c.Where))
	if f.JSON || f.Jq != "" {
		doc := jsonraw.With(jsonraw.With(nil, "uri", jsonraw.Quote(uri)), "skill", jsonraw.Quote(e.URI))
		if utf8.Valid(content) {
			doc = jsonraw.With(doc, "text", jsonraw.Quote(string(content)))
		} else {
			doc = jsonraw.With(doc, "blob", jsonraw.Quote(base64.StdEncoding.EncodeToString(content)))
		}
		return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(doc, nil), "resources/read")
	}
	if err := f.WriteOut(func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}); err != nil {
		return f.WriteError("writing the file", usage.Bare(err))
	}
	cmdutil.PrintExplanation(ctx, f, "resources/read")
	return nil
}

// readFile reads a file of a skill and verifies it against the entry. If the file differs from its
// entry, the outcome is OutputInvalid, problem describes the difference, and no content is
// returned.
func readFile(
	ctx context.Context, c *connect.Conn, e *skill.Entry, uri string,
) (content []byte, problem string, out wire.Outcome) {
	out = toolcall.ReadResource(ctx, c, uri)
	if !out.OK() {
		return nil, "", out
	}
	content, err := contentOf(out)
	if err == nil {
		err = e.Verify(uri, content)
	}
	if err == nil && len(content) > skill.MostBytes {
		err = fmt.Errorf("%s has more than %d MiB", uri, skill.MostBytes>>20)
	}
	if err != nil {
		out.Kind = wire.OutputInvalid
		out.Text = notUsed(e, err.Error())
		out.Name = uri
		out.ServerName = c.Where
		out.Hint = wire.RunOnServer("skills get "+e.Name) + " shows the entry as it is now"
		out.Result = nil // so that no command prints the file
		out.Message = nil
		return nil, err.Error(), out
	}
	return content, "", out
}

// notUsed returns the text for a skill that is not used because of a problem.
func notUsed(e *skill.Entry, problem string) string {
	return "the skill " + e.Name + " is not used: " + problem
}

// contentOf returns the bytes of a file from the result of resources/read, which must have exactly
// one content: its text, or its blob decoded from base64.
func contentOf(out wire.Outcome) ([]byte, error) {
	items, _ := out.Message.ResultItems("contents")
	if len(items) != 1 {
		return nil, fmt.Errorf("resources/read returned %d contents for it", len(items))
	}
	members, _ := jsonraw.Object(items[0])
	if raw, ok := members.Get("text"); ok {
		text, isText := jsonraw.Text(raw)
		if !isText {
			return nil, errors.New("its text is not a string")
		}
		return []byte(text), nil
	}
	return base64.StdEncoding.DecodeString(members.Text("blob"))
}

// verdictDocument is the JSON document of skills verify.
type verdictDocument struct {
	Skills []verdict `json:"skills"`
}

// A verdict is the result for one skill. Problem is "" if the skill is valid.
type verdict struct {
	Name  string `json:"name"`
	URI   string `json:"uri"`
	OK    bool   `json:"ok"`
	Files int    `json:"files"`
	// Unlisted has the URIs of files that the server has and the entry does not list.
	Unlisted []string `json:"unlisted,omitempty"`
	Problem  string   `json:"problem,omitempty"`
}

// unlistedProblem returns the problem text for v.Unlisted.
func (v verdict) unlistedProblem() string {
	return "its entry does not list " + strings.Join(v.Unlisted, ", ") + ": changed, needs approval again"
}

// runVerify verifies the named skills, or all listed skills if words is empty, and prints a verdict
// for each. It stops at the first failure of another kind, such as a transport error.
func runVerify(ctx context.Context, f *cmdutil.Factory, words, argv []string) error {
	c, out := open(ctx, f, argv)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	entries, firstFailure, out := namedSkills(ctx, c, words)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	document := verdictDocument{Skills: []verdict{}}
	rows := [][]string{}
	for i := range entries {
		e := &entries[i]
		v := verdict{Name: e.Name, URI: e.URI}
		files, failed := verifySkill(ctx, c, e, &v)
		v.Files = len(files)
		if failed.OK() {
			v.OK = len(v.Unlisted) == 0
		} else if v.Problem == "" {
			v.Problem = failed.Text
		}
		verdicts := []wire.Kind{wire.OK, wire.OutputInvalid, wire.RPCFailed, wire.Refused}
		isAboutSkill := slices.Contains(verdicts, failed.Kind)
		if !isAboutSkill { // the other skills would fail too
			return cmdutil.Exit(failed)
		}
		if len(v.Unlisted) > 0 && failed.OK() {
			v.Problem = v.unlistedProblem()
			failed = wire.Outcome{
				Kind: wire.OutputInvalid, Method: "resources/directory/read", Name: e.URI, ServerName: c.Where,
				Reached: wire.Answered, Phase: "result", Text: "the skill " + e.Name + ": " + v.Problem,
			}
		}
		if failed.Kind == wire.OutputInvalid {
			failed.Hint = wire.RunOnServer("skills get "+e.Name) + " shows the entry as it is now"
		}
		if firstFailure.OK() {
			firstFailure = failed
		}
		document.Skills = append(document.Skills, v)
		rows = append(rows, []string{
			map[bool]string{true: "ok", false: "differs"}[v.OK],
			e.Name, fmt.Sprint(v.Files), v.URI, v.Problem,
		})
	}
	raw, err := json.Marshal(document)
	if err != nil {
		return err
	}
	err = cmdutil.Print(ctx, f, cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
		return term.Table(w, st, []string{"RESULT", "NAME", "FILES", "URI", "PROBLEM"}, rows)
	}))
	cmdutil.PrintExplanation(ctx, f, "resources/read")
	return cmdutil.Join(err, cmdutil.Exit(firstFailure))
}

// namedSkills returns the skills that words name, without repetitions, or all listed skills if
// words is empty. broken is the outcome for a listed skill that cannot be loaded; it is OK for
// named skills.
func namedSkills(ctx context.Context, c *connect.Conn, words []string) (all []skill.Entry, broken, out wire.Outcome) {
	if len(words) == 0 {
		all, _, broken, out = listSkills(ctx, c)
		return all, broken, out
	}
	for _, word := range words {
		e, out := findSkill(ctx, c, word)
		if !out.OK() {
			return nil, broken, out
		}
		if !slices.ContainsFunc(all, func(before skill.Entry) bool { return before.URI == e.URI }) {
			all = append(all, e)
		}
	}
	return all, broken, wire.Outcome{}
}

// verifySkill reads and verifies all files of a skill, SKILL.md first, and returns their contents by
// URI. If the server can list folders, these include the files in the folder of a dynamic skill,
// whose entry lists none; for other skills verifySkill sets v.Unlisted to the files that the entry
// does not list. It sets v.Problem if the skill is not used.
func verifySkill(
	ctx context.Context, c *connect.Conn, e *skill.Entry, v *verdict,
) (map[string][]byte, wire.Outcome) {
	uris := []string{e.URI}
	for _, file := range e.Files {
		if file.URI != e.URI {
			uris = append(uris, file.URI)
		}
	}
	if settings, _ := c.Extension(skill.Extension); string(jsonraw.First(settings, "directoryRead")) == "true" {
		folderURIs, out := compareFolder(ctx, c, e, v)
		if !out.OK() {
			return nil, out
		}
		uris = append(uris, folderURIs...)
	}
	files := map[string][]byte{}
	total := 0
	for _, uri := range uris {
		content, problem, out := readFile(ctx, c, e, uri)
		if !out.OK() {
			v.Problem = problem
			return files, out
		}
		total += len(content)
		if total > skill.MostBytes {
			v.Problem = fmt.Sprintf("its files have more than %d MiB", skill.MostBytes>>20)
			return files, wire.Outcome{
				Kind: wire.OutputInvalid, Method: "resources/read", Name: uri, ServerName: c.Where,
				Reached: wire.Answered, Phase: "result",
				Text: notUsed(e, v.Problem),
			}
		}
		files[uri] = content
	}
	return files, wire.Outcome{}
}

// compareFolder lists the folder of a skill, and looks for files that its entry does not list. It
// returns their URIs if the skill is dynamic: its entry lists no files. Otherwise it adds them to
// v.Unlisted.
func compareFolder(ctx context.Context, c *connect.Conn, e *skill.Entry, v *verdict) ([]string, wire.Outcome) {
	listedURIs, out := listFolderFiles(ctx, c, e, v)
	if !out.OK() {
		return nil, out
	}
	var folderURIs []string
	for _, uri := range listedURIs {
		if _, known := e.File(uri); known || uri == e.URI {
			continue
		}
		if !e.Dynamic {
			v.Unlisted = append(v.Unlisted, uri)
			continue
		}
		if _, err := e.Path(uri); err != nil {
			return nil, refusedOutcome(c, e, err)
		}
		folderURIs = append(folderURIs, uri)
	}
	return folderURIs, wire.Outcome{}
}

// maxFolders bounds the folders of a skill that listFolderFiles lists, maxPages the requests for it.
const (
	maxFolders = 256
	maxPages   = 1024
)

// listFolderFiles returns the URIs of the files of a skill, which it lists with resources/directory/read. It
// fails with OutputInvalid if a limit is exceeded, which it writes to v.Problem.
func listFolderFiles(
	ctx context.Context, c *connect.Conn, e *skill.Entry, v *verdict,
) (files []string, out wire.Outcome) {
	folders := []string{e.Root}
	pages := 0                          // of all folders
	for i := 0; i < len(folders); i++ { // folders grows
		var cursor json.RawMessage
		for {
			params := jsonraw.With(nil, "uri", jsonraw.Quote(folders[i]))
			if cursor != nil {
				params = jsonraw.With(params, "cursor", cursor)
			}
			out = c.Do(ctx, client.Call{Method: "resources/directory/read", Params: params})
			if !out.OK() {
				return nil, out
			}
			items, _ := out.Message.ResultItems("resources")
			for _, item := range items {
				members, _ := jsonraw.Object(item)
				uri := members.Text("uri")
				name, isBelow := strings.CutPrefix(uri, folders[i]+"/")
				isChild := isBelow && name != "" && !strings.Contains(strings.TrimSuffix(name, "/"), "/")
				switch {
				case !isChild:
					c.Env.UI.Warn(fmt.Sprintf("%s is not directly in %s; it was left out", uri, folders[i]))
				case members.Text("mimeType") == "inode/directory":
					folders = append(folders, strings.TrimSuffix(uri, "/"))
				default:
					files = append(files, uri)
				}
			}
			next := jsonraw.First(out.Result, "nextCursor")
			pages++
			if len(files) > skill.MostFiles || len(folders) > maxFolders || pages > maxPages {
				out.Kind = wire.OutputInvalid
				out.ServerName = c.Where
				v.Problem = fmt.Sprintf(
					"its folder has more than %d files or %d folders, or the list of them does not end",
					skill.MostFiles,
					maxFolders,
				)
				out.Text = notUsed(e, v.Problem)
				out.Result = nil
				out.Message = nil
				return nil, out
			}
			cursor = next
			if cursor == nil {
				break
			}
		}
	}
	return files, wire.Outcome{}
}
