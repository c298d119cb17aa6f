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
	// briefPatience is the patience for a ping while a fuzz test makes many calls.
	briefPatience = 5 * time.Second
)

// pingPatience returns how long to wait at most for the answer to a ping that tells a slow server
// from a silent one.
func (j *judge) pingPatience() time.Duration {
	if j.isFuzzing {
		return briefPatience
	}
	return maxPatience
}

// slowestAnswers are the longest times that the server took to answer tools/call, which may work
// for minutes, and all other methods.
type slowestAnswers struct{ tools, others time.Duration }

// noteAnswerTime records how long the answer to a method took.
func (j *judge) noteAnswerTime(method string, took time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	slowest := &j.slowest.others
	if method == "tools/call" {
		slowest = &j.slowest.tools
	}
	*slowest = max(*slowest, took)
}

// patience returns how long to wait for the answer to a method; took is the time of an answer that
// noteAnswerTime does not have yet, or 0.
func (j *judge) patience(method string, took time.Duration) time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	slowest := max(j.slowest.others, took)
	if method == "tools/call" {
		slowest = max(slowest, j.slowest.tools)
	}
	return min(max(timesSlowest*slowest, minPatience), maxPatience)
}

// await makes a request for a method that the server may leave without an answer. To distinguish a
// slow server from a silent server, it sends a ping after the server's patience, and gives up only
// after the answer to the ping and the same time again. userLimit is the user's --timeout, which
// then bounds the request instead; 0 or less means no limit. hung reports that the server answered
// neither the request nor the ping.
func (j *judge) await(
	ctx context.Context,
	method string,
	userLimit time.Duration,
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
	beforePing := j.patience(method, 0)
	if userLimit > 0 {
		beforePing = userLimit
	}
	if pause.Within(done, beforePing) {
		return out, false
	}
	pinged := j.f.Now()
	pinging, stop := withPatience(ctx, max(beforePing, j.pingPatience()))
	hung = ping(pinging).Kind == wire.Timeout
	stop()
	afterPing := time.Duration(0) // the user's limit has passed, or the server is silent
	if userLimit <= 0 && !hung {
		afterPing = j.patience(method, j.f.Now().Sub(pinged))
	}
	if !pause.Within(done, afterPing) {
		waited := userLimit
		if userLimit <= 0 {
			waited = max(j.f.Now().Sub(began).Round(time.Second), minPatience)
		}
		giveUp(transport.TimeoutError{Flag: "--timeout", What: "no response", After: waited})
		<-done // the request returns with this error, and sets out
	}
	return out, hung && out.Kind == wire.Timeout
}

// withPatience returns a context that ends with a timeout error if the server does not answer
// within limit.
func withPatience(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit,
		transport.TimeoutError{Flag: "--timeout", What: "no response", After: limit})
}
