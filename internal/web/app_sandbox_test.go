package web

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcpc/internal/live/view"
	"mcpc/internal/mcp"
)

// appWith returns an app with a document, whose resource declares what declared says.
func appWith(document, declared string) view.App {
	tool, _ := mcp.ParseTool(json.RawMessage(
		`{"name":"show","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://x/y"}}}`,
	))
	content, _ := json.Marshal(map[string]any{
		"uri": "ui://x/y", "mimeType": mcp.PageType, "text": document, "_meta": map[string]any{"ui": json.RawMessage(declared)},
	})
	return view.App{Declared: mcp.AppOf(tool, []json.RawMessage{content}), Definition: tool.Raw}
}

// newTestSandbox returns a sandbox that does not run, and its time.
func newTestSandbox(t *testing.T) (*appSandbox, *time.Time) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	now := time.Unix(1_700_000_000, 0)
	n := 0
	secret := func() string { n++; return strings.Repeat("s", n) }
	return newAppSandbox(l, secret, func() time.Time { return now }, []byte("script")), &now
}

// get requests a URL of the sandbox.
func (b *appSandbox) get(method, url string) *http.Response {
	w := httptest.NewRecorder()
	b.ServeHTTP(w, httptest.NewRequest(method, url, nil))
	return w.Result()
}

func TestSandboxServesADocumentOnce(t *testing.T) {
	b, now := newTestSandbox(t)
	const page = "http://127.0.0.1:1"
	app := appWith("<!doctype html><p>app", `{"csp":{"connectDomains":["https://api.example"]},"permissions":{"camera":{}}}`)
	app.Allow = allowedFeatures(app.Declared.Page.Permissions)
	frame := b.add(app, page)
	document := strings.Replace(frame, "/frame/", "/app/", 1)
	if !strings.HasPrefix(frame, "http://localhost:") || !strings.HasPrefix(b.add(app, "http://localhost:1"), "http://127.0.0.1:") {
		t.Errorf("the sandbox has the host of its page: %s", frame)
	}
	if got := b.get("GET", document); got.StatusCode != http.StatusNotFound {
		t.Errorf("the document before its frame: %d", got.StatusCode)
	}
	got := b.get("GET", frame)
	body, _ := io.ReadAll(got.Body)
	policy := got.Header.Get("Content-Security-Policy")
	if got.StatusCode != http.StatusOK || !strings.Contains(string(body), `data-page="`+page+`" data-allow="camera *"`) {
		t.Errorf("the frame: %d %s", got.StatusCode, body)
	}
	if !strings.HasSuffix(policy, "frame-ancestors "+page) || !strings.Contains(policy, "/app/;") {
		t.Errorf("the policy of the frame: %s", policy)
	}
	got = b.get("GET", document)
	body, _ = io.ReadAll(got.Body)
	policy = got.Header.Get("Content-Security-Policy")
	if got.StatusCode != http.StatusOK || string(body) != "<!doctype html><p>app" {
		t.Errorf("the document: %d %s", got.StatusCode, body)
	}
	for _, part := range []string{
		"default-src 'none';", "connect-src 'self' https://api.example;", "form-action 'none'", "sandbox allow-scripts allow-forms;",
		"frame-ancestors http://localhost:",
	} {
		if !strings.Contains(policy, part) {
			t.Errorf("no %s in the policy %s", part, policy)
		}
	}
	if list := got.Header.Get("Connection-Allowlist"); list != `(response-origin "https://api.example")` {
		t.Errorf("the connections are %s", list)
	}
	for _, url := range []string{frame, document} {
		if got := b.get("GET", url); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s works twice: %d", url, got.StatusCode)
		}
	}
	old := b.add(app, page)
	*now = now.Add(appLifetime + time.Second)
	if got := b.get("GET", old); got.StatusCode != http.StatusNotFound {
		t.Errorf("an old frame: %d", got.StatusCode)
	}
}

func TestSandboxServesNothingElse(t *testing.T) {
	b, _ := newTestSandbox(t)
	frame := b.add(appWith("<html>", "{}"), "http://127.0.0.1:1")
	for _, c := range []struct {
		method, url string
		status      int
	}{
		{"POST", frame, 403},
		{"HEAD", frame, 403},
		{"GET", strings.Replace(frame, "localhost", "evil.example", 1), 403},
		{"GET", "http://localhost:1/frame/s", 403},
		{"GET", b.originFor("") + "/", 404},
		{"GET", b.originFor("") + "/app/", 404},
		{"GET", b.originFor("") + "/frame/../frame.js", 404},
		{"GET", b.originFor("") + "/index.html", 404},
		{"GET", b.originFor("") + "/frame.js", 200},
		{"GET", frame, 200},
	} {
		if got := b.get(c.method, c.url); got.StatusCode != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.url, got.StatusCode, c.status)
		}
	}
	for range 3 * maxAppDocuments {
		b.add(appWith("<html>", "{}"), "http://127.0.0.1:1")
	}
	if n := len(b.documents); n > maxAppDocuments {
		t.Errorf("%d documents wait", n)
	}
}

// An app that may reach any host has no list of connections.
func TestConnectionsOfAnyHostHaveNoList(t *testing.T) {
	for _, origins := range [][]string{{"*"}, {"https:"}, {"https://a.example", "*.b.example"}, {`https://a\b`}} {
		if list, ok := connectionAllowlist(origins); ok {
			t.Errorf("%q: %s", origins, list)
		}
	}
}
