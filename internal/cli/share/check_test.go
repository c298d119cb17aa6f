package share

import (
	"strings"
	"testing"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/host"
)

// TestSecretAtCutOfLongLineIsFound: no secret is missed where a line is cut.
func TestSecretAtCutOfLongLineIsFound(t *testing.T) {
	const longest = 2 * recheckedBytes
	for at := longest - 16; at <= longest; at += 2 {
		text := "first\n" + strings.Repeat("x ", at/2) + "password=correct-horse " + strings.Repeat("y ", longest) + "\n"
		c := &checker{factory: &cmdutil.Factory{Env: host.Env{Shared: &host.Shared{}}}, sources: map[string]string{}}
		leaks, err := c.findLeaksByLine(strings.NewReader(text), longest)
		if err != nil || len(leaks) == 0 || len(leaks) > 2 || leaks[0].Line != 2 {
			t.Errorf("at %d: %v, %v", at, leaks, err)
		}
	}
}
