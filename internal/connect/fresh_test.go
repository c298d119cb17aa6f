package connect_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/demo"
)

// A promising response replaces the ttlMs of what is written in one piece.
type promising struct {
	http.ResponseWriter
	ttl string
}

func (w promising) Write(raw []byte) (int, error) {
	_, err := w.ResponseWriter.Write(bytes.ReplaceAll(raw, []byte(`"ttlMs":300000`), []byte(w.ttl)))
	return len(raw), err
}

// A remembered definition is used for its ttlMs, else for some minutes, in each revision.
// Rules 167, 168
func TestDefinitionIsUsedWhileFresh(t *testing.T) {
	t.Parallel()
	const none, zero, minute = `"other":1`, `"ttlMs":0`, `"ttlMs":60000`
	for _, c := range []struct {
		revision, ttl string
		later         time.Duration
		want          bool
	}{
		{"2025-11-25", none, 0, true},
		{"2025-11-25", none, 5*time.Minute - time.Second, true},
		{"2025-11-25", none, 5 * time.Minute, false},
		{"2026-07-28", none, 5*time.Minute - time.Second, true},
		{"2026-07-28", none, 5 * time.Minute, false},
		{"2026-07-28", zero, 0, false},
		{"2025-11-25", zero, 0, false},
		{"2026-07-28", minute, time.Minute - time.Second, true},
		{"2026-07-28", minute, time.Minute, false},
	} {
		next := demo.Handler(demo.Options{JSON: true})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(promising{w, c.ttl}, r)
		}))
		t.Cleanup(server.Close)
		now := time.Now()
		env := &host.Env{
			UI: host.Quiet{}, Getenv: func(string) string { return "" }, Environ: func() []string { return nil }, Now: func() time.Time { return now },
			Server: server.URL + "/mcp", State: t.TempDir(), NoRecord: true, Protocol: c.revision,
		}
		for _, second := range []bool{false, true} {
			conn, o := connect.Dial(t.Context(), env, connect.Options{})
			if !o.OK() {
				t.Fatal(o.Text)
			}
			if !second {
				_, o = conn.Define(t.Context(), "get-sum")
			} else {
				now = now.Add(c.later)
				if got := conn.Remembered("get-sum") != nil; got != c.want || conn.LastKnown("get-sum") == nil {
					t.Errorf("%s, %s, %s later: remembered is %t", c.revision, c.ttl, c.later, got)
				}
			}
			conn.Close(t.Context())
			if !o.OK() {
				t.Fatal(o.Text)
			}
		}
	}
}
