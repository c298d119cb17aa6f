package demo

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpc/internal/loopback"
)

// titledForms is the first revision in which a form has choices with titles, choices of
// several, and defaults of any type (client/elicitation).
const titledForms = "2025-11-25"

// stateless is the first revision without a handshake. Revisions compare as
// strings.
const stateless = "2026-07-28"

// revisions returns the revisions that the demo supports, newest first.
func revisions() []string {
	return []string{stateless, titledForms, "2025-06-18", "2025-03-26", "2024-11-05"}
}

// sessionIdle is how long an idle session is kept, which bounds the memory of
// abandoned ones. It is far longer than a user's lunch break, so that no session
// expires by surprise.
const sessionIdle = 24 * time.Hour

// Options are the choices of [Handler]. The zero value serves what most
// servers serve.
type Options struct {
	// Stateless gives the handshake revisions no session either: no
	// Mcp-Session-Id, GET and DELETE answer 405, and nothing is resumable.
	Stateless bool
	// JSON answers with one application/json body where the default is an
	// event stream. Progress and log messages then have no way to the client
	// but the GET stream of a session.
	JSON bool
	// Tasks adds the extension tasks, and tools that run as tasks. It needs Now.
	Tasks bool
	// BrokenSkills adds skills whose entries are wrong.
	BrokenSkills bool
	// Now is the clock of tasks.
	Now func() time.Time
	// PageSize is how many entries a page of a list has, 0 for so few that a list has several pages.
	PageSize int
	// Extend changes the server before it serves, nil not at all: a program of tests adds what it needs.
	Extend func(*mcp.Server)
}

// Handler returns the Streamable HTTP endpoint. It serves at whatever path it
// is mounted on, every revision on that one URL: 2026-07-28 without sessions,
// the older ones with (unless opts say otherwise) sessions and resumable
// streams. Requests from a foreign Origin or Host are answered 403.
//
// The SDK's handler serves one or the other, never both: with sessions it
// leaves 2026-07-28 out of server/discover and refuses it everywhere else.
// Hence two of them, around the same server.
func Handler(opts Options) http.Handler {
	s := newServer(context.Background(), opts)
	modern := streamable(s, mcp.StreamableHTTPOptions{
		Stateless:    true,
		JSONResponse: opts.JSON,
		// "Closing the stream is cancellation", 2026-07-28 transports.
		PropagateRequestCancellation: true,
	})
	if opts.Tasks {
		modern = checkTaskNames(modern)
	}
	if opts.Stateless {
		return modern
	}
	legacy := streamable(s, mcp.StreamableHTTPOptions{
		JSONResponse:   opts.JSON,
		EventStore:     mcp.NewMemoryEventStore(nil),
		SessionTimeout: sessionIdle,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if saysStateless(r.Header) {
			modern.ServeHTTP(w, r)
			return
		}
		legacy.ServeHTTP(w, r)
	})
}

// SSEHandler returns the HTTP+SSE transport of 2024-11-05: GET opens the event
// stream, whose first event names the URL to POST messages to.
func SSEHandler(opts Options) http.Handler {
	s := newServer(context.Background(), opts)
	return sameOrigin(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil))
}

func streamable(s *mcp.Server, opts mcp.StreamableHTTPOptions) http.Handler {
	return sameOrigin(corrected(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &opts)))
}

// sameOrigin rejects requests of web pages from other sites. Servers MUST check Origin (all
// revisions, transports). The SDK checks only Host; Go's protection ignores GET and all but the
// first Origin.
func sameOrigin(h http.Handler) http.Handler {
	guarded := http.NewCrossOriginProtection().Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reason := loopback.Reject(r.Host, r.Header); reason != "" {
			http.Error(w, "Forbidden: "+reason, http.StatusForbidden)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// notFoundAsBefore gives an unknown resource the code that it had until 2025-11-25
// (server/resources, "Error Handling"). The SDK knows the newer one alone.
func notFoundAsBefore(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		read, reads := req.(*mcp.ReadResourceRequest)
		failed, ok := errors.AsType[*jsonrpc.Error](err)
		if !reads || !ok || failed.Data == nil || failed.Code != jsonrpc.CodeInvalidParams ||
			read.ProtocolVersion() >= stateless {
			return result, err
		}
		return nil, &jsonrpc.Error{Code: -32002, Message: failed.Message, Data: failed.Data}
	}
}

// saysStateless reports whether the request belongs to a revision without sessions. An unknown
// later version counts as one: it is rejected with the list of supported versions. So does a
// request with Mcp-Method but no version: its error then says that the version is missing.
func saysStateless(h http.Header) bool {
	if v := h.Get("Mcp-Protocol-Version"); v != "" {
		return v >= stateless
	}
	return h.Get("Mcp-Method") != ""
}
