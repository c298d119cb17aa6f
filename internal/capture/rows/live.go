package rows

import (
	"sync"

	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// A Live makes rows of requests and notifications before they are forwarded, for fault rules. Such
// a row has the method, the name, the id, the direction, the target, and the names of client and
// server as far as they are known.
type Live struct {
	mu    sync.Mutex
	conns map[string]conn
}

// maxLiveConns bounds the conversations that a Live remembers.
const maxLiveConns = 10_000

// Row returns the row of a message. target and key identify the conversation; key is the id of its
// session, or "". head and m may be nil. It remembers the names in the message.
func (l *Live) Row(target, key string, dir wire.Direction, head *wire.HTTPHead, m *wire.Message) *Row {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.conns[target+"\n"+key]
	// c is a copy: later messages do not change the row.
	r := &Row{
		State:   exchange.State{Dir: dir, Channel: exchange.ChannelOpen, Exit: -1},
		Target:  target,
		capture: &Capture{},
		conn:    &c,
	}
	if head != nil && dir == wire.Sent {
		c.AddHead(head)
		r.Method = head.Method
	}
	if m != nil {
		r.SetRequest(m, &c.Conversation)
	}
	l.store(target, key, c)
	return r
}

// LearnServer takes the server's name from m, the response to the request of row r. key is the key
// of the conversation from now on, because initialize opens one. It does nothing if m names no
// server.
func (l *Live) LearnServer(r *Row, key string, m *wire.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := *r.conn
	if server := exchange.ParseServer(r.Method, m); server != (exchange.Implementation{}) {
		c.Server = server
		l.store(r.Target, key, c)
	}
}

// KnowsNames reports whether the names of the client and of the server of a conversation are known.
func (l *Live) KnowsNames(target, key string) (client, server bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.conns[target+"\n"+key]
	return c.Client != (exchange.Implementation{}), c.Server != (exchange.Implementation{})
}

// store remembers a conversation. The caller holds mu.
func (l *Live) store(target, key string, c conn) {
	if l.conns == nil || len(l.conns) > maxLiveConns {
		l.conns = map[string]conn{} // rather than grow without end, it forgets all names
	}
	l.conns[target+"\n"+key] = c
}
