package share

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/capture/rows"
)

// A call is shared with the handshake and with the most complete list that its client had by then.
func TestSharedCallHasHandshakeAndList(t *testing.T) {
	var text strings.Builder
	text.WriteString(`{"mcpc-traffic":1,"by":"tap"}` + "\n")
	seq := 0
	frame := func(dir, raw string) {
		seq++
		fmt.Fprintf(&text, `{"seq":%d,"dir":%q,"kind":"body","raw":%q}`+"\n", seq, dir, raw)
	}
	ask := func(id int, method, params, result string) {
		frame("sent", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
		frame("received", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, result))
	}
	const page1, page2 = `{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"2"}`, `{"tools":[{"name":"boom","inputSchema":{"type":"object"}}]}`
	ask(1, "initialize", `{}`, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)
	ask(2, "tools/list", `{}`, page1)
	ask(3, "tools/list", `{"cursor":"2"}`, page2)
	ask(4, "tools/list", `{}`, page1) // the client has found what it looked for
	ask(5, "tools/call", `{"name":"boom"}`, `{"content":[],"isError":true}`)
	ask(6, "tools/list", `{}`, page1)
	ask(7, "tools/list", `{"cursor":"2"}`, page2)
	ask(8, "tools/call", `{"name":"a"}`, `{"content":[]}`)
	path := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := rows.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, s := range []struct {
		id   int
		want string
	}{{5, "1 2 3 5"}, {8, "1 6 7 8"}, {1, "1 6 7"}} {
		var got []string
		for _, r := range WithContext(c, c.Rows()[s.id-1:s.id]) {
			got = append(got, fmt.Sprint(r.Index))
		}
		if text := strings.Join(got, " "); text != s.want {
			t.Errorf("of %d: got %s, want %s", s.id, text, s.want)
		}
	}
}
