package mock

import (
	"mcpc/internal/mcpserver"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// aboutServer reports a notification that is about the server, and not about one request.
func aboutServer(method string) bool {
	switch method {
	case "notifications/progress", "notifications/message", "notifications/elicitation/complete":
		return false
	}
	return true
}

// sendApart sends what the recorded server sent of its own accord.
func (p *Player) sendApart(all []Unrequested, c mcpserver.Caller) {
	for _, u := range all {
		m := u.Message
		switch {
		case m.Kind == wire.Request && c.Stateless:
			p.tally.once("not played: " + shown(m.Method) + " outside a request has no counterpart in " + bridge.ModernRevision)
		case m.Kind == wire.Request:
			go p.askApart(u, c.Session)
		case c.Stateless:
			p.hub.Publish(m)
		case c.Session != nil && c.Session.Wants(m) && m.Method != "notifications/tasks":
			c.Session.Push(wire.ComposeNotification(m.Method, bridge.WithoutMeta(m.Params, bridge.MetaSubscription)))
		}
	}
}

// mostAsked is how many requests a client may leave without an answer: each is waited for.
const mostAsked = 64

// askApart makes a request that belongs to none of the client's, where the client can answer it.
func (p *Player) askApart(u Unrequested, s *mcpserver.Session) {
	m := u.Message
	if name := bridge.ClientCapability(m.Method); name != "" && !s.Caller().Declares(name) {
		p.tally.once("not played: " + shown(m.Method) + ": the client does not declare " + name)
		return
	}
	if s.Unanswered() >= mostAsked {
		p.tally.once("not played: " + shown(m.Method) + ": the client leaves too many requests without an answer")
		return
	}
	raw, answer := s.Ask(m.Method, m.Params)
	s.Push(raw)
	a := &ask{method: m.Method}
	if u.Answer != nil {
		a.result = u.Answer.Result
		if u.Answer.Error != nil {
			a.failed = u.Answer.Error.Raw
		}
	}
	p.compareLater(s.Caller(), "after "+p.library.place(u.After), a, answer)
}

// compareLater compares an answer that nothing waits for, when it comes.
func (p *Player) compareLater(c mcpserver.Caller, where string, a *ask, answer <-chan *wire.Message) {
	select {
	case got := <-answer:
		p.tally.compareAnswer(where, a, got)
	case <-c.Over:
	}
}
