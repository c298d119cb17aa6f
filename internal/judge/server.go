package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// Options configure a Server.
type Options struct {
	// Revision is one of Revisions.
	Revision string
	// IsBrief leaves out the probes, so that only the revision is tried.
	IsBrief bool
	// Slow is how long the slow tools take. Patience is how long a tool waits for the client's
	// response.
	Slow, Patience time.Duration
	SessionID      func() string
}

// A Server probes the clients of one revision, or of all of them. All methods may be called from
// several goroutines.
type Server struct {
	Options
	server *mcpserver.Server
	hub    mcpserver.Hub

	mu sync.Mutex
	// called counts the calls by tool. handled has the tools whose first call was handled by HTTP.
	called  map[string]int
	handled map[string]bool
	// isRevised is set once a tool has changed the list of tools.
	isRevised bool
	// hasStateless is set once a client sent a request without a session.
	hasStateless bool
	// ignoredCursors counts the empty cursors that clients have not followed.
	ignoredCursors int
	// lost are the sessions that HTTP requests no longer find. cutResponse is the response that the cut
	// stream lacks.
	lost        map[string]bool
	cutResponse []byte
}

// New returns a Server.
func New(o Options) *Server {
	s := &Server{Options: o, called: map[string]int{}, handled: map[string]bool{}, lost: map[string]bool{}}
	s.server = mcpserver.New(s, mcpserver.Options{
		Name: "mcpc judge", Eras: eras(o.Revision), SessionID: o.SessionID, MaxSessions: maxSessions,
		Dropped: func() {}, ServesSSE: s.servesSSE(),
	})
	return s
}

// maxSessions is the number of sessions that are kept.
const maxSessions = 1000

// Stdio probes one client over a pipe, one message per line, until in ends or ctx is done. It returns
// the error of reading.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return s.server.Stdio(ctx, in, out)
}

// Handler returns a handler that probes clients over HTTP until ctx is done.
func (s *Server) Handler(ctx context.Context) http.Handler {
	next := s.server.Handler(ctx)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serveHTTP(w, r, next) })
}

// Called returns the number of calls by tool.
func (s *Server) Called() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.called)
}

// HasStateless reports whether a client sent a request without a session: it supports a revision
// without a handshake.
func (s *Server) HasStateless() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasStateless
}

// Prepare selects the response to a request.
func (s *Server) Prepare(c mcpserver.Caller, m *wire.Message) mcpserver.Job {
	if c.Stateless && m.Method != "server/discover" {
		s.mu.Lock()
		s.hasStateless = true
		s.mu.Unlock()
	}
	switch m.Method {
	case "initialize":
		return s.initialize(c, m)
	case "server/discover":
		if !eras(s.Revision).HasStateless() {
			return mcpserver.Replying(methodNotFound(m))
		}
		return s.reply(c, m, s.discovery())
	case "ping", "logging/setLevel":
		return mcpserver.Replying(wire.ComposeResult(m.ID, json.RawMessage("{}")))
	case "subscriptions/listen":
		return mcpserver.Job{MayWait: true, Run: func(ctx context.Context, send func([]byte)) []byte {
			return s.hub.Listen(ctx, c, m, send, declares, func() {})
		}}
	case "tools/call":
		return s.call(c, m)
	case "resources/read":
		return s.reply(c, m, `{"contents":[{"uri":`+
			string(jsonraw.OrNull(jsonraw.First(m.Params, "uri")))+`,"mimeType":"text/plain","text":"A text."}]}`)
	case "prompts/get":
		return s.reply(c, m, `{"messages":[{"role":"user","content":{"type":"text","text":"A text."}}]}`)
	}
	if mcp.IsServerList(m.Method) {
		return s.list(c, m)
	}
	return mcpserver.Replying(methodNotFound(m))
}

// methodNotFound returns the response to a request of an unknown method.
func methodNotFound(m *wire.Message) []byte {
	return wire.ComposeError(m.ID, -32601, "Method not found")
}

// Notified ignores the notifications of clients: they are in the recording.
func (s *Server) Notified(mcpserver.Caller, *wire.Message) {}

// reply returns a job that responds with a result, with the members that the caller's era needs.
func (s *Server) reply(c mcpserver.Caller, m *wire.Message, result string) mcpserver.Job {
	return mcpserver.Replying(s.compose(c, m, result))
}

// compose returns the response with a result for the caller's era.
func (s *Server) compose(c mcpserver.Caller, m *wire.Message, result string) []byte {
	const isStateless = false
	return wire.ComposeResult(m.ID, bridge.ConvertResult(c.Stateless, isStateless, m.Method, json.RawMessage(result)))
}

const (
	identity     = `{"name":"mcpc judge","version":"1"}`
	capabilities = `{"tools":{"listChanged":true},"prompts":{},"resources":{},"logging":{}}`
	instructions = "A server that probes MCP clients. Call each tool once, in the order of the list."
)

// declares reports whether the server declares a capability or a member of one.
func declares(names ...string) bool {
	value := json.RawMessage(capabilities)
	for _, name := range names {
		value = jsonraw.First(value, name)
	}
	return value != nil
}

// initialize opens a session.
func (s *Server) initialize(c mcpserver.Caller, m *wire.Message) mcpserver.Job {
	revision := s.negotiate(jsonraw.TextOrRaw(jsonraw.First(m.Params, "protocolVersion")))
	c.Session.Open(revision, m.Params)
	return mcpserver.Replying(wire.ComposeResult(m.ID, json.RawMessage(`{"protocolVersion":"`+revision+
		`","capabilities":`+capabilities+`,"serverInfo":`+identity+`,"instructions":"`+instructions+`"}`)))
}

// discovery returns the result of server/discover.
func (s *Server) discovery() string {
	revisions := eras(s.Revision).Revisions()
	return `{"supportedVersions":["` + strings.Join(revisions, `","`) + `"],"capabilities":` + capabilities +
		`,"instructions":"` + instructions + `","_meta":{"` + bridge.MetaServer + `":` + identity + `}}`
}

// freshness is how long the lists are fresh for clients without a session.
const freshness = 2 * time.Second

// list returns a page of a list. Each list has two pages. The list of tools has a third page, whose cursor
// is empty.
func (s *Server) list(c mcpserver.Caller, m *wire.Message) mcpserver.Job {
	member := mcp.ListMember(m.Method)
	pages := s.entries(member)
	cursor := jsonraw.First(m.Params, "cursor")
	page := 0
	if cursor != nil {
		page = 2
		if jsonraw.TextOrRaw(cursor) == secondPage { // clients may escape its é
			page = 1
		} else {
			s.mu.Lock()
			s.ignoredCursors = 0
			s.mu.Unlock()
		}
	}
	result := json.RawMessage(`{"` + member + `":` + string(jsonraw.List(pages[page])) + `}`)
	switch {
	case page == 0:
		result = jsonraw.With(result, "nextCursor", jsonraw.Quote(secondPage))
	case page == 1 && s.sendsEmptyCursor(member):
		result = jsonraw.With(result, "nextCursor", []byte(`""`))
	}
	if c.Stateless {
		result = jsonraw.With(result, "ttlMs", strconv.AppendInt(nil, freshness.Milliseconds(), 10))
	}
	return s.reply(c, m, string(result))
}

// secondPage is the cursor of the second page. Clients must not read it.
const secondPage = "page 2/é=="

// maxIgnored is how often an empty cursor is sent that no client follows. Some clients begin the list
// again with it, and would do so for ever.
const maxIgnored = 3

// sendsEmptyCursor reports whether a list has an empty cursor now.
func (s *Server) sendsEmptyCursor(member string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if member != "tools" || s.ignoredCursors == maxIgnored {
		return false
	}
	s.ignoredCursors++
	return true
}

// entries returns the entries of a list by page.
func (s *Server) entries(member string) [3][]json.RawMessage {
	var pages [3][]json.RawMessage
	switch member {
	case "tools":
		s.mu.Lock()
		isRevised := s.isRevised
		s.mu.Unlock()
		for _, t := range tools {
			isListed := (!s.IsBrief || t.isBrief) && (t.name != addedTool || isRevised)
			if isListed {
				pages[t.page] = append(pages[t.page], t.definition())
			}
		}
	case "prompts":
		for i := range 2 {
			pages[i] = append(pages[i], json.RawMessage(fmt.Sprintf(`{"name":"prompt-%d"}`, i+1)))
		}
	case "resources":
		for i := range 2 {
			pages[i] = append(pages[i], json.RawMessage(fmt.Sprintf(`{"uri":"judge://text/%d","name":"text-%d"}`, i+1, i+1)))
		}
	case "resourceTemplates":
		for i := range 2 {
			pages[i] = append(pages[i],
				json.RawMessage(fmt.Sprintf(`{"uriTemplate":"judge://text-%d/{name}","name":"template-%d"}`, i+1, i+1)))
		}
	}
	return pages
}
