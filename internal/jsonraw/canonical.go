package jsonraw

import (
	"bytes"
	"encoding/json"
	"strings"

	"mcpc/internal/sliceutil"
)

// maxSortedDepth is the depth below which values are not rewritten. Each level is read again for the
// level above it, so the depth bounds the work.
const maxSortedDepth = 64

// Canonical returns raw without white space, with the members of each object sorted by name, numbers
// as digits and a power of ten (7, 7.0 and 70e-1 are 7e0), and strings with the necessary escapes
// only. Members with the same name keep their order. It returns invalid JSON unchanged.
func Canonical(raw json.RawMessage) json.RawMessage {
	return (&canonicalWriter{normalizes: true}).rewrite(raw)
}

// Indent returns raw with sorted members, in lines with an indentation of two spaces. It keeps the
// notation of numbers and strings.
func Indent(raw json.RawMessage) json.RawMessage {
	return (&canonicalWriter{indents: true}).rewrite(raw)
}

// A canonicalWriter writes values in one form.
type canonicalWriter struct {
	b []byte
	// normalizes rewrites numbers and strings. indents adds line ends and indentation.
	normalizes, indents bool
}

// rewrite returns raw in the form of the writer, or unchanged if it is invalid.
func (w *canonicalWriter) rewrite(raw json.RawMessage) json.RawMessage {
	if Valid(raw) != nil {
		return raw
	}
	w.writeValue(bytes.Trim(raw, WhiteSpace), 0)
	return w.b
}

// writeValue appends a value at a depth.
func (w *canonicalWriter) writeValue(raw json.RawMessage, depth int) {
	switch {
	case depth >= maxSortedDepth:
		w.b = append(w.b, Compact(raw)...)
	case raw[0] == '{':
		members, _ := Object(raw)
		sliceutil.Sort(members, func(x, y Member) int { return strings.Compare(x.Name, y.Name) })
		w.writeList('{', '}', len(members), depth, func(i int) {
			w.b = append(append(w.b, Quote(members[i].Name)...), ':')
			if w.indents {
				w.b = append(w.b, ' ')
			}
			w.writeValue(members[i].Value, depth+1)
		})
	case raw[0] == '[':
		items, _ := Array(raw)
		w.writeList('[', ']', len(items), depth, func(i int) { w.writeValue(items[i], depth+1) })
	case w.normalizes && raw[0] == '"':
		text, _ := Text(raw)
		w.b = append(w.b, Quote(text)...)
	case w.normalizes && IsNumber(raw):
		w.b = append(w.b, PlainNumber(string(raw))...)
	default:
		w.b = append(w.b, raw...)
	}
}

// writeList writes n parts between two brackets, each with writePart.
func (w *canonicalWriter) writeList(begin, end byte, n, depth int, writePart func(i int)) {
	w.b = append(w.b, begin)
	for i := range n {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.startLine(depth + 1)
		writePart(i)
	}
	if n > 0 { // an empty list stays on one line
		w.startLine(depth)
	}
	w.b = append(w.b, end)
}

// startLine begins a line at a depth, if indents is set.
func (w *canonicalWriter) startLine(depth int) {
	if w.indents {
		w.b = append(w.b, '\n')
		w.b = append(w.b, strings.Repeat("  ", depth)...)
	}
}
