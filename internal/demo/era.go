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

// titledFormsRevision is the first revision with forms that have choices with titles, multiple choices, and
// defaults of any type (client/elicitation).
const titledFormsRevision = "2025-11-25"

// statelessRevision is the first revision without a handshake. Revisions compare as
// strings.
const statelessRevision = "2026-07-28"

// revisions returns the revisions that the demo supports, newest first.
func revisions() []string {
	return []string{statelessRevision, titledFormsRevision, "2025-06-18", "2025-03-26", "2024-11-05"}
}

// sessionIdle is how long an idle session is kept. It limits the memory of abandoned sessions, and
// is long enough that no session of a working user expires.
const sessionIdle = 24 * time.Hour

// Options are the options of [Handler]. The zero value behaves like most servers.
type Options struct {
	// Stateless disables sessions in the revisions with a handshake: there is no Mcp-Session-Id, GET
	// and DELETE return 405, and no stream can be resumed.
	Stateless bool
	// JSON responds with one application/json body in place of an event stream. Progress and log
	// messages are then only sent on the GET stream of a session.
	JSON bool
	// Tasks adds the extension tasks, and tools that run as tasks. It needs Now.
	Tasks bool
	// BrokenSkills adds skills with invalid entries.
	BrokenSkills bool
	// Now returns the current time for tasks.
	Now func() time.Time
	// PageSize is the number of entries in a page of a list. 0 selects a size that gives lists
	// several pages.
	PageSize int
	// Extend changes the server before it starts, for test programs. It may be nil.
	Extend func(*mcp.Server)
}

// Handler returns the Streamable HTTP endpoint. It serves every revision at any path: 2026-07-28
// without sessions, and the older revisions with sessions and resumable streams, unless opts
// disable them. It responds with 403 to requests with a foreign Origin or Host.
//
// A handler of the SDK serves either sessions or 2026-07-28. With sessions it omits 2026-07-28 from
// server/discover and rejects it in requests. Handler therefore uses two SDK handlers for the same
// server.
func Handler(opts Options) http.Handler {
	s := newServer(context.Background(), opts)
	modern := newStreamable(s, mcp.StreamableHTTPOptions{
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
	legacy := newStreamable(s, mcp.StreamableHTTPOptions{
		JSONResponse:   opts.JSON,
		EventStore:     mcp.NewMemoryEventStore(nil),
		SessionTimeout: sessionIdle,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isStatelessRequest(r.Header) {
			modern.ServeHTTP(w, r)
			return
		}
		legacy.ServeHTTP(w, r)
	})
}

// SSEHandler returns the HTTP+SSE transport of 2024-11-05. GET opens the event stream. The first
// event has the URL for POST messages.
func SSEHandler(opts Options) http.Handler {
	s := newServer(context.Background(), opts)
	return sameOrigin(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil))
}

func newStreamable(s *mcp.Server, opts mcp.StreamableHTTPOptions) http.Handler {
	return sameOrigin(correctErrors(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &opts)))
}

// sameOrigin returns a handler that rejects requests from web pages of other sites. Servers MUST
// check Origin (all revisions, transports). The SDK checks only Host; the check of net/http ignores
// GET and all Origin fields except the first.
func sameOrigin(h http.Handler) http.Handler {
	guarded := http.NewCrossOriginProtection().Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reason := loopback.RejectionReason(r.Host, r.Header); reason != "" {
			http.Error(w, "Forbidden: "+reason, http.StatusForbidden)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// useOldNotFoundCode returns a handler that responds to an unknown resource with the error code of
// the revisions up to 2025-11-25 (server/resources, "Error Handling"). The SDK only has the newer
// code.
func useOldNotFoundCode(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		read, reads := req.(*mcp.ReadResourceRequest)
		failed, ok := errors.AsType[*jsonrpc.Error](err)
		if !reads || !ok || failed.Data == nil || failed.Code != jsonrpc.CodeInvalidParams ||
			read.ProtocolVersion() >= statelessRevision {
			return result, err
		}
		return nil, &jsonrpc.Error{Code: -32002, Message: failed.Message, Data: failed.Data}
	}
}

// isStatelessRequest reports whether the request belongs to a revision without sessions. It reports true
// for an unknown later version, because the error for it lists the supported versions. It also
// reports true for a request with Mcp-Method and no version, because the error then states that the
// version is missing.
func isStatelessRequest(h http.Header) bool {
	if v := h.Get("Mcp-Protocol-Version"); v != "" {
		return v >= statelessRevision
	}
	return h.Get("Mcp-Method") != ""
}
