package mock

import (
	"mcpc/internal/mcpserver"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// concernsServer reports whether a notification concerns the server and not a single request.
func concernsServer(method string) bool {
	switch method {
	case "notifications/progress", "notifications/message", "notifications/elicitation/complete":
		return false
	}
	return true
}

// sendUnrequested sends messages that belong to no request, as far as the client can get them. It reports
// a request that a stateless client cannot get, and leaves out notifications that the client does not
// want.
func (p *Player) sendUnrequested(messages []Unrequested, c mcpserver.Caller) {
	for _, u := range messages {
		m := u.Message
		switch {
		case m.Kind == wire.Request && c.Stateless:
			p.tally.reportOnce("not played: " + showStart(m.Method) +
				" outside a request has no counterpart in " + bridge.ModernRevision)
		case m.Kind == wire.Request:
			go p.askUnrequested(u, c.Session)
		case c.Stateless:
			p.hub.Publish(m)
		case c.Session != nil && c.Session.Wants(m) && m.Method != "notifications/tasks": // stateless clients only
			c.Session.Push(wire.ComposeNotification(m.Method, bridge.WithoutMeta(m.Params, bridge.MetaSubscription)))
		}
	}
}

// maxUnanswered limits the requests that a client may leave unanswered: a goroutine waits for each answer.
const maxUnanswered = 64

// askUnrequested sends a request that belongs to no request of the client, if the client can answer it,
// and waits for the answer, which it compares with the recorded one.
func (p *Player) askUnrequested(u Unrequested, s *mcpserver.Session) {
	m := u.Message
	if name := bridge.ClientCapability(m.Method); name != "" && !s.Caller().Declares(name) {
		p.tally.reportOnce("not played: " + showStart(m.Method) + ": the client does not declare " + name)
		return
	}
	if s.Unanswered() >= maxUnanswered {
		p.tally.reportOnce("not played: " + showStart(m.Method) + ": the client leaves too many requests without an answer")
		return
	}
	raw, answer := s.Ask(m.Method, m.Params)
	s.Push(raw)
	a := &serverRequest{method: m.Method}
	if u.Answer != nil {
		a.result = u.Answer.Result
		if u.Answer.Error != nil {
			a.errorObject = u.Answer.Error.Raw
		}
	}
	p.compareLater(s.Caller(), "after "+p.library.describePlace(u.After), a, answer)
}

// compareLater waits for an answer and compares it with the recorded one, a. It compares nothing if the
// client disconnects first. where names the place in the recording for a report.
func (p *Player) compareLater(c mcpserver.Caller, where string, a *serverRequest, answer <-chan *wire.Message) {
	select {
	case got := <-answer:
		p.tally.compareAnswer(where, a, got)
	case <-c.Over:
	}
}
