package proxy

import (
	"slices"

	"mcpc/internal/recent"
	"mcpc/internal/wire"
)

// conns tells the conversations of several clients apart by what the clients send alone. A
// session's id makes one of all that name it, an event stream with an endpoint of all that
// is posted there. A request without either is on its own, because clients number theirs
// alike; what ties it to one before is the state that it gives back, or the event behind
// which it goes on. Clients that look for a server's revision open a session on the connection on
// which they were refused. Requests of an opened conversation without a session name nothing: they belong to
// the newest one of the same connection, or else of the same user agent.
type conns struct {
	last int
	// byKey are the conversations by what names them, newest first. Two clients may
	// be handed the same state.
	byKey recent.Map[connKey, []named]
}

// A named is a conversation that a connKey names.
type named struct {
	conn   int
	client string // its address
}

// mostOfState is how many conversations of one state are remembered.
const mostOfState = 100

// A connKey is what names a conversation, of one target.
type connKey struct {
	target     int
	kind, text string
}

// The kinds of a connKey. One of kind byProbe names a probe that was refused on the connection of a client.
const bySession, byEndpoint, byEvent, byState, byAgent, byProbe = "session", "endpoint", "event", "state", "agent", "probe"

// new is a conversation of which nothing was seen before.
func (c *conns) new() int {
	c.last++
	return c.last
}

// find gives the conversation that a key names, 0 where none does. Of several it is the newest
// of the same client, or else the newest: the older ones may have been given up.
func (c *conns) find(t connKey, client string) int {
	all := c.byKey.Get(t)
	if len(all) == 0 {
		return 0
	}
	at := max(0, slices.IndexFunc(all, func(n named) bool { return n.client == client }))
	conn := all[at].conn
	if t.kind == byState || t.kind == byProbe { // a client gives a state back once, and opens one session behind a probe
		c.byKey.Put(t, slices.Delete(all, at, at+1))
	}
	return conn
}

// put lets a key name a conversation. Only of states and agents several may be open.
func (c *conns) put(t connKey, conn int, client string) {
	if t.text == "" {
		return
	}
	all := []named{{conn, client}}
	if t.kind == byState || t.kind == byAgent {
		before := c.byKey.Get(t)
		all = append(all, before[:min(len(before), mostOfState)]...)
	}
	c.byKey.Put(t, all)
}

// of chooses the conversation of a request by its head, 0 where only its body may
// tell.
func (c *conns) of(target int, head *wire.HTTPHead, uri, client string) int {
	if id := head.Field("Mcp-Session-Id"); id != "" {
		t := connKey{target, bySession, id}
		conn := c.find(t, client)
		if conn == 0 {
			conn = c.new() // it was opened before the proxy saw it
		}
		c.put(t, conn, client)
		return conn
	}
	if conn := c.find(connKey{target, byEndpoint, uri}, client); conn != 0 {
		return conn
	}
	return c.find(connKey{target, byEvent, head.Field("Last-Event-ID")}, client)
}

// ofAgent returns the conversation without a session of a client's connection, or else the newest one of its user
// agent; 0 if there is none. The connection belongs to it from then on.
func (c *conns) ofAgent(target int, agent, client string) int {
	t := connKey{target, byAgent, agent}
	conn := c.find(t, client)
	if conn != 0 && !slices.ContainsFunc(c.byKey.Get(t), func(n named) bool { return n.client == client }) {
		c.put(t, conn, client)
	}
	return conn
}

// asked begins a key of kind byState: a server may hand out one state for all its tools, or none.
func asked(t wire.Traits) string { return t.Method + "\x00" + t.Name + "\x00" }
