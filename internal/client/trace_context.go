package client

import (
	"encoding/json"

	"mcpc/internal/jsonraw"
)

// traced adds the trace context of a request or notification to its params (SEP-414), unless
// the caller wrote one.
func traced(c *connection, params json.RawMessage) json.RawMessage {
	trace := c.s.opt.Trace
	if trace == nil || jsonraw.First(jsonraw.First(params, "_meta"), "traceparent") != nil {
		return params
	}
	return withMeta(params, trace()...)
}
