package rules

import (
	"net/url"
	"testing"
)

func TestOtherHost(t *testing.T) {
	icon := &url.URL{Scheme: "https", Host: "example.com", Path: "/i.png"}
	for server, want := range map[string]bool{
		"https://example.com/mcp": false, "https://EXAMPLE.com:8443/mcp": false, "https://mcp.example.org/mcp": true,
		"http://127.0.0.1:3000/mcp": false, "http://localhost:3000/mcp": false, "http://[::1]:3000/mcp": false, "http://192.0.2.1/mcp": true, "": false,
	} {
		if got := isOtherHost(icon, server); got != want {
			t.Errorf("%s: %v", server, got)
		}
	}
}
