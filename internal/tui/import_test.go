//go:build unix

package tui

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/creack/pty"
)

// TestMain ends at once where TestImportIsQuiet runs this program: then only its imports have
// run.
func TestMain(m *testing.M) {
	if os.Getenv("TUI_IMPORT_ONLY") != "" {
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A program that only imports this package sends the terminal no question and starts no program: it
// ends without a byte on a terminal, even if TMUX is set and no program can be found.
func TestImportIsQuiet(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = []string{"TUI_IMPORT_ONLY=1", "TMUX=/tmp/tmux-0/default,1,0", "TERM=xterm-256color", "PATH="}
	f, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make(chan string, 1)
	go func() {
		block := make([]byte, 1<<10)
		n, _ := f.Read(block)
		got <- string(block[:n])
	}()
	stop := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if out := <-got; out != "" {
		t.Errorf("the terminal got %q", out)
	}
}
