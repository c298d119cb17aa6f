package main

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// What a session's server lists, for a shell that completes a line. It comes from
// what is remembered: nothing is sent, and whatever is not there is not offered. Only
// the built-in demo server is asked, which runs in this process.

const (
	noFiles = cobra.ShellCompDirectiveNoFileComp
	noSpace = cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
)

// maxOffered bounds what a shell has to show.
const maxOffered = 500

// inert reports a word that every shell takes for a word once it is quoted, and
// that shows what it is. A server chooses its names: what is anything else is left
// out.
func inert(word string) bool {
	for _, c := range word {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_-./:@%+,= ", c) {
			return false
		}
	}
	return word != "" && !strings.HasPrefix(word, "-") && strings.TrimSpace(word) == word && len(word) <= 200
}

// onLine finds the remembered session that a command line means, or the server in
// the box; nil where it means neither.
func (a *app) onLine(cmd *cobra.Command) *conversation {
	a.serverGiven = cmd.Flags().Changed("server")
	c := &conversation{a: &a.env}
	if out := c.find(nil); !out.Good() || c.saved == nil && !c.opensBox() {
		return nil
	}
	fields, err := a.fields()
	if err != nil {
		return nil
	}
	c.fields = fields
	return c
}

// opensBox opens a conversation with the built-in demo server, where that is meant. It
// is recorded nowhere and ends with the process.
func (c *conversation) opensBox() bool {
	if c.target.Kind != target.Demo {
		return false
	}
	session, out := client.Open(context.Background(), client.Options{
		Server: client.Server{Pipe: demoPipe, Name: c.where}, Version: c.a.version, Now: c.a.now})
	c.Session = session
	return out.Good()
}

// names are those of one kind that the session's server listed last.
func (a *app) names(cmd *cobra.Command, k kind, typed string) []string {
	names := begin(mapped(a.entries(cmd, k), func(entry state.Tool) string { return entry.Name }), typed)
	return names[:min(len(names), maxOffered)]
}

// entries are those of one kind, as the session's server listed them last, or as that
// of the shell lists them now.
func (a *app) entries(cmd *cobra.Command, k kind) []state.Tool {
	if a.shell != nil {
		return a.shell.entries(k)
	}
	c := a.onLine(cmd)
	switch {
	case c == nil:
		return nil
	case c.saved == nil:
		return new(shellLists).of(c, k)
	}
	return c.rememberedEntries(k)
}

// entryOf is the entry of that name, or nil.
func (a *app) entryOf(cmd *cobra.Command, k kind, name string) *state.Tool {
	all := a.entries(cmd, k)
	if at := slices.IndexFunc(all, func(entry state.Tool) bool { return entry.Name == name }); at >= 0 {
		return &all[at]
	}
	return nil
}

func (a *app) completeCall() completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return a.names(cmd, toolKind, typed), noFiles
		}
		entry := a.entryOf(cmd, toolKind, args[0])
		if entry == nil {
			return nil, noFiles
		}
		tool, bad := wire.ParseTool(entry.Raw)
		if bad != nil {
			return nil, noFiles
		}
		schema, _, err := validate.Compile(tool.InputSchema)
		if err != nil {
			return nil, noFiles
		}
		return completeArgument(schema, args[1:], typed)
	}
}

// completeArgument gives NAME= for the members that are not given yet, below an
// object as well, and NAME=VALUE where the schema lists values.
func completeArgument(schema *validate.Schema, before []string, typed string) ([]string, cobra.ShellCompDirective) {
	place := schema.Expected()
	enter := func(text string) bool {
		path, err := readPath(text, false)
		for _, p := range path {
			place, _ = below(schema, place, p)
		}
		return err == nil
	}
	if at, value := operator(typed); at >= 0 {
		if typed[at] == ':' || !enter(typed[:at]) {
			return nil, noFiles
		}
		return begin(mapped(valueWords(place), func(v string) string { return typed[:value] + v }), typed), noFiles
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
		if word := inside + escapedName(name) + endingOf(in); !strings.HasSuffix(word, "=") || !standsIn(before, word) {
			words = append(words, word)
		}
	}
	return begin(words, typed), noSpace
}

// endingOf is what stands behind a name of that type.
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

// valueWords are the values that a schema lists, as they are typed.
func valueWords(place validate.Expected) (words []string) {
	words = mapped(place.Values(), plainValue)
	if words == nil && slices.Contains(place.Types(), "boolean") {
		words = []string{"true", "false"}
	}
	return words
}

func (a *app) completePrompt() completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return a.names(cmd, promptKind, typed), noFiles
		}
		entry := a.entryOf(cmd, promptKind, args[0])
		if entry == nil {
			return nil, noFiles
		}
		prompt, _ := wire.ParsePrompt(entry.Raw)
		words := mapped(prompt.Arguments, func(a wire.PromptArgument) string { return a.Name + "=" })
		return begin(slices.DeleteFunc(words, func(word string) bool { return standsIn(args[1:], word) }), typed), noSpace
	}
}

func (a *app) completeRead() completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFiles
		}
		return a.names(cmd, resourceKind, typed), noFiles
	}
}

// completeDescribe: a name alone is a tool's.
func (a *app) completeDescribe() completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			if k, ok := kindNamed(args[0]); ok {
				return a.names(cmd, k, typed), noFiles
			}
		}
		if len(args) > 0 {
			return nil, noFiles
		}
		words := a.names(cmd, toolKind, typed)
		for _, k := range kinds {
			words = append(words, begin([]string{k.one}, typed)...)
		}
		return words, noFiles
	}
}

// completeComplete offers the kinds that mcpc complete takes, and their names; tools have
// no completion.
func (a *app) completeComplete() completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return begin([]string{promptKind.one, templateKind.one}, typed), noFiles
		case 1:
			if k, ok := kindNamed(args[0]); ok && k != toolKind {
				return a.names(cmd, k, typed), noFiles
			}
		}
		return nil, noFiles
	}
}

// sessionNames are those of the remembered ones.
func (a *app) sessionNames(typed string) []string {
	_, remembered, err := a.loadState()
	if err != nil {
		return nil
	}
	return begin(remembered.Names(), typed)
}

func (a *app) completeSessions() completer {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFiles
		}
		return a.sessionNames(typed), noFiles
	}
}

func (a *app) completeServer() completer {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return slices.Concat(a.sessionNames(typed), a.completedKnown(typed), begin([]string{demoEndpoint}, typed)), noFiles
	}
}

// completeTarget is for commands that take a TARGET in the place of -s.
func (a *app) completeTarget() completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFiles
		}
		return a.completeServer()(cmd, args, typed)
	}
}

func completeMethod(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return begin(methodNames(), typed), noFiles
}
