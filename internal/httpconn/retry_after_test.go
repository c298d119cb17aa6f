package httpconn

import (
	"math"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	const longest = math.MaxInt32 * time.Second
	for value, want := range map[string]struct {
		wait time.Duration
		ok   bool
	}{
		"0": {0, true}, "5": {5 * time.Second, true}, "120": {2 * time.Minute, true},
		"2147483647": {longest, true}, "2147483648": {longest, true}, "99999999999999999999999": {longest, true},
		"-5": {0, true}, "-99999999999999999999999": {0, true},
		"": {}, "soon": {}, "1.5": {},
		"Thu, 26 Nov 2026 12:01:00 GMT": {time.Minute, true},
		"Thu, 26 Nov 2026 11:00:00 GMT": {0, true},
	} {
		if wait, ok := RetryAfter(value, now); wait != want.wait || ok != want.ok {
			t.Errorf("%q: got %s %t, want %s %t", value, wait, ok, want.wait, want.ok)
		}
	}
	if wait, ok := RetryAfter("Fri, 31 Dec 9999 23:59:59 GMT", now); !ok || wait < longest {
		t.Errorf("a late date: got %s %t", wait, ok)
	}
}
