package target

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	if e.wrapped(prefix) {
		return text, nil
	}
	added := prefixed(prefix[1:], text[e.at.from:e.at.to])
	if e.args.to == 0 {
		return splice(text, edit{e.at, quoted(prefix[0]) + e.own(added)}), nil
	}
	if len(e.words) > 0 {
		added += ", "
	} else {
		added += " " // tells the user's own empty array from one that e.own adds
	}
	inside := span{e.args.from + 1, e.args.from + 1}
	return splice(text, edit{e.at, quoted(prefix[0])}, edit{inside, added}), nil
}

// Unwrap undoes Wrap, and changes nothing where that is done. Prefix is as it was given to Wrap; its first word may have
// another folder now.
func (c Client) Unwrap(text []byte, server string, prefix []string) ([]byte, error) {
	e, err := c.findEntry(text, server)
	if err != nil {
		return nil, err
	}
	if !e.wrapped(prefix) {
		return text, nil
	}
	n := len(prefix)
	command := string(text[e.items[n-1].from:e.items[n-1].to])
	added := prefixed(prefix[1:], []byte(command))
	if own := e.own(added); bytes.HasPrefix(text[e.at.to:], []byte(own)) { // there were none before
		return splice(text, edit{span{e.at.from, e.at.to + len(own)}, command}), nil
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
	return splice(text, edit{e.at, command}, edit{span{from, until}, ""}), nil
}

// prefixed are the arguments that Wrap adds, the last as it stands in the file.
func prefixed(prefix []string, command []byte) string {
	var b strings.Builder
	for _, word := range prefix {
		b.WriteString(quoted(word) + ", ")
	}
	return b.String() + string(command)
}

func quoted(word string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(word) // a string can be
	return strings.TrimSuffix(b.String(), "\n")
}

// A span is text[from:to].
type span struct{ from, to int }

// An edit puts a text in the place of a span.
type edit struct {
	span
	text string
}

// splice replaces spans that do not overlap.
func splice(text []byte, edits ...edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
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
	command string
	at      span
	// args is the whole array, the zero span where there is none.
	args  span
	words []string
	items []span
	// own is how the member is written that Wrap adds where there are no arguments.
	own func(words string) string
}

// wrapped reports whether the entry begins with prefix. That is the same program
// wherever it lies.
func (e *entry) wrapped(prefix []string) bool {
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
	plain, err := standard(text)
	if err != nil {
		return nil, &EntryError{Text: err.Error()}
	}
	servers := whole(plain)
	for _, step := range c.Member {
		servers, _ = memberOf(plain, servers, step)
	}
	var names []string
	found, ok := span{}, false
	eachMember(plain, servers, func(name string, value span) {
		if names = append(names, name); name == server {
			found, ok = value, true
		}
	})
	if !ok {
		return nil, c.noServer(server, names)
	}
	e := &entry{own: func(words string) string { return `, "args": [` + words + `]` }}
	e.at, _ = memberOf(plain, found, "command")
	if err := json.Unmarshal(plain[e.at.from:e.at.to], &e.command); err != nil || e.command == "" {
		return nil, noCommand(server)
	}
	if e.args, ok = memberOf(plain, found, "args"); ok {
		if err := json.Unmarshal(plain[e.args.from:e.args.to], &e.words); err != nil {
			return nil, noWords(server)
		}
		e.items = itemsOf(plain, e.args)
	}
	return e, nil
}

func (c Client) noServer(server string, names []string) error {
	return &EntryError{Text: fmt.Sprintf("no server %q in %s", server, strings.Join(c.Member, ".")), Servers: names}
}

func noCommand(server string) error {
	return &EntryError{Text: fmt.Sprintf("the server %q has no command: mcpc tap records stdio servers only; use mcpc proxy", server)}
}

func noWords(server string) error {
	return &EntryError{Text: fmt.Sprintf("the arguments of the server %q are not a list of strings", server)}
}

// What follows walks through JSON that is known to be valid.

func whole(plain []byte) span {
	from := skipBlank(plain, 0)
	return span{from, endOfValue(plain, from)}
}

func skipBlank(plain []byte, at int) int {
	for at < len(plain) && strings.IndexByte(" \t\r\n", plain[at]) >= 0 {
		at++
	}
	return at
}

// endOfString is behind the string that begins at from.
func endOfString(plain []byte, from int) int {
	for i := from + 1; i < len(plain); i++ {
		switch plain[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(plain)
}

func endOfValue(plain []byte, from int) int {
	depth := 0
	for i := from; i < len(plain); {
		switch plain[i] {
		case '"':
			i = endOfString(plain, i)
		case '{', '[':
			depth, i = depth+1, i+1
		case '}', ']':
			depth, i = depth-1, i+1
		default:
			for i++; i < len(plain) && strings.IndexByte(`"{}[],: `+"\t\r\n", plain[i]) < 0; i++ {
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return len(plain)
}

// eachItem calls f for each value in an array, and for each name and value in an
// object.
func eachItem(plain []byte, in span, f func(value span)) {
	for at := in.from + 1; ; {
		if at = skipBlank(plain, at); at >= in.to-1 {
			return
		}
		if plain[at] == ',' || plain[at] == ':' {
			at++
			continue
		}
		end := endOfValue(plain, at)
		f(span{at, end})
		at = end
	}
}

func itemsOf(plain []byte, in span) (items []span) {
	eachItem(plain, in, func(value span) { items = append(items, value) })
	return items
}

func eachMember(plain []byte, in span, f func(name string, value span)) {
	if in.to == 0 || plain[in.from] != '{' {
		return
	}
	parts := itemsOf(plain, in)
	for i := 0; i+1 < len(parts); i += 2 {
		var name string
		_ = json.Unmarshal(plain[parts[i].from:parts[i].to], &name) // it is one
		f(name, parts[i+1])
	}
}

func memberOf(plain []byte, in span, name string) (found span, ok bool) {
	eachMember(plain, in, func(other string, value span) {
		if other == name {
			found, ok = value, true
		}
	})
	return found, ok
}
