package yaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// Appended returns the bytes to append to a text, so that the list in its member name has one more
// item. It returns an error if appending is not sufficient, as for a list in brackets or a list that
// is not at the end of the text.
func Appended(text []byte, name string, item json.RawMessage) ([]byte, error) {
	old, err := Parse(text)
	if err != nil {
		return nil, err
	}
	written, err := Write(jsonraw.List([]json.RawMessage{item}))
	if err != nil {
		return nil, err
	}
	items, _ := jsonraw.Array(jsonraw.First(old.JSON, name))
	lastItem := jsonraw.Pointer("", name) + "/" + strconv.Itoa(len(items)-1) // no place if the list is empty
	indent, ok := dashIndent(text, old, lastItem)
	if !ok {
		return nil, fmt.Errorf("%s is not a block list (lines that begin with a dash)", name)
	}
	var addition bytes.Buffer
	if len(text) > 0 && text[len(text)-1] != '\n' {
		addition.WriteByte('\n')
	}
	addition.Write(indented(written, indent))
	// The addition is right if parsing the whole text gives the old list with one more item.
	whole, err := Parse(append(bytes.Clone(text), addition.Bytes()...))
	added, _ := Parse(written)
	newItems, _ := jsonraw.Array(added.JSON)
	expected := jsonraw.With(old.JSON, name, jsonraw.List(append(items, newItems...)))
	if err != nil || !bytes.Equal(whole.JSON, expected) {
		return nil, fmt.Errorf("%s is not at the end", name)
	}
	return addition.Bytes(), nil
}

// Replaced returns text with a new value for the member at a place. It reports false unless the
// member is at the end of the text and in the notation of Write.
func Replaced(text []byte, place Place, name string, old, value json.RawMessage) ([]byte, bool) {
	indent := strings.Repeat(" ", place.Column-1)
	oldText, err := Write(jsonraw.With(nil, name, old))
	if err != nil {
		return nil, false
	}
	newText, err := Write(jsonraw.With(nil, name, value))
	if err != nil {
		return nil, false
	}
	before, isAtEnd := bytes.CutSuffix(text, indented(oldText, indent))
	if !isAtEnd || !bytes.HasSuffix(before, []byte{'\n'}) {
		return nil, false
	}
	return append(bytes.Clone(before), indented(newText, indent)...), true
}

// indented returns text with indent before each line that is not blank.
func indented(text []byte, indent string) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(indent)
		}
		b.WriteString(line)
	}
	return b.Bytes()
}

// dashIndent returns the indentation before the dash of an item. It reports false if the item's line
// does not begin with a dash.
func dashIndent(text []byte, doc Document, pointer string) (indent string, ok bool) {
	place, exists := doc.values[pointer]
	lines := strings.Split(string(text), "\n")
	if !exists || place.Line > len(lines) {
		return "", false
	}
	indent, _, hasDash := strings.Cut(lines[place.Line-1], "- ")
	return indent, hasDash && strings.Trim(indent, " ") == ""
}
