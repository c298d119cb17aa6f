// Package yaml reads YAML as JSON and remembers the place of each value, and writes JSON as YAML.
// It does not depend on the meaning of a document.
//
// A document is limited to what JSON can express: one value, names that are unique texts, and
// numbers in the notation of JSON, whose digits are kept. It is an error, with its place, if a
// document uses what only YAML can express, what its versions read differently (01234, 0x10, .inf,
// two documents, <<), or aliases that expand beyond the limits.
package yaml

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"mcpc/internal/jsonraw"
)

// A Place is a line and a column of a text. Both start at 1.
type Place struct{ Line, Column int }

func (p Place) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// An Error is a syntax error with its place.
type Error struct {
	Place
	Text string
}

func (e *Error) Error() string { return e.Place.String() + ": " + e.Text }

// A Document is a YAML document as JSON, with the members in the order of the text.
type Document struct {
	JSON json.RawMessage
	// Problems are values and members that could not be read. Such a value is null in JSON, and
	// such a member is omitted.
	Problems []Problem
	// values and names are places by JSON pointer (RFC 6901).
	values, names map[string]Place
}

// A Problem is an Error in a value or a member, with its JSON pointer.
type Problem struct {
	Error
	Pointer string
}

// NamePlace returns the place of the name of the member at a JSON pointer, or else Place(pointer).
func (d Document) NamePlace(pointer string) Place {
	if place, ok := d.names[pointer]; ok {
		return place
	}
	return d.Place(pointer)
}

// Place returns the place of the value at a JSON pointer, or of its closest existing parent.
func (d Document) Place(pointer string) Place {
	for {
		if place, ok := d.values[pointer]; ok {
			return place
		}
		lastSlash := strings.LastIndexByte(pointer, '/')
		if lastSlash < 0 {
			return Place{1, 1}
		}
		pointer = pointer[:lastSlash]
	}
}

// The limits of a document. Aliases expand a short text to a long one.
const (
	maxValues = 200_000
	maxDepth  = 200
	maxBytes  = 64 << 20
)

// Parse parses one document. An empty text is null. Errors are of type *Error. If the document has
// Problems, the error is the first of them and the rest of the document can be used.
func Parse(text []byte) (Document, error) { return parse(text, strictSchema) }

// A schema says which scalars without quotes are numbers, and whether << is a name.
type schema int

// The schemas of Parse and of ParseCore.
const (
	strictSchema schema = iota
	coreSchema
)

// parse implements Parse and ParseCore.
func parse(text []byte, s schema) (Document, error) {
	if !utf8.Valid(text) {
		return Document{}, &Error{Place{1, 1}, "the text is not UTF-8"}
	}
	lines := &lineReader{rest: string(text)}
	d := yaml.NewDecoder(lines)
	var root, second yaml.Node
	if err := d.Decode(&root); err == io.EOF {
		return Document{JSON: json.RawMessage("null")}, nil
	} else if err != nil {
		return Document{}, syntaxError(string(text), lines.lines, err)
	}
	err := d.Decode(&second)
	if err == nil {
		place := Place{max(second.Line, 1), max(second.Column, 1)}
		return Document{}, &Error{place, "a second document begins here; only one is allowed"}
	}
	if err != io.EOF {
		return Document{}, syntaxError(string(text), lines.lines, err)
	}
	r := reader{isCore: s == coreSchema, values: map[string]Place{}, names: map[string]Place{}}
	if err := r.appendValue(root.Content[0], "", 0); err != nil {
		return Document{}, err
	}
	doc := Document{JSON: r.json, Problems: r.problems, values: r.values, names: r.names}
	if len(r.problems) > 0 {
		return doc, &r.problems[0].Error
	}
	return doc, nil
}

// syntaxError returns the library's error with a better place. The library gives the line where the
// unreadable part begins, or the line before it, and only in the text of its error. syntaxError
// finds the first line that gives the text this error, and returns the line's first character.
// linesRead is the number of lines that were read before the error.
func syntaxError(text string, linesRead int, err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	namedLine := 0
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		number, rest, _ := strings.Cut(rest, ": ")
		namedLine, _ = strconv.Atoi(number)
		message = rest
	}
	lines := strings.SplitAfter(text, "\n")
	errorLine := max(linesRead, 1)
	// The parser looks a few characters ahead.
	for _, n := range []int{namedLine, namedLine + 1, linesRead - 2, linesRead - 1} {
		if n > 0 && n < errorLine && sameError(strings.Join(lines[:n], ""), err) {
			errorLine = n
			break
		}
	}
	line := strings.TrimRight(lines[errorLine-1], "\r\n")
	indented := strings.TrimLeft(line, " ")
	// A tab is allowed within { } and [ ]: the error is then the same without the tab.
	if strings.HasPrefix(indented, "\t") && !sameError(strings.ReplaceAll(text, "\t", " "), err) {
		message = "a tab in the indentation; YAML allows spaces only"
	}
	return &Error{Place{errorLine, 1 + len(line) - len(indented)}, message}
}

// sameError reports whether text has the error err.
func sameError(text string, err error) bool {
	d := yaml.NewDecoder(&lineReader{rest: text})
	for {
		var root yaml.Node
		if again := d.Decode(&root); again != nil {
			return again.Error() == err.Error()
		}
	}
}

// A lineReader returns at most one line from each Read, and counts the lines.
type lineReader struct {
	rest  string
	lines int
}

func (r *lineReader) Read(b []byte) (int, error) {
	if r.rest == "" {
		return 0, io.EOF
	}
	line, _, _ := strings.Cut(r.rest, "\n")
	n := copy(b, r.rest[:min(len(line)+1, len(r.rest))])
	if n > len(line) || n == len(r.rest) {
		r.lines++
	}
	r.rest = r.rest[n:]
	return n, nil
}

// A reader converts the nodes of one document to JSON.
type reader struct {
	isCore bool // reads by the core schema
	json   []byte
	// values and names become the Document's.
	values, names map[string]Place
	count         int // of values so far, including the values of aliases
	problems      []Problem
}

// addProblem adds a problem.
func (r *reader) addProblem(place Place, pointer, text string) {
	r.problems = append(r.problems, Problem{Error{place, text}, pointer})
}

// appendValue appends the JSON of a node. It returns an error if the document exceeds the limits.
func (r *reader) appendValue(n *yaml.Node, pointer string, depth int) error {
	place := Place{n.Line, n.Column}
	r.count++
	if r.count > maxValues || depth > maxDepth || len(r.json) > maxBytes {
		return &Error{place, "the document is too large or too deeply nested"}
	}
	if _, isKnown := r.values[pointer]; !isKnown { // else an alias leads here, and its own place is kept
		r.values[pointer] = place
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.appendValue(n.Alias, pointer, depth+1)
	case yaml.MappingNode:
		return r.appendMapping(n, pointer, depth)
	case yaml.SequenceNode:
		r.json = append(r.json, '[')
		for i, item := range n.Content {
			if i > 0 {
				r.json = append(r.json, ',')
			}
			if err := r.appendValue(item, pointer+"/"+strconv.Itoa(i), depth+1); err != nil {
				return err
			}
		}
		r.json = append(r.json, ']')
		return nil
	}
	raw, problem := r.scalarJSON(n)
	if problem != "" {
		r.addProblem(place, pointer, problem)
		raw = json.RawMessage("null")
	}
	r.json = append(r.json, raw...)
	return nil
}

// appendMapping appends the JSON object of a mapping, without the members that have problems.
func (r *reader) appendMapping(n *yaml.Node, pointer string, depth int) error {
	seen := map[string]bool{}
	r.json = append(r.json, '{')
	for i := 0; i+1 < len(n.Content); i += 2 { // a name and its value
		name := n.Content[i]
		place := Place{name.Line, name.Column}
		if name.Kind != yaml.ScalarNode {
			r.addProblem(place, pointer, "a name must be a text")
			continue
		}
		if name.Tag == "!!merge" && !r.isCore {
			r.addProblem(place, pointer, "<< is not supported: write out the members")
			continue
		}
		if seen[name.Value] {
			r.addProblem(place, pointer, fmt.Sprintf("the name %q is duplicated", name.Value))
			continue
		}
		if len(seen) > 0 {
			r.json = append(r.json, ',')
		}
		seen[name.Value] = true
		r.json = append(append(r.json, jsonraw.Quote(name.Value)...), ':')
		inner := jsonraw.Pointer(pointer, name.Value)
		r.names[inner] = place
		if err := r.appendValue(n.Content[i+1], inner, depth+1); err != nil {
			return err
		}
	}
	r.json = append(r.json, '}')
	return nil
}

// scalarJSON returns a scalar as JSON, or the text of its error. The digits of a number are kept.
func (r *reader) scalarJSON(n *yaml.Node) (json.RawMessage, string) {
	tag := n.ShortTag()
	isPlain := n.Style == 0 // without quotes
	if r.isCore && isPlain && tag != "!!null" && tag != "!!bool" {
		if raw, problem := coreScalar(n.Value); raw != nil || problem != "" {
			return raw, problem
		}
		return jsonraw.Quote(n.Value), ""
	}
	switch tag {
	case "!!null":
		return json.RawMessage("null"), ""
	case "!!bool":
		if value := strings.ToLower(n.Value); value == "true" || value == "false" {
			return json.RawMessage(value), ""
		}
		return nil, fmt.Sprintf("%s is neither true nor false", n.Value)
	case "!!int", "!!float":
		if jsonraw.Valid([]byte(n.Value)) == nil {
			return json.RawMessage(n.Value), ""
		}
		return nil, fmt.Sprintf(
			"%s is not a JSON number, and other programs read it differently: quote it as a string, '%s'",
			n.Value, n.Value,
		)
	case "!!str", "!!timestamp": // a date is a string in JSON, and 1e400 is a number
		if isPlain && n.Tag == "!!str" && isNumber(n.Value) {
			return json.RawMessage(n.Value), ""
		}
		return jsonraw.Quote(n.Value), ""
	}
	return nil, fmt.Sprintf("values of type %s are not supported", n.Tag)
}

// isNumber reports whether text is a JSON number.
func isNumber(text string) bool {
	return text != "" && strings.ContainsRune("-0123456789", rune(text[0])) && jsonraw.Valid([]byte(text)) == nil
}
