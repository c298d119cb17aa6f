package call_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/demo"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
	"mcpc/internal/wire"
)

// A tallied is the demo, which counts what it is asked. An older one refuses the newest
// revision as the TypeScript SDK does.
type tallied struct {
	older bool
	// ttl replaces "ttlMs":300000 in its lists; "" changes nothing.
	ttl string
	// hold is what the response to a DELETE waits for; nil is nothing.
	hold chan struct{}

	mu      sync.Mutex
	asked   []string
	deleted chan struct{} // takes one for each DELETE
}

func (s *tallied) start(t *testing.T) string {
	t.Helper()
	s.deleted = make(chan struct{}, 100)
	next := demo.Handler(demo.Options{JSON: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(raw))
		method := cmp.Or(wire.ParseMessage(raw).Method, r.Method)
		s.mu.Lock()
		s.asked = append(s.asked, method)
		s.mu.Unlock()
		switch {
		case s.older && r.Header.Get("Mcp-Protocol-Version") == newest:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`)
			return
		case method == http.MethodDelete:
			s.deleted <- struct{}{}
			if s.hold != nil {
				<-s.hold
			}
		case s.ttl != "":
			w = promising{w, s.ttl}
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// promising replaces the ttlMs of what is written in one piece.
type promising struct {
	http.ResponseWriter
	ttl string
}

func (w promising) Write(raw []byte) (int, error) {
	_, err := w.ResponseWriter.Write(bytes.ReplaceAll(raw, []byte(`"ttlMs":300000`), []byte(w.ttl)))
	return len(raw), err
}

func (w promising) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// take returns the new requests, in order: all that a command sent, with a DELETE at the end if it
// opened a session.
func (s *tallied) take(t *testing.T) string {
	t.Helper()
	s.mu.Lock()
	opened := slices.Contains(s.asked, "initialize")
	s.mu.Unlock()
	if opened {
		s.awaitDelete(t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := strings.Join(s.asked, " ")
	s.asked = nil
	return asked
}

func (s *tallied) awaitDelete(t *testing.T) {
	t.Helper()
	select {
	case <-s.deleted:
	case <-time.After(time.Minute):
		t.Fatal("no DELETE arrived")
	}
}

const newest = "2026-07-28"

// A call sends no more than it needs, in each era: the first and the second time, with the
// credentials of another user, whose definitions it must not use, and in a session. A definition is
// fresh for its ttlMs, else for 5 minutes; it is fetched again with --fresh.
func TestRequestsOfCalls(t *testing.T) {
	t.Parallel()
	const begin, list, call, end = "initialize notifications/initialized", "tools/list tools/list", "tools/call", "DELETE"
	const whole = list + " tools/list" // in a session the list is remembered, so that all pages are fetched
	words := func(words ...string) string { return strings.Join(words, " ") }
	for name, c := range map[string]struct {
		older                      bool
		ttl                        string
		first, second, again, warm string
	}{
		"newest":         {false, "", words("server/discover", list, call), call, words(list, call), call},
		"older":          {true, "", words("server/discover", begin, list, call, end), words(begin, call, end), words(begin, list, call, end), call},
		"newest, no ttl": {false, `"other":1`, words("server/discover", list, call), call, words(list, call), call},
		"older, no ttl":  {true, `"other":1`, words("server/discover", begin, list, call, end), words(begin, call, end), words(begin, list, call, end), call},
		"newest, ttl 0":  {false, `"ttlMs":0`, words("server/discover", list, call), words(list, call), words(list, call), words(whole, call)},
		"older, ttl 0":   {true, `"ttlMs":0`, words("server/discover", begin, list, call, end), words(begin, list, call, end), words(begin, list, call, end), words(whole, call)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &tallied{older: c.older, ttl: c.ttl}
			url, m := s.start(t), caller{t, t.TempDir()}
			cold := []string{"-s", url, "call", "get-sum", `{"a":1,"b":2}`}
			as := func(user string) []string { return append([]string{"-H", "Authorization: Bearer " + user}, cold...) }
			for _, step := range []struct {
				what string
				args []string
				want string
			}{
				{"first call", cold, c.first},
				{"second call", cold, c.second},
				{"call with --fresh", append(slices.Clone(cold), "--fresh"), c.again},
				{"call after it", cold, c.second},
				{"call without confirmation", append([]string{"--confirm=never"}, cold...), c.second},
				{"call of one user", as("one"), c.again},
				{"call of another user", as("two"), c.again},
				{"second call of one user", as("one"), c.second},
			} {
				m.run(step.args...)
				if got := s.take(t); got != step.want {
					t.Errorf("%s: the server was asked %s, want %s", step.what, got, step.want)
				}
			}
			m.run("init", url, "--as", "kept")
			warm := []string{"-s", "kept", "call", "get-sum", "a=1", "b=2"}
			m.run(warm...)
			s.mu.Lock()
			s.asked = nil
			s.mu.Unlock()
			for _, step := range []struct {
				what string
				args []string
				want string
			}{
				{"warm call", warm, c.warm},
				{"warm call again", warm, c.warm},
				{"warm call with --fresh", append(slices.Clone(warm), "--fresh"), words(whole, call)},
			} {
				m.run(step.args...)
				if got := s.take(t); got != step.want {
					t.Errorf("%s: the server was asked %s, want %s", step.what, got, step.want)
				}
			}
		})
	}
}

// The end of a session arrives though its response is not waited for, which is no failure. With
// -v it is waited for.
func TestEndOfSessionIsNotAwaited(t *testing.T) {
	t.Parallel()
	s := &tallied{older: true, hold: make(chan struct{})}
	url, m := s.start(t), caller{t, t.TempDir()}
	t.Cleanup(func() { close(s.hold) })
	cold := []string{"-s", url, "call", "get-sum", "a=1", "b=2"}
	stdout, stderr := m.runProgram(cold...)
	if s.awaitDelete(t); stdout != "The sum of 1 and 2 is 3.\n" || stderr != "" {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	const left = "the response was not waited for"
	if raw := m.recording(1); !strings.Contains(raw, left) {
		t.Errorf("the recording lacks %q:\n%s", left, raw)
	}
	if got, _ := m.run("log", "is:error"); got != "" {
		t.Errorf("the log has failures: %s", got)
	}
	m.runProgram(append(cold, "-v")...)
	s.awaitDelete(t)
	if raw := m.recording(2); !strings.Contains(raw, "no response within 2s") {
		t.Errorf("with -v the response was not waited for:\n%s", raw)
	}
}

// A caller runs mcpc with a separate state.
type caller struct {
	t     *testing.T
	state string
}

// run runs a command in the process of the test.
func (c caller) run(args ...string) (stdout, stderr string) {
	c.t.Helper()
	got := clitest.MCPC(c.t, []string{"MCPC_STATE=" + c.state}, args...)
	if got.Code != 0 {
		c.t.Fatalf("mcpc %s: %d\n%s", strings.Join(args, " "), got.Code, got.Stderr)
	}
	return got.Stdout, got.Stderr
}

// runProgram runs a command as a process.
func (c caller) runProgram(args ...string) (stdout, stderr string) {
	c.t.Helper()
	cmd := exec.Command("mcpc", args...)
	cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+c.state)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		c.t.Fatalf("mcpc %s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
	return out.String(), said.String()
}

// recording is the file of a run.
func (c caller) recording(run int) string {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join(c.state, "traffic", fmt.Sprintf("%06d.jsonl", run)))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(raw)
}
