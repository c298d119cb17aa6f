package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/state"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/servers"
	"mcpc/internal/wire"
)

var crowdCalls = flag.Int("calls", 3, "how many calls each process of TestManyProcessesShareASession makes")

// Fifty processes at a time use one state and one session at one server, several
// times each, after each has opened a session of its own. No call fails, nothing
// is lost or sent twice, and the server never sees a request id twice: ids "MUST
// NOT have been previously used by the requestor within the same session"
// (2025-11-25 basic/index).
func TestManyProcessesShareASession(t *testing.T) {
	users := 50
	calls := *crowdCalls
	// Built without the race detector, with which a process starts five times as
	// slowly.
	p := crowd{t: t, binary: program.BuiltMCPC(t), state: t.TempDir()}
	s := servers.ForTest(t)
	if err := s.Demo(); err != nil {
		t.Fatal(err)
	}
	open := func(name string) { p.mcpc("", "init", s.URL("/mcp"), "--as", name, "--protocol", "2025-11-25") }
	open("shared")
	p.mcpc("", "-s", "shared", "list")
	want := []string{"shared"}
	// A process that opens a session writes the state, and waits five seconds for another's
	// write: on a slow disk not fifty of them have their turn in that time.
	turns := make(chan struct{}, 6)
	var all sync.WaitGroup
	for user := range users {
		own := fmt.Sprint("own-", user)
		want = append(want, own)
		all.Go(func() {
			turns <- struct{}{}
			open(own)
			<-turns
			for call := range calls {
				number := fmt.Sprint(user*calls + call)
				p.mcpc("Echo: "+number+"\n", "-s", "shared", "call", "echo", `{"message":"`+number+`"}`)
			}
		})
	}
	all.Wait()
	seen := seenBy(t, s.Log().Name())
	if len(seen.calls) != users*calls || len(seen.callIDs) != users*calls {
		t.Errorf("the server saw %d calls with %d ids, want %d", len(seen.calls), len(seen.callIDs), users*calls)
	}
	for what, times := range map[string]map[string]int{"call": seen.calls, "session and id": seen.ids} {
		for one, n := range times {
			if n > 1 {
				t.Errorf("the server saw the %s %s %d times", what, one, n)
			}
		}
	}
	if len(seen.sessions) != users+1 {
		t.Errorf("the server saw %d sessions, want %d", len(seen.sessions), users+1)
	}
	store, err := state.Open(p.state)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Load()
	slices.Sort(want)
	if got := st.Names(); err != nil || !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("the state remembers %q (%v), want %q", got, err, want)
	}
}

// seen is what came to a server, and how often: requests by session and id,
// sessions, tool calls by their arguments and by session and id.
type seen struct{ ids, sessions, calls, callIDs map[string]int }

// seenBy counts what a log tells.
func seenBy(t *testing.T, log string) seen {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	s := seen{map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}}
	for _, line := range strings.Split(string(text), "\n") {
		_, fields, _ := strings.Cut(line, "Mcp-Session-Id=")
		session, _, _ := strings.Cut(fields, " ")
		if session != "" {
			s.sessions[session]++
		}
		_, rest, ok := strings.Cut(line, " {")
		if !ok {
			continue
		}
		raw := "{" + rest[:strings.LastIndex(rest, "}")+1]
		m := wire.ParseMessage([]byte(raw))
		// The request that opens a session is not in one yet.
		if m.Kind != wire.Request || session == "" {
			continue
		}
		id := session + " " + string(m.ID)
		s.ids[id]++
		if m.Method == "tools/call" {
			params, _ := jsonraw.Object(m.Params)
			arguments, _ := params.Get("arguments")
			s.calls[string(arguments)]++
			s.callIDs[id]++
		}
	}
	return s
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
	cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+p.state, "LC_ALL=C.UTF-8")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil || want != "" && stdout.String() != want || stderr.Len() > 0 {
		p.t.Errorf("%q: %v\nstdout: %s\nstderr: %s", args, err, stdout.String(), stderr.String())
	}
}
