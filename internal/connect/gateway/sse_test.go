package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client of HTTP+SSE lists and calls tools. Its session ends with its stream.
func TestClientOfHTTPAndSSE(t *testing.T) {
	t.Parallel()
	f, servers := behind(t, nil, earlier+tools("add"))
	front := httptest.NewServer(f.g.Handler(t.Context()))
	t.Cleanup(front.Close)
	client := mcp.NewClient(&mcp.Implementation{Name: "old", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.SSEClientTransport{Endpoint: front.URL + "/sse"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "one__add" {
		t.Errorf("%+v, %v", list, err)
	}
	got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "one__add", Arguments: map[string]any{"a": 1}})
	if err != nil || got.IsError {
		t.Errorf("%+v, %v", got, err)
	}
	if sent := servers[0].Params("tools/call"); len(sent) != 1 {
		t.Errorf("sent %q", sent)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

// Messages for HTTP+SSE that cannot be accepted are refused, and other requests are served as before.
func TestBadMessagesOfHTTPAndSSE(t *testing.T) {
	t.Parallel()
	f, _ := behind(t, nil, earlier+tools("add"))
	front := httptest.NewServer(f.g.Handler(t.Context()))
	t.Cleanup(front.Close)
	do := func(method, path, accept, kind, body string) (*http.Response, func() string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, front.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		r.Header.Set("Content-Type", kind)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { got.Body.Close() })
		return got, func() string {
			raw, _ := io.ReadAll(got.Body)
			return string(raw)
		}
	}
	stream, _ := do(http.MethodGet, "//h.example/sse", "text/event-stream", "", "")
	first := make([]byte, 200)
	n, _ := stream.Body.Read(first)
	_, endpoint, found := strings.Cut(strings.TrimSpace(string(first[:n])), "event: endpoint\ndata: ")
	if !found || !strings.HasPrefix(endpoint, "/h.example/sse?sessionId=") {
		t.Fatalf("%q", first[:n])
	}
	const json, ping = "application/json", `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, c := range []struct {
		method, path, accept, kind, body string
		status                           int
	}{
		{http.MethodGet, "/", "text/html", "", "", http.StatusMethodNotAllowed},
		{http.MethodPost, endpoint, "*/*", "text/plain", ping, http.StatusUnsupportedMediaType},
		{http.MethodPost, endpoint, "*/*", json, "{", http.StatusBadRequest},
		{http.MethodPost, endpoint, "", json, ping, http.StatusAccepted},
		{http.MethodPost, endpoint + "x", "*/*", json, ping, http.StatusBadRequest}, // no session id
	} {
		got, body := do(c.method, c.path, c.accept, c.kind, c.body)
		if got.StatusCode != c.status {
			t.Errorf("%+v: %s %s", c, got.Status, body())
		}
	}
	stream.Body.Close()
	for { // until the server has noticed the end of the stream
		got, _ := do(http.MethodPost, endpoint, "*/*", json, ping)
		if got.StatusCode == http.StatusBadRequest || got.StatusCode == http.StatusNotFound {
			break
		}
	}
}
