package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

var keptSessions = flag.Int("kept", 24, "how many sessions TestNoHeldServerIsLeft opens with --keep")

// Many sessions are held, each is used, and half of them are killed with a signal that
// nobody can catch: of every second one of those the holder, of the others the server.
// When the idle time is over, no process is left, and no socket after the next command.
func TestNoHeldServerIsLeft(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "kept") // short enough for sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	k := &keeper{t: t, binary: builtBinary(t), state: filepath.Join(dir, "state"), script: filepath.Join(dir, "script"), marker: "TMPDIR=" + dir}
	if err := os.WriteFile(k.script, []byte("tool echo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	turns := make(chan struct{}, 4)
	for i := range *keptSessions {
		turns <- struct{}{}
		running.Go(func() {
			k.one(i)
			<-turns
		})
	}
	running.Wait()
	for _, p := range processesLeft(t, k.marker) {
		t.Errorf("%s is left", p)
	}
	sockets, _ := os.ReadDir(filepath.Join(k.state, "held"))
	t.Logf("%d sessions were held, %d sockets were left for the next command", *keptSessions, len(sockets))
	var all struct {
		Sessions []struct{ Held struct{ Alive bool } }
	}
	if err := json.Unmarshal([]byte(k.mcpc("sessions", "--json")), &all); err != nil || len(all.Sessions) != *keptSessions {
		t.Errorf("%d sessions are remembered (%v), want %d", len(all.Sessions), err, *keptSessions)
	}
	for i, s := range all.Sessions {
		if s.Held.Alive {
			t.Errorf("session %d is held", i)
		}
	}
	if sockets, _ := os.ReadDir(filepath.Join(k.state, "held")); len(sockets) > 0 {
		t.Errorf("sockets are left: %v", sockets)
	}
}

// A keeper opens sessions, whose processes carry a marker in their environment.
type keeper struct {
	t                             *testing.T
	binary, state, script, marker string
}

func (k *keeper) mcpc(args ...string) string {
	k.t.Helper()
	cmd := exec.Command(k.binary, args...)
	cmd.Env = append(cleanEnv(), k.marker, "MCPC_STATE="+k.state)
	var words strings.Builder
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		k.t.Errorf("mcpc %q: %v\n%s", args, err, words.String())
	}
	return string(out)
}

func (k *keeper) one(i int) {
	name := fmt.Sprintf("kept-%d", i)
	k.mcpc("init", "--keep", "--idle", "4", "--as", name, "--", k.binary, "mock", "--stdio", "--script", k.script)
	if got := k.mcpc("-s", name, "call", "echo", "a=1"); got != "{\"a\":\"1\"}\n" {
		k.t.Errorf("%s: the answer is %q", name, got)
	}
	if i%2 == 0 {
		return
	}
	var all struct {
		Sessions []struct {
			Name string
			Held struct{ PID, ServerPID int }
		}
	}
	if err := json.Unmarshal([]byte(k.mcpc("sessions", "--json")), &all); err != nil {
		k.t.Error(err)
	}
	for _, s := range all.Sessions {
		pid := s.Held.PID
		if i%4 == 1 {
			pid = s.Held.ServerPID
		}
		if s.Name == name {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				k.t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// noTerminalOpen looks at what a process has open.
func noTerminalOpen(t *testing.T, pid int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(files) < 4 {
		t.Fatalf("it has %d files open: %v", len(files), err)
	}
	for _, name := range files {
		if to, _ := os.Readlink(name); strings.HasPrefix(to, "/dev/pts") || strings.HasPrefix(to, "/dev/tty") {
			t.Errorf("it has %s open", to)
		}
	}
}
