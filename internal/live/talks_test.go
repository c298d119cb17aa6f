package live

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture"
)

// Frames of a file may be in any order, and many of one conversation.
func TestConversationHasRowsOfAnyOrderOnce(t *testing.T) {
	var lines strings.Builder
	lines.WriteString(`{"mcpc-traffic":1,"mcpc":"test","started":"2026-01-01T00:00:00Z","target":"x","by":"tap"}` + "\n")
	const rows = 40_000 // in several steps
	for i := range rows {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration((i*7919+rows-i)%rows) * time.Second)
		fmt.Fprintf(&lines, `{"seq":%d,"time":%q,"dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}"}`+"\n", i+1, at.Format(time.RFC3339Nano), i)
	}
	path := filepath.Join(t.TempDir(), "order.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Path: path, Open: capture.Open, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for seq := uint64(0); s.Status().Loading; {
		seq = s.Wait(t.Context(), seq)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, x := range s.talks.all {
		if len(x.entries) != rows || !slices.IsSortedFunc(x.entries, byTime) {
			t.Errorf("%d rows, in order %v", len(x.entries), slices.IsSortedFunc(x.entries, byTime))
		}
	}
}
