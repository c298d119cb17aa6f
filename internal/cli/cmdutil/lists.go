package cmdutil

import (
	"context"
	"time"

	"mcpc/internal/connect"
	"mcpc/internal/state"
)

// ShellLists are what the server listed while the shell was open, for TAB.
type ShellLists struct {
	entries map[connect.Kind][]state.Tool
	at      map[connect.Kind]time.Time
}

// listWithin is how long TAB waits for a server, and listsFor how long an answer is
// good.
const (
	listWithin = time.Second
	listsFor   = 30 * time.Second
)

// Of gives the entries of one kind, asking the server where that was not done just
// now. A server that does not answer is not asked again at every key.
func (l *ShellLists) Of(c *connect.Conn, k connect.Kind) []state.Tool {
	now := c.Env.Now()
	if at, asked := l.at[k]; asked && now.Sub(at) < listsFor {
		return l.entries[k]
	}
	if l.at == nil {
		l.entries = map[connect.Kind][]state.Tool{}
		l.at = map[connect.Kind]time.Time{}
	}
	ctx, stop := context.WithTimeout(context.Background(), listWithin)
	defer stop()
	list, out := c.ListUntil(ctx, k.Method, nil)
	l.at[k] = now
	if !out.Good() {
		return l.entries[k]
	}
	l.entries[k] = nil
	for _, raw := range list.Items {
		if name, ok := k.NameIn(raw); ok {
			l.entries[k] = append(l.entries[k], state.Tool{Name: name, Raw: raw})
		}
	}
	return l.entries[k]
}
