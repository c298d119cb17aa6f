package proxy

import (
	"testing"

	"mcpc/internal/wire"
)

// A conversation is named by its first request with a client name, and again by initialize; the
// server is named by the first result with a server name.
func TestConversationsAreNamedByFirstRequest(t *testing.T) {
	desk := &Desk{}
	const target = "http://127.0.0.1/mcp"
	for _, step := range []struct{ request, result, client, server string }{
		{
			`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"one","version":"1"}}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`, "one 1", "",
		},
		{
			`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"two","version":"2"}}}}`,
			`{"jsonrpc":"2.0","id":2,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"3"}}}}`, "one 1", "s 3",
		},
		{
			`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"clientInfo":{"name":"three","version":"3"}}}`,
			`{"jsonrpc":"2.0","id":3,"result":{"serverInfo":{"name":"t","version":"4"}}}`, "three 3", "t 4",
		},
	} {
		introduction := Introduction{}
		introduction.Learn(desk, target, "", wire.Frame{Dir: wire.Sent, Kind: wire.Body, Raw: []byte(step.request)})
		introduction.Learn(desk, target, "", wire.Frame{Dir: wire.Received, Kind: wire.Body, Raw: []byte(step.result)})
		row := desk.Live.Row(target, "", wire.Sent, nil, nil)
		if row.Client() != step.client || row.Server() != step.server {
			t.Errorf("after %s: %q and %q, want %q and %q", step.request, row.Client(), row.Server(), step.client, step.server)
		}
	}
}
