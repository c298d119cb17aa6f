package auth

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// A user may pin a name into his own network. That opens the way for this name, and
// for nothing else that a server outside of it names.
func TestPinnedNamesOpenNothingElse(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer server.Close()
	there := server.Listener.Addr().String()
	config := server.Client().Transport.(*http.Transport).TLSClientConfig
	n := NewNet(Public, Network{
		TLS:    config,
		Pinned: func(address string) bool { return address == "example.com:443" },
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, there)
		},
	})
	defer n.Close()
	if _, status, err := n.get(t.Context(), "https://example.com/x", nil); err != nil || status != http.StatusOK {
		t.Errorf("the pinned name: %d, %v", status, err)
	}
	_, port, _ := net.SplitHostPort(there)
	for _, where := range []string{"https://127.0.0.1:" + port, "https://localhost:" + port, "https://[::ffff:127.0.0.1]:" + port} {
		if _, _, err := n.get(t.Context(), where, nil); !HasRule(err, URLBlocked) {
			t.Errorf("%s: got %v", where, err)
		}
	}
}

// A proxy changes nothing about addresses that are written out.
func TestProxyDoesNotAllowPrivateAddresses(t *testing.T) {
	var asked atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer proxy.Close()
	to, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	n := NewNet(Public, Network{Proxy: http.ProxyURL(to)})
	defer n.Close()
	for _, where := range []string{"https://10.0.0.1/", "https://127.0.0.1/", "https://169.254.169.254/"} {
		if _, _, err := n.get(t.Context(), where, nil); !HasRule(err, URLBlocked) || asked.Load() != 0 {
			t.Errorf("%s: got %v; the proxy was asked %d times", where, err, asked.Load())
		}
	}
	if _, _, err := n.get(t.Context(), "https://as.example/", nil); err == nil || asked.Load() != 1 {
		t.Errorf("a name: got %v; the proxy was asked %d times", err, asked.Load())
	}
}

// TLS settings for the server do not apply to hosts that it names: neither the user's certificate,
// nor --insecure.
func TestServerTLSSettingsAreNotUsedForOtherHosts(t *testing.T) {
	start := func(shown *atomic.Int64) *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			shown.Add(int64(len(r.TLS.PeerCertificates)))
		}))
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	var toServer, toOther atomic.Int64
	server, other := start(&toServer), start(&toOther)
	pair := server.TLS.Certificates[0]
	papers := &tls.Config{
		InsecureSkipVerify:   true,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil },
	}
	way := Network{Server: server.Listener.Addr().String(), ServerTLS: papers}
	n := NewNet(Loopback, way)
	defer n.Close()
	if _, _, err := n.get(t.Context(), server.URL, nil); err != nil || toServer.Load() != 1 {
		t.Errorf("the server saw %d certificates, %v", toServer.Load(), err)
	}
	if _, _, err := n.get(t.Context(), other.URL, nil); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the other's certificate was not checked: %v", err)
	}
	way.TLS = other.Client().Transport.(*http.Transport).TLSClientConfig
	n = NewNet(Loopback, way)
	defer n.Close()
	if _, _, err := n.get(t.Context(), other.URL, nil); err != nil || toOther.Load() != 0 {
		t.Errorf("the other saw %d certificates, %v", toOther.Load(), err)
	}
}
