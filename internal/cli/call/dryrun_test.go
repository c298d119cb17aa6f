package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/demo"
	"mcpc/internal/tests/program"
)

// An eavesdropper is the demo, and keeps what it was asked.
type eavesdropper struct {
	mu    sync.Mutex
	heads []http.Header
	raws  []string
}

func (l *eavesdropper) start(t *testing.T) string {
	t.Helper()
	next := demo.Handler(demo.Options{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(raw))
		l.mu.Lock()
		l.heads, l.raws = append(l.heads, r.Header.Clone()), append(l.raws, string(raw))
		l.mu.Unlock()
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

func (l *eavesdropper) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.raws)
}

// call is the last tools/call that came.
func (l *eavesdropper) call() (http.Header, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.raws) - 1; i >= 0; i-- {
		if strings.Contains(l.raws[i], `"method":"tools/call"`) {
			return l.heads[i], l.raws[i]
		}
	}
	return nil, ""
}

var requestIDs = regexp.MustCompile(`"(id|progressToken)":\d+`)

// sansID is a message without the numbers that differ from request to request.
func sansID(raw string) string { return requestIDs.ReplaceAllString(raw, `"$1":0`) }

// What a dry run shows is what is sent then, byte for byte but for the id, and the
// command of --curl sends it too; the run itself sends nothing.
func TestDryRunIsWhatIsSent(t *testing.T) {
	for _, revision := range []string{"", "2025-06-18"} {
		var l eavesdropper
		url, dir := l.start(t), t.TempDir()
		env := append(program.CleanEnv(), "HOME="+dir, "MCPC_STATE="+filepath.Join(dir, "state"))
		run := func(line string) string {
			t.Helper()
			cmd := program.Shell(dir, env, line)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v\n%s", line, err, stderr.String())
			}
			return string(out)
		}
		run("MCPC_PROTOCOL=" + revision + " mcpc init " + url + " --as box; mcpc list")
		const words = ` get-sum a=9007199254740993 b=1.50 -H "X-Own: 1"`
		var shown struct {
			Headers map[string]string `json:"headers"`
			Message json.RawMessage   `json:"message"`
		}
		run("mcpc list -H 'X-Own: 1'") // other header fields have a cache of their own
		before := l.count()
		if err := json.Unmarshal([]byte(run("mcpc call --dry-run --json"+words)), &shown); err != nil {
			t.Fatal(err)
		}
		human, command := run("mcpc call --dry-run"+words), run("mcpc call --curl"+words)
		if l.count() != before {
			t.Errorf("%d requests were sent", l.count()-before)
		}
		run("mcpc call" + words)
		head, raw := l.call()
		if sansID(raw) != sansID(string(shown.Message)) || !strings.Contains(sansID(human), sansID(raw)) {
			t.Errorf("shown %s\nsent  %s", shown.Message, raw)
		}
		for name, value := range shown.Headers {
			if got := head.Get(name); got != value && name != "Host" && name != "Content-Length" && !strings.Contains(value, "••••") {
				t.Errorf("%s: shown %q, sent %q", name, value, got)
			}
		}
		for name := range head {
			if _, ok := shown.Headers[name]; !ok && name != "Content-Length" {
				t.Errorf("%s was not shown", name)
			}
		}
		program.MustHave(t, "curl")
		if revision == "" {
			run(command)
			if _, again := l.call(); sansID(again) != sansID(raw) || again == raw {
				t.Errorf("curl sent %s", again)
			}
		} else if !strings.Contains(command, `: "${MCPC_MCP_SESSION_ID:?must be set}"`) {
			t.Errorf("no variable stands for the session:\n%s", command)
		}
	}
}
