package session

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpc/internal/client/auth"
	"mcpc/internal/connect/host"
	"mcpc/internal/wire"
)

// publicSite serves https://example.com, a pinned public host, and returns a loader whose source
// it is.
func publicSite(t *testing.T, proxy *url.URL, answer http.HandlerFunc) *loader {
	t.Helper()
	site := httptest.NewTLSServer(answer)
	t.Cleanup(site.Close)
	roots := site.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	way := auth.Network{
		TLS: &tls.Config{RootCAs: roots}, Pinned: func(address string) bool { return address == "example.com:443" },
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, site.Listener.Addr().String())
		},
	}
	way.Proxy = func(req *http.Request) (*url.URL, error) {
		if req.URL.Host == "example.com" {
			return nil, nil
		}
		return proxy, nil
	}
	env := &host.Env{UI: host.Quiet{}, Getenv: func(string) string { return "" }, Now: time.Now, Shared: new(host.Shared)}
	return &loader{env: env, net: auth.NewNet(auth.Public, way)}
}

// A document of a public host names no host of a private network and none of this machine:
// neither by a redirect, nor in a catalog, nor as the server itself.
func TestAPublicCardNamesNoPrivateHost(t *testing.T) {
	for _, there := range []string{"https://10.0.0.8/mcp", "https://192.168.1.1/mcp", "https://127.0.0.1/mcp", "https://[::1]/mcp", "https://[fd00::1]/mcp", "https://169.254.169.254/mcp", "https://localhost/mcp"} {
		answer := func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/redirect":
				http.Redirect(w, r, there, http.StatusFound)
			case "/catalog":
				fmt.Fprintf(w, `{"specVersion": "1.0", "entries": [{"identifier": "a", "type": "application/mcp-server-card+json", "url": %q}]}`, there)
			default:
				fmt.Fprintf(w, `{"name": "com.example/w", "version": "1.0.0", "remotes": [{"type": "sse", "url": %q}]}`, there)
			}
		}
		for _, path := range []string{"/redirect", "/catalog", "/card", "/redirect by a proxy", "/catalog by a proxy"} {
			path, byProxy := strings.CutSuffix(path, " by a proxy")
			if byProxy && strings.Contains(there, "localhost") {
				continue // names are the proxy's to look up
			}
			l := publicSite(t, map[bool]*url.URL{true: {Scheme: "http", Host: "127.0.0.1:1"}}[byProxy], answer)
			f, out := l.load(t, "https://example.com"+path)
			if path == "/card" && out.OK() {
				f.net = l.net
				out = f.Permitted(context.Background(), there)
			}
			if out.Kind != wire.Refused || !strings.Contains(out.Text, "private network address") {
				t.Errorf("%s to %s: %s %s", path, there, out.Kind, out.Text)
			}
		}
	}
}

func (l *loader) load(t *testing.T, where string) (FoundCard, wire.Outcome) {
	t.Helper()
	raw, from, out := l.read(context.Background(), where)
	if !out.OK() {
		return FoundCard{}, out
	}
	return l.resolve(context.Background(), raw, from, 1)
}

// What is public may be named.
func TestAPublicCardNamesAPublicHost(t *testing.T) {
	l := publicSite(t, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, "/card", http.StatusFound)
			return
		}
		fmt.Fprint(w, `{"name": "com.example/w", "version": "1.0.0", "remotes": [{"type": "sse", "url": "https://8.8.8.8/mcp"}]}`)
	})
	f, out := l.load(t, "https://example.com/redirect")
	if f.net = l.net; out.OK() {
		out = f.Permitted(context.Background(), "https://8.8.8.8/mcp")
	}
	if !out.OK() || f.From != "https://example.com/card" {
		t.Errorf("%s %s, from %s", out.Kind, out.Text, f.From)
	}
}
