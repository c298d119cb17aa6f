package client

import (
	"cmp"
	"time"
)

// Limits bound what one conversation may cost. Zero means the default, a
// negative duration or size means no limit.
type Limits struct {
	// Connect bounds DNS, TCP and TLS together.
	Connect time.Duration
	// Idle is how long nothing may happen; progress starts it anew.
	Idle time.Duration
	// Hard bounds one request whatever happens.
	Hard time.Duration
	// Probe is how long a server may be silent on server/discover.
	Probe time.Duration
	// Start is how long a stdio server may be silent on its first request where Idle is
	// less; zero and less are no longer than Idle.
	Start time.Duration
	// Message bounds one message in bytes: an HTTP body, a server-sent event,
	// a line of stdio.
	Message int64
	// Pages and Items bound one list.
	Pages, Items int
}

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	l.Connect = cmp.Or(l.Connect, 10*time.Second)
	l.Idle = cmp.Or(l.Idle, 60*time.Second)
	l.Hard = cmp.Or(l.Hard, 10*time.Minute)
	l.Probe = cmp.Or(l.Probe, 10*time.Second)
	l.Message = cmp.Or(l.Message, 64<<20)
	l.Pages = cmp.Or(l.Pages, 1000)
	l.Items = cmp.Or(l.Items, 100_000)
	return l
}
