package forward

import (
	"mcpc/internal/wire"
)

// conns tells the conversations of several clients apart by what the clients send alone. A
// session's id makes one of all that name it, an event stream with an endpoint of all that
// is posted there. A request without either is on its own, because clients number theirs
// alike; what ties it to one before is the state that it gives back, or the event behind
// which it goes on.
type conns struct {
	last int
	// byKey are the conversations by what names them, oldest first. Two clients may
	// be handed the same state.
	byKey, old map[connKey][]int
}

// mostKeys bounds what is remembered; twice as many may be.
const mostKeys = 20_000

// A connKey is what names a conversation, of one target.
type connKey struct {
	target     int
	kind, text string
}

// The kinds of a connKey.
const (
	bySession  = "session"
	byEndpoint = "endpoint"
	byEvent    = "event"
	byState    = "state"
)

// new is a conversation of which nothing was seen before.
func (c *conns) new() int {
	c.last++
	return c.last
}

// find gives the conversation that a key names, 0 where none does.
func (c *conns) find(t connKey) int {
	if t.text == "" {
		return 0
	}
	all := c.byKey[t]
	if len(all) == 0 {
		all = c.old[t]
	}
	if len(all) == 0 {
		return 0
	}
	if t.kind == byState { // a client gives a state back once
		c.byKey[t] = all[1:]
		delete(c.old, t)
	}
	return all[0]
}

// put lets a key name a conversation. Only of states several may be open.
func (c *conns) put(t connKey, conn int) {
	if t.text == "" {
		return
	}
	if c.byKey == nil || len(c.byKey) > mostKeys {
		c.old, c.byKey = c.byKey, map[connKey][]int{}
	}
	if t.kind != byState {
		c.byKey[t] = []int{conn}
		return
	}
	c.byKey[t] = append(c.byKey[t], conn)
}

// of chooses the conversation of a request by its head, 0 where only its body may
// tell.
func (c *conns) of(target int, head *wire.HTTPHead, uri string) int {
	if id := head.Field("Mcp-Session-Id"); id != "" {
		t := connKey{target, bySession, id}
		conn := c.find(t)
		if conn == 0 {
			conn = c.new() // it was opened before the proxy saw it
		}
		c.put(t, conn)
		return conn
	}
	if conn := c.find(connKey{target, byEndpoint, uri}); conn != 0 {
		return conn
	}
	return c.find(connKey{target, byEvent, head.Field("Last-Event-ID")})
}

// asked is the text of a key of kind byState: without a state, clients are told apart by what
// they asked for alone.
func asked(method, state string) string { return method + "\x00" + state }
