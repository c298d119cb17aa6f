package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/wire"
)

// An HTTP request without a JSON-RPC request is listed if it failed, with the channel, and in no
// other case: not if its stream opens, ends in order, or is not supported by the server.
func TestFailedRequestsWithoutMessageAreListed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := map[string]int{"/none": 405, "/secret": 401, "/lost": 404, "/took": 202}[r.URL.Path]
		switch {
		case status > 0:
			w.WriteHeader(status)
			io.WriteString(w, "words of the server")
			return
		case r.Method == "GET":
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")
		default:
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		}
		if r.URL.Path == "/dies" {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL, "/dead=http://127.0.0.1:1/mcp")
	const note = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	for _, ask := range []string{
		"GET /dead", "POST /dead " + note, "DELETE /dead", "GET /secret", "GET /none", "DELETE /none", "DELETE /lost",
		"POST /took " + note, "POST /lost " + note, "GET /fine", "GET /dies", `POST /fine {"jsonrpc":"2.0","id":1,"method":"ping"}`, "DELETE /lost",
	} {
		method, rest, _ := strings.Cut(ask, " ")
		path, body, _ := strings.Cut(rest, " ")
		req, err := http.NewRequest(method, b.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	lines := capture.AppendHead(nil, capture.Head{Target: "t", Run: 1, By: capture.ByProxy})
	for _, f := range b.seen() {
		lines = capture.AppendFrame(lines, f)
	}
	name := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(name, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := rows.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got []string
	for _, row := range c.Rows() {
		path := strings.TrimPrefix(strings.TrimPrefix(row.Target, server.URL), "http://127.0.0.1:1")
		said := ""
		if row.Notes.Cuts > 0 {
			said = " " + row.Notes.String()
		}
		got = append(got, fmt.Sprintf("%s %s %s %d%s", row.Method, path, row.Channel, row.Status, said))
		x, err := row.Exchange()
		if err != nil || x == nil || len(x.Heads) == 0 || x.Heads[0].HTTP.URL == "" || len(x.NonMessages) != 1 {
			t.Errorf("%s: %+v, %v", row.Method, x, err)
		}
	}
	want := []string{
		"GET /mcp transport 0 1 connection error", "notifications/initialized /mcp transport 0 1 connection error", "DELETE /mcp transport 0 1 connection error",
		"GET /secret auth 401", "DELETE /lost transport 404", "notifications/initialized /lost transport 404",
		"(server stream) /fine ok 200", "(server stream) /dies transport 200 1 notification, 1 connection error", "ping /fine ok 200", "DELETE /lost transport 404",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if main := c.Main(); main == nil || main.Method != "ping" {
		t.Errorf("it is about %+v", main)
	}
	// A command's own streams get no row: the end of the command reports its outcome.
	f := wire.Frame{Stream: 1, Kind: wire.Head, HTTP: &wire.HTTPHead{Method: "GET", URL: "http://x/mcp"}}
	closed := wire.Frame{Stream: 1, Kind: wire.Closed, Close: &wire.CloseFacts{How: "cut"}}
	lines = capture.AppendFrame(capture.AppendFrame(capture.AppendHead(nil, capture.Head{Run: 1, By: capture.ByCommand}), f), closed)
	if err := os.WriteFile(name, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := rows.Open(name); err != nil || len(c.Rows()) > 0 {
		t.Errorf("a command has %d rows, %v", len(c.Rows()), err)
	}
}
