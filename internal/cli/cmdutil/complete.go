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

// A Completer returns the words that may come next on a command line before "--".
type Completer = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// CompleteFixed returns a Completer for a fixed list of words.
func CompleteFixed(words ...string) Completer {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return CompletedWords(words, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteFlags registers, for each flag in words, the values that it takes.
func CompleteFlags(cmd *cobra.Command, words map[string][]string) {
	for flag, words := range words {
		_ = cmd.RegisterFlagCompletionFunc(flag, CompleteFixed(words...))
	}
}

// CompletedWords returns the words that begin with typed and need no quotes in a shell.
func CompletedWords(words []string, typed string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return !strings.HasPrefix(word, typed) || !shellwords.Inert(word)
	})
}

// NoFiles and noSpace tell the shell what to do after the offered words.
const (
	NoFiles = cobra.ShellCompDirectiveNoFileComp
	noSpace = cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
)

// MaxOffered limits the words that are offered to a shell.
const MaxOffered = 500

// completionConn returns a Conn for the remembered session or the built-in demo server that the
// command line names. Returns nil if the line names neither. Completion sends nothing to a
// session's server: it uses the lists that are remembered. Only the demo server is asked, because
// it runs in this process.
func (f *Factory) completionConn(cmd *cobra.Command) *connect.Conn {
	// Completion does not run the preparation of a command, which sets this otherwise.
	f.ServerGiven = cmd.Flags().Changed("server")
	c := &connect.Conn{Env: &f.Env}
	if out := c.Find(nil); !out.OK() { // nil: completion does not see the command after "--"
		return nil
	}
	hasLists := c.Saved != nil || openDemo(c)
	if !hasLists {
		return nil
	}
	fields, err := f.Env.Fields()
	if err != nil {
		return nil
	}
	c.Fields = fields
	return c
}

// openDemo opens a session with the built-in demo server, and reports whether it could. It returns
// false if c has another target. The session is not recorded and ends with the process.
func openDemo(c *connect.Conn) bool {
	if c.Target.Kind != target.Demo {
		return false
	}
	session, out := client.Open(context.Background(), client.Options{
		Server: client.Server{Pipe: connect.DemoPipe, Name: c.Where}, Version: c.Env.Version, Now: c.Env.Now,
	})
	c.Session = session
	return out.OK()
}

// completedNames returns at most MaxOffered names of kind k that begin with typed.
func (f *Factory) completedNames(cmd *cobra.Command, k connect.Kind, typed string) []string {
	all := sliceutil.Map(f.CompletedEntries(cmd, k), func(entry state.Tool) string { return entry.Name })
	names := CompletedWords(all, typed)
	return names[:min(len(names), MaxOffered)]
}

// CompletedEntries returns the entries of kind k: in a shell as its server lists them now,
// otherwise as the session's server listed them last. Returns nil if the command line names no
// session.
func (f *Factory) CompletedEntries(cmd *cobra.Command, k connect.Kind) []state.Tool {
	if f.Shell != nil {
		return f.Shell.Entries(k)
	}
	c := f.completionConn(cmd)
	if c == nil {
		return nil
	}
	if c.Saved == nil { // the demo server, which has no remembered lists
		return new(ShellLists).Entries(c, k)
	}
	return c.RememberedEntries(k)
}

// EntryOf returns the entry with the given name, or nil.
func (f *Factory) EntryOf(cmd *cobra.Command, k connect.Kind, name string) *state.Tool {
	entries := f.CompletedEntries(cmd, k)
	if i := slices.IndexFunc(entries, func(entry state.Tool) bool { return entry.Name == name }); i >= 0 {
		return &entries[i]
	}
	return nil
}

// CompleteCall offers the tools, then the arguments of the tool that was typed.
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
		schema = validate.Readable(tool.InputSchema) // enough to complete names
	}
	if schema == nil {
		return nil, NoFiles
	}
	return completeArgument(schema, args[1:], typed)
}

// completeArgument offers NAME= for each property that has no value yet, also inside of objects,
// and NAME=VALUE if the schema lists the values. before are the arguments that are complete.
func completeArgument(schema *validate.Schema, before []string, typed string) ([]string, cobra.ShellCompDirective) {
	if operator, valueStart := arguments.Operator(typed); operator >= 0 { // NAME= or NAME:= was typed
		return completeValue(schema, typed, operator, valueStart), NoFiles
	}
	parent := schema.Expected()
	prefix := "" // the path of parent with its dot, or "" if parent is the arguments themselves
	if dot := strings.LastIndexByte(typed, '.'); dot >= 0 {
		prefix = typed[:dot+1]
		var ok bool
		parent, ok = expectedAt(schema, typed[:dot])
		if !ok {
			return nil, noSpace
		}
	}
	var words []string
	for _, name := range parent.Names() {
		member, _ := schema.Member(parent, name)
		word := prefix + arguments.EscapedName(name) + operatorFor(member)
		leadsIntoObject := strings.HasSuffix(word, ".") // other members of the object may be missing
		if leadsIntoObject || !hasValue(before, word) {
			words = append(words, word)
		}
	}
	return CompletedWords(words, typed), noSpace
}

// completeValue returns NAME=VALUE for each value that the schema lists for the property before the
// operator. It returns nothing for NAME:=, which takes any JSON.
func completeValue(schema *validate.Schema, typed string, operator, valueStart int) []string {
	if typed[operator] == ':' {
		return nil
	}
	property, ok := expectedAt(schema, typed[:operator])
	if !ok {
		return nil
	}
	values := sliceutil.Map(property.Values(), arguments.PlainValue)
	if values == nil && slices.Contains(property.Types(), "boolean") {
		values = []string{"true", "false"}
	}
	words := sliceutil.Map(values, func(value string) string { return typed[:valueStart] + value })
	return CompletedWords(words, typed)
}

// expectedAt returns what the schema allows at a path such as a.b. The result has no names, types
// and values if the schema does not describe the place. expectedAt returns false if text is not a
// path.
func expectedAt(schema *validate.Schema, text string) (validate.Expected, bool) {
	const isOneName = false // a dot separates names
	path, err := arguments.ReadPath(text, isOneName)
	if err != nil {
		return validate.Expected{}, false
	}
	expected := schema.Expected()
	for _, step := range path {
		expected, _ = arguments.Below(schema, expected, step)
	}
	return expected, true
}

// operatorFor returns what follows the name of a property of this type on a command line: "=",
// "[]=" or ".".
func operatorFor(property validate.Expected) string {
	types := property.Types()
	if len(types) != 1 { // unknown, or one of several: "=" suits them all
		return "="
	}
	if types[0] == "array" {
		return "[]="
	}
	if types[0] == "object" && len(property.Names()) > 0 {
		return "."
	}
	return "="
}

// hasValue reports whether a word already sets the property of assignment, which is "NAME=". A list
// takes any number of values, so "NAME[]=" makes it return false.
func hasValue(words []string, assignment string) bool {
	if strings.HasSuffix(assignment, "[]=") {
		return false
	}
	jsonAssignment := strings.TrimSuffix(assignment, "=") + ":="
	return slices.ContainsFunc(words, func(word string) bool {
		return strings.HasPrefix(word, assignment) || strings.HasPrefix(word, jsonAssignment)
	})
}

// CompletePrompt offers the prompts, then the arguments of the prompt that was typed.
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
	words = slices.DeleteFunc(words, func(word string) bool { return hasValue(args[1:], word) })
	return CompletedWords(words, typed), noSpace
}

// CompleteRead offers the resources.
func (f *Factory) CompleteRead(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, NoFiles
	}
	return f.completedNames(cmd, connect.ResourceKind, typed), NoFiles
}

// CompleteDescribe offers the tools and the kinds for the first word. If that is a kind, it then
// offers the names of its entries.
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

// CompleteComplete offers the kinds that mcpc complete takes, then their names. Tools have no
// completion.
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

// SessionNames returns the names of the remembered sessions that begin with typed.
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

// CompleteServer offers the values of -s.
func (f *Factory) CompleteServer(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	demo := CompletedWords([]string{connect.DemoEndpoint}, typed)
	return slices.Concat(f.SessionNames(typed), f.completedKnown(typed), demo), NoFiles
}

// CompleteTarget offers the values of -s to a command that takes a TARGET as its first word.
func (f *Factory) CompleteTarget(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, NoFiles
	}
	return f.CompleteServer(cmd, args, typed)
}

// CompleteKnown offers the names of configured servers. It starts no server.
func (f *Factory) CompleteKnown(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	takesMany := cmd.Name() == "trust" || cmd.Name() == "servers"
	if len(args) > 0 && !takesMany {
		return nil, NoFiles
	}
	isGiven := func(name string) bool { return slices.Contains(args, name) }
	return slices.DeleteFunc(f.completedKnown(typed), isGiven), NoFiles
}

// completedKnown returns the configured names that begin with typed. It returns names with a
// program's prefix ("cursor:NAME") only once the prefix is typed.
func (f *Factory) completedKnown(typed string) []string {
	names := CompletedWords(f.Env.ConfiguredNames(), typed)
	if strings.Contains(typed, ":") {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool {
		program, _, isQualified := strings.Cut(name, ":")
		_, isKnown := target.ClientNamed(program)
		return isQualified && isKnown
	})
}
