package send

import (
	"context"
	"testing"
	"time"
)

// A wait that began before Close learns its deadline, and ends if it lies beyond.
func TestWaitLearnsTheDeadline(t *testing.T) {
	for _, c := range []struct {
		wait, left time.Duration
		worth      bool
	}{{24 * time.Hour, 5 * time.Second, false}, {time.Millisecond, time.Hour, true}} {
		now := time.Unix(1_000_000, 0)
		e := start(t, "http://127.0.0.1:9", Options{})
		e.traces.options.Now = func() time.Time { return now }
		closing := make(chan struct{})
		asked := 0
		got := e.traces.wait(t.Context(), c.wait, closing, func() (time.Time, bool) {
			if asked++; asked == 1 {
				close(closing) // Close comes while it waits
				return time.Time{}, false
			}
			return now.Add(c.left), true
		})
		if got != c.worth {
			t.Errorf("%v with %v left: got %t", c.wait, c.left, got)
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	e := start(t, "http://127.0.0.1:9", Options{})
	if e.traces.wait(ended, time.Hour, nil, context.Background().Deadline) {
		t.Error("another attempt")
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	c := &courier{options: Options{Now: func() time.Time { return now }}}
	for text, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "1.5": 0, "0": 0, "120": 2 * time.Minute,
		"99999999999999999999": maxRetryAfter, "9223372036854775807": maxRetryAfter,
		"Thu, 26 Nov 2026 12:01:00 GMT": time.Minute, "Thu, 26 Nov 2026 11:00:00 GMT": 0, "Fri, 31 Dec 9999 23:59:59 GMT": maxRetryAfter,
	} {
		if got := c.retryAfter(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
