package cmdutil

import (
	"context"
	"time"

	"mcpc/internal/connect"
	"mcpc/internal/state"
)

// ShellLists caches what a server lists while a shell is open, for completion.
type ShellLists struct {
	entries map[connect.Kind][]state.Tool
	at      map[connect.Kind]time.Time
}

// listWithin limits how long completion waits for a server. listsFor is how long a list is cached.
const (
	listWithin = time.Second
	listsFor   = 30 * time.Second
)

// Of returns the entries of kind k. It asks the server unless it did so within listsFor, also if
// the server did not answer. Then it returns the entries before.
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
	if !out.OK() {
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
