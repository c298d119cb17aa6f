package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/wire"
)

// posted returns the conversation of each request that the proxy saw, in their order.
func (b *behind) posted() (conns []int) {
	for _, f := range b.seen() {
		if f.Dir == wire.Sent && f.Kind == wire.Head {
			conns = append(conns, f.Conn)
		}
	}
	return conns
}

// oneConnection returns a client with a single connection to the proxy.
func oneConnection(t *testing.T) *http.Client {
	transport := &http.Transport{MaxConnsPerHost: 1}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

const (
	probeBody      = `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`
	initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
	listBody       = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

func TestProxyGroupsProbeAndSession(t *testing.T) {
	for name, c := range map[string]struct {
		session, error string
		status         int
		want           []int
	}{
		"refused, with sessions":        {session: "of-one", status: 400, want: []int{1, 1, 1, 2, 2, 2}},
		"refused, without sessions":     {status: 400, want: []int{1, 1, 1, 2, 2, 2}},
		"refused by an error of 200":    {error: `"error":{"code":-32601,"message":"no"}`, status: 200, want: []int{1, 1, 1, 2, 2, 2}},
		"accepted, opened all the same": {error: `"result":{}`, status: 200, want: []int{1, 2, 2, 3, 4, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			sessions := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := string(must(io.ReadAll(r.Body)))
				w.Header().Set("Content-Type", "application/json")
				if r.Header.Get("Mcp-Method") != "" {
					w.WriteHeader(c.status)
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,%s}`, c.error)
					return
				}
				if c.session != "" && strings.Contains(body, "initialize") {
					sessions++
					w.Header().Set("Mcp-Session-Id", fmt.Sprint(c.session, sessions))
				}
				fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
			}))
			defer server.Close()
			b := proxied(t, WatcherOptions{}, server.URL)
			clients := []*http.Client{oneConnection(t), oneConnection(t)}
			for i, client := range clients {
				send := func(body string, fields ...string) {
					req := must(http.NewRequest("POST", b.url+"/mcp", strings.NewReader(body)))
					for j := 0; j < len(fields); j += 2 {
						req.Header.Set(fields[j], fields[j+1])
					}
					resp := must(client.Do(req))
					defer resp.Body.Close()
					_ = must(io.ReadAll(resp.Body))
				}
				send(probeBody, "Mcp-Method", "server/discover")
				send(initializeBody)
				if c.session != "" {
					send(listBody, "Mcp-Session-Id", fmt.Sprint(c.session, i+1))
				} else {
					send(listBody)
				}
			}
			if got := b.posted(); !slices.Equal(got, c.want) {
				t.Errorf("conversations %v, want %v", got, c.want)
			}
		})
	}
}

// A client without a session has several connections, and each client has a different one: its
// requests belong to what it opened last, requests of another revision do not.
func TestProxyGroupsRequestsWithoutSession(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	first, second, third := oneConnection(t), oneConnection(t), oneConnection(t)
	for _, r := range []struct {
		client       *http.Client
		agent, body  string
		name, method string
	}{
		{first, "x", initializeBody, "", ""},
		{second, "x", initializeBody, "", ""},
		{first, "x", listBody, "", ""},
		{second, "x", listBody, "", ""},
		{third, "x", listBody, "", ""},
		{third, "y", listBody, "", ""},
		{first, "x", listBody, "Mcp-Method", "tools/list"},
	} {
		req := must(http.NewRequest("POST", b.url+"/mcp", strings.NewReader(r.body)))
		req.Header.Set("User-Agent", r.agent)
		if r.name != "" {
			req.Header.Set(r.name, r.method)
		}
		resp := must(r.client.Do(req))
		_ = must(io.ReadAll(resp.Body))
		resp.Body.Close()
	}
	if got, want := b.posted(), []int{1, 2, 1, 2, 2, 3, 4}; !slices.Equal(got, want) {
		t.Errorf("conversations %v, want %v", got, want)
	}
}
