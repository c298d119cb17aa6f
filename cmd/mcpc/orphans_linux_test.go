package main

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpc/internal/tests/program"
)

var orphanRuns = flag.Int("runs", 60, "how many runs TestNoRunLeavesAProcess makes")

// However a run over stdio ends, nothing of its server is left: a third of the
// runs are killed or interrupted, anywhere between their first instruction and
// their last.
func TestNoRunLeavesAProcess(t *testing.T) {
	binary, runs := program.BuiltMCPC(t), *orphanRuns
	if testing.Short() {
		runs /= 2
	}
	const slow = "tool echo\non tools/call\n  wait 10ms\n  pass\n"
	hard := []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGKILL, syscall.SIGTERM}
	// When mcpc is killed no process is left to end one that holds on to the
	// streams and has another parent.
	soft := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}
	const moment = 60 * time.Millisecond
	for _, s := range []struct {
		name    string
		wrapper []string
		script  string
		runs    int
		signals []syscall.Signal
		within  time.Duration // in which the signal comes
	}{
		{"good", nil, slow, runs, hard, moment},
		{"wrapped", []string{"sh", "-c", `"$@"; exit`, "sh"}, slow, runs / 10, hard, moment},
		{"leaves a process behind", nil, slow + "on start\n  fork 10m\n", runs / 10, soft, moment},
		// mcpc waits for the end of this one.
		{"ignores the end of its input", nil, slow + "on start\n  ignore eof\n", runs / 10, hard, time.Second},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			script := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(script, []byte(s.script), 0o600); err != nil {
				t.Fatal(err)
			}
			server := append(s.wrapper, binary, "mock", "--stdio", "--script", script)
			o := orphanage{t: t, argv: append([]string{binary, "call", "echo", `{"a":1}`, "--"}, server...), marker: "TMPDIR=" + t.TempDir()}
			o.all(s.runs, s.signals, s.within)
			for _, p := range program.ProcessesLeft(t, o.marker) {
				t.Errorf("%s is left", p)
			}
		})
	}
}

// An orphanage makes runs of one command, whose processes carry a marker in
// their environment.
type orphanage struct {
	t      *testing.T
	argv   []string
	marker string

	mu      sync.Mutex
	endings map[string]int
}

// all makes the runs, a few at a time, and interrupts every third.
func (o *orphanage) all(runs int, signals []syscall.Signal, within time.Duration) {
	seed := rand.Uint64()
	o.t.Logf("seed %d", seed)
	moments := rand.New(rand.NewPCG(seed, 0))
	o.endings = map[string]int{}
	var running sync.WaitGroup
	turns := make(chan struct{}, 4)
	for i := range runs {
		var sig syscall.Signal
		if i%3 == 2 {
			sig = signals[i/3%len(signals)]
		}
		after := time.Duration(moments.Int64N(int64(within)))
		turns <- struct{}{}
		running.Go(func() {
			o.one(sig, after)
			<-turns
		})
	}
	running.Wait()
	o.t.Logf("%d runs ended: %v", runs, o.endings)
}

// one is a run that gets a signal after a while, unless that is 0.
func (o *orphanage) one(sig syscall.Signal, after time.Duration) {
	cmd := exec.Command(o.argv[0], o.argv[1:]...)
	cmd.Env = append(program.CleanEnv(), o.marker, "MCPC_STATE="+filepath.Join(o.t.TempDir(), "state"))
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Start(); err != nil {
		o.t.Error(err)
		return
	}
	if sig != 0 {
		time.Sleep(after)
		_ = cmd.Process.Signal(sig)
	}
	_ = cmd.Wait()
	ended := program.Ending(cmd.ProcessState)
	if sig == 0 && (ended != "0" || out.String() != "{\"a\":1}\n") {
		o.t.Errorf("it ended with %s: %s%s", ended, out.String(), words.String())
	}
	if sig != 0 && ended != "0" && program.Signals[ended] != sig {
		o.t.Errorf("after %v it ended with %s: %s", sig, ended, words.String())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.endings[ended]++
}
