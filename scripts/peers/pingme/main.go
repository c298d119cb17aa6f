// Command pingme is the PingME servlet of the course material, in Go: the
// smallest server that a client meets. It answers JSON only, always names
// revision 2025-06-18, reports each JSON-RPC error as HTTP 200, and supports no
// session, no stream and no ping. Its faults (an error body for a
// notification, id null) are the servlet's own and stay.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
)

const (
	parseError     = -32700
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
)

// The results are literals, to keep the member order and the spaces of the servlet.
const (
	initializeResult = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"pingme-server","version":"1.0.0"}}`
	listResult       = `{"tools":[{"name":"PingME","description":"Returns a magic word. Takes no arguments.","inputSchema":{"type":"object","properties":{},"required":[]}}]}`
	callResult       = `{"content":[{"type":"text","text":"BISMILLAH"}],"isError":false}`
)

func main() {
	port := flag.Int("port", 0, "port on 127.0.0.1")
	flag.Parse()
	http.HandleFunc("/pingme-mcp/mcp", serve)
	log.Fatal(http.ListenAndServe(net.JoinHostPort("127.0.0.1", strconv.Itoa(*port)), nil))
}

func serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, fmt.Sprintf("HTTP method %s is not supported by this URL", r.Method), http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reply := answer(body)
	if reply == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	io.WriteString(w, reply)
}

// answer returns the response to one message, or "" for the only notification that the server
// supports.
func answer(body []byte) string {
	if len(body) > 0 && !json.Valid(body) {
		return failure("null", parseError, "Parse error")
	}
	// A body other than an object (empty, a scalar, a batch) counts as a request without members.
	var request map[string]json.RawMessage
	_ = json.Unmarshal(body, &request)

	id := string(request["id"])
	if id == "" {
		id = "null"
	}
	switch method := text(request["method"]); method {
	case "":
		return failure(id, invalidRequest, "Invalid Request: missing method")
	case "initialize":
		return success(id, initializeResult)
	case "notifications/initialized":
		return ""
	case "tools/list":
		return success(id, listResult)
	case "tools/call":
		return call(id, request["params"])
	default:
		return failure(id, methodNotFound, "Method not found: "+method)
	}
}

func call(id string, params json.RawMessage) string {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(params, &members)
	if name := text(members["name"]); name != "PingME" {
		return failure(id, invalidParams, "Unknown tool: "+name)
	}
	return success(id, callResult)
}

func success(id, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func failure(id string, code int, message string) string {
	quoted, err := json.Marshal(message)
	if err != nil {
		panic(err) // strings always marshal
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quoted)
}

// text returns the value of a JSON string, or "" for other JSON.
func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}
