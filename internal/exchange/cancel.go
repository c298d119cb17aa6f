package exchange

import (
	"cmp"
	"time"

	"mcpc/internal/wire"
)

// A Cancel is how a request was cancelled.
type Cancel struct {
	// By is the side that did: Sent is the client.
	By wire.Direction
	// Why is the reason that it gave, or what it did.
	Why string
	// After is the time from the request to the Cancel.
	After time.Duration
	// Late is set if a response came after all.
	Late bool
	// Closed is set if a stream was closed without a message: it may be taken up again.
	Closed bool
}

// Who returns the side that cancelled: client or server.
func (c *Cancel) Who() string { return [...]string{"client", "server"}[c.By] }

// cancel ends an exchange whose response is no longer awaited. A client that closes a stream may also say why.
func (s *State) cancel(c Cancel, at time.Time) {
	switch before := s.Cancel; {
	case before != nil && before.Closed && !c.Closed:
		before.Why = cmp.Or(c.Why, before.Why)
		before.Closed = false
	case !s.Open():
		return
	default:
		c.After = max(at.Sub(s.Time), 0)
		s.Channel, s.Duration, s.Cancel = ChannelCancelled, c.After, &c
	}
	s.Text = "cancelled by the " + s.Cancel.Who()
	if s.Cancel.Why != "" {
		s.Text += ": " + s.Cancel.Why
	}
}

// reasonIn returns the reason that a cancellation gives, "" without one.
func reasonIn(m *wire.Message) string {
	if m == nil {
		return ""
	}
	params, _ := m.ParamMembers()
	return params.Text("reason")
}
