package filter

import (
	"slices"
	"time"

	"mcpc/internal/capture/rows"
)

// live are the fields that are known of a message before its answer.
var liveFields = []string{"method", "name", "target", "era", "protocol", "id", "dir", "client", "server", "body"}

// ParseLive reads a filter for messages that are still on their way (see rows.Live): a field
// that only the answer or the recording tells is an error. Errors are *Error.
func ParseLive(text string, now time.Time) (Filter, error) {
	p := &parser{text: text, now: now, live: true}
	return p.filter()
}

// MatchLive reports whether a message on its way is wanted. Texts are looked for in its bytes.
func (f Filter) MatchLive(r *rows.Row, message []byte) bool {
	return f.match(&candidate{row: r, findIn: func(s search) (bool, error) { return s.in(message), nil }})
}

// Names reports whether the filter asks for one of these fields.
func (f Filter) Names(fields ...string) bool { return f.root != nil && usesField(f.root, fields) }

func usesField(n node, fields []string) bool {
	switch n := n.(type) {
	case *group:
		return slices.ContainsFunc(n.terms, func(t node) bool { return usesField(t, fields) })
	case negation:
		return usesField(n.node, fields)
	case *fieldTerm:
		return slices.Contains(fields, n.field.name)
	case *pattern:
		return slices.Contains(fields, n.field.name)
	}
	return false
}
