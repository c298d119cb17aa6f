package client

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"mcpc/internal/wire"
)

// A transport carries messages to one server and back. It is independent of
// the revision: what an era wants on a request is in the outgoing message.
type transport interface {
	// listen begins to deliver what comes.
	listen()
	// call sends a request and waits for its response. Whatever else arrives
	// meanwhile goes to the inbox. It returns early, with a fault, only when no
	// response can come any more or ctx is done.
	call(ctx context.Context, out *Outgoing) Reply
	// send sends a message to which no response belongs.
	send(ctx context.Context, out *Outgoing) Reply
	// close lets go of everything, within the limits of a shutdown.
	close()
	// name is that of state files and tables.
	name() TransportName
	// gone is closed when nothing can cross any more, and nil where no line has to last.
	gone() <-chan struct{}
}

// A witness is a transport that hears a server's standard error.
type witness interface {
	lastWords() *wire.ProcessFacts
}

// A TransportName is how a transport is called in state files and tables.
type TransportName string

// The three transports of MCP. Stdio is the framing, with a process or without.
const (
	StreamableHTTP TransportName = "http"
	HTTPSSE        TransportName = "sse"
	Stdio          TransportName = "stdio"
)

// An Outgoing message: the bytes, and what the transport must know of them.
type Outgoing struct {
	raw []byte
	// id is nil for a message to which no response belongs.
	id     json.RawMessage
	method string
	// fields are the era's HTTP header fields; stdio has no place for them.
	fields []wire.Field
	// resumable allows a cut stream to be picked up with Last-Event-ID.
	resumable bool
	// batches allows the answer to stand in an array (2025-03-26 and before).
	batches bool
	// headed is called with the header of a 2xx HTTP response before its body is
	// read; it may change fields for what follows. It may be nil.
	headed func(http.Header)
	// anyReply takes the first thing that comes back for the answer, message
	// or not: raw bytes have no id to match.
	anyReply bool
}

// A Reply is what a transport has to say about a message it sent: a message, or
// the fault that takes its place.
type Reply struct {
	message *wire.Message
	// http is what is known of the HTTP response, where there was one.
	http  *wire.HTTPFacts
	fault *fault
	// noise is a line before the message that was none; nil where there was none.
	noise []byte
}

// A fault says why there is no response. Its fields are those of the wire.Outcome that it
// leads to.
type fault struct {
	kind      wire.Kind
	phase     string
	text      string
	hint      string
	reached   wire.Reached
	retryable bool
	// status is that of the HTTP response, where there was one.
	status  int
	process *wire.ProcessFacts
	// raw are the bytes that were no message.
	raw []byte
	err error
}

// Error is the text.
func (f *fault) Error() string { return f.text }

// event is what happened on the line, whether a request waited for an answer or not.
func (f *fault) event() string {
	if f.process != nil && f.process.Ended != "" {
		return "the server exited (" + f.process.Ended + ")"
	}
	return f.text
}

// endBy makes the fault the ending of a request that was given up, by a timer
// or by the caller.
func (f *fault) endBy(cause error) {
	f.err = cause
	timeout, ok := cause.(timeoutError)
	switch {
	case ok:
		f.kind, f.text, f.hint = wire.Timeout, timeout.Error(), timeout.flag+" TIME waits longer"
	case cause == errClosed:
		f.kind, f.text = wire.Transport, errClosed.Error()
	default:
		f.kind, f.text = wire.Signal, "interrupted"
	}
}

// fill writes what a fault knows into an outcome.
func (f *fault) fill(o wire.Outcome) wire.Outcome {
	o.Kind, o.Text, o.Hint, o.Phase = f.kind, f.text, wire.Hint(f.hint), f.phase
	o.Reached, o.Retryable, o.Process, o.Err = f.reached, f.retryable, f.process, f.err
	if o.Message == nil && f.raw != nil {
		o.Message = wire.ParseMessage(f.raw)
	}
	return o
}

// failed is the reply to a message that got none because of f.
func failed(f *fault) Reply { return Reply{fault: f} }

// An inbox is what a transport reports to. No method may block.
type inbox interface {
	// receive takes every message that is not the response to an open request:
	// notifications, the server's own requests, other responses.
	receive(m *wire.Message)
	// finding takes what is wrong and can be lived with.
	finding(f wire.Finding)
	// often takes a finding that may come again and again: the first is told, and
	// at the end how many there were. what are several of them.
	often(f wire.Finding, what string)
	// came takes what may have been meant for an answer that is waited for.
	came(m meanwhile)
}

// meanwhile is what came while an answer was waited for and may have been meant for
// it. The hint may be empty.
type meanwhile struct{ text, hint string }

// Limits bound what one conversation may cost. Zero means the default, a
// negative duration or size means no limit.
type Limits struct {
	// Connect bounds DNS, TCP and TLS together.
	Connect time.Duration
	// Idle is how long nothing may happen; progress starts it anew.
	Idle time.Duration
	// Hard bounds one request whatever happens.
	Hard time.Duration
	// Probe is how long a stdio server may be silent on server/discover.
	Probe time.Duration
	// Message bounds one message in bytes: an HTTP body, a server-sent event,
	// a line of stdio.
	Message int64
	// Pages and Items bound one list.
	Pages, Items int
}

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	l.Connect = cmp.Or(l.Connect, 10*time.Second)
	l.Idle = cmp.Or(l.Idle, 60*time.Second)
	l.Hard = cmp.Or(l.Hard, 10*time.Minute)
	l.Probe = cmp.Or(l.Probe, 10*time.Second)
	l.Message = cmp.Or(l.Message, 64<<20)
	l.Pages = cmp.Or(l.Pages, 1000)
	l.Items = cmp.Or(l.Items, 100_000)
	return l
}

// MaxSize bounds one message in bytes: an HTTP body, a server-sent event, a line of
// stdio. One that is not positive is no limit.
type MaxSize int64

// isExceededBy reports that n bytes are too many.
func (m MaxSize) isExceededBy(n int) bool { return m > 0 && int64(n) > int64(m) }

// graceForEnd is the time a server gets to end a session.
const graceForEnd = 2 * time.Second
