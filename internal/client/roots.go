package client

import (
	"context"
	"time"
)

// graceForRoots is how long a server that asked for the roots gets to take them in.
// Nothing in the protocol says when it has: server-filesystem looks at each
// directory first, and refuses every path meanwhile.
const graceForRoots = 200 * time.Millisecond

// rootsAsked notes that the server asked for the roots; what it gives is to be
// called when they are on their way.
func (c *connection) noteRootsRequest() (sent func()) {
	taken := make(chan struct{})
	c.update(func(f *connectionState) { f.rootsSettled = taken })
	return func() { time.AfterFunc(graceForRoots, func() { close(taken) }) }
}

// settleRoots waits until the server has had time to take in the roots that it asked for: the next request may need
// them. taken is closed then.
func (c *connection) waitForRoots(ctx context.Context, taken <-chan struct{}) {
	select {
	case <-taken:
	case <-ctx.Done():
	case <-c.s.lifetime.Done():
	}
}
