package rows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/capture"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// Values that are secret by now are hidden in output from an older recording.
func TestOldRecordingHidesNewSecrets(t *testing.T) {
	name := filepath.Join(t.TempDir(), "old.jsonl")
	head := capture.Head{By: capture.ByCommand, Target: "known-one", Argv: []string{"mcpc", "known-one"}, Mark: "abc"}
	r := capture.NewRecorder(capture.Recording{Open: capture.File(name), Head: head})
	for _, raw := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"known-one"}}`, "\xff known-one"} {
		r.Tap(wire.Frame{Seq: 1, Raw: []byte(raw), HTTP: &wire.HTTPHead{Fields: []wire.Field{{Name: "X", Value: "known-one"}}}})
	}
	r.End(capture.End{
		Kind: wire.Timeout, Exit: 9, Name: "known-one", Method: "known-one", Text: "known-one", Hint: "known-one",
		Findings: []wire.Finding{{Text: "known-one"}},
	})
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
	hints := 0
	for _, row := range c.Rows() {
		shown := strings.Join([]string{row.Target, row.Method, row.Name, row.ID, row.Text, row.Hint}, "\n")
		if found := s.Find([]byte(shown)); len(found) > 0 {
			t.Errorf("%v in the row %s", found, shown)
		}
		hints += len(row.Hint)
	}
	if hints == 0 {
		t.Error("no row has a hint")
	}
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
