// Package skills has the command skills.
package skills

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/pin"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
	"mcpc/internal/skill"
	"mcpc/internal/sliceutil"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// New returns the command skills.
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skills [COMMAND]",
		Short: "list, read, verify and export a server's skills",
		Long: `List the skills of a server (extension io.modelcontextprotocol/skills): folders
with instructions for a model in SKILL.md, and the files that it refers to.
Listing reads no file. Each file that is read is compared with the skill's
entry: its size, its digest, and for SKILL.md also the front matter. A file that
differs is not printed, and the exit code is 10.

A skill is named by its URI, or by its name if no other skill of the server has
it; NAME may begin with folders, as in acme/refunds. A skill is text from a
server: its instructions have no more authority than a tool's result.`,
		Example: `  mcpc -s demo skills
  mcpc -s demo skills read greeting
  mcpc -s demo skills export agent-skills --yes`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() == 0 {
				return nil
			}
			return meant.UnknownCommand(f, cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			_, argv := cmdutil.SplitDash(cmd, args)
			return runList(cmd.Context(), f, argv)
		},
	}
	cmd.AddCommand(newList(f), newGet(f), newRead(f), newVerify(f), newExport(f))
	return cmd
}

// newList returns the command `mcpc skills list`.
func newList(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "list [-- COMMAND...]",
		Short: "list the skills; no file is read",
		Long: `List the skills: name, files and their size, whether the files still are the
ones that mcpc skills export approved, URI and description. A skill whose files
are not listed is "dynamic": mcpc asks for confirmation each time. A terminal
narrower than 100 columns shows the URIs only if two skills have the same name.
A server may serve skills that it does not list: mcpc skills get URI.`,
		Example: `  mcpc -s demo skills list
  mcpc -s demo skills list --jq '.skills[].uri'
  mcpc skills list -- mcpc demo --stdio`,
		ValidArgsFunction: cmdutil.CompleteFixed(),
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			if len(own) > 0 {
				return usage.New("skills list takes no argument", wire.RunOnServer("skills get NAME")+" shows one skill")
			}
			return runList(cmd.Context(), f, argv)
		},
	}
}

// newGet returns the command `mcpc skills get`.
func newGet(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "get NAME|URI [-- COMMAND...]",
		Short: "show a skill's entry: its front matter and files",
		Long: `Show the entry of a skill: its front matter, as the server sends it, and the
list of its files. The files are not read.`,
		Example: `  mcpc -s demo skills get refunds
  mcpc -s demo skills get skill://acme/refunds/SKILL.md
  mcpc -s demo skills get refunds --jq '.resources[].uri'`,
		ValidArgsFunction: completeSkills(f, oneName),
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			if len(own) != 1 {
				return usage.New("skills get takes one skill", wire.RunOnServer("skills list")+" lists the skills")
			}
			c, out := open(cmd.Context(), f, argv)
			if !out.OK() {
				return cmdutil.Exit(out)
			}
			e, out := findSkill(cmd.Context(), c, own[0])
			if !out.OK() {
				return cmdutil.Exit(out)
			}
			return cmdutil.Show(
				cmd.Context(),
				f,
				wire.Outcome{},
				cmdutil.Document(
					e.Raw,
					func(w io.Writer, st term.Style) error { return render.DescribeSkill(w, st, e) },
				),
				"skills/list",
				"skills/get",
			)
		},
	}
}

// maxMessage bounds a response, in bytes. The largest skill in base64 is smaller.
const maxMessage = 64 << 20

// open connects to a server and declares the skills extension. Unless the user limits the size of a
// response, it may have maxMessage bytes.
func open(ctx context.Context, f *cmdutil.Factory, argv []string) (*connect.Conn, wire.Outcome) {
	if f.Limits.Message == 0 {
		f.Limits.Message = maxMessage
	}
	return f.Open(ctx, connect.Options{Argv: argv, MultiCall: true, Extensions: []string{skill.Extension}})
}

// listSkills returns the entries of skills/list, and the list itself. It warns of each entry that
// cannot be loaded and leaves it out. broken is the outcome for the last such entry, OK if all can
// be loaded.
func listSkills(ctx context.Context, c *connect.Conn) (all []skill.Entry, list client.List, broken, out wire.Outcome) {
	list, out = c.Listed(ctx, connect.SkillKind, nil)
	if !out.OK() {
		return nil, list, broken, out
	}
	names := map[string]int{}
	for _, raw := range list.Items {
		e, err := skill.Parse(raw)
		if err != nil {
			c.Env.UI.Warn("the skill " + cmp.Or(e.URI, "without a uri") + " is not loaded: " + err.Error())
			broken = notLoaded(c, e.URI, err)
			continue
		}
		names[e.Name]++
		all = append(all, e)
	}
	for _, e := range all {
		if names[e.Name] > 1 {
			c.Env.UI.Note(fmt.Sprintf("%d skills are called %s: name one by its URI", names[e.Name], e.Name))
			delete(names, e.Name) // one note is enough
		}
	}
	return all, list, broken, out
}

// findSkill returns the skill that a word names: with skills/get if the word is a URI, which need
// not be listed, else from skills/list by name, which may begin with folders. It fails if several
// skills have the name.
func findSkill(ctx context.Context, c *connect.Conn, word string) (skill.Entry, wire.Outcome) {
	if strings.Contains(word, "://") {
		return getSkill(ctx, c, word)
	}
	all, _, _, out := listSkills(ctx, c)
	if !out.OK() {
		return skill.Entry{}, out
	}
	var matching []skill.Entry
	for _, e := range all {
		if e.Name == word || strings.HasSuffix(e.Root, "/"+word) {
			matching = append(matching, e)
		}
	}
	switch len(matching) {
	case 1:
		return matching[0], out
	case 0:
		hint := wire.RunOnServer("skills list") + " lists the skills; one that is not listed is named by its URI"
		if near := suggest.Nearest(word, sliceutil.Map(all, func(e skill.Entry) string { return e.Name })); near != "" {
			hint = wire.Hint("did you mean " + near + "?")
		}
		return skill.Entry{}, c.Unsent(
			"skills/list", word, fmt.Sprintf("the server lists no skill %q that can be loaded", word), hint)
	}
	uris := sliceutil.Map(matching, func(e skill.Entry) string { return e.URI })
	return skill.Entry{}, c.Unsent(
		"skills/list", word, fmt.Sprintf("%d skills are called %s", len(matching), word),
		wire.Hint("use one of: "+strings.Join(uris, ", ")))
}

// getSkill gets the entry of a skill with skills/get. uri may lack /SKILL.md at its end.
func getSkill(ctx context.Context, c *connect.Conn, uri string) (skill.Entry, wire.Outcome) {
	if !strings.HasSuffix(uri, "/SKILL.md") {
		uri = strings.TrimSuffix(uri, "/") + "/SKILL.md"
	}
	out := c.Do(ctx, client.Call{Method: "skills/get", Params: jsonraw.With(nil, "uri", jsonraw.Quote(uri))})
	if out.Kind == wire.RPCFailed {
		out.Hint = wire.RunOnServer("skills list") + " lists the skills; a file is named after its skill: " +
			wire.RunOnServer("skills read NAME FILE")
	}
	out = c.ExplainUnsupported(out, skill.Extension)
	if !out.OK() {
		return skill.Entry{}, out
	}
	e, err := skill.Parse(jsonraw.First(out.Result, "skill"))
	if err == nil && e.URI != uri {
		err = fmt.Errorf("its uri is %s", e.URI)
	}
	if err != nil {
		return e, notLoaded(c, uri, err)
	}
	return e, out
}

// notLoaded returns the outcome for an entry that breaks a rule.
func notLoaded(c *connect.Conn, uri string, why error) wire.Outcome {
	return wire.Outcome{
		Kind: wire.BadResponse, Method: "skills/get", Name: uri, ServerName: c.Where, Phase: "result",
		Reached: wire.Answered, Text: "the skill is not loaded: " + why.Error(),
	}
}

// runList prints the skills that the server lists, and whether the user approved their files.
func runList(ctx context.Context, f *cmdutil.Factory, argv []string) error {
	c, out := open(ctx, f, argv)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	all, list, _, out := listSkills(ctx, c)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	rows := sliceutil.Map(all, func(e skill.Entry) []string {
		return []string{e.Name, render.SkillFiles(&e), approvalText(c, &e), e.URI, e.Description}
	})
	ans := cmdutil.Answer{
		Method: "skills/list", Result: jsonraw.With(nil, "skills", arguments.AsList(list.Items)), Messages: list.Pages,
	}
	ans.Human = func(w io.Writer, st term.Style) error {
		head := []string{"NAME", "FILES", "APPROVED", "URI", "DESCRIPTION"}
		names := map[string]bool{}
		for _, row := range rows {
			names[row[0]] = true
		}
		const enoughForURI = 100                // columns
		hasEqualNames := len(names) < len(rows) // only the URI distinguishes these
		if !st.Terminal || st.Columns() >= enoughForURI || hasEqualNames {
			return term.Table(w, st, head, rows)
		}
		without := func(row []string) []string { return slices.Concat(row[:3], row[4:]) } // without the URI
		return term.Table(w, st, without(head), sliceutil.Map(rows, without))
	}
	if len(list.Items) == 0 {
		f.Note("the server lists no skills; it may serve some that are named by their URI")
	}
	return cmdutil.Show(ctx, f, out, ans, "skills/list")
}

// approvalText returns as text whether the files of a skill are the files that the user approved. The
// files of a dynamic skill are confirmed each time.
func approvalText(c *connect.Conn, e *skill.Entry) string {
	if e.Dynamic {
		return "each time"
	}
	now, changes := pin.Skill(c, e)
	switch now {
	case pin.Approved:
		return "yes"
	case pin.Changed:
		return "no longer: " + english.Plural(len(changes), "file") + " changed"
	}
	return "no"
}
