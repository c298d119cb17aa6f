package trace

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// A body must be decoded to look for secrets in it.
func TestBodiesInUnknownEncodingsAreWithheld(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "\x0b\x08\x80known-one\x03")
	}))
	defer server.Close()
	b := proxied(t, Watching{}, server.URL+"/mcp")
	whole(t, "POST", b.url+"/mcp", "\x0b\x08\x80known-two\x03", "Content-Encoding", "br")
	n := 0
	for _, f := range b.seen() {
		if strings.Contains(string(f.Raw), "known") {
			t.Errorf("%q is kept", f.Raw)
		}
		if f.Kind == wire.Noise && f.Hidden == 1 && f.Size == 13 && strings.HasPrefix(string(f.Raw), "••••(len 13") {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d bodies were withheld", n)
	}
}

// What is secret by now is hidden in what is given out of an older recording.
func TestWhatIsKnownByNowIsHidden(t *testing.T) {
	name := filepath.Join(t.TempDir(), "old.jsonl")
	r := NewRecorder(Recording{Place: File(name), Head: Head{Target: "known-one", Argv: []string{"mcpc", "known-one"}, In: "abc"}})
	for _, raw := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"known-one"}}`, "\xff known-one"} {
		r.Tap(wire.Frame{Seq: 1, Raw: []byte(raw), HTTP: &wire.HTTPHead{Fields: []wire.Field{{Name: "X", Value: "known-one"}}}})
	}
	r.End(End{Name: "known-one", Method: "known-one", Text: "known-one", Findings: []wire.Finding{{Text: "known-one"}}})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var s redact.Secrets
	s.Learn("known-one")
	c.Hide(&s)
	var jsonl strings.Builder
	if err := c.Copy(&jsonl, c.Rows()); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(name); err != nil || !strings.Contains(string(raw), "known-one") || len(s.Find(raw)) < 8 {
		t.Fatalf("%s %v", raw, err)
	}
	if found := s.Find([]byte(jsonl.String())); len(found) > 0 {
		t.Errorf("%v in %s", found, jsonl.String())
	}
	again := filepath.Join(t.TempDir(), "again.jsonl")
	if err := os.WriteFile(again, []byte(jsonl.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if copied, err := Open(again); err != nil || len(copied.Rows()) != len(c.Rows()) || len(copied.Findings()) > 0 {
		t.Errorf("%v %v", err, copied)
	}
}
