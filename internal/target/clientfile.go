package target

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/wire"
)

// What follows edits a client's configuration as text, so that the comments, the
// order and the looks of everything else stay as they are. The file is JSON, in
// which comments and commas behind the last element are allowed, as clients do.

// An EntryError says why the entry of a server cannot be edited.
type EntryError struct {
	Text string
	// Servers are the names in the file, where another was asked for.
	Servers []string
}

func (e *EntryError) Error() string { return e.Text }

// CommandOf is what is started for a server; nil where the file does not say.
func CommandOf(text []byte, member, server string) []string {
	e, err := findEntry(text, member, server)
	if err != nil {
		return nil
	}
	return append([]string{e.command}, e.words...)
}

// Wrap puts words before the command of a server: those of prefix, of which the
// first becomes the command. It gives the whole text of the file again.
func Wrap(text []byte, member, server string, prefix []string) ([]byte, error) {
	e, err := findEntry(text, member, server)
	if err != nil {
		return nil, err
	}
	if e.wrapped(prefix) {
		return nil, &EntryError{Text: fmt.Sprintf("the server %q goes through mcpc tap already", server)}
	}
	added := words(prefix[1:], text[e.at.from:e.at.to])
	if e.args.to == 0 {
		return splice(text, edit{e.at, quoted(prefix[0]) + ownArgs(added)}), nil
	}
	if len(e.words) > 0 {
		added += ", "
	}
	inside := span{e.args.from + 1, e.args.from + 1}
	return splice(text, edit{e.at, quoted(prefix[0])}, edit{inside, added}), nil
}

// Unwrap undoes Wrap. Prefix is as it was given to Wrap; its first word may have
// another folder now.
func Unwrap(text []byte, member, server string, prefix []string) ([]byte, error) {
	e, err := findEntry(text, member, server)
	if err != nil {
		return nil, err
	}
	if !e.wrapped(prefix) {
		return nil, &EntryError{Text: fmt.Sprintf("the server %q does not go through mcpc tap", server)}
	}
	n := len(prefix)
	command := string(text[e.items[n-1].from:e.items[n-1].to])
	added := words(prefix[1:], []byte(command))
	if own := ownArgs(added); bytes.HasPrefix(text[e.at.to:], []byte(own)) { // there were none before
		return splice(text, edit{span{e.at.from, e.at.to + len(own)}, command}), nil
	}
	until := e.items[n-1].to
	if len(e.items) > n {
		added += ", "
		until = e.items[n].from
	}
	from := e.args.from + 1
	if bytes.HasPrefix(text[from:], []byte(added)) { // nobody has set it out anew
		until = from + len(added)
	}
	return splice(text, edit{e.at, command}, edit{span{from, until}, ""}), nil
}

// ownArgs is the member that Wrap writes where the entry has no arguments.
func ownArgs(words string) string { return `, "args": [` + words + `]` }

// words are the arguments that Wrap adds, the last as it stands in the file.
func words(prefix []string, command []byte) string {
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

func findEntry(text []byte, member, server string) (*entry, error) {
	plain := withoutComments(text)
	if err := wire.Valid(plain); err != nil {
		return nil, &EntryError{Text: "the file is not JSON: " + err.Error()}
	}
	var names []string
	servers, _ := memberOf(plain, whole(plain), member)
	found, ok := span{}, false
	eachMember(plain, servers, func(name string, value span) {
		if names = append(names, name); name == server {
			found, ok = value, true
		}
	})
	if !ok {
		return nil, &EntryError{Text: fmt.Sprintf("no server %q in %s", server, member), Servers: names}
	}
	e := &entry{}
	e.at, _ = memberOf(plain, found, "command")
	if err := json.Unmarshal(plain[e.at.from:e.at.to], &e.command); err != nil || e.command == "" {
		return nil, &EntryError{Text: fmt.Sprintf("the server %q has no command: only stdio servers can be tapped, mcpc proxy is for the others", server)}
	}
	if e.args, ok = memberOf(plain, found, "args"); ok {
		if err := json.Unmarshal(plain[e.args.from:e.args.to], &e.words); err != nil {
			return nil, &EntryError{Text: fmt.Sprintf("the arguments of the server %q are no list of strings", server)}
		}
		e.items = itemsOf(plain, e.args)
	}
	return e, nil
}

// withoutComments is text with blanks in the place of comments and of commas behind
// the last element: JSON, in which everything stands where it stood.
func withoutComments(text []byte) []byte {
	out := bytes.Clone(text)
	comma := -1 // behind which nothing came yet
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			i, comma = endOfString(out, i)-1, -1
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			i = blank(out, i) - 1
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma], comma = ' ', -1
		case c > ' ':
			comma = -1
		}
	}
	if mark := []byte("\xEF\xBB\xBF"); bytes.HasPrefix(out, mark) {
		copy(out, "   ")
	}
	return out
}

// blank overwrites the comment that begins at from, and gives its end.
func blank(out []byte, from int) int {
	end := len(out)
	if out[from+1] == '*' {
		if at := bytes.Index(out[from+2:], []byte("*/")); at >= 0 {
			end = from + 2 + at + 2
		}
	} else if at := bytes.IndexByte(out[from:], '\n'); at >= 0 {
		end = from + at
	}
	for i := from; i < end; i++ {
		if out[i] != '\n' && out[i] != '\r' {
			out[i] = ' '
		}
	}
	return end
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
