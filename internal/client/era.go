package client

import (
	"context"
	"encoding/json"
	"slices"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// The revisions of the protocol belong to two eras. Up to 2025-11-25 a session begins
// with initialize (legacy.go). Since 2026-07-28 requests are independent and there is no
// handshake (modern.go).
const (
	rev20241105 = "2024-11-05"
	rev20250326 = "2025-03-26"
	rev20250618 = "2025-06-18"
	rev20251125 = "2025-11-25"
	rev20260728 = "2026-07-28"
)

// revisions are the revisions that mcpc speaks, newest first.
var revisions = []string{rev20260728, rev20251125, rev20250618, rev20250326, rev20241105}

// Revisions returns the protocol revisions that mcpc speaks, newest first.
func Revisions() []string { return slices.Clone(revisions) }

// Stateless reports whether the requests of a revision are independent of each other, without a
// handshake and a session. It reports false if revision is "".
func Stateless(revision string) bool { return revision >= rev20260728 }

// PingMethod returns the method that checks whether a server responds: ping, or server/discover
// since 2026-07-28, which has no ping.
func PingMethod(revision string) string {
	if Stateless(revision) {
		return "server/discover"
	}
	return "ping"
}

// CompletesInContext reports whether a completion request of the revision can contain the values of
// other arguments (since 2025-06-18).
func CompletesInContext(revision string) bool { return revision >= rev20250618 }

// HasOutputSchemas reports whether tools of the revision may declare an outputSchema, which results
// must match (since 2025-06-18).
func HasOutputSchemas(revision string) bool { return revision >= rev20250618 }

// newestCommon returns the newest revision of mcpc that is among theirs and that want accepts, or
// "" without such a revision.
func newestCommon(theirs []string, want func(string) bool) string {
	for _, revision := range revisions {
		if want(revision) && slices.Contains(theirs, revision) {
			return revision
		}
	}
	return ""
}

// hasHandshake reports whether a revision begins with initialize. It is the opposite of Stateless.
func hasHandshake(revision string) bool { return !Stateless(revision) }

// An era implements the revisions on one side of 2026-07-28.
type era interface {
	// revision returns the negotiated revision, "" before the handshake.
	revision() string
	// sessionID returns the session id that the server assigned, or "".
	sessionID() string
	// declaredCapabilities returns the client capabilities of the handshake; nil if each request declares them.
	declaredCapabilities() json.RawMessage
	// open performs the handshake, or requests server/discover, and stores the server's Info.
	open(ctx context.Context, c *connection) wire.Outcome
	// stamp adds to a request what each request of the era has: header fields in out, and members
	// in own. It returns the members for _meta.
	stamp(c *connection, call *Call, own *params, out *outgoing) []jsonraw.Member
	// validateResult returns the kind of outcome for a response with a result, and a text if the
	// kind is not OK.
	validateResult(call *Call, response *wire.Message) (wire.Kind, string)
	// allowsBatches reports whether a message may be an array of messages.
	allowsBatches() bool
	// getStreamFields returns a function that returns the header fields for opening the GET stream; nil
	// if the era has no such stream.
	getStreamFields() func() []wire.Field
	// handleNotification processes a notification for the client itself. It reports whether the
	// notification is also passed to Options.Notified.
	handleNotification(c *connection, m *wire.Message) bool
	// listen subscribes to sub and waits until the subscription ends. The retryAction says how
	// Listen continues.
	listen(ctx context.Context, c *connection, sub *subscription) (wire.Outcome, retryAction)
	// handleRequest handles a request from the server. It must not block.
	handleRequest(c *connection, m *wire.Message)
	// sessionStateAfter returns what a reply says about the session. unconfirmed is as in
	// connectionState.
	sessionStateAfter(r reply, unconfirmed bool) sessionState
	// isSessionValid asks the server whether it still knows a suspect session. refusal is the reply
	// that made the session suspect, or nil.
	isSessionValid(ctx context.Context, c *connection, refusal *reply, unconfirmed bool) bool
	// cancel notifies the server that the client gave up the request.
	cancel(c *connection, out *outgoing)
	// taskOffer returns how a tool with the given taskSupport can run as a task.
	taskOffer(capabilities json.RawMessage, support string) TaskOffer

	// readTask returns the task in a result of the call. ok reports whether the result has one;
	// problem says why that task is invalid, or is "".
	readTask(call *Call, result jsonraw.Members) (task Task, problem string, ok bool)
	// advanceTask processes the task status in o, the outcome of tasks/get, and answers the task's
	// input requests. over reports that end is the outcome of the call.
	advanceTask(ctx context.Context, s *Session, task Task, o wire.Outcome, w *AwaitOptions) (end wire.Outcome, over bool)
	// endSession asks the server to end the session.
	endSession(ctx context.Context, c *connection)
}

// A sessionState is what a reply says about the session of its request.
type sessionState int

const (
	sessionValid sessionState = iota
	// suspect: the server may have lost the session, or may now speak another revision.
	sessionSuspect
	// expired: the server has lost the session.
	sessionExpired
)

// Info is what a server reported about itself when the session was opened.
type Info struct {
	// ServerInfo is the Implementation object and Capabilities the ServerCapabilities object as the
	// server sent them; nil if absent.
	ServerInfo, Capabilities json.RawMessage
	Instructions             string
}

// A Memory lets a later run resume a session. SessionID and Cookies are credentials.
type Memory struct {
	Revision  string
	Transport transport.Name
	SessionID string
	// Cookies is the value of the Cookie field for the server's URL.
	Cookies string
	// Declared are the ClientCapabilities of the handshake; nil if the era has no handshake.
	Declared json.RawMessage
	Info     Info
}
