package filter

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// A hidden value is found by its hash, in heads and in messages, and no other value is. A session
// has the hash of its id.
func TestFilterFindsWhatWasHidden(t *testing.T) {
	session, token := redact.Redacted("session-of-a-user"), redact.Redacted("a-token-of-a-user")
	hash := func(shown string) string { return redact.HashesIn(shown)[0] }
	lines := capture.AppendHead(nil, capture.Head{By: capture.ByCommand})
	crosses := func(stream int, dir wire.Direction, raw string) {
		lines = capture.AppendFrame(lines, wire.Frame{Dir: dir, Stream: stream, Raw: []byte(`{"jsonrpc":"2.0",` + raw + `}`)})
	}
	posts := func(stream int, raw string) {
		lines = capture.AppendFrame(lines, wire.Frame{Kind: wire.Head, Stream: stream, HTTP: &wire.HTTPHead{Method: "POST", Fields: []wire.Field{{Name: "Mcp-Session-Id", Value: session}}}})
		crosses(stream, wire.Sent, raw)
	}
	posts(1, `"id":1,"method":"a","params":{"digest":"sha256:`+hash(token)+`"}`)
	crosses(1, wire.Received, `"id":1,"result":{}`)
	posts(2, `"id":2,"method":"b","params":{"token":"`+token+`"}`)
	crosses(2, wire.Received, `"id":2,"result":{}`)
	crosses(0, wire.Sent, `"id":3,"method":"c"`)
	crosses(0, wire.Received, `"id":3,"result":{}`)
	name := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(name, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := rows.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for text, want := range map[string]string{
		"secret:*": "[a b]", "secret:" + hash(token): "[b]", "secret:0000": "[]", "-secret:*": "[c]",
		"session:" + hash(session): "[a b c]", "session:*": "[a b c]", "session:0000": "[]",
	} {
		f := parse(t, text)
		got := []string{}
		for _, row := range c.Rows() {
			if fits, err := f.Match(row); err != nil {
				t.Fatal(err)
			} else if fits {
				got = append(got, row.Method)
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %s", text, got, want)
		}
	}
}
