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
func (c *connection) rootsAsked() (sent func()) {
	taken := make(chan struct{})
	c.update(func(f *connectionState) { f.takingRoots = taken })
	return func() { time.AfterFunc(graceForRoots, func() { close(taken) }) }
}

// settleRoots waits until the roots that the server asked for can be taken in: the
// next request may need them.
func (c *connection) settleRoots(ctx context.Context) {
	taken := c.now().takingRoots
	if taken == nil {
		return
	}
	select {
	case <-taken:
	case <-ctx.Done():
	case <-c.s.life.Done():
	}
}
