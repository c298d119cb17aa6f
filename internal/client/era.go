package client

import (
	"context"
	"encoding/json"
	"slices"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// The revisions of the protocol. Between them runs the one border that the code
// knows: up to 2025-11-25 a conversation is opened with initialize and lives in
// a session (legacy.go); from 2026-07-28 on every request stands alone
// (modern.go). No other file compares revisions.
const (
	rev2024 = "2024-11-05"
	rev2503 = "2025-03-26"
	rev2506 = "2025-06-18"
	rev2511 = "2025-11-25"
	rev2607 = "2026-07-28"
)

// revisions are all that mcpc speaks, newest first.
var revisions = []string{rev2607, rev2511, rev2506, rev2503, rev2024}

// Revisions lists the protocol revisions that mcpc speaks, newest first.
func Revisions() []string { return slices.Clone(revisions) }

// Stateless reports whether every request of the revision stands alone: it has no
// handshake and no session. "" is none.
func Stateless(revision string) bool { return revision >= rev2607 }

// PingMethod is what asks a server of the revision whether it is there: ping,
// which 2026-07-28 does not have any more.
func PingMethod(revision string) string {
	if Stateless(revision) {
		return "server/discover"
	}
	return "ping"
}

// CompletesInContext reports whether a completion request of the revision takes
// the values that are chosen already (since 2025-06-18).
func CompletesInContext(revision string) bool { return revision >= rev2506 }

// HasOutputSchemas reports whether tools of the revision may declare an outputSchema, which results must match (since
// 2025-06-18).
func HasOutputSchemas(revision string) bool { return revision >= rev2506 }

// newest gives the newest of ours among theirs that satisfies the condition.
func newest(theirs []string, want func(string) bool) string {
	for _, revision := range revisions {
		if want(revision) && slices.Contains(theirs, revision) {
			return revision
		}
	}
	return ""
}

// handshake is the opposite of Stateless, for newest.
func handshake(revision string) bool { return !Stateless(revision) }

// An era is what the revisions on one side of the border have in common.
type era interface {
	// revision is the negotiated one.
	revision() string
	// sessionID is what the server gave to come back with, or "".
	sessionID() string
	// declared are the client capabilities that the conversation was opened with;
	// nil where every request names them.
	declared() json.RawMessage
	// open begins the conversation and learns who the server is.
	open(ctx context.Context, c *connection) wire.Outcome
	// stamp gives a request what every request of the era carries, and returns the members of _meta.
	stamp(c *connection, call *Call, own *params, out *outgoing) []jsonraw.Member
	// settle says how a result ends its exchange: the kind, and a text where
	// the kind is not OK.
	validateResult(call *Call, response *wire.Message) (wire.Kind, string)
	// batches reports whether messages may stand in an array.
	batches() bool
	// getStream gives the header fields of the GET stream next to the requests, as they
	// are when it is opened; nil where the era has no such stream.
	getStream() func() []wire.Field
	// takeNotification takes a notification; false where it was meant for the client itself.
	handleNotification(c *connection, m *wire.Message) bool
	// listen subscribes to what a Listening names and waits until that ends;
	// the action says how to go on.
	listen(ctx context.Context, c *connection, sub *subscription) (wire.Outcome, retryAction)
	// takeRequest deals with a request that the server sent. It must not block.
	handleRequest(c *connection, m *wire.Message)
	// judge says what a reply means for the conversation. It is unconfirmed where
	// it rests on an earlier run's word and nothing was answered yet.
	sessionStateAfter(r reply, unconfirmed bool) sessionState
	// alive asks the server whether it still knows a doubtful conversation. refusal is the
	// reply that made it doubtful, or nil; unconfirmed is as for judge.
	stillValid(ctx context.Context, c *connection, refusal *reply, unconfirmed bool) bool
	// cancel tells the server that the client abandoned the request.
	cancel(c *connection, out *outgoing)
	// taskOffer says how calls become tasks, taskIn reads the task that a result of
	// the call is or holds; problem is why it is a wrong one.
	taskOffer(capabilities json.RawMessage, support string) TaskOffer
	readTask(call *Call, result jsonraw.Members) (task Task, problem string, ok bool)
	// taskEnd goes on with a task as the server just told of it in o: it answers what
	// the task needs to know. over is set where end is the ending of the call.
	advanceTask(ctx context.Context, s *Session, task Task, o wire.Outcome, w *Waiting) (end wire.Outcome, over bool)
	// end asks the server to end the conversation.
	endSession(ctx context.Context, c *connection)
}

// A sessionState is what a reply says about the conversation it came in.
type sessionState int

// good: it goes on. doubtful: the server may have forgotten it, or speak
// another revision by now. forgotten: the server no longer knows it.
const (
	valid sessionState = iota
	suspect
	expired
)

// Info is what a server said of itself when the conversation was opened.
type Info struct {
	// ServerInfo is the Implementation object, Capabilities the
	// ServerCapabilities object, both as they crossed; nil where not said.
	ServerInfo, Capabilities json.RawMessage
	Instructions             string
}

// Memory is what lets a later run go on with a conversation without opening it
// again. SessionID and Cookies are as good as credentials.
type Memory struct {
	Revision  string
	Transport transport.Name
	SessionID string
	// Cookies is the Cookie field for the server's URL.
	Cookies string
	// Declared are the ClientCapabilities that the conversation was opened with,
	// where it has such; nil is none.
	Declared json.RawMessage
	Info     Info
}
