package probe

import (
	"context"
	"time"

	"mcpc/internal/client/transport"
	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

// How long a probe waits for an answer, unless the user set --timeout: some times as long as the slowest answer
// of the server in this check, within limits.
const (
	timesSlowest = 4
	minPatience  = time.Second
	maxPatience  = 30 * time.Second
)

// A pace is how long a server takes for answers at most: those of tools, which may do work of minutes, and all others.
type slowestAnswers struct{ tools, others time.Duration }

// notePace notes how long the answer to a method took.
func (j *judge) noteAnswerTime(method string, took time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	slowest := &j.slowest.others
	if method == "tools/call" {
		slowest = &j.slowest.tools
	}
	*slowest = max(*slowest, took)
}

// patience returns how long the server gets for the answer to a method, if another answer took so long.
func (j *judge) patience(method string, took time.Duration) time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	slowest := max(j.slowest.others, took)
	if method == "tools/call" {
		slowest = max(slowest, j.slowest.tools)
	}
	return min(max(timesSlowest*slowest, minPatience), maxPatience)
}

// await makes a request for a method that the server may leave without an answer. To tell a slow server from
// a silent one, it sends a ping when its patience ends, and gives up only after the answer to the ping and as
// much patience again. typed is the user's --timeout, which bounds the request instead; 0 and less are none.
// hung reports that the server answered neither the request nor the ping.
func (j *judge) await(
	ctx context.Context,
	method string,
	typed time.Duration,
	request, ping func(context.Context) wire.Outcome,
) (out wire.Outcome, hung bool) {
	asking, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	began := j.f.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		out = request(asking)
	}()
	first := j.patience(method, 0)
	later := time.Duration(0)
	if typed > 0 {
		first = typed
	}
	if pause.Within(done, first) {
		return out, false
	}
	asked := j.f.Now()
	pinging, stop := upTo(ctx, max(first, maxPatience))
	hung = ping(pinging).Kind == wire.Timeout
	stop()
	if typed <= 0 && !hung {
		later = j.patience(method, j.f.Now().Sub(asked))
	}
	if !pause.Within(done, later) {
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
	return context.WithTimeoutCause(ctx, limit,
		transport.TimeoutError{Flag: "--timeout", What: "no response", After: limit})
}
