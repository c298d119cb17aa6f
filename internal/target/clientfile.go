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

// What follows edits a client's configuration as text, so that the comments, the
// order and the looks of everything else stay as they are. The file is TOML by its
// ending, or else JSON, in which comments and commas behind the last element are
// allowed, as clients do.

// An EntryError says why the entry of a server cannot be edited.
type EntryError struct {
	Text string
	// Servers are the names in the file, where another was asked for.
	Servers []string
}

func (e *EntryError) Error() string { return e.Text }

// CommandOf is what is started for a server; nil where the file does not say.
func (c Client) CommandOf(text []byte, server string) []string {
	e, err := c.findEntry(text, server)
	if err != nil {
		return nil
	}
	return append([]string{e.command}, e.words...)
}

// Wrap puts words before the command of a server: those of prefix, of which the
// first becomes the command. It gives the whole text of the file again, unchanged where
// they stand there.
func (c Client) Wrap(text []byte, server string, prefix []string) ([]byte, error) {
	e, err := c.findEntry(text, server)
	if err != nil {
		return nil, err
	}
	if e.hasPrefix(prefix) {
		return text, nil
	}
	added := wrapArguments(prefix[1:], text[e.commandAt.from:e.commandAt.to])
	if e.args.to == 0 {
		return splice(text, edit{e.commandAt, quote(prefix[0]) + e.formatArgs(added)}), nil
	}
	if len(e.words) > 0 {
		added += ", "
	} else {
		added += " " // tells the user's own empty array from one that e.own adds
	}
	inside := span{e.args.from + 1, e.args.from + 1}
	return splice(text, edit{e.commandAt, quote(prefix[0])}, edit{inside, added}), nil
}

// Unwrap undoes Wrap, and changes nothing where that is done. Prefix is as it was given to Wrap; its first
// word may have another folder now.
func (c Client) Unwrap(text []byte, server string, prefix []string) ([]byte, error) {
	e, err := c.findEntry(text, server)
	if err != nil {
		return nil, err
	}
	if !e.hasPrefix(prefix) {
		return text, nil
	}
	n := len(prefix)
	command := string(text[e.items[n-1].from:e.items[n-1].to])
	added := wrapArguments(prefix[1:], []byte(command))
	if own := e.formatArgs(added); bytes.HasPrefix(text[e.commandAt.to:], []byte(own)) { // there were none before
		return splice(text, edit{span{e.commandAt.from, e.commandAt.to + len(own)}, command}), nil
	}
	until := e.items[n-1].to
	if len(e.items) > n {
		added += ", "
		until = e.items[n].from
	} else {
		added += " "
	}
	from := e.args.from + 1
	if bytes.HasPrefix(text[from:], []byte(added)) { // the file was not reformatted since
		until = from + len(added)
	}
	return splice(text, edit{e.commandAt, command}, edit{span{from, until}, ""}), nil
}

// prefixed returns the arguments that Wrap adds, the last as it is written in the file.
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

// An edit puts a text in the place of a span.
type edit struct {
	span
	text string
}

// splice replaces spans that do not overlap.
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

// An entry is a server in a file: what is started, and where that stands.
type entry struct {
	command   string
	commandAt span
	// args is the whole array, the zero span where there is none.
	args  span
	words []string
	items []span
	// own is how the member is written that Wrap adds where there are no arguments.
	formatArgs func(words string) string
}

// wrapped reports whether the entry begins with prefix. That is the same program
// wherever it lies.
func (e *entry) hasPrefix(prefix []string) bool {
	program := func(file string) string {
		file = file[strings.LastIndexAny(file, `/\`)+1:]
		return strings.TrimSuffix(strings.ToLower(file), ".exe")
	}
	n := len(prefix) - 1
	return program(e.command) == program(prefix[0]) && len(e.words) > n && slices.Equal(e.words[:n], prefix[1:])
}

func (c Client) findEntry(text []byte, server string) (*entry, error) {
	if isTOML(c.paths[""]) {
		return c.findInTOML(text, server)
	}
	plain, err := standardJSON(text)
	if err != nil {
		return nil, &EntryError{Text: err.Error()}
	}
	doc, err := hujson.Parse(plain)
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
	if inner := memberOf(command, "path"); inner != nil { // as older versions of Zed write it
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

// membersOf are those of an object; none of anything else, and of nil.
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

// memberOf is the last one of that name, or nil.
func memberOf(v *hujson.Value, name string) (found *hujson.Value) {
	members := membersOf(v)
	for i := range members {
		if memberName(members[i]) == name {
			found = &members[i].Value
		}
	}
	return found
}

func spanOfValue(v *hujson.Value) span { return span{v.StartOffset, v.EndOffset} }
