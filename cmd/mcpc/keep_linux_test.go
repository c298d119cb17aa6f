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
	"sync/atomic"
	"syscall"
	"testing"

	"mcpc/internal/tests/program"
)

var keptSessions = flag.Int("kept", 12, "how many sessions TestKeptServersEndAfterIdleTime opens with --keep")

// Many sessions are held, each is used, and half of them are killed with SIGKILL: of every
// second one of those the holder, of the others the server.
// When the idle time is over, no process is left, and no socket after the next command.
func TestKeptServersEndAfterIdleTime(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "kept") // short enough for sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	k := &keeper{t: t, binary: program.BuiltMCPC(t), dir: dir, script: filepath.Join(dir, "script"), marker: "TMPDIR=" + dir}
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
	for _, p := range program.ProcessesLeft(t, k.marker) {
		t.Errorf("%s is left", p)
	}
	left, remembered := len(k.sockets()), 0
	for first := 0; first < *keptSessions; first += sharing {
		for _, s := range k.sessions(first) {
			if remembered++; s.Held.Alive {
				t.Errorf("%s is held", s.Name)
			}
		}
	}
	t.Logf("%d sessions were held; %d were used again because their time was over too early, %d sockets were left for the next command",
		remembered, k.again.Load(), left)
	if remembered != *keptSessions {
		t.Errorf("%d sessions are remembered, want %d", remembered, *keptSessions)
	}
	if sockets := k.sockets(); len(sockets) > 0 {
		t.Errorf("sockets are left: %v", sockets)
	}
}

// sharing is how many sessions share a state directory, and the lock of it.
const sharing = 25

// A keeper opens sessions, whose processes carry a marker in their environment.
type keeper struct {
	t                           *testing.T
	binary, dir, script, marker string
	again                       atomic.Int64
}

// A keptSession is what mcpc sessions says of one.
type keptSession struct {
	Name string
	Held struct {
		Alive          bool
		PID, ServerPID int
	}
}

func (k *keeper) state(i int) string { return filepath.Join(k.dir, fmt.Sprint("state-", i/sharing)) }

func (k *keeper) sockets() []string {
	found, _ := filepath.Glob(filepath.Join(k.dir, "state-*", "held", "*"))
	return found
}

// mcpc runs one command for a session.
func (k *keeper) mcpc(i int, args ...string) (out, words string, err error) {
	cmd := exec.Command(k.binary, args...)
	cmd.Env = append(program.CleanEnv(), k.marker, "MCPC_STATE="+k.state(i))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	return string(raw), stderr.String(), err
}

func (k *keeper) sessions(i int) []keptSession {
	out, words, err := k.mcpc(i, "sessions", "--json")
	var all struct{ Sessions []keptSession }
	if err == nil {
		err = json.Unmarshal([]byte(out), &all)
	}
	if err != nil {
		k.t.Errorf("mcpc sessions: %v %s", err, words)
	}
	return all.Sessions
}

// one opens a session and uses it. On a machine with much to do the time of a server may
// be over before it is used: then it has said so, and is started anew.
func (k *keeper) one(i int) {
	name := fmt.Sprintf("kept-%d", i)
	for {
		if _, words, err := k.mcpc(i, "init", "--keep", "--idle", "4", "--as", name, "--", k.binary, "mock", "--stdio", "--script", k.script); err != nil {
			k.t.Errorf("%s: %v %s", name, err, words)
			return
		}
		got, words, err := k.mcpc(i, "-s", name, "call", "echo", "a:=1")
		if err != nil && strings.Contains(words, "nobody used it for 4s") {
			k.again.Add(1)
			continue
		}
		if err != nil || got != "{\"a\":1}\n" {
			k.t.Errorf("%s: the answer is %q: %v %s", name, got, err, words)
		}
		break
	}
	if i%2 == 0 {
		return
	}
	for _, s := range k.sessions(i) {
		pid := s.Held.PID
		if i%4 == 1 {
			pid = s.Held.ServerPID
		}
		if s.Name == name && s.Held.Alive {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
				k.t.Errorf("%s: %v", name, err)
			}
		}
	}
}
