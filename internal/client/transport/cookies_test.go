package transport

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// setCookies makes a response that sets cookies.
func setCookies(fields ...string) *http.Response {
	return &http.Response{Header: http.Header{"Set-Cookie": fields}}
}

func TestWhichCookiesAreSent(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	now := func() time.Time { return at }
	const from = "https://x.example/mcp"
	for _, c := range []struct {
		name string
		set  []string
		to   string
		want string
	}{
		{
			"of a balancer",
			[]string{"AWSALB=a/b+c==; Expires=Wed, 01 Dec 2099 00:00:00 GMT; Path=/", "AWSALBCORS=d; Path=/; SameSite=None; Secure"},
			from, "AWSALB=a/b+c==; AWSALBCORS=d",
		},
		{"the newest of a name", []string{"a=1", "b=2", "a=3"}, from, "b=2; a=3"},
		{"deleted by its age", []string{"a=1", "a=; Max-Age=0"}, from, ""},
		{"deleted by its date", []string{"a=1", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"}, from, ""},
		{"for another path", []string{"a=1; Path=/mcp", "b=2; Path=/other", "c=3; Path=/mc"}, from, "a=1"},
		{"below the path", []string{"a=1; Path=/mcp/"}, from + "/message", "a=1"},
		{"another port", []string{"a=1"}, "https://x.example:8443/mcp", ""},
		{"another scheme", []string{"a=1"}, "http://x.example/mcp", ""},
		{"another host", []string{"a=1; Domain=example"}, "https://y.example/mcp", ""},
		{"too long", []string{"a=" + strings.Repeat("x", maxCookieSize), "b=2"}, from, "b=2"},
		{"no cookie", []string{"", "=", "a"}, from, ""},
	} {
		var got cookies
		source, _ := url.Parse(from)
		target, _ := url.Parse(c.to)
		got.store(source, setCookies(c.set...), now)
		if field := got.field(target, now); field != c.want {
			t.Errorf("%s: got %q, want %q", c.name, field, c.want)
		}
	}
}

func TestCookiesExpire(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	u, _ := url.Parse("http://x.example/mcp")
	var c cookies
	c.store(u, setCookies("short=1; Max-Age=10", "tls=2; Secure"), func() time.Time { return at })
	for _, after := range []time.Duration{9 * time.Second, 10 * time.Second} {
		got := c.field(u, func() time.Time { return at.Add(after) })
		if (got == "short=1") != (after < 10*time.Second) || strings.Contains(got, "tls") {
			t.Errorf("after %v: got %q", after, got)
		}
	}
	for i := range 2 * maxCookies {
		c.store(u, setCookies(fmt.Sprintf("c%d=x", i)), time.Now)
	}
	if len(c.kept) != maxCookies {
		t.Errorf("%d are kept", len(c.kept))
	}
}

func TestCookiesAreReturnedToServer(t *testing.T) {
	const address = "https://x.example/mcp"
	before, after := &Connector{rec: &Recorder{}}, &Connector{rec: &Recorder{}}
	u, _ := url.Parse(address)
	before.cookies.store(u, setCookies("a=b=c; Path=/mcp; Secure", "d=1"), time.Now)
	after.SetCookieField(address, before.CookieField(address))
	if got := after.CookieField(address); got != "a=b=c; d=1" {
		t.Errorf("got %q", got)
	}
	after.cookies.store(u, setCookies("a=new; Path=/mcp"), time.Now)
	if got := after.CookieField(address); got != "d=1; a=new" {
		t.Errorf("refreshed: got %q", got)
	}
	after.SetCookieField(address, "")
	after.SetCookieField("", "e=2")
	if got := after.CookieField(address); got != "d=1; a=new" {
		t.Errorf("got %q", got)
	}
}
