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

// withoutTTL removes the ttlMs of what is written in one piece.
type withoutTTL struct{ http.ResponseWriter }

func (w withoutTTL) Write(raw []byte) (int, error) {
	_, err := w.ResponseWriter.Write(bytes.ReplaceAll(raw, []byte(`"ttlMs":300000`), []byte(`"other":1`)))
	return len(raw), err
}

// A remembered definition without a ttlMs holds for some minutes in a revision that has none, and
// not at all in the newest.
func TestHoldsWithoutTTL(t *testing.T) {
	t.Parallel()
	next := demo.Handler(demo.Options{JSON: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(withoutTTL{w}, r) }))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		revision string
		later    time.Duration
		want     bool
	}{
		{"2025-11-25", 0, true},
		{"2025-11-25", 5*time.Minute - time.Second, true},
		{"2025-11-25", 5 * time.Minute, false},
		{"2026-07-28", 0, false},
	} {
		now := time.Now()
		env := &host.Env{
			UI: host.Quiet{}, Getenv: func(string) string { return "" }, Environ: func() []string { return nil }, Now: func() time.Time { return now },
			Settings: host.Settings{Server: server.URL + "/mcp", State: t.TempDir(), NoRecord: true, Protocol: c.revision},
		}
		for range 2 { // the second time the definition is remembered
			conn, o := connect.Dial(t.Context(), env, connect.Options{})
			if !o.Good() {
				t.Fatal(o.Text)
			}
			tool := conn.Remembered("get-sum")
			if tool == nil {
				_, o = conn.Define(t.Context(), "get-sum")
			} else if now = now.Add(c.later); tool.Holds(conn) != c.want {
				t.Errorf("%s, %s later: it holds is %t", c.revision, c.later, !c.want)
			} else {
				c.later = -1
			}
			conn.Close(t.Context())
			if !o.Good() {
				t.Fatal(o.Text)
			}
		}
		if c.later != -1 {
			t.Errorf("%s: nothing was remembered", c.revision)
		}
	}
}
