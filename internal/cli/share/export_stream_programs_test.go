//go:build programs

package share_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/demo"
	"mcpc/internal/tests/servers"
)

// Over HTTP+SSE the commands open a separate stream, send the same bytes to the endpoint that it
// names, and print the answer from it.
func TestExportedCommandsOpenAStream(t *testing.T) {
	revisions := client.Revisions()
	oldest := revisions[len(revisions)-1]
	for _, c := range exportedCalls {
		if c.name == "large" { // whose argument is made elsewhere
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			l := servers.NewRequestStore(t, demo.SSEHandler(demo.Options{}))
			b := newBench(t)
			path := strings.Replace(c.path, "/mcp", "/sse", 1)
			said, _ := b.Run(append([]string{"mcpc", "--wire", "-s", l.URL + path, "--protocol", oldest}, c.args...)...)
			original := l.Last(t, "tools/call")
			script := b.export("curl")
			if strings.Contains(script, firstSecret) || strings.Contains(script, secondSecret) {
				t.Errorf("the script has a secret:\n%s", script)
			}
			b.withSecrets(script)
			l.Forget()
			again, ended := b.Run("timeout", "20", "sh", "-c", script)
			if ended != "0" || strings.TrimSpace(again) != strings.TrimSpace(said) {
				t.Errorf("ended with %s and %q, want %q\n%s", ended, again, said, script)
			}
			if got := l.Last(t, "tools/call"); string(got.Body) != string(original.Body) {
				t.Errorf("sent\n%s\nwant\n%s", got.Body, original.Body)
			}
		})
	}
}

// An endpoint at another server is not followed by the script either.
func TestExportedCommandsStayAtTheServer(t *testing.T) {
	foreign := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another server was contacted") }))
	t.Cleanup(foreign.Close)
	l := servers.NewRequestStore(t, demo.SSEHandler(demo.Options{}))
	b := newBench(t)
	revisions := client.Revisions()
	b.Run("mcpc", "-s", l.URL+"/sse", "--protocol", revisions[len(revisions)-1], "call", "get-sum", `{"a":1,"b":2}`)
	script := b.export("curl")
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/$(touch x)\n\n", foreign.URL)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(hostile.CloseClientConnections)
	if _, ended := b.Run("timeout", "20", "sh", "-c", strings.ReplaceAll(script, l.URL, hostile.URL)); ended != "1" {
		t.Errorf("ended with %s\n%s", ended, script)
	}
}
