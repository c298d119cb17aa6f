package filter

import (
	"slices"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/wire"
)

// liveFields are the fields that are known of a message before its response.
var liveFields = []string{"method", "name", "target", "era", "protocol", "id", "dir", "client", "server", "is", "body"}

// liveIs is the field "is" of a message that is not forwarded yet.
var liveIs = field{name: "is", valueHint: "a kind of message: request, response, notification", traits: []trait{
	{name: "request", kinds: []wire.MessageKind{wire.Request}},
	{name: "response", kinds: []wire.MessageKind{wire.Response, wire.ErrorResponse}},
	{name: "notification", kinds: []wire.MessageKind{wire.Notification}},
}}

// ParseLive parses a filter for messages that are not forwarded yet (see rows.Live). A field that
// is only known after the response is an error. Errors are *Error.
func ParseLive(text string, now time.Time) (Filter, error) {
	p := &parser{text: text, now: now, onlyLive: true}
	return p.filter()
}

// MatchLive reports whether the filter selects a message that is not forwarded yet. It searches for
// texts in the message. m is nil for an HTTP request without a message.
func (f Filter) MatchLive(r *rows.Row, m *wire.Message) bool {
	c := &candidate{row: r}
	var raw []byte
	if m != nil {
		c.kind = m.Kind
		raw = m.Raw
	}
	c.findInTraffic = func(s search) (bool, error) { return s.matches(raw), nil }
	return f.match(c)
}

// Names reports whether the filter uses any of these fields.
func (f Filter) Names(fields ...string) bool { return f.root != nil && usesField(f.root, fields) }

// usesField reports whether a node uses any of these fields.
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
