package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"mcpc/internal/client/transport"
	"mcpc/internal/wire"
)

// maxRetryAfter is how long a server may ask a command to wait; where it asks for
// longer the request ends, and the user decides; statusFault names the time of a 429 or 503.
const maxRetryAfter = 60 * time.Second

// waitRetryAfter sleeps for the Retry-After of an overloaded server or gateway, or briefly
// without one. It reports whether the request, which only reads, should be sent again.
func waitRetryAfter(ctx context.Context, c *connection, r reply, sent int) bool {
	if r.HTTP == nil {
		return false
	}
	busy := []int{http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	wait := retryAfter(r.HTTP, sent, c.s.opt.Now())
	if !slices.Contains(busy, r.HTTP.Status) || wait > maxRetryAfter {
		return false
	}
	c.found(wire.Info, "sent_again", fmt.Sprintf("the server answered HTTP %d: sent again after %s", r.HTTP.Status, wait.Round(time.Millisecond)))
	return transport.Sleep(ctx, wait)
}

// AskedPause returns how long an overloaded server (HTTP 429 or 503) asks to be sent nothing; 0
// for any other outcome.
func AskedPause(o wire.Outcome, now time.Time) time.Duration {
	if o.HTTP == nil || o.HTTP.Status != http.StatusTooManyRequests && o.HTTP.Status != http.StatusServiceUnavailable {
		return 0
	}
	return retryAfter(o.HTTP, 1, now)
}

// retryAfter is what the server asks for (RFC 9110, section 10.2.3): seconds or
// a date. Where it asks for nothing that makes sense, it is a little and more
// each time, with a random part.
func retryAfter(facts *wire.HTTPFacts, sent int, now time.Time) time.Duration {
	for _, f := range facts.Fields {
		if f.Name != "Retry-After" {
			continue
		}
		if n, err := strconv.ParseInt(f.Value, 10, 32); err == nil || errors.Is(err, strconv.ErrRange) { // then n is the nearest
			return time.Duration(max(n, 0)) * time.Second
		}
		if at, err := http.ParseTime(f.Value); err == nil {
			return max(at.Sub(now), 0)
		}
	}
	return time.Duration(sent) * (200 + rand.N[time.Duration](200)) * time.Millisecond
}
