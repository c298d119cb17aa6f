//go:build peers

package peers

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/bench"
	"mcpc/internal/bench/k6"
	"mcpc/internal/tests/servers"
	"mcpc/internal/wire"
)

// These tests run exported load tests in the real k6, and count what became of the calls.

// A scribe is a server that keeps what k6 sends.
type scribe struct{ *servers.RequestStore }

func newScribe(t *testing.T, h http.Handler) scribe { return scribe{servers.NewRequestStore(t, h)} }

// methods counts what a server got: methods of JSON-RPC, and HTTP methods other than POST.
func (l scribe) methods() map[string]int {
	counts := map[string]int{}
	for _, h := range l.All() {
		if h.Method == http.MethodPost {
			counts[wire.ParseMessage(h.Body).Method]++
		} else {
			counts[h.Method]++
		}
	}
	return counts
}

// wantCounts compares the channels of a run: each metric that is not named counts nothing.
func (r k6Run) wantCounts(t *testing.T, want map[string]float64) {
	t.Helper()
	got := map[string]float64{}
	for _, channel := range []string{"ok", "tool_error", "rpc_error", "transport", "timeout"} {
		if n := r.counts["mcp_"+channel]; n != 0 {
			got[channel] = n
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("channels %v, want %v\n%s", got, want, r.output)
	}
}

func readDir(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(raw)
	}
	return all.String()
}

// checkSyntax reads a script as Node does.
func checkSyntax(t *testing.T, dir string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, k6.Script))
	if err != nil {
		t.Fatal(err)
	}
	module := filepath.Join(t.TempDir(), "script.mjs")
	if err := os.WriteFile(module, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("node", "--check", module).CombinedOutput(); err != nil {
		t.Errorf("node --check: %v\n%s", err, out)
	}
}

// Calls that were recorded against the demo server, in either era, and against
// server-everything end in k6 as they did; sessions are opened and closed, and no secret is in
// the files.
func TestPeersK6RunsARecording(t *testing.T) {
	t.Parallel()
	const token, key = "canary-token-of-the-user", "canary-key-of-the-user"
	for _, c := range []struct{ name, revision string }{{"demo", "2025-11-25"}, {"demo", "2026-07-28"}, {"everything-http", "2025-11-25"}} {
		t.Run(c.name+" "+c.revision, func(t *testing.T) {
			t.Parallel()
			var to *url.URL
			if c.name == "demo" {
				demo := servers.ForTest(t)
				if err := demo.Demo(); err != nil {
					t.Fatal(err)
				}
				to, _ = url.Parse(demo.URL("/mcp"))
			} else {
				to, _ = url.Parse(peerNamed(t, c.name).start(t)[1])
			}
			endpoint := to.Path
			to.Path = ""
			server := newScribe(t, httputil.NewSingleHostReverseProxy(to))
			dir := filepath.Join(t.TempDir(), "load")
			m, record := newRunner(t), filepath.Join(t.TempDir(), "r.jsonl")
			for _, words := range [][]string{
				{"call", "--no-validate", "echo", `{"message":"hi"}`},
				{"call", "--no-validate", "get-sum", `{"a":"no number","b":[]}`},
				{"raw", "nothing/here"},
				{"call", "--no-validate", "echo", `{"message":"password=canary-password"}`},
			} {
				m.run(append([]string{"-s", server.URL + endpoint, "--protocol", c.revision, "--record", record, "-H", "Authorization: Bearer " + token, "-H", "X-Api-Key: " + key}, words...)...)
			}
			r := m.want(0, "export", record, "-method:tools/list", "--as", "k6", "-o", dir)
			for _, says := range []string{"4 calls saved to ", "set MCP_TOKEN to ", "set MCP_X_API_KEY to ", "set MCP_SECRET to "} {
				if !strings.Contains(r.stderr, says) {
					t.Errorf("export does not say %q:\n%s", says, r.stderr)
				}
			}
			if files := readDir(t, dir); strings.Contains(files, "canary") {
				t.Errorf("a secret is in the files:\n%s", files)
			}
			checkSyntax(t, dir)

			server.Forget()
			run := runK6(t, dir, "--vus", "3", "--iterations", "40", "MCP_TOKEN="+token, "MCP_X_API_KEY="+key, `MCP_SECRET=quoted " here`)
			run.wantCounts(t, map[string]float64{"ok": 20, "tool_error": 10, "rpc_error": 10})
			if run.code != 0 || run.rates["mcp_failed"] != 0.5 {
				t.Errorf("exit code %d, failed %v\n%s", run.code, run.rates["mcp_failed"], run.output)
			}
			want := map[string]int{"tools/call": 30, "nothing/here": 10}
			if c.revision < "2026" {
				want["initialize"], want["notifications/initialized"], want["DELETE"] = 3, 3, 3
			}
			if got := server.methods(); !maps.Equal(got, want) {
				t.Errorf("the server got %v, want %v", got, want)
			}
			last := server.Last(t, "tools/call")
			if last.Header.Get("Authorization") != "Bearer "+token || last.Header.Get("X-Api-Key") != key {
				t.Errorf("the header is %v", last.Header)
			}
			if c.revision < "2026" {
				server.wantSessions(t)
			}
			if none := runK6(t, dir, "--vus", "1", "--iterations", "1"); none.code == 0 || !strings.Contains(none.output, "set MCP_TOKEN to") {
				t.Errorf("without the variable: exit code %d\n%s", none.code, none.output)
			}
		})
	}
}

// wantSessions: each session was created by the server, is used by one user, and is closed.
func (l scribe) wantSessions(t *testing.T) {
	t.Helper()
	used, closed := map[string]bool{}, map[string]bool{}
	for _, h := range l.All() {
		id := h.Header.Get("Mcp-Session-Id")
		method := wire.ParseMessage(h.Body).Method
		switch {
		case method == "initialize":
			if id != "" || h.Header.Get("Mcp-Protocol-Version") != "" {
				t.Errorf("initialize has the header %v", h.Header)
			}
		case id == "" || h.Header.Get("Mcp-Protocol-Version") == "":
			t.Errorf("%s %s has the header %v", h.Method, method, h.Header)
		case h.Method == http.MethodDelete:
			closed[id] = true
		default:
			used[id] = true
		}
	}
	if len(used) != 3 || !maps.Equal(used, closed) {
		t.Errorf("sessions %v used, %v closed", used, closed)
	}
}

// Thresholds are the plan's expectations: k6 ends with 99 if one is not met.
func TestPeersK6JudgesExpectations(t *testing.T) {
	t.Parallel()
	server := servers.ForTest(t)
	if err := server.Demo(); err != nil {
		t.Fatal(err)
	}
	call := func(tool string) k6.Call {
		return k6.Call{Method: "tools/call", Tool: tool, Params: json.RawMessage(`{"name":"` + tool + `","arguments":{"message":"hi"}}`)}
	}
	for _, c := range []struct {
		expect []string
		calls  []k6.Call
		code   int
	}{
		{[]string{"p99<1h", "max>0s", "error_rate<=50%", "rate>0"}, []k6.Call{call("echo"), call("fail")}, 0},
		{[]string{"error_rate<50%"}, []k6.Call{call("echo"), call("fail")}, 99},
		{[]string{"p50<0.001ms"}, []k6.Call{call("echo")}, 99},
		{[]string{"p99<1h"}, []k6.Call{call("fail")}, 99}, // nothing succeeded
	} {
		t.Run(strings.Join(c.expect, " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := k6.Plan{Version: "1", URL: server.URL("/mcp"), Revision: "2025-11-25", Calls: c.calls, Users: 2, Duration: time.Second}
			for _, text := range c.expect {
				e, err := bench.ParseExpectation(text)
				if err != nil {
					t.Fatal(err)
				}
				p.Expect = append(p.Expect, e)
			}
			if _, err := k6.Write(dir, p); err != nil {
				t.Fatal(err)
			}
			if r := runK6(t, dir, "--vus", "2", "--iterations", "10"); r.code != c.code {
				t.Errorf("exit code %d, want %d\n%s", r.code, c.code, r.output)
			}
		})
	}
}

// Each scenario makes calls: with a warm-up, which does not count, and at a rising rate.
func TestPeersK6RunsEachScenario(t *testing.T) {
	t.Parallel()
	calls := []k6.Call{{Method: "tools/call", Tool: "t", Params: json.RawMessage(`{"name":"t"}`)}}
	base := k6.Plan{Version: "1", Revision: "2026-07-28", Stateless: true, Calls: calls, Duration: time.Second}
	open, closed := base, base
	open.Open, open.Rate, open.Users, open.Warmup = true, 20, 5, time.Second
	closed.Users, closed.Think = 2, 50*time.Millisecond
	for _, c := range []struct {
		name     string
		plan     k6.Plan
		words    []string
		executor string
		warm     bool
	}{
		{"open", open, nil, "20.00 iterations/s for 1s", true},
		{"half a call a second", base, []string{"RATE=2.5"}, "2.50 iterations/s for 1s", false},
		{"rising", open, []string{"RAMP=1s", "WARMUP="}, "Up to 20.00 iterations/s for 2s over 2 stages", false},
		{"closed", closed, nil, "2 looping VUs for 1s", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := newScribe(t, answering(func(h servers.Received, m *wire.Message) k6Reply {
				return k6Result(m, `{"content":[],"resultType":"complete"}`)
			}))
			dir, plan := t.TempDir(), c.plan
			plan.URL = server.URL
			if _, err := k6.Write(dir, plan); err != nil {
				t.Fatal(err)
			}
			r := runK6(t, dir, c.words...)
			made := server.methods()["tools/call"]
			if !strings.Contains(r.output, c.executor) || r.counts["mcp_ok"] == 0 {
				t.Errorf("not %q with calls that succeed\n%s", c.executor, r.output)
			}
			if warm := float64(made) > r.counts["mcp_ok"]; warm != c.warm {
				t.Errorf("%d calls made, %v counted", made, r.counts["mcp_ok"])
			}
		})
	}
}
