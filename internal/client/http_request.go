package client

import (
	"context"
	"net/http"

	"mcpc/internal/client/transport"
	"mcpc/internal/wire"
)

// An HTTPRequest is an HTTP request whose parts the caller controls, for checks of a server.
type HTTPRequest struct {
	// Method is the HTTP method; "" means POST.
	Method string
	// Body is sent unchanged. Edits replace header fields of the era; an edit without a value
	// removes the field.
	Body  []byte
	Edits []wire.Field
	// Bare omits the header fields of the era.
	Bare bool
}

// SendHTTP sends one HTTP request and returns the response: the message in the outcome, and the
// HTTP status with it. It never sends the request again. If the session does not use Streamable
// HTTP, the outcome is a usage error.
func SendHTTP(ctx context.Context, s *Session, req HTTPRequest) wire.Outcome {
	began := s.opt.Now()
	c := s.connection()
	httpTransport, ok := c.transport().(*transport.HTTP)
	if !ok {
		return wire.Outcome{Kind: wire.Usage, Text: "the conversation is not over Streamable HTTP"}
	}
	e := c.era()
	m := wire.ParseMessage(req.Body)
	call := &Call{Method: m.Method, Params: m.Params, Bare: req.Bare}
	out := &outgoing{Outgoing: transport.Outgoing{ID: m.ID, Method: m.Method, AcceptsAny: true}}
	c.stamp(e, call, out) // only for the header fields: the body is sent as it is
	out.Raw = req.Body
	if req.Method == "" {
		req.Method = http.MethodPost
	}
	limit := transport.TimeoutError{Flag: "--timeout", What: "no response", After: s.opt.Limits.Idle}
	const spent = 0 // the limit is for this request alone
	ctx, stop := withLimit(ctx, limit, spent)
	defer stop()
	r := httpTransport.Exchange(ctx, req.Method, &out.Outgoing, req.Edits)
	if r.Fault != nil && ctx.Err() != nil {
		r.Fault.EndBy(context.Cause(ctx))
	}
	o := c.outcome(e, call, reply{Reply: r, id: m.ID, name: out.name})
	if r.Message != nil && r.Message.Kind == wire.Batch { // the response to a batch, which the caller judges
		o.Kind = wire.OK
		o.Text = ""
	}
	o.Took = s.opt.Now().Sub(began)
	return o
}
