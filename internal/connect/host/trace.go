package host

import (
	"mcpc/internal/jsonraw"
	"mcpc/internal/telemetry"
)

// TraceMeta returns what puts each request into a distributed trace: a span of its own where the
// process makes spans, otherwise the context in TRACEPARENT, TRACESTATE and BAGGAGE; nil where
// there is none.
func TraceMeta(e *Env) func() []jsonraw.Member {
	if e.Trace.Meta != nil || e.Getenv == nil {
		return e.Trace.Meta
	}
	parent, ok := telemetry.ParseContext(e.Getenv("TRACEPARENT"), e.Getenv("TRACESTATE"))
	if !ok {
		return nil
	}
	members := parent.Meta(e.Getenv("BAGGAGE"))
	return func() []jsonraw.Member { return members }
}
