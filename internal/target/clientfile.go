package target

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"mcpc/internal/jsonraw"
	"mcpc/internal/sliceutil"
)

// The functions of this file edit a client's configuration as text, so that comments, order and
// format do not change. The file is TOML if its name has that extension, else JSON with comments
// and trailing commas.

// An EntryError says why the entry of a server cannot be edited.
type EntryError struct {
	Text string
	// Servers are the names in the file, if the server is not among them.
	Servers []string
}

func (e *EntryError) Error() string { return e.Text }

// CommandOf returns the command of a server with its arguments. It returns nil if the file cannot
// be parsed or has no such command.
func (c Client) CommandOf(text []byte, server string) []string {
	e, err := c.findEntry(text, server)
	if err != nil {
		return nil
	}
	return append([]string{e.command}, e.words...)
}

// Wrap inserts prefix before the command of a server: its first word becomes the command, the other
// words and the old command the first arguments. It returns the text unchanged if prefix is there
// already.
func (c Client) Wrap(text []byte, server string, prefix []string) ([]byte, error) {
	e, err := c.findEntry(text, server)
	if err != nil {
		return nil, err
	}
	if e.hasPrefix(prefix) {
		return text, nil
	}
	added := wrapArguments(prefix[1:], text[e.commandAt.from:e.commandAt.to])
	if e.args.to == 0 { // the entry has no arguments: add the member after the command
		return splice(text, edit{e.commandAt, quote(prefix[0]) + e.formatArgs(added)}), nil
	}
	if len(e.words) > 0 {
		added += ", "
	} else {
		added += " " // the space shows Unwrap that the array was empty before, and not missing
	}
	afterBracket := span{e.args.from + 1, e.args.from + 1}
	return splice(text, edit{e.commandAt, quote(prefix[0])}, edit{afterBracket, added}), nil
}

// Unwrap undoes Wrap, also if the user has reformatted the file since. It returns the text
// unchanged if prefix is not there. The first word of prefix may be in another folder now.
func (c Client) Unwrap(text []byte, server string, prefix []string) ([]byte, error) {
	e, err := c.findEntry(text, server)
	if err != nil {
		return nil, err
	}
	if !e.hasPrefix(prefix) {
		return text, nil
	}
	commandIndex := len(prefix) - 1 // Wrap put the command after the other words of prefix
	commandItem := e.items[commandIndex]
	command := string(text[commandItem.from:commandItem.to])
	added := wrapArguments(prefix[1:], []byte(command))
	args := e.formatArgs(added)
	if bytes.HasPrefix(text[e.commandAt.to:], []byte(args)) { // Wrap added the whole member
		return splice(text, edit{span{e.commandAt.from, e.commandAt.to + len(args)}, command}), nil
	}
	// Wrap added its arguments at the start of the array: remove them up to the user's first argument.
	removedTo := commandItem.to
	if next := commandIndex + 1; next < len(e.items) {
		added += ", "
		removedTo = e.items[next].from
	} else {
		added += " "
	}
	removedFrom := e.args.from + 1
	if bytes.HasPrefix(text[removedFrom:], []byte(added)) { // not reformatted: remove exactly what Wrap added
		removedTo = removedFrom + len(added)
	}
	return splice(text, edit{e.commandAt, command}, edit{span{removedFrom, removedTo}, ""}), nil
}

// wrapArguments returns the arguments that Wrap adds. The last is command, as written in the file.
func wrapArguments(prefix []string, command []byte) string {
	var b strings.Builder
	for _, word := range prefix {
		b.WriteString(quote(word) + ", ")
	}
	return b.String() + string(command)
}

func quote(word string) string { return string(jsonraw.Quote(word)) }

// A span is text[from:to].
type span struct{ from, to int }

// An edit replaces a span by a text.
type edit struct {
	span
	text string
}

// splice applies edits that do not overlap.
func splice(text []byte, edits ...edit) []byte {
	sliceutil.Sort(edits, func(a, b edit) int { return a.from - b.from })
	var out []byte
	done := 0
	for _, e := range edits {
		out = append(append(out, text[done:e.from]...), e.text...)
		done = e.to
	}
	return append(out, text[done:]...)
}

// An entry is the command of a server in a file, with its position.
type entry struct {
	command   string
	commandAt span
	// args is the array of arguments, or the zero span without arguments; words and items are its
	// elements.
	args  span
	words []string
	items []span
	// formatArgs formats the member args that Wrap adds if the entry has no args.
	formatArgs func(words string) string
}

// hasPrefix reports whether prefix is before another command in the entry. Of the first word it
// compares only the file name, without .exe.
func (e *entry) hasPrefix(prefix []string) bool {
	count := len(prefix) - 1 // of the arguments in prefix
	hasArguments := len(e.words) > count && slices.Equal(e.words[:count], prefix[1:])
	return hasArguments && SameProgram(e.command, prefix[0])
}

// SameProgram reports whether two commands are the same program, maybe in different folders: their
// file names are equal, without .exe.
func SameProgram(a, b string) bool {
	program := func(file string) string {
		file = file[strings.LastIndexAny(file, `/\`)+1:]
		return strings.TrimSuffix(strings.ToLower(file), ".exe")
	}
	return program(a) == program(b)
}

// findEntry returns the command of a server with its position in text. Its error is an *EntryError:
// the file cannot be parsed, or has no such server, or the server has no command.
func (c Client) findEntry(text []byte, server string) (*entry, error) {
	if isTOML(c.paths[""]) {
		return c.findInTOML(text, server)
	}
	plain, err := standardJSON(text)
	if err != nil {
		return nil, &EntryError{Text: err.Error()}
	}
	doc, err := hujson.Parse(plain) // its values have offsets, which are those in text
	if err != nil {
		return nil, &EntryError{Text: "the file is not JSON"}
	}
	servers := &doc
	for _, step := range c.Member {
		servers = memberOf(servers, step)
	}
	found := memberOf(servers, server)
	if found == nil {
		var names []string
		for _, m := range membersOf(servers) {
			names = append(names, memberName(m))
		}
		return nil, c.missingServerError(server, names)
	}
	e := &entry{formatArgs: func(words string) string { return `, "args": [` + words + `]` }}
	command := memberOf(found, "command")
	if inner := memberOf(command, "path"); inner != nil { // the form of older versions of Zed
		found = command
		command = inner
	}
	if command == nil || json.Unmarshal(command.Pack(), &e.command) != nil || e.command == "" {
		return nil, missingCommandError(server)
	}
	e.commandAt = spanOfValue(command)
	if args := memberOf(found, "args"); args != nil {
		list, isList := args.Value.(*hujson.Array)
		if !isList || json.Unmarshal(args.Pack(), &e.words) != nil {
			return nil, invalidArgsError(server)
		}
		e.args = spanOfValue(args)
		for i := range list.Elements {
			e.items = append(e.items, spanOfValue(&list.Elements[i]))
		}
	}
	return e, nil
}

func (c Client) missingServerError(server string, names []string) error {
	return &EntryError{Text: fmt.Sprintf("no server %q in %s", server, strings.Join(c.Member, ".")), Servers: names}
}

func missingCommandError(server string) error {
	return &EntryError{
		Text: fmt.Sprintf("the server %q has no command: mcpc tap records stdio servers only; use mcpc proxy", server),
	}
}

func invalidArgsError(server string) error {
	return &EntryError{Text: fmt.Sprintf("the arguments of the server %q are not a list of strings", server)}
}

// membersOf returns the members of an object, or nil if v is any other value or nil.
func membersOf(v *hujson.Value) []hujson.ObjectMember {
	if v == nil {
		return nil
	}
	object, _ := v.Value.(*hujson.Object)
	if object == nil {
		return nil
	}
	return object.Members
}

func memberName(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// memberOf returns the last member with a name, or nil.
func memberOf(v *hujson.Value, name string) *hujson.Value {
	members := membersOf(v)
	var found *hujson.Value
	for i := range members {
		if memberName(members[i]) == name {
			found = &members[i].Value
		}
	}
	return found
}

func spanOfValue(v *hujson.Value) span { return span{v.StartOffset, v.EndOffset} }
