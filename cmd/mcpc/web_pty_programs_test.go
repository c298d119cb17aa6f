//go:build unix && programs

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/tests/program"
	"mcpc/internal/tests/terminal"
)

// In the background of a shell what is typed is the shell's: mcpc is not stopped because it waits for Enter.
func TestTerminalBackground(t *testing.T) {
	program.MustHave(t, "ps")
	dir := t.TempDir()
	tm := terminal.Start(t, 200, []string{"DIR=" + dir}, program.MustHave(t, "bash"), "-m", "-c",
		`mcpc inspect --web --no-open & until [ -f "$DIR/typed" ]; do sleep 0.05; done; echo "state $(ps -o stat= -p $!)"; kill -INT $!; kill -CONT $!; wait $!; read line; echo "left $line"`)
	tm.Await(addresses.String())
	tm.Type("word\r")
	time.Sleep(300 * time.Millisecond) // a read would stop it within this time
	if err := os.WriteFile(filepath.Join(dir, "typed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out := tm.Ends("0")
	if strings.Contains(out, "state T") || !strings.Contains(out, "left word") {
		t.Errorf("got %q", out)
	}
}
