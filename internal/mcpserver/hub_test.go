package mcpserver

import (
	"context"
	"strings"
	"testing"

	"mcpc/internal/wire"
)

// A client that does not read its subscription does not hold up those who publish.
func TestUnreadSubscriptionDoesNotBlockPublish(t *testing.T) {
	var h Hub
	ctx, leave := context.WithCancel(t.Context())
	reads, begun, ended := make(chan bool), make(chan bool), make(chan bool)
	over := make(chan struct{})
	n := 0
	send := func(raw []byte) {
		if strings.Contains(string(raw), "list_changed") {
			<-reads
			n++
		}
	}
	m := wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`))
	go func() {
		defer close(ended)
		h.Listen(ctx, Caller{Stateless: true, Over: over}, m, send, func(...string) bool { return true }, func() { close(begun) })
	}()
	<-begun
	for range 2 * maxPushed {
		h.Publish(&wire.Message{Kind: wire.Notification, Method: "notifications/tools/list_changed"})
	}
	close(over)
	close(reads)
	<-ended
	leave()
	if n < maxPushed || n > maxPushed+1 {
		t.Errorf("%d messages", n)
	}
}

// A change that is published while the acknowledgement is sent reaches the client: a client that has read the
// acknowledgement may cause a change at once.
func TestSubscriptionIsOpenWhenItIsAcknowledged(t *testing.T) {
	var h Hub
	var sent []string
	send := func(raw []byte) {
		m := wire.ParseMessage(raw)
		sent = append(sent, m.Method)
		if m.Method == "notifications/subscriptions/acknowledged" {
			h.Publish(&wire.Message{Kind: wire.Notification, Method: "notifications/tools/list_changed"})
		}
	}
	m := wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`))
	over := make(chan struct{})
	close(over) // Listen sends what was pushed, and ends
	h.Listen(t.Context(), Caller{Stateless: true, Over: over}, m, send, func(...string) bool { return true }, func() {})
	if len(sent) < 2 || sent[1] != "notifications/tools/list_changed" {
		t.Errorf("the client got %q", sent)
	}
}
