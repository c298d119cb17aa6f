package mcpserver

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// maxPushed limits the messages that wait for a client that does not read its stream.
const maxPushed = 1024

// A Session is a conversation with one client: begun by initialize over HTTP, or a pipe.
type Session struct {
	id, revision string
	// Push sends a message that belongs to no request. It does not block.
	Push func(raw []byte)
	// ctx is the context of the session. End cancels it.
	ctx context.Context
	End context.CancelFunc

	mu sync.Mutex
	// capabilities and level are the client's. mu guards all fields below it.
	capabilities json.RawMessage
	level        string
	subscribed   map[string]bool
	requests     int
	// waiting maps the ids of requests to the client to the channels for their answers.
	waiting map[string]chan *wire.Message
	// running maps the ids of the client's requests to the functions that cancel them.
	running map[string]context.CancelFunc
}

// NewSession returns a session that ends with ctx or when End is called.
func NewSession(ctx context.Context, id string, push func([]byte)) *Session {
	s := &Session{
		id:         id,
		Push:       push,
		subscribed: map[string]bool{},
		waiting:    map[string]chan *wire.Message{},
		running:    map[string]context.CancelFunc{},
	}
	s.ctx, s.End = context.WithCancel(ctx)
	return s
}

// Open stores the revision and the client's capabilities from initialize.
func (s *Session) Open(revision string, params json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision = revision
	s.capabilities = jsonraw.First(params, "capabilities")
}

// Ask returns a new request to the client and the channel that receives its answer. The caller
// sends the request.
func (s *Session) Ask(method string, params json.RawMessage) ([]byte, chan *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	id := strconv.Itoa(s.requests)
	answer := make(chan *wire.Message, 1)
	s.waiting[id] = answer
	return wire.ComposeRequest(json.RawMessage(id), method, params), answer
}

// Forget stops waiting for the answer to a request.
func (s *Session) Forget(id json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, string(id))
}

// Unanswered returns the number of requests that wait for the client.
func (s *Session) Unanswered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

// Deliver passes an answer of the client to the channel that waits for it. It ignores other
// answers.
func (s *Session) Deliver(m *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer := s.waiting[string(m.ID)]; answer != nil {
		delete(s.waiting, string(m.ID))
		answer <- m
	}
}

// trackRequest returns a context for a request that notifications/cancelled cancels, and a function that
// ends it.
func (s *Session) trackRequest(ctx context.Context, id json.RawMessage) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.running[string(id)] = cancel
	s.mu.Unlock()
	return ctx, func() {
		cancel()
		s.mu.Lock()
		delete(s.running, string(id))
		s.mu.Unlock()
	}
}

// applyCancellation cancels the request that notifications/cancelled names. It ignores other
// notifications.
func (s *Session) applyCancellation(m *wire.Message) {
	if m.Method != "notifications/cancelled" {
		return
	}
	s.mu.Lock()
	cancel := s.running[string(jsonraw.First(m.Params, "requestId"))]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Subscribe adds a subscription to a resource, or removes it if subscribe is false. It ignores a
// subscription beyond the limit of maxPushed.
func (s *Session) Subscribe(uri string, subscribe bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if subscribe && len(s.subscribed) < maxPushed {
		s.subscribed[uri] = true
	} else {
		delete(s.subscribed, uri)
	}
}

// IsSubscribed reports whether the client subscribed to the resource.
func (s *Session) IsSubscribed(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subscribed[uri]
}

// Subscriptions returns the resources that the client subscribed to, sorted.
func (s *Session) Subscriptions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.subscribed))
}

// Wants reports whether the client wants a notification that belongs to no request.
func (s *Session) Wants(m *wire.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m.Method {
	case "notifications/message": // all, until the client sets a level
		return s.level == "" || bridge.IsLoudEnough(m.Params, s.level)
	case "notifications/resources/updated":
		return covers(s.subscribed, jsonraw.TextOrRaw(jsonraw.First(m.Params, "uri")))
	}
	return true
}

// covers reports whether the subscriptions contain a resource or a resource that it is part of.
func covers(subscribed map[string]bool, uri string) bool {
	for subscription := range subscribed {
		isPart := strings.HasPrefix(uri, strings.TrimRight(subscription, "/")+"/") // such as a file in a folder
		if uri == subscription || isPart {
			return true
		}
	}
	return false
}

// Caller returns the sender of the session's requests.
func (s *Session) Caller() Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Caller{Revision: s.revision, Capabilities: s.capabilities, Level: s.level, Session: s, Over: s.ctx.Done()}
}

// SetLevel sets the lowest level of the log messages that the client wants.
func (s *Session) SetLevel(level string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level
}

// OnEnd calls f in its own goroutine when the session has ended.
func (s *Session) OnEnd(f func()) { context.AfterFunc(s.ctx, f) }
