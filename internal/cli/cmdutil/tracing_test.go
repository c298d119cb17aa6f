package cmdutil_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/tests/clitest"
)

// A collector answers with a status, and counts what it is sent.
type collector struct {
	mu     sync.Mutex
	status int
	paths  []string
	bodies []string
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths = append(c.paths, r.URL.Path)
	c.bodies = append(c.bodies, string(body))
	w.WriteHeader(c.status)
}

func (c *collector) got(path string) (text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.paths {
		if c.paths[i] == path {
			text += c.bodies[i]
		}
	}
	return text
}

func collecting(t *testing.T, status int) (*collector, string) {
	t.Helper()
	c := &collector{status: status}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server.URL
}

// A command sends a span for itself and one for each request; arguments are in them if that is
// asked for.
func TestSpansOfACommand(t *testing.T) {
	for _, c := range []struct {
		flags   string
		content bool
	}{{"", false}, {"--otlp-content", true}} {
		to, url := collecting(t, http.StatusOK)
		words := "-s demo call echo message=a-word-of-mine --otlp " + url + " " + c.flags
		out := clitest.MCPC(t, nil, strings.Fields(words)...)
		if out.Code != 0 || out.Stderr != "" {
			t.Errorf("exit code %d, %s", out.Code, out.Stderr)
		}
		spans := to.got("/v1/traces")
		if !strings.Contains(spans, "mcpc call") || !strings.Contains(spans, "tools/call echo") {
			t.Errorf("no spans in %q", spans)
		}
		if strings.Contains(spans, "a-word-of-mine") != c.content {
			t.Errorf("%s: the arguments are sent: %v", c.flags, !c.content)
		}
		if !strings.Contains(to.got("/v1/metrics"), "mcp.client.operation.duration") {
			t.Errorf("no metrics in %q", to.paths)
		}
	}
}

// A collector that accepts nothing does not fail the command.
func TestCollectorsThatRefuse(t *testing.T) {
	_, url := collecting(t, http.StatusBadRequest)
	out := clitest.MCPC(t, nil, "-s", "demo", "call", "get-sum", "a=1", "b=2", "--otlp", url)
	if out.Code != 0 || !strings.Contains(out.Stdout, "The sum of 1 and 2 is 3.") ||
		!strings.Contains(out.Stderr, "did not reach the collector (") {
		t.Errorf("exit code %d, %s%s", out.Code, out.Stdout, out.Stderr)
	}
	out = clitest.MCPC(t, nil, "-s", "demo", "call", "get-sum", "a=1", "b=2", "--otlp", "ftp://x")
	if out.Code != 2 || out.Stdout != "" {
		t.Errorf("a wrong address: exit code %d, %s%s", out.Code, out.Stdout, out.Stderr)
	}
}

// Recorded exchanges become spans with the same ids each time, in a file or at a collector.
func TestSpansOfRecordings(t *testing.T) {
	env := []string{"MCPC_STATE=" + filepath.Join(t.TempDir(), "state")}
	for _, words := range []string{
		"-s demo call get-sum a=1 b=2", "-s demo call get-sum a=x --no-validate",
		"-s demo info",
	} {
		clitest.MCPC(t, env, strings.Fields(words)...)
	}
	all := func(words string) clitest.Output { return clitest.MCPC(t, env, strings.Fields(words)...) }
	spanIDs := func(text string) (ids []string) {
		for _, part := range strings.Split(text, `"spanId":"`)[1:] {
			ids = append(ids, part[:16])
		}
		return ids
	}
	first, second := all("export 1 --as otlp"), all("export 1 --as otlp")
	if ids := spanIDs(first.Stdout); len(ids) == 0 || strings.Join(ids, " ") != strings.Join(spanIDs(second.Stdout), " ") {
		t.Errorf("got %q and then %q", ids, spanIDs(second.Stdout))
	}
	if !strings.Contains(first.Stdout, `"name":"tools/call get-sum"`) {
		t.Errorf("got %s", first.Stdout)
	}
	if failed := all("export 2 --as otlp"); !strings.Contains(failed.Stdout, "tool_error") {
		t.Errorf("got %s", failed.Stdout)
	}
	to, url := collecting(t, http.StatusOK)
	out := all("export 1 --as otlp --otlp " + url)
	if out.Code != 0 || !strings.Contains(out.Stderr, " sent to "+url) ||
		!strings.Contains(to.got("/v1/traces"), "tools/call get-sum") {
		t.Errorf("exit code %d, %s%s", out.Code, out.Stdout, out.Stderr)
	}
	_, url = collecting(t, http.StatusForbidden)
	if out := all("export 1 --as otlp --otlp " + url); out.Code == 0 ||
		!strings.Contains(out.Stderr, "the collector did not accept the spans") {
		t.Errorf("exit code %d, %s%s", out.Code, out.Stdout, out.Stderr)
	}
}
