package target

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"mcpc/internal/sliceutil"
)

// Add inserts an entry with the command argv after the entries of the other servers. It also adds
// the objects around the entry that are missing; an empty text becomes a new file.
func (c Client) Add(text []byte, server string, argv []string) ([]byte, error) {
	add := c.addToJSON
	if isTOML(c.paths[""]) {
		add = addToTOML
	}
	changed, err := add(text, c.entryPath(server), argv)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(c.CommandOf(changed, server), argv) { // such as a table of TOML in braces
		return nil, &EntryError{Text: "mcpc cannot add an entry to a file of this form"}
	}
	return changed, nil
}

// Remove deletes the entry of a server. It undoes Add.
func (c Client) Remove(text []byte, server string) ([]byte, error) {
	if _, err := c.findEntry(text, server); err != nil {
		return nil, err
	}
	remove := removeFromJSON
	if isTOML(c.paths[""]) {
		remove = removeFromTOML
	}
	changed, err := remove(text, c.entryPath(server))
	if err != nil {
		return nil, err
	}
	if c.CommandOf(changed, server) != nil { // such as a table of TOML in braces
		return nil, &EntryError{Text: "mcpc cannot remove an entry from a file of this form"}
	}
	return changed, nil
}

// ReplaceWords replaces the command of a server and its first count arguments by words. The entry
// must have more than count arguments, which stay. The new words are separated as the old ones.
func (c Client) ReplaceWords(text []byte, server string, count int, words []string) ([]byte, error) {
	e, err := c.findEntry(text, server)
	if err != nil {
		return nil, err
	}
	if len(e.items) <= count {
		return nil, invalidArgsError(server)
	}
	separator := ", "
	if len(e.items) > 1 {
		after := max(count-1, 0) // the item before the separator
		between := string(text[e.items[after].to:e.items[after+1].from])
		if strings.Trim(between, ", \t\r\n") == "" { // no comment
			separator = between
		}
	}
	var added strings.Builder
	for _, word := range words[1:] {
		added.WriteString(quote(word) + separator)
	}
	return splice(
		text,
		edit{e.commandAt, quote(words[0])},
		edit{span{e.items[0].from, e.items[count].from}, added.String()},
	), nil
}

// entryPath returns the names of the members that lead to the entry of a server.
func (c Client) entryPath(server string) []string { return append(slices.Clone(c.Member), server) }

// parseForEdit parses JSON with comments and trailing commas. The offsets of its values are those in
// text.
func parseForEdit(text []byte) (hujson.Value, error) {
	if _, err := standardJSON(text); err != nil {
		return hujson.Value{}, &EntryError{Text: err.Error()}
	}
	text = bytes.Clone(text)
	if bytes.HasPrefix(text, []byte(byteOrderMark)) {
		copy(text, "   ")
	}
	return hujson.Parse(text)
}

// lineEnd returns the line end that text uses.
func lineEnd(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// addToJSON adds the entry with this path. It keeps the indentation of the file.
func (c Client) addToJSON(text []byte, path, argv []string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{\n}\n")
	}
	doc, err := parseForEdit(text)
	if err != nil {
		return nil, err
	}
	object := &doc
	missing := path // the names that are not in the file
	for {
		if object.Value.Kind() != '{' {
			where := strings.Join(path[:len(path)-len(missing)], ".")
			return nil, &EntryError{Text: fmt.Sprintf("%q is not an object", where)}
		}
		next := memberOf(object, missing[0])
		if next == nil {
			break
		}
		if len(missing) == 1 {
			return nil, &EntryError{Text: fmt.Sprintf("there is a server %q already", missing[0])}
		}
		object = next
		missing = missing[1:]
	}
	value := fmt.Sprintf(`{"command": %s, "args": %s}`, quote(argv[0]), quoteList(argv[1:]))
	l := layoutOf(text, &doc, object)
	return l.insert(text, object, l.format(missing, value)), nil
}

// quoteList returns a list of strings as JSON and TOML have it.
func quoteList(words []string) string {
	return "[" + strings.Join(sliceutil.Map(words, quote), ", ") + "]"
}

// A layout says how the members of an object are written.
type layout struct {
	// newline is the text before a member: a line end and the indentation, or "" if the members are
	// in one line. closing is the text before the closing brace.
	newline, closing string
	// unit is the indentation of one level.
	unit string
}

// layoutOf returns the layout of an object in the file whose outermost object is root.
func layoutOf(text []byte, root, object *hujson.Value) layout {
	unit := "  "
	if indent, ok := memberIndent(text, root); ok && indent != "" {
		unit = indent
	}
	lines := lineEnd(text)
	outer := indentAt(text, object.StartOffset)
	if indent, ok := memberIndent(text, object); ok {
		return layout{newline: lines + indent, closing: lines + outer, unit: unit}
	}
	style := text[object.StartOffset:object.EndOffset]
	isEmpty := len(membersOf(object)) == 0
	if isEmpty {
		style = bytes.TrimSpace(text)
	}
	isEmptyFile := isEmpty && object == root
	if !isEmptyFile && !bytes.Contains(style, []byte("\n")) {
		return layout{}
	}
	return layout{newline: lines + outer + unit, closing: lines + outer, unit: unit}
}

// memberIndent returns the indentation of the first member of an object. It reports false if the
// object has no members, or the first one follows other text in its line.
func memberIndent(text []byte, object *hujson.Value) (string, bool) {
	members := membersOf(object)
	if len(members) == 0 {
		return "", false
	}
	at := members[0].Name.StartOffset
	line := bytes.LastIndexByte(text[:at], '\n') + 1
	indent := string(text[line:at])
	return indent, strings.Trim(indent, " \t") == "" && line > object.StartOffset
}

// indentAt returns the indentation of the line with this offset.
func indentAt(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// format returns a member with the last of names and this value, in objects with the other names.
func (l layout) format(names []string, value string) string {
	if len(names) > 1 {
		inner := layout{newline: l.newline, unit: l.unit}
		if l.newline != "" {
			inner.newline += l.unit
		}
		value = "{" + inner.newline + inner.format(names[1:], value) + l.newline + "}"
	}
	return quote(names[0]) + ": " + value
}

// insert inserts a member after the last member of an object, and after the comments there.
func (l layout) insert(text []byte, object *hujson.Value, member string) []byte {
	closingBrace := object.EndOffset - 1
	end := len(bytes.TrimRight(text[:closingBrace], " \t\r\n"))
	at := span{end, end}
	members := membersOf(object)
	if len(members) == 0 {
		closing := l.closing
		if bytes.Contains(text[end:closingBrace], []byte("\n")) {
			closing = ""
		}
		return splice(text, edit{at, l.newline + member + closing})
	}
	before := l.newline
	if before == "" {
		before = " "
	}
	last := members[len(members)-1].Value
	if last.AfterExtra != nil { // hujson: a comma follows
		return splice(text, edit{at, before + member + ","})
	}
	if last.EndOffset == end {
		return splice(text, edit{at, "," + before + member})
	}
	return splice(text, edit{span{last.EndOffset, last.EndOffset}, ","}, edit{at, before + member})
}

// removeFromJSON deletes the member with this path, with the blanks before it and one comma.
func removeFromJSON(text []byte, path []string) ([]byte, error) {
	doc, err := parseForEdit(text)
	if err != nil {
		return nil, err
	}
	object := &doc
	last := len(path) - 1
	for _, step := range path[:last] {
		object = memberOf(object, step)
	}
	members := membersOf(object)
	i := len(members) - 1
	for i > 0 && memberName(members[i]) != path[last] { // of several, clients use the last
		i--
	}
	value := members[i].Value
	removed := span{len(bytes.TrimRight(text[:members[i].Name.StartOffset], " \t\r\n")), value.EndOffset}
	if value.AfterExtra != nil || i < len(members)-1 {
		removed.to += len(value.AfterExtra) + len(",")
	}
	inner := span{object.StartOffset + 1, object.EndOffset - 1}
	isRestBlank := len(bytes.TrimSpace(text[inner.from:removed.from]))+len(bytes.TrimSpace(text[removed.to:inner.to])) == 0
	if isRestBlank {
		return splice(text, edit{inner, ""}), nil
	}
	isLast := i == len(members)-1
	if isLast && i > 0 && value.AfterExtra == nil { // the comma before it is the one to delete
		previous := members[i-1].Value
		comma := previous.EndOffset + len(previous.AfterExtra)
		return splice(text, edit{span{comma, comma + 1}, ""}, edit{removed, ""}), nil
	}
	return splice(text, edit{removed, ""}), nil
}
