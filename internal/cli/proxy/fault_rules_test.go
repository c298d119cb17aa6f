package proxy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
)

// A ruleCase is a rule for the one call whose message is its name, and how the call ends: over HTTP
// and stdio, or 0 if the rule is not for that transport.
type ruleCase struct {
	name, action string
	http, stdio  int
	// out is in stdout or stderr.
	out string
}

const notThere = -1

var ruleCases = []ruleCase{
	{"delay", "delay 200ms +-100ms", 0, 0, "Echo: c-delay"},
	{"throttle", "throttle 3kb/s", 0, 0, "Echo: c-throttle"},
	{"status", "status 503 retry-after 1", 7, notThere, "503"},
	{"unauthorized", "401", 4, notThere, "401"},
	{"rpc", `rpc -32603 "boom" {"a":1}`, 6, 6, "boom"},
	{"toolerror", "tool-error no luck", 5, 5, "no luck"},
	{"droprequest", "drop request", 9, 9, "no response"},
	{"dropresponse", "drop response", 9, 9, "no response"},
	{"duplicate", "duplicate", 0, 0, "Echo: c-duplicate"},
	{"reorder", "reorder 1", 0, 0, "Echo: c-reorder"},
	{"cutevent", "cut after event 0", 7, notThere, "lost|ended|closed"},
	{"cutfin", "cut after 0 bytes", 7, 7, "lost|ended|exited|closed"},
	{"cutrst", "cut after 0 bytes rst", 7, notThere, "reset|lost"},
	{"cutbytes", "cut after 40 bytes", 7, 7, "lost|ended|exited|closed"},
	{"hang", "hang", 9, 9, "no response"},
	{"stall", "stall 200ms", 0, 0, "Echo: c-stall"},
	{"slowloris", "slow-loris 1ms", 0, 0, "Echo: c-slowloris"},
	{"replaceresponse", `replace .result.content[0].text "changed"`, 0, 0, "changed"},
	{"replacerequest", `replace .params.arguments.message "other"`, 0, 0, "Echo: other"},
	{"header", "header Content-Type: text/html", 8, notThere, "text/html"},
	{"headerrequest", "header request Mcp-Method: tools/list", 6, notThere, ""},
	{"truncate", "truncate 20", 8, 9, ""},
	{"garbage", "garbage 30", 8, 9, ""},
	{"badutf", "bad-utf8", 8, 8, ""},
	{"banner", "banner Loading...", notThere, 0, "Echo: c-banner"},
	{"listchanged", "list-changed tools", 0, 0, "Echo: c-listchanged"},
	{"kill", "kill child", notThere, 7, "exited|ended|killed"},
}

// faultRules are the rules of the cases for one transport, in a file.
func faultRules(t *testing.T, stdio bool, more string) string {
	t.Helper()
	var b strings.Builder
	for _, c := range ruleCases {
		if exit := c.exit(stdio); exit != notThere {
			fmt.Fprintf(&b, "when method:tools/call %q do %s\n", "c-"+c.name+"\"", c.action)
		}
	}
	name := filepath.Join(t.TempDir(), "rules.txt")
	if err := os.WriteFile(name, []byte(b.String()+more), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func (c ruleCase) exit(stdio bool) int {
	if stdio {
		return c.stdio
	}
	return c.http
}

// timeout returns a short time only if the client waits for it.
func (c ruleCase) timeout(exit int) string {
	if exit == 9 {
		return "4s"
	}
	return "60s"
}

// faulted runs a client with a separate state.
func faulted(t *testing.T, args ...string) (exit int, out string) {
	t.Helper()
	var text clitest.Buffer
	run := clitest.Run{Args: append([]string{"--no-record"}, args...), Env: clitest.Env(t.TempDir()), Stdout: &text, Stderr: &text}
	exit = run.Do()
	return exit, text.String()
}

// faultReport is what --fault-report writes.
type faultReport struct {
	Bad    int `json:"bad"`
	Faults []struct {
		Action, Method, Name, Did, Text string
		Line                            int
		Bad                             bool
	}
	Rules []struct {
		Rule        string
		Fired, Seen int
	}
}

func readReport(t *testing.T, name string) (r faultReport) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEachFaultOverHTTP(t *testing.T) {
	rules := faultRules(t, false, "when \"c-other\" do hang\nwhen method:initialize \"never\" do hang\n")
	demo := clitest.Serve(t, nil, "demo", "--listen", "127.0.0.1:0")
	for _, revision := range eras() {
		t.Run(revision, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report.json")
			proxy := clitest.Serve(t, nil, "proxy", "--to", demo.URL, "--listen", "127.0.0.1:0", "--fault", rules, "--fault-report", report)
			t.Run("cases", func(t *testing.T) {
				for _, c := range ruleCases {
					if c.http == notThere {
						continue
					}
					t.Run(c.name, func(t *testing.T) {
						t.Parallel()
						exit, out := faulted(t, "-s", proxy.URL, "call", "echo", "message=c-"+c.name, "--protocol", revision, "--timeout", c.timeout(c.http))
						want := c.http
						if c.name == "headerrequest" && revision != eras()[0] {
							want = 0 // only the newest revision looks at the field
						}
						if exit != want || !regexp.MustCompile(c.out).MatchString(out) {
							t.Errorf("exit %d, want %d and %q:\n%s", exit, want, c.out, out)
						}
					})
				}
			})
			text, _ := proxy.Stop()
			if !regexp.MustCompile(`never fired \(.*rules.txt, line \d+; its filter matched 0 messages\): when method:initialize "never" do hang`).MatchString(text) {
				t.Errorf("the rule that never fired is not named: %s", text)
			}
			r := readReport(t, report)
			for _, rule := range r.Rules {
				if idle := strings.Contains(rule.Rule, "never") || strings.Contains(rule.Rule, "c-other"); idle != (rule.Fired == 0) {
					t.Errorf("%s fired %d times", rule.Rule, rule.Fired)
				}
			}
			for _, f := range r.Faults {
				if f.Text != "" && f.Action != "reorder" || f.Did == "" {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

func TestEachFaultOverStdio(t *testing.T) {
	rules := faultRules(t, true, "")
	for _, revision := range eras() {
		for _, c := range ruleCases {
			if c.stdio == notThere {
				continue
			}
			t.Run(revision+" "+c.name, func(t *testing.T) {
				t.Parallel()
				report := filepath.Join(t.TempDir(), "report.json")
				exit, out := faulted(t, "call", "echo", "message=c-"+c.name, "--protocol", revision, "--timeout", c.timeout(c.stdio), "--",
					"mcpc", "tap", "--no-record", "--fault", rules, "--fault-report", report, "--", "mcpc", "demo", "--stdio")
				if exit != c.stdio || !regexp.MustCompile(c.out).MatchString(out) {
					t.Errorf("exit %d, want %d and %q:\n%s", exit, c.stdio, c.out, out)
				}
				r := readReport(t, report)
				if len(r.Faults) != 1 || r.Faults[0].Text != "" || r.Faults[0].Name != "echo" {
					t.Errorf("got %+v, want one fault", r.Faults)
				}
			})
		}
	}
}

// eras are a revision of each: the newest first.
func eras() []string { return client.Revisions()[:2] }

// TestFaultsOfOwnServers lets the demo and the mock be faulty themselves.
func TestFaultsOfOwnServers(t *testing.T) {
	rule := `when method:tools/call do tool-error no luck`
	script := filepath.Join(t.TempDir(), "script.txt")
	if err := os.WriteFile(script, []byte("tool echo {\"type\":\"object\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"demo": {"demo"}, "mock": {"mock", "--script", script}} {
		s := clitest.Serve(t, nil, append(args, "--listen", "127.0.0.1:0", "--fault", rule)...)
		if exit, out := faulted(t, "-s", s.URL, "call", "echo", "message=hi"); exit != 5 || !strings.Contains(out, "no luck") {
			t.Errorf("%s over HTTP: exit %d: %s", name, exit, out)
		}
		own := slices.Concat([]string{"call", "echo", "message=hi", "--", "mcpc"}, args, []string{"--stdio", "--fault", rule, "--no-record"})
		if exit, out := faulted(t, own...); exit != 5 || !strings.Contains(out, "no luck") {
			t.Errorf("%s over stdio: exit %d: %s", name, exit, out)
		}
		own = slices.Concat(args, []string{"--stdio", "--fault", "when do status 503"})
		if exit, out := faulted(t, own...); exit != 2 || !strings.Contains(out, "--fault, line 1, column 9: status needs HTTP") {
			t.Errorf("%s: exit %d: %s", name, exit, out)
		}
	}
}

// TestAStrictServerAcceptsReplacedArguments replaces arguments that header fields repeat.
func TestAStrictServerAcceptsReplacedArguments(t *testing.T) {
	demo := clitest.Serve(t, nil, "demo", "--listen", "127.0.0.1:0")
	for action, want := range map[string]string{
		`replace .params.arguments.region "us-2"`:               "us-2",
		`replace .params.arguments.region "Zürich \"north\""`:   "Zürich",
		`replace .params.arguments.region " a"`:                 " a",
		`replace .params.arguments.priority 7`:                  "7",
		`replace .params.arguments.dryRun false`:                "false",
		`replace .params.arguments.dryRun`:                      "eu-1",
		`replace .params.arguments {"region":"x","priority":1}`: "x",
		`replace .params.name "get-tiny-image"`:                 "image",
	} {
		proxy := clitest.Serve(t, nil, "proxy", "--to", demo.URL, "--listen", "127.0.0.1:0", "--no-record", "--fault", "when method:tools/call do "+action)
		call := []string{"-s", proxy.URL, "call", "route-by-region", `{"region":"eu-1","priority":3,"dryRun":true}`}
		if exit, out := faulted(t, call...); exit != 0 && !strings.Contains(action, "tiny") || strings.Contains(out, "HeaderMismatch") || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d: %s", action, exit, out)
		}
		proxy.Stop()
		proxy = clitest.Serve(t, nil, "proxy", "--to", demo.URL, "--listen", "127.0.0.1:0", "--no-record", "--fault", "when method:tools/call do "+action+" keep-headers")
		if exit, out := faulted(t, append([]string{"--protocol", eras()[0]}, call...)...); exit == 0 {
			t.Errorf("%s keep-headers: the server accepted it: %s", action, out)
		}
		proxy.Stop()
	}
}

// TestAClientThatRepeatsACallIsNamed has a client with a fault: it repeats every request whose
// connection was lost.
func TestAClientThatRepeatsACallIsNamed(t *testing.T) {
	demo := clitest.Serve(t, nil, "demo", "--listen", "127.0.0.1:0")
	dir := t.TempDir()
	record, report := filepath.Join(dir, "record.jsonl"), filepath.Join(dir, "report.json")
	proxy := clitest.Serve(t, nil, "proxy", "--to", demo.URL, "--listen", "127.0.0.1:0", "--record", record, "--fault-report", report,
		"--fault", "when method:tools/call #1 do cut after 0 bytes\nwhen name:get-sum #1 do cut after 0 bytes\nwhen name:fail #1 do cut after 0 bytes rst")
	post := func(id int, method, name, params string) string {
		for {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}}`, id, method, params, eras()[0])
			req, err := http.NewRequest(http.MethodPost, proxy.URL, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{
				"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
				"Mcp-Protocol-Version": {eras()[0]}, "Mcp-Method": {method},
			}
			if name != "" {
				req.Header.Set("Mcp-Name", name)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				id += 100 // a client should not repeat a call that may have been executed
				continue
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			return string(text)
		}
	}
	// A call of get-sum can be repeated, a call of touch-resource cannot.
	for cursor := ""; ; {
		page := post(1, "tools/list", "", cursor)
		m := regexp.MustCompile(`"nextCursor":("[^"]*")`).FindStringSubmatch(page)
		if m == nil {
			break
		}
		cursor = `"cursor":` + m[1] + `,`
	}
	post(2, "tools/call", "touch-resource", `"name":"touch-resource","arguments":{},`)
	post(3, "tools/call", "get-sum", `"name":"get-sum","arguments":{"a":1,"b":2},`)
	proxy.Stop()
	r := readReport(t, report)
	if len(r.Faults) != 2 || r.Bad != 1 || r.Faults[0].Did != "repeated" || !r.Faults[0].Bad || r.Faults[0].Name != "touch-resource" || r.Faults[1].Did != "retried" || r.Faults[1].Bad {
		t.Errorf("got %+v", r)
	}
	exit, out := faulted(t, "fault", "report", record)
	if exit != 1 || !regexp.MustCompile(`! --fault, line 1: cut: tools/call touch-resource\n    the client repeated a call that may change something`).MatchString(out) {
		t.Errorf("exit %d: %s", exit, out)
	}
	exit, out = faulted(t, "log", "has:fault", "--file", record)
	if exit != 0 || strings.Count(out, "tools/call") != 2 {
		t.Errorf("exit %d: %s", exit, out)
	}
}

// TestTheSameSeedRepeatsTheRun calls twenty times with one call in three failing.
func TestTheSameSeedRepeatsTheRun(t *testing.T) {
	lines := strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}`+"\n", 1)
	run := func(seed string) (answers string) {
		var in bytes.Buffer
		in.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + eras()[1] + `","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n")
		for i := range 30 {
			in.WriteString(strings.Replace(lines, `"id":1`, fmt.Sprintf(`"id":%d`, i+1), 1))
		}
		cmd := exec.Command("mcpc", "tap", "--no-record", "--fault", "when method:tools/call p=0.3 do rpc 1", "--fault-seed", seed, "--", "mcpc", "demo", "--stdio")
		cmd.Env, cmd.Stdin = append(program.CleanEnv(), "MCPC_STATE="+t.TempDir()), &in
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
		}
		var failed []int
		for line := range strings.Lines(string(out)) {
			var m struct {
				ID    int
				Error any
			}
			if json.Unmarshal([]byte(line), &m) == nil && m.Error != nil {
				failed = append(failed, m.ID)
			}
		}
		slices.Sort(failed)
		return fmt.Sprint(failed)
	}
	a, b, c := run("7"), run("7"), run("8")
	if a != b || a == c || a == "[]" {
		t.Errorf("got %s, %s, and with another seed %s", a, b, c)
	}
}

// TestRulesChangeMeanwhile changes the rules of a running proxy.
func TestRulesChangeMeanwhile(t *testing.T) {
	dir, err := os.MkdirTemp("", "c") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	demo := clitest.Serve(t, nil, "demo", "--listen", "127.0.0.1:0")
	if runtime.GOOS == "windows" {
		if exit, out := faulted(t, "proxy", "--to", demo.URL, "--listen", "127.0.0.1:0", "--control", socket); exit != 2 || !strings.Contains(out, "Windows") {
			t.Errorf("exit %d: %s", exit, out)
		}
		return
	}
	proxy := clitest.Serve(t, nil, "proxy", "--to", demo.URL, "--listen", "127.0.0.1:0", "--control", socket)
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the socket: %v %v", info, err)
	}
	call := func(want int) {
		t.Helper()
		if exit, out := faulted(t, "-s", proxy.URL, "call", "echo", "message=hi"); exit != want {
			t.Errorf("exit %d, want %d: %s", exit, want, out)
		}
	}
	order := func(want int, text string, args ...string) {
		t.Helper()
		exit, out := faulted(t, append(append([]string{"fault"}, args...), "--control", socket)...)
		if exit != want || !strings.Contains(out, text) {
			t.Errorf("%q: exit %d, want %d and %q: %s", args, exit, want, text, out)
		}
	}
	call(0)
	order(0, "no fault rules", "list")
	order(0, "1  when name:echo do rpc 1", "add", "when name:echo do rpc 1")
	call(6)
	order(0, "2  when name:echo do tool-error no", "add", "when name:echo do tool-error no")
	order(0, `"fired":1`, "list", "--json")
	order(0, "2  when name:echo", "remove", "1")
	call(5)
	order(2, "column 19: unknown action", "add", "when name:echo do hng")
	order(2, "banner needs stdio", "add", "when do banner x")
	order(2, "no rule with this number", "remove", "7")
	order(2, "fault remove takes", "remove", "x")
	order(0, "no fault rules", "off")
	call(0)
	if exit, out := faulted(t, "proxy", "--to", demo.URL, "--listen", "127.0.0.1:0", "--control", socket); exit != 2 || !strings.Contains(out, "another process listens") {
		t.Errorf("exit %d: %s", exit, out)
	}
	if exit, out := faulted(t, "demo", "--listen", "127.0.0.1:0", "--control", filepath.Join(dir, "none", "s")); exit != 2 {
		t.Errorf("exit %d: %s", exit, out)
	}
	proxy.Stop()
	order(13, "control socket", "list")
	if exit, out := faulted(t, "fault", "list"); exit != 2 || !strings.Contains(out, "--control is missing") {
		t.Errorf("exit %d: %s", exit, out)
	}
}

// TestRulesThatCannotBeUsed are usage errors, and nothing starts.
func TestRulesThatCannotBeUsed(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.txt")
	if err := os.WriteFile(rules, []byte("# a comment\nwhen method:tools/call do delay 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		args []string
	}{
		{"rules.txt, line 2, column 33: delay must be a time", []string{"--fault", rules}},
		{"did you mean flaky?", []string{"--fault", "preset:flakey"}},
		{"is neither a file nor a rule", []string{"--fault", filepath.Join(t.TempDir(), "none")}},
		{"--fault, line 1, column 9: kill child needs mcpc tap", []string{"--fault", "when do kill child"}},
		{"no fault rules to report on", []string{"--fault-report", "-"}},
		{"--fault-seed must be a whole number", []string{"--fault", "when do hang", "--fault-seed", "x"}},
	} {
		exit, out := faulted(t, append([]string{"demo", "--listen", "127.0.0.1:0"}, c.args...)...)
		if exit != 2 || !strings.Contains(out, c.text) || strings.Contains(out, "listening") {
			t.Errorf("%q: exit %d, want %q: %s", c.args, exit, c.text, out)
		}
	}
}
