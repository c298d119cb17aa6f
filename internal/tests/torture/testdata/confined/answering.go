package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// answer is an MCP server over stdio that has the tool echo and knows only what the tests ask. The filter
// holds its calls, too, so it makes few.
func answer() {
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"small","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"x"}]}`,
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(lines.Bytes(), &request) != nil || request.ID == nil {
			continue
		}
		if result, ok := results[request.Method]; ok {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, result)
		} else {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", request.ID)
		}
	}
}
