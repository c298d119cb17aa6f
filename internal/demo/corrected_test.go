package demo

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Requests that the SDK refuses with text, or misunderstands, get the error of the specification.
func TestHTTPRefusalsHaveCodes(t *testing.T) {
	s := mount(t, Handler(Options{}))
	in := s.session("2025-11-25")
	older := strings.ReplaceAll(meta, "2026-07-28", "1900-01-01")
	for _, c := range []struct {
		name   string
		from   *site
		body   string
		status int
		want   string
	}{
		{"unknown method", in, request(1, "nope", ""), 200, `{"error":{"code":-32601,`},
		{"cut off", in, `{`, 400, `{"error":{"code":-32700,`},
		{"cut off, no session", s.stateless("tools/list", ""), `{`, 400, `{"error":{"code":-32700,`},
		{"no JSON-RPC", in, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, 400, `{"error":{"code":-32600,`},
		{"no method", in, `{"jsonrpc":"2.0","id":1}`, 400, `{"error":{"code":-32600,`},
		{
			"unknown older version", s.stateless("tools/list", "").with("MCP-Protocol-Version", "1900-01-01"), request(1, "tools/list", older), 400,
			`{"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":["2026-07-28","2025-11-25",`,
		},
		{"two versions", s.stateless("tools/list", "").with("MCP-Protocol-Version", "2025-11-25"), request(1, "tools/list", meta), 400, `{"error":{"code":-32020,`},
		{"arguments in an array", in, toolsCall(1, "echo", `[]`), 200, `"code":-32602`},
		{"unknown level, no session", s.stateless("tools/list", ""), request(1, "tools/list", strings.Replace(meta, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"loud",`, 1)), 400, `"code":-32602`},
		{"unknown level", in, request(1, "logging/setLevel", `"level":"loud"`), 200, `"code":-32602`},
	} {
		resp, body := c.from.post(c.body)
		want(t, c.name+": status", resp.StatusCode, c.status)
		if !strings.Contains(body, c.want) {
			t.Errorf("%s: body %s\nhas no %s", c.name, body, c.want)
		}
	}
}

func TestHTTPAcceptsHeadersOfStateless(t *testing.T) {
	s := mount(t, Handler(Options{}))
	echo := toolsCall(1, "echo", `{"message":"hi"}`, meta)
	for name, from := range map[string]*site{
		"in Base64":     s.stateless("tools/call", "=?base64?ZWNobw==?="),
		"Last-Event-ID": s.stateless("tools/call", "echo").with("Last-Event-ID", "x"),
	} {
		resp, body := from.post(echo)
		want(t, name+": status", resp.StatusCode, 200)
		want(t, name+": X-Accel-Buffering", resp.Header.Get("X-Accel-Buffering"), "no")
		if !strings.Contains(body, `hi"}]`) {
			t.Errorf("%s: %s", name, body)
		}
	}
	resp, _ := s.stateless("tools/call", "=?base64?!?=").post(echo)
	want(t, "no Base64: status", resp.StatusCode, 400)
}

// A request whose body cannot be read is a bad request, and not too large.
func TestHTTPBrokenChunkIsABadRequest(t *testing.T) {
	server := httptest.NewServer(Handler(Options{}))
	defer server.Close()
	host := server.Listener.Addr().String()
	for _, method := range []string{"ping", "tasks/get"} {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		head := "POST /mcp HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\n" +
			"Accept: application/json, text/event-stream\r\nMcp-Method: " + method + "\r\nTransfer-Encoding: chunked\r\n\r\n"
		_, _ = io.WriteString(conn, head+"zz\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		want(t, method, resp.StatusCode, http.StatusBadRequest)
	}
}
