package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// Progress that nothing keeps takes no memory, however much of it comes, and what is kept of it stays
// as it came.
func TestUnkeptProgressTakesNoMemory(t *testing.T) {
	var events []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := wire.ParseMessage(body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(events)
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\",\"content\":[]}}\n\n", m.ID)
	}))
	defer server.Close()
	// allocated is how many bytes a call with n notifications of progress takes.
	allocated := func(n int, keep bool) uint64 {
		var text bytes.Buffer
		for i := range n {
			fmt.Fprintf(&text, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"t\",\"progress\":%d}}\n\n", i+1)
		}
		events = text.Bytes()
		var all []*wire.Message
		heard := 0
		opt := Options{
			Server: Server{URL: server.URL}, Protocol: rev20260728, SkipDiscover: true, Now: time.Now,
			Passing: func(*wire.Message) bool { return !keep },
			Notified: func(m *wire.Message) {
				if heard++; keep {
					all = append(all, m)
				}
			},
		}
		s, o := Open(context.Background(), opt)
		if !o.OK() {
			t.Fatal(o.Text)
		}
		defer s.Close(context.Background(), true)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		o = s.Do(context.Background(), Call{Method: "tools/call", Params: json.RawMessage(`{"name":"a","_meta":{"progressToken":"t"}}`)})
		runtime.ReadMemStats(&after)
		if !o.OK() || heard != n || keep && len(all) != n {
			t.Fatalf("%s: %d notifications", o.Text, heard)
		}
		for i, m := range all {
			params, _ := m.ParamMembers()
			if got, want := string(params.Value("progress")), fmt.Sprint(i+1); got != want || m.Method != "notifications/progress" {
				t.Fatalf("notification %d was kept as %s", i, m.Raw)
			}
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := allocated(1000, false), allocated(41_000, false)
	if each := (int64(many) - int64(few)) / 40_000; each > 40 {
		t.Errorf("a notification takes %d bytes", each)
	}
	allocated(5000, true)
}
