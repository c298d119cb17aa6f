package mock

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// dialed serves a script over HTTP until the test ends, and returns a connection to it.
func dialed(t *testing.T, text string) net.Conn {
	t.Helper()
	script, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- script.HTTP(ctx, listener, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// A request whose body cannot be read is a bad request.
func TestHTTPBrokenChunkIsABadRequest(t *testing.T) {
	conn := dialed(t, "speaks 2025-11-25\n")
	_, _ = io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"Transfer-Encoding: chunked\r\n\r\nzz\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d, want 400", resp.StatusCode)
	}
}

// A request that a page in a browser could send is refused before any rule applies, and the next
// request on the connection is answered. A request as to a proxy may name any host.
func TestHTTPRefusesPagesFromElsewhere(t *testing.T) {
	conn := dialed(t, "speaks 2025-11-25\non ping #1\n    status 418\n")
	in := bufio.NewReader(conn)
	host := conn.RemoteAddr().String()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, c := range []struct {
		head   string
		status int
	}{
		{"POST /mcp HTTP/1.1\r\nHost: evil.example\r\n", 403},
		{"GET /mcp HTTP/1.1\r\nHost: evil.example\r\n", 403},
		{"POST /mcp HTTP/1.1\r\nHost: " + host + "\r\nOrigin: https://evil.example\r\n", 403},
		{"POST /mcp HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://localhost:6274\r\nOrigin: https://evil.example\r\n", 403},
		{"POST /mcp HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://localhost:6274\r\n", 418}, // the first ping
		{"POST http://evil.example/mcp HTTP/1.1\r\nHost: evil.example\r\n", 200},
		{"POST /mcp HTTP/1.1\r\nHost: " + host + "\r\n", 200},
	} {
		body := ping
		if strings.HasPrefix(c.head, "GET") {
			body = ""
		}
		if _, err := io.WriteString(conn, c.head+"Content-Type: application/json\r\nContent-Length: "+map[bool]string{true: "0", false: "40"}[body == ""]+"\r\n\r\n"+body); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%q: %v", c.head, err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != c.status || err != nil {
			t.Errorf("%q: got %d, want %d; %v", c.head, resp.StatusCode, c.status, err)
		}
	}
}
