package telemetry

import (
	"strings"

	"mcpc/internal/jsonraw"
)

// maxBaggage limits the bytes of forwarded baggage (W3C Baggage, "Limits").
const maxBaggage = 8192

// Meta returns the members of _meta for the context (SEP-414). It omits baggage that is not valid
// in a header field.
func (c Context) Meta(baggage string) []jsonraw.Member {
	members := []jsonraw.Member{{Name: "traceparent", Value: jsonraw.Quote(c.Traceparent())}}
	if c.State != "" {
		members = append(members, jsonraw.Member{Name: "tracestate", Value: jsonraw.Quote(c.State)})
	}
	plain := !strings.ContainsFunc(baggage, func(r rune) bool { return r < ' ' || r > '~' })
	if baggage != "" && len(baggage) <= maxBaggage && plain {
		members = append(members, jsonraw.Member{Name: "baggage", Value: jsonraw.Quote(baggage)})
	}
	return members
}
