package rows

import (
	"sync"

	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// A Live makes rows of requests and notifications while they cross, for who must decide about
// them before an answer is there: fault rules. A row has the method, the name, the id, the
// direction, the target and what the two sides call themselves, as far as they have said so.
type Live struct {
	mu    sync.Mutex
	conns map[string]conn
}

// mostLive bounds the conversations that are remembered.
const maxLiveConns = 10_000

// Row makes the row of a message of a conversation, which is told apart from others by its
// target and its key: the id of a session, or "".
func (l *Live) Row(target, key string, dir wire.Direction, head *wire.HTTPHead, m *wire.Message) *Row {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.conns[target+"\n"+key]
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
		r.Ask(m, &c.Conversation)
	}
	l.store(target, key, c)
	return r
}

// Answered learns from the response to the request of a row what the server calls itself. The
// key is that of the conversation from now on: initialize opens one.
func (l *Live) Answered(r *Row, key string, m *wire.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := *r.conn
	if who := exchange.ServerIn(r.Method, m); who != (exchange.Implementation{}) {
		c.Server = who
		l.store(r.Target, key, c)
	}
}

// Knows reports whether the client and the server of a conversation have said what they call
// themselves.
func (l *Live) Knows(target, key string) (client, server bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.conns[target+"\n"+key]
	return c.Client != (exchange.Implementation{}), c.Server != (exchange.Implementation{})
}

func (l *Live) store(target, key string, c conn) {
	if l.conns == nil || len(l.conns) > maxLiveConns {
		l.conns = map[string]conn{}
	}
	l.conns[target+"\n"+key] = c
}
