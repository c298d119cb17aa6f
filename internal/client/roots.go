package client

import (
	"context"
	"time"
)

// graceForRoots is how long the next request waits after the server received the roots. The
// protocol does not tell when the server has processed them: server-filesystem first examines each
// directory, and refuses all paths until then.
const graceForRoots = 200 * time.Millisecond

// noteRootsRequest notes that the server requested the roots. The caller calls sent after sending
// them.
func (c *connection) noteRootsRequest() (sent func()) {
	settled := make(chan struct{})
	c.update(func(f *connectionState) { f.rootsSettled = settled })
	return func() { time.AfterFunc(graceForRoots, func() { close(settled) }) }
}

// waitForRoots waits until the server has had time to process the roots that it requested: the next
// request may need them.
func (c *connection) waitForRoots(ctx context.Context, settled <-chan struct{}) {
	select {
	case <-settled:
	case <-ctx.Done():
	case <-c.s.lifetime.Done():
	}
}
