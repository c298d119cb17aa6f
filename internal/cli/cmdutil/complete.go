package cmdutil

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/mcp"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/validate"
)

// A Completer returns the words that may stand next on a command line before --.
type Completer = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// CompleteFixed completes one of some words.
func CompleteFixed(words ...string) Completer {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return CompletedWords(words, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteFlags has the values of flags completed that take one of some words.
func CompleteFlags(cmd *cobra.Command, words map[string][]string) {
	for flag, words := range words {
		_ = cmd.RegisterFlagCompletionFunc(flag, CompleteFixed(words...))
	}
}

// CompletedWords are those of the words that begin with what is typed, and that no shell
// takes for more than a word.
func CompletedWords(words []string, typed string) []string {
	return slices.DeleteFunc(
		slices.Clone(words),
		func(word string) bool { return !strings.HasPrefix(word, typed) || !shellwords.Inert(word) },
	)
}

// What a session's server lists, for a shell that completes a line. It comes from
// what is remembered: nothing is sent, and whatever is not there is not offered. Only
// the built-in demo server is asked, which runs in this process.

const (
	NoFiles = cobra.ShellCompDirectiveNoFileComp
	noSpace = cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
)

// MaxOffered bounds what a shell has to show.
const MaxOffered = 500

// onLine finds the remembered session that a command line means, or the built-in
// demo server; nil where it means neither.
func (f *Factory) onLine(cmd *cobra.Command) *connect.Conn {
	f.ServerGiven = cmd.Flags().Changed("server")
	c := &connect.Conn{Env: &f.Env}
	if out := c.Find(nil); !out.Good() || c.Saved == nil && !opensBox(c) {
		return nil
	}
	fields, err := f.Env.Fields()
	if err != nil {
		return nil
	}
	c.Fields = fields
	return c
}

// opensBox opens a conversation with the built-in demo server, where that is meant. It
// is recorded nowhere and ends with the process.
func opensBox(c *connect.Conn) bool {
	if c.Target.Kind != target.Demo {
		return false
	}
	session, out := client.Open(context.Background(), client.Options{
		Server: client.Server{Pipe: connect.DemoPipe, Name: c.Where}, Version: c.Env.Version, Now: c.Env.Now})
	c.Session = session
	return out.Good()
}

// completedNames are those of one kind that the session's server listed last.
func (f *Factory) completedNames(cmd *cobra.Command, k connect.Kind, typed string) []string {
	names := CompletedWords(
		sliceutil.Map(f.CompletedEntries(cmd, k), func(entry state.Tool) string { return entry.Name }),
		typed,
	)
	return names[:min(len(names), MaxOffered)]
}

// CompletedEntries returns those of one kind, as the session's server listed them last, or as that
// of the shell lists them now.
func (f *Factory) CompletedEntries(cmd *cobra.Command, k connect.Kind) []state.Tool {
	if f.Shell != nil {
		return f.Shell.Entries(k)
	}
	c := f.onLine(cmd)
	if c == nil {
		return nil
	}
	if c.Saved == nil {
		return new(ShellLists).Of(c, k)
	}
	return c.RememberedEntries(k)
}

// EntryOf is the entry of that name, or nil.
func (f *Factory) EntryOf(cmd *cobra.Command, k connect.Kind, name string) *state.Tool {
	all := f.CompletedEntries(cmd, k)
	if at := slices.IndexFunc(all, func(entry state.Tool) bool { return entry.Name == name }); at >= 0 {
		return &all[at]
	}
	return nil
}

// CompleteCall offers the tools, and the arguments of one.
func (f *Factory) CompleteCall(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return f.completedNames(cmd, connect.ToolKind, typed), NoFiles
	}
	entry := f.EntryOf(cmd, connect.ToolKind, args[0])
	if entry == nil {
		return nil, NoFiles
	}
	tool, bad := mcp.ParseTool(entry.Raw)
	if bad != nil {
		return nil, NoFiles
	}
	schema, _, err := validate.CompileTolerant(tool.InputSchema)
	if err != nil {
		schema = validate.Readable(tool.InputSchema)
	}
	if schema == nil {
		return nil, NoFiles
	}
	return completeArgument(schema, args[1:], typed)
}

// completeArgument gives NAME= for the members that are not given yet, below an
// object as well, and NAME=VALUE where the schema lists values.
func completeArgument(schema *validate.Schema, before []string, typed string) ([]string, cobra.ShellCompDirective) {
	place := schema.Expected()
	enter := func(text string) bool {
		path, err := arguments.ReadPath(text, false)
		for _, p := range path {
			place, _ = arguments.Below(schema, place, p)
		}
		return err == nil
	}
	if at, value := arguments.Operator(typed); at >= 0 {
		if typed[at] == ':' || !enter(typed[:at]) {
			return nil, NoFiles
		}
		values := sliceutil.Map(place.Values(), arguments.PlainValue)
		if values == nil && slices.Contains(place.Types(), "boolean") {
			values = []string{"true", "false"}
		}
		return CompletedWords(sliceutil.Map(values, func(v string) string { return typed[:value] + v }), typed), NoFiles
	}
	inside := ""
	if dot := strings.LastIndexByte(typed, '.'); dot >= 0 {
		inside = typed[:dot+1]
		if !enter(typed[:dot]) {
			return nil, noSpace
		}
	}
	var words []string
	for _, name := range place.Names() {
		in, _ := schema.Member(place, name)
		if word := inside + arguments.EscapedName(name) + endingOf(in); !strings.HasSuffix(word, "=") ||
			!standsIn(before, word) {
			words = append(words, word)
		}
	}
	return CompletedWords(words, typed), noSpace
}

// endingOf returns the operator that follows a name of that type.
func endingOf(place validate.Expected) string {
	switch types := place.Types(); {
	case len(types) == 1 && types[0] == "array":
		return "[]="
	case len(types) == 1 && types[0] == "object" && len(place.Names()) > 0:
		return "."
	}
	return "="
}

// standsIn reports an argument that has its value already. A list takes more.
func standsIn(words []string, name string) bool {
	return !strings.HasSuffix(name, "[]=") && slices.ContainsFunc(words, func(w string) bool {
		return strings.HasPrefix(w, name) || strings.HasPrefix(w, strings.TrimSuffix(name, "=")+":=")
	})
}

// CompletePrompt offers the prompts, and the arguments of one.
func (f *Factory) CompletePrompt(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return f.completedNames(cmd, connect.PromptKind, typed), NoFiles
	}
	entry := f.EntryOf(cmd, connect.PromptKind, args[0])
	if entry == nil {
		return nil, NoFiles
	}
	prompt, _ := mcp.ParsePrompt(entry.Raw)
	words := sliceutil.Map(prompt.Arguments, func(a mcp.PromptArgument) string { return a.Name + "=" })
	return CompletedWords(
		slices.DeleteFunc(words, func(word string) bool { return standsIn(args[1:], word) }),
		typed,
	), noSpace
}

// CompleteRead offers the resources.
func (f *Factory) CompleteRead(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, NoFiles
	}
	return f.completedNames(cmd, connect.ResourceKind, typed), NoFiles
}

// CompleteDescribe: a name alone is a tool's.
func (f *Factory) CompleteDescribe(
	cmd *cobra.Command,
	args []string,
	typed string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		if k, ok := connect.KindNamed(args[0]); ok {
			return f.completedNames(cmd, k, typed), NoFiles
		}
	}
	if len(args) > 0 {
		return nil, NoFiles
	}
	words := f.completedNames(cmd, connect.ToolKind, typed)
	for _, k := range connect.Kinds {
		words = append(words, CompletedWords([]string{k.One}, typed)...)
	}
	return words, NoFiles
}

// CompleteComplete offers the kinds that mcpc complete takes, and their names; tools have
// no completion.
func (f *Factory) CompleteComplete(
	cmd *cobra.Command,
	args []string,
	typed string,
) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return CompletedWords([]string{connect.PromptKind.One, connect.TemplateKind.One}, typed), NoFiles
	case 1:
		if k, ok := connect.KindNamed(args[0]); ok && k != connect.ToolKind {
			return f.completedNames(cmd, k, typed), NoFiles
		}
	}
	return nil, NoFiles
}

// SessionNames are those of the remembered ones.
func (f *Factory) SessionNames(typed string) []string {
	_, remembered, err := f.Env.LoadState()
	if err != nil {
		return nil
	}
	return CompletedWords(remembered.Names(), typed)
}

// CompleteSessions offers the remembered sessions.
func (f *Factory) CompleteSessions(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, NoFiles
	}
	return f.SessionNames(typed), NoFiles
}

// CompleteServer offers what -s may name.
func (f *Factory) CompleteServer(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	demo := CompletedWords([]string{connect.DemoEndpoint}, typed)
	return slices.Concat(f.SessionNames(typed), f.completedKnown(typed), demo), NoFiles
}

// CompleteTarget is for commands that take a TARGET in the place of -s.
func (f *Factory) CompleteTarget(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, NoFiles
	}
	return f.CompleteServer(cmd, args, typed)
}

// CompleteKnown completes the names of known servers; no file's server is started for
// that.
func (f *Factory) CompleteKnown(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 && cmd.Name() != "trust" {
		return nil, NoFiles
	}
	return slices.DeleteFunc(
		f.completedKnown(typed),
		func(name string) bool { return slices.Contains(args, name) },
	), NoFiles
}

// completedKnown are the plain names, and once a program's is typed those with it.
func (f *Factory) completedKnown(typed string) []string {
	return slices.DeleteFunc(CompletedWords(f.Env.ConfiguredNames(), typed), func(name string) bool {
		client, _, qualified := strings.Cut(name, ":")
		_, known := target.ClientNamed(client)
		return qualified && known && !strings.Contains(typed, ":")
	})
}
