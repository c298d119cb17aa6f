package check_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mcpc/internal/shellwords"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/planted"
)

// A fuzzReport is what the tests read of a report.
type fuzzReport struct {
	Findings []struct {
		Rule, Subject, Repeat, Step string
		Evidence                    []struct{ Got string }
	}
	Notes      []string
	Incomplete string
}

// fuzzed runs check --fuzz, and returns the report and the exit code.
func fuzzed(t *testing.T, home *clitest.Home, words ...string) (fuzzReport, int) {
	t.Helper()
	out := home.MCPC(slices.Concat([]string{"check", "--json"}, words)...)
	var r fuzzReport
	if err := json.Unmarshal([]byte(out.Stdout), &r); err != nil {
		t.Fatalf("%s\n%s", out.Stdout, out.Stderr)
	}
	return r, out.Code
}

// Each planted fault is found over HTTP, and the printed command line shows it again.
func TestFuzzPrintsCallsThatFailAgain(t *testing.T) {
	home := clitest.EnterHome(t)
	tools := planted.Tools()
	server := httptest.NewServer(planted.Handler(tools))
	t.Cleanup(server.Close)
	for _, tool := range tools {
		// Silence is tested once, because each attempt takes a second.
		if slices.Contains([]string{"", "fuzz-changes"}, tool.Rule) || tool.Name == "silent-at-size" {
			continue
		}
		r, _ := fuzzed(t, home, "--fail-on", "never", "--seed", "3", "-s", server.URL, "--fuzz", tool.Name)
		found := false
		rule := tool.Rule
		if tool.Name == "not-a-number" {
			rule = "L009" // which is about the bytes of any message
		}
		for _, f := range r.Findings {
			if f.Rule != rule || rule != "L009" && !strings.Contains(f.Subject, tool.Name) {
				continue
			}
			found = true
			words, err := shellwords.Split(strings.TrimPrefix(f.Repeat, "mcpc "), nil)
			if err != nil {
				t.Fatalf("%s: %v", f.Repeat, err)
			}
			again := home.MCPC(words...)
			said := again.Stdout + again.Stderr
			canSucceed := slices.Contains([]string{"L126", "L124", "fuzz-repeat"}, tool.Rule)
			isSame := again.Code == 0 && canSucceed || again.Code > 3
			if !isSame {
				t.Errorf("%s: %s exits with %d: %s", tool.Name, f.Repeat, again.Code, said)
			}
			if rule == "fuzz-repeat" && !strings.Contains(said, rule) {
				t.Errorf("%s: %s does not show the difference: %s", tool.Name, f.Repeat, said)
			}
			if !strings.Contains(f.Step, `"call":"`+tool.Name+`"`) {
				t.Errorf("%s: the step is %s", tool.Name, f.Step)
			}
		}
		if !found {
			t.Errorf("%s: not found: %+v", tool.Name, r)
		}
	}
}

// A tool that changes what another one reads is called once, and then only if the user names it.
func TestFuzzFindsToolsThatChangeSomething(t *testing.T) {
	home := clitest.EnterHome(t)
	tools := slices.DeleteFunc(planted.Tools(), func(tool *planted.Tool) bool {
		return tool.Name != "changing" && tool.Name != "observing" && tool.Name != "deep"
	})
	server := httptest.NewServer(planted.Handler(tools))
	t.Cleanup(server.Close)
	r, _ := fuzzed(t, home, "-s", server.URL, "--fuzz", "--only", "fuzz-changes")
	if len(r.Findings) != 1 || r.Findings[0].Subject != "tool changing" {
		t.Errorf("findings: %+v", r.Findings)
	}
	if !slices.ContainsFunc(r.Notes, func(note string) bool { return strings.Contains(note, "--fuzz-unsafe changing") }) {
		t.Errorf("notes: %q", r.Notes)
	}
}

// HTTP 429 ends the calls. The report has what was found before, and no finding about the answer.
func TestFuzzStopsWhenTheServerIsOverloaded(t *testing.T) {
	home := clitest.EnterHome(t)
	inner := planted.Handler(planted.Tools())
	var calls, late atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) > 40 {
			late.Add(1)
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	r, code := fuzzed(t, home, "-s", server.URL, "--fuzz", "success-for-invalid")
	if late.Load() > 2 || code != 7 {
		t.Errorf("exit code %d, %d requests after HTTP 429", code, late.Load())
	}
	said := strings.Join(r.Notes, "\n")
	if !strings.Contains(said, "HTTP 429, retry after 3600 s") || !strings.Contains(said, "the test ended after") {
		t.Errorf("notes: %s", said)
	}
	for _, f := range r.Findings {
		if strings.Contains(f.Evidence[0].Got, "429") {
			t.Errorf("a finding about HTTP 429: %+v", f)
		}
	}
}

// A fuzz test waits once as long as an overloaded server asks for.
func TestFuzzRespectsRetryAfterOnce(t *testing.T) {
	home := clitest.EnterHome(t)
	inner := planted.Handler(planted.Tools())
	var calls atomic.Int64
	refused := []int64{40, 60} // the second one ends the test
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := calls.Add(1); slices.Contains(refused, n) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	r, code := fuzzed(t, home, "-s", server.URL, "--fuzz", "success-for-invalid")
	if calls.Load() < 60 || calls.Load() > 62 || code != 7 {
		t.Errorf("exit code %d after %d requests", code, calls.Load())
	}
	if said := strings.Join(r.Notes, "\n"); !strings.Contains(said, "fuzz: paused, and went on: the server returned HTTP 429") {
		t.Errorf("notes: %s", said)
	}
}

// The same seed sends the same calls, another one sends others.
func TestFuzzIsDeterministic(t *testing.T) {
	home := clitest.EnterHome(t)
	inner := planted.Handler(planted.Tools())
	var sent bytes.Buffer // the calls are made one after the other
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && bytes.Contains(body, []byte("tools/call")) {
			sent.Write(body)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	var runs []string
	for _, seed := range []string{"7", "7", "8"} {
		sent.Reset()
		fuzzed(t, home, "-s", server.URL, "--seed", seed, "--fuzz", "length-in-bytes")
		runs = append(runs, sent.String())
	}
	if runs[0] != runs[1] || runs[0] == runs[2] || len(runs[0]) < 1000 {
		t.Errorf("the calls of three runs:\n%s", strings.Join(runs, "\n"))
	}
}

// --from varies one call of a recorded sequence after the other. The ids are those of the present
// server, the created notes are deleted, and the printed steps show the fault again.
func TestFuzzVariesRecordedSequences(t *testing.T) {
	testSequence(t, true, ".structuredContent.id")
}

// The same with ids in a JSON text, as servers without structured results send them.
func TestFuzzFindsIdsInTexts(t *testing.T) {
	testSequence(t, false, ".content[0].text|fromjson|.id")
}

// testSequence tests --from with a server that returns an id at a path.
func testSequence(t *testing.T, isStructured bool, path string) {
	home := clitest.EnterHome(t)
	tools, count := planted.Notes(isStructured)
	server := httptest.NewServer(planted.Handler(tools))
	t.Cleanup(server.Close)
	write := func(name, steps string) {
		text := `{"server":"` + server.URL + `","steps":` + steps + `}`
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.mcpc.yaml", `[{"call":"create","args":{},"capture":{"id":"`+path+`"}},`+
		`{"call":"read","args":{"id":"${id}","line":2}},{"call":"delete","args":{"id":"${id}"}}]`)
	if out := home.MCPC("run", "a.mcpc.yaml", "--record", "a.jsonl"); out.Code != 0 {
		t.Fatal(out)
	}
	words := []string{"check", "-s", server.URL, "--json", "--from", "a.jsonl"}
	out := home.MCPC(words...)
	if out.Code != 2 || !strings.Contains(out.Stderr, "--fuzz-unsafe create --fuzz-unsafe delete") || count() != 0 {
		t.Errorf("without consent: %+v", out)
	}
	r, code := fuzzed(t, home, append(words[1:], "--only", "fuzz", "--fuzz-unsafe", "create", "--fuzz-unsafe", "delete")...)
	if code != 1 || len(r.Findings) != 1 || r.Findings[0].Rule != "fuzz-internal" {
		t.Fatalf("exit code %d, %+v", code, r)
	}
	if count() > 0 {
		t.Errorf("%d notes are left", count())
	}
	write("b.mcpc.yaml", r.Findings[0].Step)
	if out := home.MCPC("run", "b.mcpc.yaml"); out.Code != 1 || !strings.Contains(out.Stdout, "-32603") {
		t.Errorf("the steps %s: %+v", r.Findings[0].Step, out)
	}
}
