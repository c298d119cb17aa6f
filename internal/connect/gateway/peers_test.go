package gateway

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"testing"

	"mcpc/internal/mcpserver"
	"mcpc/internal/wire"
)

// Servers see the capabilities of a client that the gateway can pass on.
func TestCapabilitiesOfferedToServers(t *testing.T) {
	for theirs, want := range map[string]string{
		``: "{}", `{}`: "{}", `{"roots":{"listChanged":true},"experimental":{"a":{}}}`: `{"roots":{"listChanged":true}}`,
		`{"elicitation":{"form":{}},"sampling":{}}`:                    `{"elicitation":{"form":{}},"sampling":{}}`,
		`{"sampling":{"tasks":{},"tools":{}}}`:                         `{"sampling":{"tools":{}}}`,
		`{"tasks":{"list":{}}}`:                                        "{}",
		`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`:          "{}",
		`{"extensions":{"io.modelcontextprotocol/tasks":{},"a/b":{}}}`: `{"extensions":{"a/b":{}}}`,
		`{"extensions":{"a/b":{"c":1}},"roots":{}}`:                    `{"roots":{},"extensions":{"a/b":{"c":1}}}`,
	} {
		if got := string(ForwardableCapabilities(json.RawMessage(theirs))); got != want {
			t.Errorf("%s: %s, want %s", theirs, got, want)
		}
	}
}

// Stateless requests share peers by the capabilities of their clients; an unused peer makes room
// for another.
func TestStatelessRequestsSharePeersByCapabilities(t *testing.T) {
	g := New(Options{Token: rand.Text, Members: []Member{{Name: "one"}}})
	caller := func(n int) mcpserver.Caller {
		return mcpserver.Caller{Stateless: true, Capabilities: json.RawMessage(fmt.Sprintf(`{"roots":{"n":%d}}`, n))}
	}
	first := g.peerFor(caller(0))
	if g.peerFor(caller(0)) != first || g.peerFor(caller(1)) == first {
		t.Error("the peers are not those of the capabilities")
	}
	first.links[0].isLeased = true
	for n := range 2 * maxPeers {
		if g.peerFor(caller(n)) == nil {
			t.Fatalf("no peer for client %d", n)
		}
	}
	if len(g.statelessPeers) != maxPeers || g.peerFor(caller(0)) != first {
		t.Errorf("%d peers, or the one in use is closed", len(g.statelessPeers))
	}
	for _, p := range g.statelessPeers {
		p.links[0].isLeased = true
	}
	if g.peerFor(caller(-1)) != nil {
		t.Error("a peer that is in use made room")
	}
	if l, release := g.lease(first.links[0]); l != nil || release != nil {
		t.Error("a connection that is leased is leased again")
	}
	first.links[0].isLeased = false
	l, release := g.lease(first.links[0])
	if l != first.links[0] || !l.isLeased {
		t.Error("the connection that is free is not leased")
	}
	if release(); l.isLeased {
		t.Error("it is still leased")
	}
	g.Close()
	if g.peerFor(caller(-2)) != nil {
		t.Error("a closed gateway makes a peer")
	}
}

// The capabilities that the gateway declares.
func TestDeclaredCapabilities(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  bool
	}{
		{[]string{"tools"}, true},
		{[]string{"resources", "subscribe"}, true},
		{[]string{"prompts", "subscribe"}, false},
		{[]string{"tasks"}, false},
	} {
		if got := declaresCapability(c.names...); got != c.want {
			t.Errorf("%q: %t", c.names, got)
		}
	}
}

// A suspended call continues with the same request and an answer; another request with its state
// does not get it.
func TestSuspendedCallResumesWithItsStateOnly(t *testing.T) {
	g := New(Options{Token: rand.Text})
	state := g.statePrefix + "1"
	request := func(name, more string) *wire.Message {
		params := `{"name":"` + name + `","requestState":"` + state + `"` + more + `}`
		return wire.ParseMessage(wire.ComposeRequest(json.RawMessage("1"), "tools/call", json.RawMessage(params)))
	}
	suspended := &suspension{call: &call{}, requestHash: requestHash(request("x", ""))}
	g.suspended[state] = suspended
	if got := g.takeSuspended(request("y", "")); got == nil || got.call != nil {
		t.Errorf("another request: %+v", got)
	}
	if got := g.takeSuspended(request("x", `,"_meta":{"a":1},"inputResponses":{"question":{}}`)); got != suspended {
		t.Errorf("the same request: %+v", got)
	}
	if got := g.takeSuspended(request("x", "")); got == nil || got.call != nil {
		t.Errorf("once more: %+v", got)
	}
	state = "of another server"
	if got := g.takeSuspended(request("x", "")); got != nil {
		t.Errorf("the state of another server: %+v", got)
	}
}
