package transport

import (
	"testing"
)

func TestResolveEndpoint(t *testing.T) {
	for _, c := range []struct{ sse, endpoint, want string }{
		{"http://h/sse", "/messages?sessionId=1", "http://h/messages?sessionId=1"},
		{"http://h/a/sse?x=1", "messages", "http://h/a/messages"},
		{"http://h/sse", "?s=1", "http://h/sse?s=1"},
		{"http://H:80/sse", "http://h/m", "http://h/m"},
		{"https://h/sse", "https://h:443/m", "https://h:443/m"},
		{"http://[::1]:3001/sse", "/m", "http://[::1]:3001/m"},
		{"http://h/sse", "http://h:81/m", ""},
		{"http://h/sse", "https://h/m", ""},
		{"http://h/sse", "http://sub.h/m", ""},
		{"http://h/sse", "//evil/m", ""},
		{"http://h/sse", "http://h@evil/m", ""},
		{"http://h/sse", "file:///etc/passwd", ""},
		{"http://h/sse", "http://h:x/m", ""},
		{"http://h/sse", "\x7f", ""},
		{"http://h/sse", "", ""},
	} {
		got, f := resolveEndpoint(c.sse, c.endpoint)
		if got != c.want || (f == nil) != (c.want != "") {
			t.Errorf("%s, %q: got %q %v, want %q", c.sse, c.endpoint, got, f, c.want)
		}
	}
}

// A path before the stream's that the endpoint event leaves out may have been stripped by a proxy.
func TestLostPathPrefixIsFound(t *testing.T) {
	for _, c := range []struct{ stream, endpoint, want string }{
		{"http://a/gw/sse", "http://a/messages?sessionId=1", "/gw"},
		{"http://a/gw/sse/", "http://a/messages", "/gw"},
		{"http://a/x/gw/sse", "http://a/x/messages", "/x/gw"},
		{"http://a/gw/sse", "http://a/gw/messages", ""},
		{"http://a/gw/sse", "http://a/gw/v1/messages", ""},
		{"http://a/gw/sse", "http://a/gwx/messages", "/gw"},
		{"http://a/sse", "http://a/messages", ""},
		{"http://a/", "http://a/messages", ""},
		{"http://a", "http://a/messages", ""},
		{"http://a/%zz", "http://a/messages", ""},
	} {
		if got := lostPrefix(c.stream, c.endpoint); got != c.want {
			t.Errorf("%s and %s: got %q, want %q", c.stream, c.endpoint, got, c.want)
		}
	}
}
