package playback

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mock/playback/bridge"
	"mcpc/internal/wire"
)

// mostPushed is how many messages wait for a client that does not read its stream.
const mostPushed = 1024

// A session is a conversation: one that initialize opened, or a pipe.
type session struct {
	id, revision string
	// push sends a message that belongs to no request; it does not block.
	push func(raw []byte)
	// over is done when the session has ended.
	over context.Context
	end  context.CancelFunc

	mu           sync.Mutex
	capabilities json.RawMessage // the client's
	level        string
	subscribed   map[string]bool
	asked        int
	waiting      map[string]chan *wire.Message // for the answers to requests, by id
	running      map[string]context.CancelFunc // requests that can be cancelled, by id
}

func newSession(ctx context.Context, id string, push func([]byte)) *session {
	s := &session{id: id, push: push, subscribed: map[string]bool{}, waiting: map[string]chan *wire.Message{}, running: map[string]context.CancelFunc{}}
	s.over, s.end = context.WithCancel(ctx)
	return s
}

// opened takes in what the client said in initialize.
func (s *session) opened(revision string, params json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision, s.capabilities = revision, jsonraw.First(params, "capabilities")
}

// ask prepares a request to the client: its message, and a channel for the answer.
func (s *session) ask(method string, params json.RawMessage) ([]byte, chan *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	id := strconv.Itoa(s.asked)
	answer := make(chan *wire.Message, 1)
	s.waiting[id] = answer
	return wire.ComposeRequest(json.RawMessage(id), method, params), answer
}

// unanswered is how many requests wait for the client.
func (s *session) unanswered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

// answered takes an answer of the client to the play that waits for it.
func (s *session) answered(m *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waits := s.waiting[string(m.ID)]; waits != nil {
		delete(s.waiting, string(m.ID))
		waits <- m
	}
}

// begin makes a context for a request, which notifications/cancelled ends.
func (s *session) begin(ctx context.Context, id json.RawMessage) (context.Context, func()) {
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
func (s *session) told(m *wire.Message) {
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

// subscribe notes a subscription of the legacy era, or its end.
func (s *session) subscribe(uri string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on && len(s.subscribed) < mostPushed {
		s.subscribed[uri] = true
	} else {
		delete(s.subscribed, uri)
	}
}

// wants reports whether a notification that belongs to no request is for this client.
func (s *session) wants(m *wire.Message) bool {
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

// client is the sender of a legacy request in the session.
func (s *session) client() client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return client{revision: s.revision, capabilities: s.capabilities, level: s.level, session: s, over: s.over.Done()}
}

func (s *session) setLevel(level string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level
}
