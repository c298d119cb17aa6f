// Package canonical writes JSON in one form, so that two values that say the same are
// the same bytes. It does not know what a value means.
package canonical

import (
	"bytes"
	"encoding/json"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/sliceutil"
)

// deepest is the depth below which values keep the bytes that they have. Each level is
// read again by the one above it, so that the depth bounds the work.
const deepest = 64

// Compact gives raw without white space, with the members of each object sorted by name,
// numbers as digits and a power of ten (7, 7.0 and 70e-1 are 7e0), and strings with no more
// escapes than JSON needs. Of two members of one name the first stays the first. Bytes that
// are not JSON come back as they are.
func Compact(raw json.RawMessage) json.RawMessage {
	return (&writer{plain: true}).all(raw)
}

// Indent gives raw with sorted members as Compact does, in lines that are indented by two
// blanks. The text of numbers and strings stays as the server wrote it.
func Indent(raw json.RawMessage) json.RawMessage {
	return (&writer{lines: true}).all(raw)
}

type writer struct {
	b []byte
	// plain rewrites numbers and strings, lines breaks and indents.
	plain, lines bool
}

func (w *writer) all(raw json.RawMessage) json.RawMessage {
	if jsonraw.Valid(raw) != nil {
		return raw
	}
	w.value(bytes.Trim(raw, jsonraw.WhiteSpace), 0)
	return w.b
}

func (w *writer) value(raw json.RawMessage, depth int) {
	switch {
	case depth >= deepest:
		w.b = append(w.b, jsonraw.Compact(raw)...)
	case raw[0] == '{':
		members, _ := jsonraw.Object(raw)
		sliceutil.Sort(members, func(x, y jsonraw.Member) int { return strings.Compare(x.Name, y.Name) })
		w.list('{', '}', len(members), depth, func(i int) {
			w.b = append(append(w.b, jsonraw.Quote(members[i].Name)...), ':')
			if w.lines {
				w.b = append(w.b, ' ')
			}
			w.value(members[i].Value, depth+1)
		})
	case raw[0] == '[':
		items, _ := jsonraw.Array(raw)
		w.list('[', ']', len(items), depth, func(i int) { w.value(items[i], depth+1) })
	case w.plain && raw[0] == '"':
		text, _ := jsonraw.Text(raw)
		w.b = append(w.b, jsonraw.Quote(text)...)
	case w.plain && jsonraw.IsNumber(raw):
		w.b = append(w.b, jsonraw.PlainNumber(string(raw))...)
	default:
		w.b = append(w.b, raw...)
	}
}

// list writes n parts between two brackets.
func (w *writer) list(begin, end byte, n, depth int, part func(i int)) {
	w.b = append(w.b, begin)
	for i := range n {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.line(depth + 1)
		part(i)
	}
	if n > 0 {
		w.line(depth)
	}
	w.b = append(w.b, end)
}

func (w *writer) line(depth int) {
	if w.lines {
		w.b = append(w.b, '\n')
		w.b = append(w.b, strings.Repeat("  ", depth)...)
	}
}
