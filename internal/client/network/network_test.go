package network

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestParsePins(t *testing.T) {
	p := Pins{}
	for text, want := range map[string]bool{
		"a.example:443:127.0.0.1": true, "B.Example:80:[::1],10.0.0.1": true, "*:8443:::1": true,
		"": false, "a.example": false, "a.example:443": false, "a.example:443:": false, ":443:127.0.0.1": false,
		"a.example::127.0.0.1": false, "a.example:x:127.0.0.1": false, "a.example:443:b.example": false, "a.example:443:127.0.0.1,": false,
		"a.example:70000:127.0.0.1": false,
	} {
		if err := p.Pin(text); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	for address, want := range map[string][]string{
		"a.example:443": {"127.0.0.1:443"}, "A.EXAMPLE:443": {"127.0.0.1:443"}, "b.example:80": {"[::1]:80", "10.0.0.1:80"},
		"any.example:8443": {"[::1]:8443"}, "a.example:80": nil,
	} {
		if got := p.Addresses(address); !slices.Equal(got, want) {
			t.Errorf("%s leads to %v, want %v", address, got, want)
		}
	}
}

func TestProxySelection(t *testing.T) {
	type env map[string]string
	for _, c := range []struct {
		given string
		env   env
		to    string
		want  string
	}{
		{"", nil, "https://a.example", ""},
		{"", env{"https_proxy": "http://p:1"}, "https://a.example", "http://p:1"},
		{"", env{"HTTP_PROXY": "http://p:1"}, "https://a.example", ""},
		{"", env{"ALL_PROXY": "socks5://p:1"}, "https://a.example", "socks5://p:1"},
		{"", env{"all_proxy": "http://all:1", "HTTPS_PROXY": "http://p:1"}, "https://a.example", "http://p:1"},
		{"", env{"ALL_PROXY": "http://p:1", "NO_PROXY": "a.example"}, "https://a.example", ""},
		{"", env{"ALL_PROXY": "http://p:1"}, "http://127.0.0.1:3001", ""},
		{"none", env{"ALL_PROXY": "http://p:1"}, "https://a.example", ""},
		{"p:1", env{"NO_PROXY": "*"}, "http://127.0.0.1:3001", "http://p:1"},
	} {
		find, err := ProxyFor(c.given, func(name string) string { return c.env[name] })
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		to, _ := url.Parse(c.to)
		proxy, err := find(&http.Request{URL: to})
		got := ""
		if proxy != nil {
			got = proxy.String()
		}
		if err != nil || got != c.want {
			t.Errorf("%+v: got %q, %v", c, got, err)
		}
	}
	for _, given := range []string{"ftp://p:1", "http://", "http://u:canary@p:x", "socks4://p:1"} {
		if _, err := ProxyFor(given, func(string) string { return "" }); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", given, err)
		}
	}
}
