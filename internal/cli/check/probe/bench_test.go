package probe

import (
	"encoding/json"
	"net/http"
	"testing"

	"mcpc/internal/wire"
)

// The command of a finding sends what the probe sent, on a separate connection.
func TestRepeatWords(t *testing.T) {
	for _, c := range []struct {
		q              probeRequest
		revision, want string
	}{
		{probeRequest{method: "tools/list"}, "2026-07-28", "raw --protocol 2026-07-28 tools/list"},
		{probeRequest{method: "tools/list", params: json.RawMessage(`{"cursor":"x"}`)}, "2025-11-25", `raw --protocol 2025-11-25 tools/list '{"cursor":"x"}'`},
		{
			probeRequest{raw: []byte("{"), edits: []wire.Field{field("Mcp-Method", "tools/list")}},
			"2026-07-28",
			"raw --protocol 2026-07-28 -H 'Mcp-Method: tools/list' --bytes '{'",
		},
		{probeRequest{raw: []byte("{}"), bare: true}, "2025-11-25", "raw --protocol 2025-11-25 --no-stamp --bytes '{}'"},
		{probeRequest{method: "ping", edits: []wire.Field{field("Mcp-Session-Id", "")}}, "2025-11-25", "raw --protocol 2025-11-25 -H 'Mcp-Session-Id: ' ping"},
		{probeRequest{method: "ping", edits: []wire.Field{field("Mcp-Session-Id", "x")}}, "2026-07-28", "raw --protocol 2026-07-28 -H 'Mcp-Session-Id: x' ping"},
		{
			probeRequest{method: "ping", edits: []wire.Field{field("Mcp-Session-Id", "x")}},
			"2025-11-25",
			`raw --protocol 2026-07-28 -H 'MCP-Protocol-Version: 2025-11-25' -H 'Mcp-Session-Id: x' --no-stamp --bytes '{"jsonrpc":"2.0","id":1,"method":"ping"}'`,
		},
		{probeRequest{verb: http.MethodGet}, "2025-11-25", ""},
	} {
		if got := repeatWordsFor(c.q, c.revision); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
