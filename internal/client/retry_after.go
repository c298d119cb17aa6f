package client

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"mcpc/internal/client/transport"
	"mcpc/internal/httpconn"
	"mcpc/internal/wire"
)

// maxRetryAfter is the longest Retry-After that a command waits for. If a server asks for more, the
// request fails and the user decides.
const maxRetryAfter = 60 * time.Second

// busyStatuses are the HTTP statuses of an overloaded server or gateway.
var busyStatuses = []int{
	http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway,
	http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// waitRetryAfter waits as long as the Retry-After of an overloaded server or gateway says, or
// briefly without one. It reports whether the request should be sent again; the caller checks that
// it is repeatable.
func waitRetryAfter(ctx context.Context, c *connection, r reply, attempt int) bool {
	if r.HTTP == nil {
		return false
	}
	wait := retryAfter(r.HTTP, attempt, c.s.opt.Now())
	if !slices.Contains(busyStatuses, r.HTTP.Status) || wait > maxRetryAfter {
		return false
	}
	c.addFinding(
		wire.Info,
		"sent_again",
		fmt.Sprintf("the server returned HTTP %d: sent again after %s", r.HTTP.Status, wait.Round(time.Millisecond)),
	)
	return transport.Sleep(ctx, wait)
}

// RequestedPause returns how long an overloaded server (HTTP 429 or 503) asks the client to send no
// requests, or 0 after any other outcome.
func RequestedPause(o wire.Outcome, now time.Time) time.Duration {
	if o.HTTP == nil || !transport.IsOverloaded(o.HTTP.Status) {
		return 0
	}
	return retryAfter(o.HTTP, 1, now)
}

// retryAfter returns the wait in the Retry-After field. Without a valid field it returns a random
// time that grows with attempt, the number of attempts: 200 to 400 ms for each, so that clients
// that failed at the same time do not all retry at the same time.
func retryAfter(facts *wire.HTTPFacts, attempt int, now time.Time) time.Duration {
	for _, f := range facts.Fields {
		if f.Name != "Retry-After" {
			continue
		}
		if wait, ok := httpconn.RetryAfter(f.Value, now); ok {
			return wait
		}
	}
	return time.Duration(attempt) * (200 + rand.N[time.Duration](200)) * time.Millisecond
}
