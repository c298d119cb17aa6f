package proxy

import (
	"net/url"
	"testing"
)

// A proxy does not forward to its own address, whatever that is called.
func TestProxyDoesNotForwardToItself(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]bool{
		"http://127.0.0.1:3002/mcp": true, "http://localhost:3002/mcp": true, "http://LOCALHOST:3002": true, "http://a.localhost:3002": true,
		"http://[::1]:3002/mcp": true, "http://127.0.0.1:3001/mcp": false, "http://localhost/mcp": false,
		"http://localhost.example:3002": false, "http://192.0.2.1:3002/mcp": false,
	} {
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		if got := leadsTo(u, "127.0.0.1:3002"); got != want {
			t.Errorf("%s: %t", server, got)
		}
	}
}
