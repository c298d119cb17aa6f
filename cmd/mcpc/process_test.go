package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// Every ending has a script, named exit_CODE_KIND, or a reason why it has none.
func TestEveryEndingHasAScript(t *testing.T) {
	none := map[wire.Kind]string{
		wire.CheckFailed: "no command judges yet",
		wire.Internal:    "TestABugIsAnEndingToo is its test: no input is known to do it",
	}
	for _, e := range wire.Endings {
		found, err := filepath.Glob(filepath.Join("testdata", "script", fmt.Sprintf("exit_%02d_*.txtar", e.Code)))
		if err != nil {
			t.Fatal(err)
		}
		if none[e.Kind] == "" && len(found) != 1 || none[e.Kind] != "" && len(found) != 0 {
			t.Errorf("%d %s: the scripts are %q", e.Code, e.Kind, found)
		}
	}
}

// A bug ends with 70, and with --json it says so to programs. No input is known
// that does it, so the world has one here.
func TestABugIsAnEndingToo(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	a := &app{in: out, out: out, err: out, now: time.Now, version: "test", getenv: func(name string) string {
		switch name {
		case envName("state"):
			return t.TempDir()
		case envName("server"):
			panic("the bug")
		}
		return ""
	}}
	code, died := a.run([]string{"list", "--json"}, nil)
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

// Fifty processes at a time use one state and one session at one server, twenty
// times each. Nobody fails, nothing is lost, and the server never sees a request
// id twice: ids "MUST NOT have been previously used by the requestor within the
// same session" (2025-11-25 basic/index).
func TestManyProcessesShareASession(t *testing.T) {
	const users, calls = 50, 20
	// Built without the race detector, with which a process starts five times as
	// slowly.
	p := crowd{t: t, binary: builtBinary(t), state: t.TempDir()}
	s := newTestServer(t)
	if err := s.demo(); err != nil {
		t.Fatal(err)
	}
	p.mcpc("", "init", s.url("/mcp"), "--protocol", "2025-11-25")
	p.mcpc("", "list")
	var all sync.WaitGroup
	for user := range users {
		all.Go(func() {
			for call := range calls {
				number := fmt.Sprint(user*calls + call)
				p.mcpc("Echo: "+number+"\n", "call", "echo", `{"message":"`+number+`"}`)
			}
		})
	}
	all.Wait()
	ids, sessions, messages := seenBy(t, s.log.name)
	if len(messages) != users*calls {
		t.Errorf("the server saw %d calls, want %d", len(messages), users*calls)
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("the server saw the request id %s %d times", id, n)
		}
	}
	if len(sessions) != 1 {
		t.Errorf("the server saw %d sessions, want 1", len(sessions))
	}
}

// seenBy counts what a log tells: the requests by id, the sessions, and the
// calls by their arguments.
func seenBy(t *testing.T, log string) (ids, sessions, calls map[string]int) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	ids, sessions, calls = map[string]int{}, map[string]int{}, map[string]int{}
	for _, line := range strings.Split(string(text), "\n") {
		if _, session, ok := strings.Cut(line, "Mcp-Session-Id="); ok {
			sessions[session]++
		}
		_, rest, ok := strings.Cut(line, " {")
		if !ok {
			continue
		}
		raw := "{" + rest[:strings.LastIndex(rest, "}")+1]
		m := wire.ParseMessage([]byte(raw))
		if m.Kind != wire.Request {
			continue
		}
		ids[string(m.ID)]++
		if m.Method == "tools/call" {
			params, _ := wire.Object(m.Params)
			arguments, _ := params.Get("arguments")
			calls[string(arguments)]++
		}
	}
	return ids, sessions, calls
}

// A crowd is many runs of mcpc on one state.
type crowd struct {
	t             *testing.T
	binary, state string
}

// mcpc runs it and reports anything but success, a word on stderr, or another
// answer.
func (p crowd) mcpc(want string, args ...string) {
	cmd := exec.Command(p.binary, args...)
	cmd.Env = append(cleanEnv(), "MCPC_STATE="+p.state, "LC_ALL=C.UTF-8")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil || want != "" && stdout.String() != want || stderr.Len() > 0 {
		p.t.Errorf("%q: %v\nstdout: %s\nstderr: %s", args, err, stdout.String(), stderr.String())
	}
}
