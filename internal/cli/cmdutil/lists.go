package cmdutil

import (
	"context"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/state"
)

// ShellLists caches what a server lists while a shell is open, for completion.
type ShellLists struct {
	entries map[connect.Kind][]state.Tool
	fetched map[connect.Kind]time.Time // when the server was asked last
}

// listTimeout limits how long completion waits for a server. listLifetime is how long a list is
// cached.
const (
	listTimeout  = time.Second
	listLifetime = 30 * time.Second
)

// Entries returns the entries of kind k. It asks the server unless it did so within listLifetime,
// also if the server did not answer then. After a failure it returns the previous entries.
func (l *ShellLists) Entries(c *connect.Conn, k connect.Kind) []state.Tool {
	now := c.Env.Now()
	if fetched, ok := l.fetched[k]; ok && now.Sub(fetched) < listLifetime {
		return l.entries[k]
	}
	if l.fetched == nil {
		l.entries = map[connect.Kind][]state.Tool{}
		l.fetched = map[connect.Kind]time.Time{}
	}
	ctx, stop := context.WithTimeout(context.Background(), listTimeout)
	defer stop()
	list, out := c.ListUntil(ctx, k.Method, client.WalkOptions{}, nil)
	l.fetched[k] = now
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
