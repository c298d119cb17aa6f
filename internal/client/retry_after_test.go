package client

import (
	"net/http"
	"testing"
	"time"

	"mcpc/internal/wire"
)

func TestRetryAfterOfAnyLengthIsParsed(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, least := range map[string]time.Duration{
		"5": 5 * time.Second, "2147483647": time.Hour, "2147483648": time.Hour, "99999999999999999999999": time.Hour,
		"Thu, 01 Jan 2026 00:01:00 GMT": time.Minute,
	} {
		o := wire.Outcome{HTTP: &wire.HTTPFacts{Status: http.StatusTooManyRequests, Fields: []wire.Field{{Name: "Retry-After", Value: text}}}}
		if got := RequestedPause(o, now); got < least {
			t.Errorf("Retry-After: %s is a pause of %s", text, got)
		}
	}
	for _, text := range []string{"-5", "-99999999999999999999999", "soon"} {
		o := wire.Outcome{HTTP: &wire.HTTPFacts{Status: http.StatusServiceUnavailable, Fields: []wire.Field{{Name: "Retry-After", Value: text}}}}
		if got := RequestedPause(o, now); got < 0 || got > time.Second {
			t.Errorf("Retry-After: %s is a pause of %s", text, got)
		}
	}
}
