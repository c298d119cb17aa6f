package live

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture/rows"
)

// Frames of a file may be in any order, and many of one conversation.
func TestConversationHasRowsOfAnyOrderOnce(t *testing.T) {
	var lines strings.Builder
	lines.WriteString(`{"mcpc-traffic":1,"mcpc":"test","started":"2026-01-01T00:00:00Z","target":"x","by":"tap"}` + "\n")
	const count = 40_000 // in several steps
	for i := range count {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration((i*7919+count-i)%count) * time.Second)
		fmt.Fprintf(&lines, `{"seq":%d,"time":%q,"dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}"}`+"\n", i+1, at.Format(time.RFC3339Nano), i)
	}
	path := filepath.Join(t.TempDir(), "order.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Path: path, Open: rows.Open, Now: time.Now})
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
		if len(x.entries) != count || !slices.IsSortedFunc(x.entries, byTime) {
			t.Errorf("%d rows, in order %v", len(x.entries), slices.IsSortedFunc(x.entries, byTime))
		}
	}
}

// A probe that an older server refused is in the conversation that it led to.
func TestProbeIsInConversationOfSession(t *testing.T) {
	const lines = `{"mcpc-traffic":1,"mcpc":"test","started":"2026-01-01T00:00:00Z","target":"http://x/mcp","run":7,"by":"proxy"}
{"seq":1,"time":"2026-01-01T00:00:01Z","dir":"sent","kind":"head","stream":1,"conn":1,"http":{"method":"POST","url":"http://x/mcp"}}
{"seq":2,"time":"2026-01-01T00:00:01Z","dir":"sent","kind":"body","stream":1,"conn":1,"raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}}"}
{"seq":3,"time":"2026-01-01T00:00:01Z","dir":"received","kind":"head","stream":1,"conn":1,"http":{"status":400}}
{"seq":4,"time":"2026-01-01T00:00:01Z","dir":"received","kind":"closed","stream":1,"conn":1,"close":{"by":"received","how":"end"}}
{"seq":5,"time":"2026-01-01T00:00:02Z","dir":"sent","kind":"head","stream":2,"conn":1,"http":{"method":"POST","url":"http://x/mcp"}}
{"seq":6,"time":"2026-01-01T00:00:02Z","dir":"sent","kind":"body","stream":2,"conn":1,"raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}"}
{"seq":7,"time":"2026-01-01T00:00:02Z","dir":"received","kind":"head","stream":2,"conn":1,"http":{"status":200,"fields":[["Content-Type","application/json"]]}}
{"seq":8,"time":"2026-01-01T00:00:02Z","dir":"received","kind":"body","stream":2,"conn":1,"raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\"}}"}
{"seq":9,"time":"2026-01-01T00:00:02Z","dir":"received","kind":"closed","stream":2,"conn":1,"close":{"by":"received","how":"end"}}
`
	path := filepath.Join(t.TempDir(), "probe.jsonl")
	write(t, path, []byte(lines))
	s := open(t, Options{Path: path})
	until(t, s, "two rows", func() bool { return s.Status().Rows == 2 })
	all := s.Conversations()
	if len(all) != 1 || all[0].Rows != 2 || all[0].Talk != (Talk{7, 1}) || all[0].Failed != 0 {
		t.Errorf("%+v, want one conversation 7.1 of two rows", all)
	}
}
