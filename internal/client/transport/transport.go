package transport

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptrace"
	"time"

	"mcpc/internal/wire"
)

// A Transport sends messages to one server and receives its messages. It does not depend on the
// protocol revision: what a revision requires of a request is in the Outgoing message. Call and Send
// may be called from several goroutines.
type Transport interface {
	// Listen starts delivering received messages.
	Listen()
	// Call sends a request and waits for its response. Every other message goes to the inbox. The
	// reply has a Fault if no response can arrive any more or if ctx is done.
	Call(ctx context.Context, out *Outgoing) Reply
	// Send sends a message that has no response. It waits until the message is written and, over
	// HTTP, for the status of the response.
	Send(ctx context.Context, out *Outgoing) Reply
	// Close releases all resources, within the time limits of a shutdown.
	Close()
	// Name returns the name for state files and tables.
	Name() Name
	// Gone returns a channel that is closed when no message can arrive any more. It returns nil if the
	// transport has no connection that lasts.
	Gone() <-chan struct{}
}

// A StderrSource is a transport that reads the server's standard error.
type StderrSource interface {
	StderrTail() *wire.ProcessFacts
}

// A Name identifies a transport in state files and tables.
type Name string

// The three transports of MCP. Stdio is the framing, with a process or without.
const (
	StreamableHTTP Name = "http"
	HTTPSSE        Name = "sse"
	Stdio          Name = "stdio"
)

// An Outgoing is a message to send, and what the transport has to know about it.
type Outgoing struct {
	Raw []byte
	// ID is nil if the message has no response.
	ID     json.RawMessage
	Method string
	// PreviousID is the id of the request that this request repeats, for the recording. It is nil
	// if the message repeats no request.
	PreviousID json.RawMessage
	// Fields are the HTTP header fields that the revision requires. Stdio ignores them.
	Fields []wire.Field
	// Resumable allows the transport to resume an interrupted stream with Last-Event-ID.
	Resumable bool
	// AllowsBatch allows the response to be an element of an array (2025-03-26 and before).
	AllowsBatch bool
	// OnHeader, if not nil, is called with the header of a 2xx HTTP response before its body is read. It
	// may change the fields of later requests.
	OnHeader func(http.Header)
	// Trace, if not nil, traces the HTTP request itself, without the requests that
	// ConnectorOptions.Through adds.
	Trace *httptrace.ClientTrace
	// AcceptsAny accepts the first received bytes as the response, also if they are no message: raw bytes
	// have no id to match.
	AcceptsAny bool
}

// A Reply is the response to a message, or the fault that explains why there is no response.
type Reply struct {
	Message *wire.Message
	// HTTP has the facts of the HTTP response. It is nil if there was no HTTP response.
	HTTP  *wire.HTTPFacts
	Fault *Fault
	// Noise is a line before the message that is not a message, or nil.
	Noise []byte
	// Irregularity names the rule that the response breaks, or is nil.
	Irregularity *wire.Finding
}

// An Inbox receives what a transport reports. No method may block.
type Inbox interface {
	// Receive handles each message that is not the response to an open request: notifications, the
	// server's requests, other responses. It reports whether it keeps no reference to m, so that m can
	// be reused.
	Receive(m *wire.Message) (free bool)
	// Finding handles a problem that does not stop the transport.
	Finding(f wire.Finding)
	// Repeated handles a finding that may occur many times. It reports the first at once and the number
	// of all of them at the end; plural is the text for several of them.
	Repeated(f wire.Finding, plural string)
	// Diagnose handles input that may have been meant as a response to an open request.
	Diagnose(m Diagnostic)
}

// A Diagnostic describes input that was received while a request was open and that may have been
// meant as its response. Hint may be empty.
type Diagnostic struct {
	Text string
	Hint wire.Hint
}

// MaxSize limits one message in bytes: an HTTP body, a server-sent event, or a line of stdio. A
// value of 0 or less sets no limit.
type MaxSize int64

// isExceededBy reports whether n bytes are over the limit.
func (m MaxSize) isExceededBy(n int) bool { return m > 0 && int64(n) > int64(m) }

// SessionEndGrace is how long a server may take to end a session.
const SessionEndGrace = 2 * time.Second
