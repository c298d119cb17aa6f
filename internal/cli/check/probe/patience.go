package probe

import (
	"context"
	"time"

	"mcpc/internal/client/closed"
	"mcpc/internal/client/transport"
	"mcpc/internal/wire"
)

// How long a probe waits for an answer, unless the user set --timeout: some times as long as the slowest answer
// of the server in this check, within limits.
const (
	timesSlowest = 4
	minPatience  = time.Second
	maxPatience  = 30 * time.Second
)

// notePace notes how long an answer of the server took.
func (j *judge) notePace(took time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.slowest = max(j.slowest, took)
}

// patience returns how long the server gets for an answer, if another one took so long.
func (j *judge) patience(took time.Duration) time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return min(max(timesSlowest*max(j.slowest, took), minPatience), maxPatience)
}

// await makes a request that the server may leave without an answer. To tell a slow server from a silent one, it
// sends a ping when its patience ends, and gives up only after the answer to the ping and as much patience again.
// typed is the user's --timeout, which bounds the request instead; 0 and less are none. hung reports that the server
// answered neither the request nor the ping.
func (j *judge) await(ctx context.Context, typed time.Duration, request, ping func(context.Context) wire.Outcome) (out wire.Outcome, hung bool) {
	asking, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	began := j.f.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		out = request(asking)
	}()
	first, later := j.patience(0), time.Duration(0)
	if typed > 0 {
		first = typed
	}
	if closed.Within(done, first) {
		return out, false
	}
	asked := j.f.Now()
	pinging, stop := upTo(ctx, max(first, maxPatience))
	hung = ping(pinging).Kind == wire.Timeout
	stop()
	if typed <= 0 && !hung {
		later = j.patience(j.f.Now().Sub(asked))
	}
	if !closed.Within(done, later) {
		waited := typed
		if typed <= 0 {
			waited = max(j.f.Now().Sub(began).Round(time.Second), minPatience)
		}
		giveUp(transport.TimeoutError{Flag: "--timeout", What: "no response", After: waited})
		<-done
	}
	return out, hung && out.Kind == wire.Timeout
}

// upTo returns a context that ends the requests of a server that does not answer for so long.
func upTo(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, transport.TimeoutError{Flag: "--timeout", What: "no response", After: limit})
}
