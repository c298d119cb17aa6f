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
	indent, ok := dashIndent(text, old, jsonraw.Pointer("", name)+"/"+strconv.Itoa(len(items)-1))
	if !ok {
		return nil, fmt.Errorf("%s is not a block list (lines that begin with a dash)", name)
	}
	var addition bytes.Buffer
	if len(text) > 0 && text[len(text)-1] != '\n' {
		addition.WriteByte('\n')
	}
	addition.Write(indented(written, indent))
	again, err := Parse(append(bytes.Clone(text), addition.Bytes()...))
	same, _ := Parse(written)
	last, _ := jsonraw.Array(same.JSON)
	if err != nil || !bytes.Equal(again.JSON, jsonraw.With(old.JSON, name, jsonraw.List(append(items, last...)))) {
		return nil, fmt.Errorf("%s is not at the end", name)
	}
	return addition.Bytes(), nil
}

// Replaced returns text with a new value for the member at a place. It reports false unless the
// member is at the end of the text and in the notation of Write.
func Replaced(text []byte, place Place, name string, old, value json.RawMessage) ([]byte, bool) {
	var ends [2][]byte
	for i, v := range []json.RawMessage{old, value} {
		written, err := Write(jsonraw.With(nil, name, v))
		if err != nil {
			return nil, false
		}
		ends[i] = indented(written, strings.Repeat(" ", place.Column-1))
	}
	before, ok := bytes.CutSuffix(text, ends[0])
	return append(bytes.Clone(before), ends[1]...), ok && bytes.HasSuffix(before, []byte{'\n'})
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
	place, there := doc.values[pointer]
	lines := strings.Split(string(text), "\n")
	if !there || place.Line > len(lines) {
		return "", false
	}
	indent, _, dash := strings.Cut(lines[place.Line-1], "- ")
	return indent, dash && strings.Trim(indent, " ") == ""
}
