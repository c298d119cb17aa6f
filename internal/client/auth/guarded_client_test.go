package auth

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// S06: the URLs that a browser may get.
//
// rules 224, 225, 226
// authorization 41, 63
func TestSafeURL(t *testing.T) {
	for raw, want := range map[string]string{
		"https://as.example/a?x=1":                          "https://as.example/a?x=1",
		"http://localhost:1/a":                              "http://localhost:1/a",
		"http://127.0.0.1:1/a":                              "http://127.0.0.1:1/a",
		"http://[::1]:1/a":                                  "http://[::1]:1/a",
		"https://as.example/a#f":                            "https://as.example/a",
		"https://as.example/a?x=$(touch${IFS}/tmp/pwn)":     "https://as.example/a?x=%24%28touch%24%7BIFS%7D%2Ftmp%2Fpwn%29",
		"a:$(cmd.exe /c calc)?":                             "",
		"javascript:alert(1)":                               "",
		"data:text/html,x":                                  "",
		"vbscript:x":                                        "",
		"file:///etc/passwd":                                "",
		"--new-window=x":                                    "",
		`https://a"&calc&"`:                                 "",
		"https:evil":                                        "",
		"https:///x":                                        "",
		"https://user:pw@as.example/":                       "",
		"http://as.example/":                                "",
		"http://127.0.0.1.evil.example/":                    "",
		"https://as.example/\x1b[31m":                       "",
		"https://as.example/?a;b":                           "",
		"https://as.example/" + strings.Repeat("x", maxURL): "",
	} {
		u, err := SafeURL(raw)
		got := ""
		if err == nil {
			got = u.String()
		}
		if got != want || err != nil && !HasRule(err, URLBlocked) {
			t.Errorf("%.60q: got %q, %v, want %q", raw, got, err, want)
		}
	}
}

// S07: the network that an address belongs to, in all spellings of the address.
//
// rules 227
// authorization 64
func TestNearnessOfAddresses(t *testing.T) {
	for text, want := range map[string]Nearness{
		"8.8.8.8": Public, "2606:4700::1": Public, "172.32.0.1": Public, "100.128.0.1": Public,
		"10.1.2.3": Private, "172.16.0.1": Private, "192.168.1.1": Private, "100.64.0.1": Private, "fd00::1": Private,
		"::ffff:10.0.0.1": Private, "64:ff9b::a00:1": Private, "2002:a00:1::": Private, "::10.0.0.1": Private,
		"127.0.0.1": Loopback, "127.9.9.9": Loopback, "::1": Loopback, "::ffff:127.0.0.1": Loopback, "64:ff9b::7f00:1": Loopback,
		"169.254.169.254": Special, "fe80::1": Special, "0.0.0.0": Special, "::": Special, "224.0.0.1": Special, "255.255.255.255": Special,
		"192.0.2.1": Special, "64:ff9b::a9fe:a9fe": Special,
	} {
		if got := nearness(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
}

// S07: a server may name what is as near or farther, and nothing special.
//
// rules 227
// authorization 64
func TestServersMayNotNameNearerAddresses(t *testing.T) {
	addresses := []string{"8.8.8.8", "10.0.0.1", "127.0.0.1", "169.254.169.254"}
	for near, want := range map[Nearness][]bool{
		Public: {true, false, false, false}, Private: {true, true, false, false}, Loopback: {true, true, true, false},
	} {
		for i, address := range addresses {
			if got := NewNet(near, Network{}).allows(netip.MustParseAddr(address)); got != want[i] {
				t.Errorf("a server that is %d names %s: %v", near, address, got)
			}
		}
	}
}

// S07: a name that became a private address is seen in the dialer: nothing is sent.
//
// rules 227
// authorization 64
func TestNothingIsSentToPrivateNetworks(t *testing.T) {
	sink, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	connected := make(chan bool, 8)
	go func() {
		for {
			conn, err := sink.Accept()
			if err != nil {
				return
			}
			connected <- true
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(sink.Addr().String())
	for _, host := range []string{"localhost", "127.0.0.1", "[::ffff:127.0.0.1]"} {
		_, _, err := NewNet(Public, Network{}).get(t.Context(), "https://"+host+":"+port+"/secret-path", nil)
		if !HasRule(err, URLBlocked) || strings.Contains(err.Error(), "secret-path") {
			t.Errorf("%s: got %v", host, err)
		}
	}
	if len(connected) != 0 {
		t.Errorf("%d connections", len(connected))
	}
}

func TestNearnessOfEndpoints(t *testing.T) {
	for endpoint, want := range map[string]Nearness{
		"http://127.0.0.1:1/mcp": Loopback, "http://localhost:1/mcp": Loopback, "https://10.0.0.1/mcp": Private,
		"https://8.8.8.8/mcp": Public, "https://no-such-host.invalid/mcp": Public, "http://169.254.169.254/": Special,
	} {
		if got := NearnessOf(t.Context(), endpoint); got != want {
			t.Errorf("%s: got %d, want %d", endpoint, got, want)
		}
	}
}

func (n *Net) get(ctx context.Context, where string, fields http.Header) (raw []byte, status int, err error) {
	return n.send(ctx, n.reader, http.MethodGet, where, fields, nil)
}
