package connect

import (
	"strings"

	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/telemetry"
)

// traceOf returns what puts each request into a distributed trace: a span of its own where the
// process makes spans, otherwise the context in TRACEPARENT, TRACESTATE and BAGGAGE; nil where
// there is none.
func traceOf(e *host.Env) func() []jsonraw.Member {
	if e.Trace.Meta != nil || e.Getenv == nil {
		return e.Trace.Meta
	}
	parent, ok := telemetry.ParseContext(e.Getenv("TRACEPARENT"), e.Getenv("TRACESTATE"))
	if !ok {
		return nil
	}
	members := TraceMembers(parent, e.Getenv("BAGGAGE"))
	return func() []jsonraw.Member { return members }
}

// mostBaggage is how long a baggage may be that is passed on (W3C Baggage, "Limits").
const mostBaggage = 8192

// TraceMembers are the members of _meta that carry a context (SEP-414). Baggage that no header
// field could hold is left out.
func TraceMembers(c telemetry.Context, baggage string) []jsonraw.Member {
	members := []jsonraw.Member{{Name: "traceparent", Value: jsonraw.Quote(c.Traceparent())}}
	if c.State != "" {
		members = append(members, jsonraw.Member{Name: "tracestate", Value: jsonraw.Quote(c.State)})
	}
	plain := !strings.ContainsFunc(baggage, func(r rune) bool { return r < ' ' || r > '~' })
	if baggage != "" && len(baggage) <= mostBaggage && plain {
		members = append(members, jsonraw.Member{Name: "baggage", Value: jsonraw.Quote(baggage)})
	}
	return members
}
