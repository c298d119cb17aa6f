package connect

import (
	"strings"
	"testing"
)

// The usual address itself may be taken on the machine that tests.
func TestWithoutCurrent(t *testing.T) {
	for hint, names := range map[string][]string{"mcpc init URL opens a session": nil, ": -s box selects a session": {"box", "two"}} {
		if got := withoutCurrent(&Conn{remembered: remembered{names: names}}); !strings.Contains(got.String(), hint) {
			t.Errorf("with %q: %s", names, got)
		}
	}
}
