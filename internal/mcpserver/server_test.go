package mcpserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// opening answers initialize and ping.
type opening struct{ s *Server }

func (h *opening) Prepare(c Caller, m *wire.Message) Job {
	if m.Method == "initialize" {
		if _, refused := h.s.OpenSession(c, m); refused != nil {
			return Replying(refused)
		}
	}
	return Replying(wire.ComposeResult(m.ID, []byte("{}")))
}

func (*opening) Notified(Caller, *wire.Message) {}

// If there are too many sessions, the session that was used least recently ends.
func TestTheSessionUsedLeastRecentlyEnds(t *testing.T) {
	h, n := &opening{}, 0
	h.s = New(h, Options{
		Name: "test", Eras: bridge.BothEras, MaxSessions: 2, SessionID: func() string { n++; return fmt.Sprintf("s%d", n) },
		Admit: func(r *http.Request) (int, string) {
			if r.Header.Get("X-Refused") != "" {
				return http.StatusUnauthorized, "refused"
			}
			return 0, ""
		},
	})
	server := httptest.NewServer(h.s.Handler(t.Context()))
	defer server.Close()
	post := func(session, method string) int {
		req, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"}}
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		if method == "refused" {
			req.Header.Set("X-Refused", "yes")
		}
		got, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		return got.StatusCode
	}
	for i, step := range []struct {
		session, method string
		want            int
	}{{"", "initialize", 200}, {"", "initialize", 200}, {"s1", "ping", 200}, {"", "initialize", 200}, {"s2", "ping", 404}, {"s1", "ping", 200}, {"s3", "ping", 200}, {"s1", "refused", 401}} {
		if got := post(step.session, step.method); got != step.want {
			t.Errorf("step %d: %d, want %d", i, got, step.want)
		}
	}
}

// A request whose body cannot be read is a bad request.
func TestBrokenChunkIsABadRequest(t *testing.T) {
	h := &opening{}
	h.s = New(h, Options{Name: "test", Eras: bridge.BothEras, MaxSessions: 2, SessionID: func() string { return "s" }})
	server := httptest.NewServer(h.s.Handler(t.Context()))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	head := "POST / HTTP/1.1\r\nHost: " + server.Listener.Addr().String() + "\r\nContent-Type: application/json\r\n" +
		"Accept: */*\r\nTransfer-Encoding: chunked\r\n\r\n"
	_, _ = io.WriteString(conn, head+"zz\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), `"code":-32700`) {
		t.Errorf("status %d: %s", resp.StatusCode, body)
	}
}
