//go:build unix && programs

package catalog_test

import (
	"strings"
	"testing"

	"mcpc/internal/tests/terminal"
)

// At a terminal, servers --check --watch redraws its own screen, and leaves the terminal as it was.
func TestWatchedServersRestoreTheTerminal(t *testing.T) {
	tm := terminal.Start(t, 100, nil, "sh", "-c", "mcpc -s demo init --as fine && exec mcpc servers --check --watch 1s")
	tm.Await(`(?s)\x1b\[\?1049h.*fine +ok .*fine +ok `)
	tm.Type("\x03")
	out := tm.Ends("SIGINT")
	const restored = "\x1b[?25h\x1b[?1049l"
	if !strings.Contains(out, restored) || strings.Contains(out[strings.LastIndex(out, restored):], "fine") {
		t.Errorf("the terminal is not restored: %q", out)
	}
}
