package mcpserver

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// mostPushed is how many messages wait for a client that does not read its stream.
const mostPushed = 1024

// A Session is a conversation: one that initialize opened, or a pipe.
type Session struct {
	id, revision string
	// Push sends a message that belongs to no request; it does not block.
	Push func(raw []byte)
	// over is done when the session has ended.
	over context.Context
	End  context.CancelFunc

	mu           sync.Mutex
	capabilities json.RawMessage // the client's
	level        string
	subscribed   map[string]bool
	asked        int
	waiting      map[string]chan *wire.Message // for the answers to requests, by id
	running      map[string]context.CancelFunc // requests that can be cancelled, by id
}

// NewSession returns a session that ends with ctx, or when End is called.
func NewSession(ctx context.Context, id string, push func([]byte)) *Session {
	s := &Session{
		id:         id,
		Push:       push,
		subscribed: map[string]bool{},
		waiting:    map[string]chan *wire.Message{},
		running:    map[string]context.CancelFunc{},
	}
	s.over, s.End = context.WithCancel(ctx)
	return s
}

// Opened takes in what the client said in initialize.
func (s *Session) Opened(revision string, params json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision, s.capabilities = revision, jsonraw.First(params, "capabilities")
}

// Ask prepares a request to the client: its message, and a channel for the answer.
func (s *Session) Ask(method string, params json.RawMessage) ([]byte, chan *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	id := strconv.Itoa(s.asked)
	answer := make(chan *wire.Message, 1)
	s.waiting[id] = answer
	return wire.ComposeRequest(json.RawMessage(id), method, params), answer
}

// Forget takes back a request to the client: an answer is not waited for any more.
func (s *Session) Forget(id json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, string(id))
}

// Unanswered is how many requests wait for the client.
func (s *Session) Unanswered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

// Answered takes an answer of the client to what waits for it.
func (s *Session) Answered(m *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waits := s.waiting[string(m.ID)]; waits != nil {
		delete(s.waiting, string(m.ID))
		waits <- m
	}
}

// begin makes a context for a request, which notifications/cancelled ends.
func (s *Session) begin(ctx context.Context, id json.RawMessage) (context.Context, func()) {
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

// told takes in a notification of the client.
func (s *Session) told(m *wire.Message) {
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

// Subscribe notes a subscription to a resource, or its end.
func (s *Session) Subscribe(uri string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on && len(s.subscribed) < mostPushed {
		s.subscribed[uri] = true
	} else {
		delete(s.subscribed, uri)
	}
}

// Subscribes reports that the client subscribed to the resource.
func (s *Session) Subscribes(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subscribed[uri]
}

// Wants reports whether a notification that belongs to no request is for this client.
func (s *Session) Wants(m *wire.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m.Method {
	case "notifications/message":
		return s.level == "" || bridge.Loud(m.Params, s.level)
	case "notifications/resources/updated":
		return covers(s.subscribed, jsonraw.TextOrRaw(jsonraw.First(m.Params, "uri")))
	}
	return true
}

// covers reports that a resource or the one that it is part of was subscribed to.
func covers(subscribed map[string]bool, uri string) bool {
	for one := range subscribed {
		if uri == one || strings.HasPrefix(uri, strings.TrimRight(one, "/")+"/") {
			return true
		}
	}
	return false
}

// Caller is the sender of a request in the session.
func (s *Session) Caller() Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Caller{Revision: s.revision, Capabilities: s.capabilities, Level: s.level, Session: s, Over: s.over.Done()}
}

// SetLevel notes from which level on the client wants log messages.
func (s *Session) SetLevel(level string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level
}

// OnEnd calls f, in a goroutine of its own, when the session has ended.
func (s *Session) OnEnd(f func()) { context.AfterFunc(s.over, f) }
