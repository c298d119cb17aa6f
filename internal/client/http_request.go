package client

import (
	"context"
	"net/http"

	"mcpc/internal/client/transport"
	"mcpc/internal/wire"
)

// An HTTPRequest is an HTTP request that is composed by the caller, for checks of a server.
type HTTPRequest struct {
	// Method is POST where it is "".
	Method string
	// Body is the message, sent as it is. The header fields are those that the era gives it;
	// Edits replace them, and one without a value removes a field.
	Body  []byte
	Edits []wire.Field
	// Bare leaves out the header fields of the era.
	Bare bool
}

// SendHTTP sends one HTTP request and gives what came back, whatever that is: the message in the
// outcome, and the status beside it. Nothing is sent again. It is for conversations over
// Streamable HTTP; any other has no such requests, which is a usage error.
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
	out := &outgoing{Outgoing: transport.Outgoing{ID: m.ID, Method: m.Method, AnyReply: true}}
	c.stamp(e, call, out)
	out.Raw = req.Body
	if req.Method == "" {
		req.Method = http.MethodPost
	}
	ctx, stop := withLimit(ctx, transport.TimeoutError{Flag: "--timeout", What: "no response", After: s.opt.Limits.Idle}, 0)
	defer stop()
	r := httpTransport.Exchange(ctx, req.Method, &out.Outgoing, req.Edits)
	if r.Fault != nil && ctx.Err() != nil {
		r.Fault.EndBy(context.Cause(ctx))
	}
	o := c.outcome(e, call, reply{Reply: r, id: m.ID, name: out.name})
	if r.Message != nil && r.Message.Kind == wire.Batch {
		o.Kind = wire.OK
		o.Text = ""
	}
	o.Took = s.opt.Now().Sub(began)
	return o
}
