//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/tests/terminal"
)

// Before a bundle is written a person sees what is left in it, and what --strict would hide.
func TestTerminalAsksForABundle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, to := filepath.Join(dir, "r.jsonl"), filepath.Join(dir, "b.mcpcz")
	terminal.Start(t, 80, nil, "mcpc", "-s", "demo", "--record", file, "call", "echo", "message=for jane@corp.example, 10.1.2.3: projectcodename-bluewhale").Ends("0")
	tm := terminal.Start(t, 200, nil, "mcpc", "export", file, "--as", "bundle", "-o", to)
	tm.Await(`Write this bundle\?`)
	tm.Type("n\n")
	out := tm.Ends("12")
	_, left, _ := strings.Cut(out, "The longest words that are not hidden:")
	for _, want := range []string{"  projectcodename-bluewhale\r\n", "without --strict: 3, e-mail addresses\r\n", "without --strict: 3, IPv4 addresses\r\n"} {
		if !strings.Contains(left, want) {
			t.Errorf("no %q in %q", want, left)
		}
	}
	for _, bad := range []string{"io.modelcontextprotocol", "structuredContent", "  trigger-", "json-schema.org"} {
		if strings.Contains(left, bad) {
			t.Errorf("%q is left as a value: %q", bad, left)
		}
	}
}
