package call_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/demo"
	"mcpc/internal/tests/clitest"
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

// lastCall returns the last tools/call that was received.
func (l *eavesdropper) lastCall() (http.Header, string) {
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

// A dryRun is a session with an eavesdropper.
type dryRun struct {
	eavesdropper
	*clitest.Home
}

// newDryRun opens a session of a revision; "" means the newest.
func newDryRun(t *testing.T, revision string) *dryRun {
	t.Helper()
	d := &dryRun{Home: clitest.NewHome(t)}
	url := d.start(t)
	d.Env = append(d.Env, "MCPC_PROTOCOL="+revision)
	d.mcpc("init", url, "--as", "box")
	d.Env = d.Env[:len(d.Env)-1]
	d.mcpc("list")
	return d
}

// mcpc returns what a command prints, which must succeed.
func (d *dryRun) mcpc(args ...string) string {
	d.T.Helper()
	got := d.MCPC(args...)
	if got.Code != 0 {
		d.T.Fatalf("%q: %d\n%s", args, got.Code, got.Stderr)
	}
	return got.Stdout
}

// call runs mcpc call with flags.
func (d *dryRun) call(flags ...string) string {
	d.T.Helper()
	words := []string{"get-sum", "a=9007199254740993", "b=1.50", "-H", "X-Own: 1"}
	return d.mcpc(append(append([]string{"call"}, flags...), words...)...)
}

// A dry run shows the bytes that a real run then sends, except the id; the dry run itself sends
// nothing.
func TestDryRunIsWhatIsSent(t *testing.T) {
	for _, revision := range []string{"", "2025-06-18"} {
		l := newDryRun(t, revision)
		var shown struct {
			Headers map[string]string `json:"headers"`
			Message json.RawMessage   `json:"message"`
		}
		l.mcpc("list", "-H", "X-Own: 1") // other header fields have a separate cache
		before := l.count()
		if err := json.Unmarshal([]byte(l.call("--dry-run", "--json")), &shown); err != nil {
			t.Fatal(err)
		}
		human := l.call("--dry-run")
		command := l.call("--curl")
		if l.count() != before {
			t.Errorf("%d requests were sent", l.count()-before)
		}
		l.call()
		head, raw := l.lastCall()
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
		if variable := `: "${MCPC_MCP_SESSION_ID:?must be set}"`; strings.Contains(command, variable) != (revision != "") {
			t.Errorf("a variable for the session, only if there is one:\n%s", command)
		}
	}
}
