package bench

import (
	"strings"
	"testing"
)

func TestExpectHint(t *testing.T) {
	for text, want := range map[string]string{"p99<NaN": "--expect", "error_rate<-1": "--expect", "error_rat<1%": "did you mean error_rate?", "x": "--expect"} {
		if got := string(expectHint(text)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
