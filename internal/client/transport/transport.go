package transport

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptrace"
	"time"

	"mcpc/internal/wire"
)

// A Transport carries messages to one server and back. It is independent of
// the revision: what an era wants on a request is in the outgoing message.
type Transport interface {
	// Listen begins to deliver what comes.
	Listen()
	// Call sends a request and waits for its response. Whatever else arrives
	// meanwhile goes to the inbox. It returns early, with a fault, only when no
	// response can come any more or ctx is done.
	Call(ctx context.Context, out *Outgoing) Reply
	// Send sends a message to which no response belongs.
	Send(ctx context.Context, out *Outgoing) Reply
	// Close lets go of everything, within the limits of a shutdown.
	Close()
	// Name is that of state files and tables.
	Name() Name
	// Gone is closed when nothing can cross any more, and nil where no line has to last.
	Gone() <-chan struct{}
}

// A StderrSource is a transport that hears a server's standard error.
type StderrSource interface {
	StderrTail() *wire.ProcessFacts
}

// A Name is how a transport is called in state files and tables.
type Name string

// The three transports of MCP. Stdio is the framing, with a process or without.
const (
	StreamableHTTP Name = "http"
	HTTPSSE        Name = "sse"
	Stdio          Name = "stdio"
)

// An Outgoing message: the bytes, and what the transport must know of them.
type Outgoing struct {
	Raw []byte
	// ID is nil for a message to which no response belongs.
	ID     json.RawMessage
	Method string
	// Again is the id of the request that this one sends again; nil if it sends none. The recording has it.
	Again json.RawMessage
	// Fields are the era's HTTP header fields; stdio has no place for them.
	Fields []wire.Field
	// Resumable allows a cut stream to be picked up with Last-Event-ID.
	Resumable bool
	// Batches allows the answer to stand in an array (2025-03-26 and before).
	Batches bool
	// Headed is called with the header of a 2xx HTTP response before its body is
	// read; it may change fields for what follows. It may be nil.
	Headed func(http.Header)
	// Crossing traces the HTTP request itself, without those that an Options.Through sends for
	// it. It may be nil.
	Crossing *httptrace.ClientTrace
	// AnyReply takes the first thing that comes back for the answer, message
	// or not: raw bytes have no id to match.
	AnyReply bool
}

// A Reply is what a transport has to say about a message it sent: a message, or
// the fault that takes its place.
type Reply struct {
	Message *wire.Message
	// HTTP is what is known of the HTTP response, where there was one.
	HTTP  *wire.HTTPFacts
	Fault *Fault
	// Noise is a line before the message that was none; nil where there was none.
	Noise []byte
	// Odd says what is wrong with the message if it is the response although it breaks a rule; nil otherwise.
	Odd *wire.Finding
}

// An Inbox is what a transport reports to. No method may block.
type Inbox interface {
	// Receive takes every message that is not the response to an open request:
	// notifications, the server's own requests, other responses. free reports that nothing of
	// m is kept, so that it can be used again.
	Receive(m *wire.Message) (free bool)
	// Finding takes what is wrong and can be lived with.
	Finding(f wire.Finding)
	// Repeated takes a finding that may come again and again: the first is told, and
	// at the end how many there were. what are several of them.
	Repeated(f wire.Finding, what string)
	// Diagnose takes what may have been meant for an answer that is waited for.
	Diagnose(m Diagnostic)
}

// Diagnostic is what came while an answer was waited for and may have been meant for
// it. The hint may be empty.
type Diagnostic struct{ Text, Hint string }

// MaxSize bounds one message in bytes: an HTTP body, a server-sent event, a line of
// stdio. One that is not positive is no limit.
type MaxSize int64

// isExceededBy reports that n bytes are too many.
func (m MaxSize) isExceededBy(n int) bool { return m > 0 && int64(n) > int64(m) }

// SessionEndGrace is the time a server gets to end a session.
const SessionEndGrace = 2 * time.Second
