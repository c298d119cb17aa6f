package proxy_test

import (
	"strings"
	"testing"

	"mcpc/internal/tests/clitest"
)

// The view of a proxy has Home, whose servers it asks only if the page was allowed to.
func TestProxyViewHasHome(t *testing.T) {
	b := clitest.EnterHome(t)
	b.Env = append(b.Env, "BROWSER=no-such-browser")
	p := b.PageOf("proxy", "--web", "--to", "http://127.0.0.1:1/mcp", "--listen", "127.0.0.1:0")
	if got := string(p.Send("GET", "/api/servers", "")); !strings.Contains(got, `"name":"demo"`) {
		t.Errorf("the servers: %s", got)
	}
	if got := string(p.Send("GET", "/api/status", "")); !strings.Contains(got, `"home":true`) {
		t.Errorf("the status: %s", got)
	}
	p.Has("check", `{}`, "not allowed")
}
