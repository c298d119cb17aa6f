//go:build peers

package peers

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/tests/program"
)

// The notifications of the servers when another client calls the tool touch, by the listening
// client's revision. A peer that is not here has nothing to touch, or no way to notify: ts-server
// serves the handshake without sessions.
var peersTell = []struct {
	peer     string
	revision int // its place in client.Revisions
	want     []string
}{
	{"go-sdk-http", 1, []string{"tools\tthe list changed", "resource\tupdated: peer://note"}},
	{"go-sdk-events", 1, []string{"tools\tthe list changed", "resource\tupdated: peer://note"}},
	{"go-sdk-json", 1, []string{"tools\tthe list changed", "resource\tupdated: peer://note"}},
	{"go-sdk-sse", 1, []string{"tools\tthe list changed", "resource\tupdated: peer://note"}},
	{"go-sdk-stateless", 0, []string{"tools\tthe list changed", "resource\tupdated: peer://note"}},
	{"mcp-go-http", 1, []string{"tools\tthe list changed", "resource\tupdated: peer://note"}},
	{"mcp-go-http", 0, []string{"tools\tthe list changed"}},
	{"mcp-go-sse", 1, []string{"tools\tthe list changed", "resource\tupdated: peer://note"}},
	{"ts-server-http", 0, []string{"tools\tthe list changed", "resource\tupdated: peer://note"}},
}

func TestPeersListen(t *testing.T) {
	t.Parallel()
	for _, c := range peersTell {
		revision := client.Revisions()[c.revision]
		t.Run(c.peer+" "+revision, func(t *testing.T) {
			t.Parallel()
			m := newRunner(t)
			target := peerNamed(t, c.peer).start(t)
			l := m.listen(with(target, "--protocol", revision, "--tools", "--resource", "peer://note"))
			l.await("listening to ")
			m.want(0, with(target, "call", "--yes", "touch")...)
			for _, line := range c.want {
				l.await(line)
			}
			l.interrupt()
		})
	}
}

// server-everything logs each subscription, and sends that to the subscribed client.
func TestPeersListenLogs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"everything-http", "everything-sse", "everything-stdio", "everything-2026-01-http"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := peerNamed(t, name).start(t)
			l := newRunner(t).listen(with(target, "--logs=debug", "--resource", "demo://resource/dynamic/text/1"))
			l.await("listening to ")
			l.await("log\t[info] ")
			l.interrupt()
		})
	}
}

// A listener is mcpc listen under way, and all that it writes.
type listener struct {
	t   *testing.T
	cmd *exec.Cmd

	mu   sync.Mutex
	text bytes.Buffer
}

func (p runner) listen(words []string) *listener {
	p.t.Helper()
	l := &listener{t: p.t, cmd: exec.Command("mcpc", append([]string{"listen"}, words...)...)}
	l.cmd.Env = p.environment()
	l.cmd.Stdout, l.cmd.Stderr = l, l
	if err := l.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = l.cmd.Process.Kill() })
	return l
}

func (l *listener) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *listener) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until the listener has written something.
func (l *listener) await(text string) {
	l.t.Helper()
	for deadline := time.Now().Add(program.Patience); !strings.Contains(l.said(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("mcpc listen never wrote %q:\n%s", text, l.said())
		}
	}
}

func (l *listener) interrupt() {
	l.t.Helper()
	if err := l.cmd.Process.Signal(os.Interrupt); err != nil {
		l.t.Fatal(err)
	}
	_ = l.cmd.Wait()
	if got := program.Ending(l.cmd.ProcessState); got != "SIGINT" {
		l.t.Errorf("mcpc listen ended with %s, want SIGINT:\n%s", got, l.said())
	}
}
