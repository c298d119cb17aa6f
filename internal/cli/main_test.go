package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpc/internal/connect/host"
	"mcpc/internal/wire"
)

// A bug ends with 70, and with --json as an error for programs. No input is known to cause one, so
// the test adds a bug.
func TestPanicExitsWith70(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	f := New(out, out, out)
	f.Now = time.Now
	f.Version = "test"
	f.Getenv = func(name string) string {
		switch name {
		case host.EnvName("state"):
			return t.TempDir()
		case host.EnvName("server"):
			panic("the bug")
		}
		return ""
	}
	code, died := Run(f, []string{"list", "--json"}, nil)
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	if code != wire.Internal.ExitCode() || died != nil {
		t.Errorf("exit %d, signal %v", code, died)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var failed struct {
		Error struct {
			Kind string
			Exit int
		}
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &failed); err != nil || failed.Error.Kind != "internal" || failed.Error.Exit != 70 {
		t.Errorf("%v: %s", err, text)
	}
	if !strings.HasPrefix(lines[0], "mcpc: internal error, a bug in mcpc: the bug") {
		t.Errorf("%s", text)
	}
}

// A command that a signal ends at once, before it has a conversation, reports it to programs too.
func TestImmediateSignalIsReportedAsJSON(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	f := New(nil, nil, out)
	f.Getenv = func(string) string { return "" }
	reportSignal(f, []string{"call", "echo", "-"}, syscall.SIGTERM)
	reportSignal(f, []string{"call", "echo", "-", "--json"}, syscall.SIGTERM)
	const want = `{"error":{"kind":"signal","exit":143,"message":"interrupted","sent":false,"outcome":"not_sent","operation_sent":false,"retryable":false}}`
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(text)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
