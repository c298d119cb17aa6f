package jsonvalue

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// The limits of a path. maxFound bounds the values that one path selects.
const (
	MostSteps = 64
	maxIndex  = 1_000_000
	maxFound  = 100_000 // values
)

// A Path is a simple jq path: .a.b[0].c, .a[].b, ._meta["x/y"], and "." for
// the whole value.
type Path []Step

// A Step leads to a member, to the item at an index, or to every item if All is set.
type Step struct {
	Name  string
	Index int
	// Item is set if the step uses Index and not Name.
	Item, All bool
}

// A SyntaxError is an error in a text. Offset is the position of the error in bytes.
type SyntaxError struct {
	Offset int
	Text   string
}

// Error returns the text with the offset.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Text, e.Offset) }

// ParsePath reads a path. Errors are *SyntaxError.
func ParsePath(text string) (Path, error) {
	bad := func(offset int, format string, args ...any) (Path, error) {
		return nil, &SyntaxError{offset, fmt.Sprintf(format, args...)}
	}
	if text == "." {
		return Path{}, nil
	}
	if !strings.HasPrefix(text, ".") {
		return bad(0, `a path begins with ".", as in .a.b[0].c`)
	}
	var path Path
	for offset := 0; offset < len(text); {
		if len(path) == MostSteps {
			return bad(offset, "the path has more than %d steps", MostSteps)
		}
		rest := strings.TrimPrefix(text[offset:], ".")
		isAfterDot := len(rest) < len(text[offset:])
		step, length, problem := parseStep(rest, isAfterDot)
		if problem != "" {
			return bad(len(text)-len(rest), "%s", problem)
		}
		path = append(path, step)
		offset = len(text) - len(rest) + length
	}
	return path, nil
}

// parseStep parses one step, and returns its length and the text of an error or "". isAfterDot is
// set if a dot precedes it, which steps in brackets do not need.
func parseStep(text string, isAfterDot bool) (step Step, length int, problem string) {
	name := identifier(text)
	if strings.HasPrefix(text, "[") {
		return parseBrackets(text)
	}
	if !isAfterDot {
		return Step{}, 0, `expected ".", "[" or the end: only paths as .a.b[0].c and .a[].b are understood`
	}
	if name != "" {
		return Step{Name: name}, len(name), ""
	}
	if strings.HasPrefix(text, `"`) {
		name, length := quotedName(text)
		if length == 0 {
			return Step{}, 0, "the name has no closing quote, or is not a JSON string"
		}
		return Step{Name: name}, length, ""
	}
	return Step{}, 0, `a name is missing; one with other characters than letters, digits and _ is quoted, as in .["a-b"]`
}

// parseBrackets parses one step in brackets, and returns its length and the text of an error or "".
func parseBrackets(text string) (step Step, length int, problem string) {
	if strings.HasPrefix(text, "[]") {
		return Step{All: true}, 2, ""
	}
	if name, length := quotedName(text[1:]); length > 0 && strings.HasPrefix(text[1+length:], "]") {
		return Step{Name: name}, length + 2, ""
	}
	inner, _, closed := strings.Cut(text[1:], "]")
	index, err := strconv.Atoi(inner)
	if !closed {
		return Step{}, 0, `"]" is missing`
	}
	hasSign := strings.HasPrefix(inner, "+") || strings.HasPrefix(inner, "-")
	if err != nil || hasSign {
		return Step{}, 0, `brackets hold an index from 0 on, a name in quotes, or nothing: [0], ["a-b"], []`
	}
	if index > maxIndex {
		return Step{}, 0, fmt.Sprintf("the index is larger than %d", maxIndex)
	}
	return Step{Index: index, Item: true}, len(inner) + 2, ""
}

// identifier returns the unquoted name at the beginning of a text, or "".
func identifier(text string) string {
	for i := range len(text) {
		c := text[i]
		isLetter := c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z'
		isDigit := '0' <= c && c <= '9'
		if !isLetter && (i == 0 || !isDigit) {
			return text[:i]
		}
	}
	return text
}

// quotedName returns the JSON string at the beginning of a text and its length in the text, or 0 if
// the text does not begin with a string.
func quotedName(text string) (string, int) {
	for i := 1; i < len(text) && text[0] == '"'; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			name, ok := jsonraw.Text([]byte(text[:i+1]))
			if !ok {
				return "", 0
			}
			return name, i + 1
		}
	}
	return "", 0
}

// String returns the path in the notation of jq.
func (p Path) String() string {
	var b strings.Builder
	for i, step := range p {
		step.write(&b, i == 0)
	}
	if b.Len() == 0 {
		return "."
	}
	return b.String()
}

// write writes the step. first is set for the first step, which needs a dot even before a bracket.
func (s Step) write(b *strings.Builder, first bool) {
	quoted := !s.All && !s.Item && (s.Name == "" || identifier(s.Name) != s.Name)
	if first && (s.All || s.Item || quoted) {
		b.WriteByte('.')
	}
	switch {
	case s.All:
		b.WriteString("[]")
	case s.Item:
		fmt.Fprintf(b, "[%d]", s.Index)
	case quoted:
		fmt.Fprintf(b, "[%s]", jsonraw.Quote(s.Name))
	default:
		b.WriteString("." + s.Name)
	}
}

// Select returns the JSON pointers of the values in raw that the path leads to, or nil if raw is
// not JSON.
func (p Path) Select(raw json.RawMessage) []string {
	n, err := Parse(raw)
	if err != nil {
		return nil
	}
	type place struct {
		node    *Node
		pointer string
	}
	places := []place{{n, ""}}
	for _, step := range p {
		var next []place
		for _, from := range places {
			isName := !step.Item && !step.All
			if isName {
				if kid := from.node.Member(step.Name); kid != nil {
					next = append(next, place{kid, jsonraw.Pointer(from.pointer, step.Name)})
				}
				continue
			}
			if from.node.Kind != Array {
				continue
			}
			for i, kid := range from.node.Kids {
				if (step.All || i == step.Index) && len(next) < maxFound {
					next = append(next, place{kid, jsonraw.Pointer(from.pointer, strconv.Itoa(i))})
				}
			}
		}
		places = next
	}
	var pointers []string
	for _, found := range places {
		pointers = append(pointers, found.pointer)
	}
	return pointers
}

// Find returns the value at a JSON pointer, or nil.
func (n *Node) Find(pointer string) *Node {
	if pointer == "" {
		return n
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch n.Kind {
		case Array:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(n.Kids) {
				return nil
			}
			n = n.Kids[i]
		default:
			n = n.Member(name)
			if n == nil {
				return nil
			}
		}
	}
	return n
}

// Covers reports whether p leads to every value that the other path leads to.
func (p Path) Covers(other Path) bool {
	return slices.EqualFunc(p, other, func(own, o Step) bool { return own == o || own.All && o.Item })
}

// Overlaps reports whether both paths may lead to the same value.
func (p Path) Overlaps(other Path) bool {
	return slices.EqualFunc(p, other, func(s, o Step) bool { return s == o || s.All && o.Item || s.Item && o.All })
}
