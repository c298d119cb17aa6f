package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A restarted server does not know the session, and has no stream that would show it. The call that
// it rejects is sent again in a new session.
func TestCallAfterTheServerLostTheSession(t *testing.T) {
	t.Parallel()
	var generation, calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID     json.RawMessage
			Method string
		}
		session := fmt.Sprint("session-", generation.Load())
		_ = json.NewDecoder(r.Body).Decode(&request)
		result := map[string]string{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s"}}`,
			"tools/list": `{"tools":[{"name":"act","inputSchema":{"type":"object"}}]}`,
			"tools/call": `{"content":[{"type":"text","text":"done"}]}`,
		}[request.Method]
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case request.Method == "server/discover":
			w.WriteHeader(http.StatusBadRequest)
			return
		case request.Method != "initialize" && r.Header.Get("Mcp-Session-Id") != session:
			w.WriteHeader(http.StatusNotFound)
			return
		case request.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		case request.Method == "tools/call":
			calls.Add(1)
		}
		w.Header().Set("Mcp-Session-Id", session)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result)
	}))
	t.Cleanup(server.Close)
	f, _ := behind(t, nil, server.URL)
	p := f.connectTo(t, "{}")
	for want := range int32(2) {
		generation.Store(want)
		got := answer(p.call("tools/call", `{"name":"one__act","arguments":{}}`))
		if !strings.Contains(got, "done") || calls.Load() != want+1 {
			t.Errorf("generation %d, %d calls: %s", want, calls.Load(), got)
		}
	}
}
