package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestOtherMachinesReachNothing(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "[::]:0"} {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue // no such addresses here
		}
		if _, err := New(Options{Reader: &fakeReader{}, Listener: l, Now: time.Now}); err == nil || !strings.Contains(err.Error(), "loopback") {
			t.Errorf("%s: got %v", addr, err)
		}
		l.Close()
	}
	l, err := net.Listen("unix", t.TempDir()+"/s")
	if err == nil {
		if _, err := New(Options{Reader: &fakeReader{}, Listener: l, Now: time.Now}); err == nil {
			t.Error("a socket in the file system was taken")
		}
		l.Close()
	}
}

func TestTokenWorksOnceForAMinute(t *testing.T) {
	now := time.Now()
	s := start(t, Options{Now: func() time.Time { return now }})
	token := func() string {
		u, err := url.Parse(s.URL())
		if err != nil || u.Path != "/" || u.RawQuery != "" || u.Scheme+"://"+u.Host != s.base {
			t.Fatalf("%v %v", u, err)
		}
		text, ok := strings.CutPrefix(u.Fragment, "t=")
		if !ok || len(text) != 43 {
			t.Fatalf("the fragment is %q", u.Fragment)
		}
		return text
	}
	enter := func(text string) answer { return s.ask("POST", "/enter", `{"token":"`+text+`"}`, nil) }
	if a := enter(""); a.status != 401 { // before there is a token
		t.Errorf("without a token: %d", a.status)
	}
	first := token()
	if a := enter(first[:42] + "_"); a.status != 401 && !strings.HasSuffix(first, "_") {
		t.Errorf("another token: %d", a.status)
	}
	a := enter(first)
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	port := s.base[strings.LastIndex(s.base, ":")+1:]
	cookie := a.head.Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "mcpc-"+port+"=") || !strings.HasSuffix(cookie, "; Path=/; HttpOnly; SameSite=Strict") {
		t.Errorf("the cookie is %q", cookie)
	}
	var got map[string]any
	if err := json.Unmarshal(a.body, &got); err != nil || len(got["key"].(string)) != 43 || got["title"] != "a <file>" || got["powers"] == nil {
		t.Errorf("got %s", a.body)
	}
	for _, text := range []string{first, ""} {
		if a := enter(text); a.status != 401 || a.head.Get("Set-Cookie") != "" {
			t.Errorf("a used token, %q: %d", text, a.status)
		}
	}
	older := token()
	last := token()
	if a := enter(older); a.status != 401 {
		t.Errorf("a token before the last: %d", a.status)
	}
	now = now.Add(61 * time.Second)
	if a := enter(last); a.status != 401 {
		t.Errorf("a token after 61 s: %d", a.status)
	}
}

func TestCookieAndKeyAreBothNeeded(t *testing.T) {
	s := start(t, Options{Actor: &fakeActor{}}).enter()
	other := start(t, Options{}).enter()
	for _, path := range []string{"/api/status", "/api/events", "/api/rows", "/api/body?key=1.1&frame=0", "/api/nothing", "/api/do/copy", "/nothing", "/secret.key", "/enter", "/a.js/"} {
		for name, change := range map[string]map[string]string{
			"neither": {"Cookie": "-", "X-Mcpc": "-"}, "no key": {"X-Mcpc": "-"}, "no cookie": {"Cookie": "-"}, "1": {"X-Mcpc": "1"},
			"another server's key": {"X-Mcpc": other.key}, "another server's cookie": {"Cookie": strings.Replace(other.cookie, other.cookie[:strings.Index(other.cookie, "=")], s.cookie[:strings.Index(s.cookie, "=")], 1)},
			"an empty cookie": {"Cookie": s.cookie[:strings.Index(s.cookie, "=")+1]}, "the key in both": {"Cookie": s.cookie[:strings.Index(s.cookie, "=")+1] + s.key},
		} {
			if a := s.ask("GET", path, "", change); a.status != 401 {
				t.Errorf("GET %s, %s: %d %s", path, name, a.status, a.body)
			}
			if a := s.ask("POST", path, "{}", change); a.status != 401 {
				t.Errorf("POST %s, %s: %d %s", path, name, a.status, a.body)
			}
		}
	}
	if a := s.ask("GET", "/api/status", "", map[string]string{"Cookie": s.cookie[:strings.Index(s.cookie, "=")] + "=x; " + s.cookie}); a.status != 200 {
		t.Errorf("with two cookies of the name: %d", a.status)
	}
	if a := s.ask("GET", "/api/nothing", "", nil); a.status != 404 {
		t.Errorf("an address that is not there: %d", a.status)
	}
	// The files of the page are open, and hold no secret.
	for _, path := range []string{"/", "/a.js", "/b.css", "/v/c.mjs"} {
		a := s.ask("GET", path, "", map[string]string{"Cookie": "-", "X-Mcpc": "-", "Sec-Fetch-Site": "none"})
		if a.status != 200 || len(a.body) == 0 || strings.Contains(string(a.body), s.key) || a.head.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

func TestForeignRequestsAreRefused(t *testing.T) {
	s := start(t, Options{Actor: &fakeActor{}}).enter()
	port := s.base[strings.LastIndex(s.base, ":"):]
	for _, host := range []string{"127.0.0.1" + port, "localhost" + port, "[::1]" + port} {
		if a := s.ask("GET", "/api/status", "", map[string]string{"Host": host}); a.status != 200 {
			t.Errorf("%s: %d", host, a.status)
		}
		if a := s.ask("POST", "/api/do/copy", "{}", map[string]string{"Host": host, "Origin": "http://" + host}); a.status != 200 {
			t.Errorf("POST %s: %d", host, a.status)
		}
	}
	for _, host := range []string{
		"evil.example", "evil.example" + port, "127.0.0.1", "localhost", "127.0.0.1:1", "localhost" + port + "0", "LOCALHOST" + port, "127.0.0.2" + port, "::1" + port,
		"localhost.evil.example" + port, "localhost." + port, "user@localhost" + port, "0.0.0.0" + port,
	} {
		for _, path := range []string{"/", "/a.js", "/api/status", "/enter"} {
			if a := s.ask("GET", path, "", map[string]string{"Host": host}); a.status != 403 && a.status != 400 { // 400: net/http itself
				t.Errorf("%s %s: %d", host, path, a.status)
			}
		}
		if a := s.ask("POST", "/enter", "{}", map[string]string{"Host": host, "Origin": "http://" + host}); a.status != 403 && a.status != 400 {
			t.Errorf("POST %s: %d", host, a.status)
		}
	}
	for _, c := range []struct {
		method string
		change map[string]string
		status int
	}{
		{"POST", map[string]string{"Origin": "-"}, 403},
		{"POST", map[string]string{"Origin": "null"}, 403},
		{"POST", map[string]string{"Origin": "http://evil.example"}, 403},
		{"POST", map[string]string{"Origin": "http://127.0.0.1:1"}, 403},
		{"POST", map[string]string{"Origin": "http://localhost" + port}, 403},
		{"POST", map[string]string{"Origin": "https://127.0.0.1" + port}, 403},
		{"POST", map[string]string{"Origin": s.base + " http://evil.example"}, 403},
		{"POST", map[string]string{"Sec-Fetch-Site": "-"}, 403},
		{"POST", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"POST", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"POST", map[string]string{"Sec-Fetch-Site": "none"}, 403},
		{"POST", map[string]string{"Content-Type": "-"}, 415},
		{"POST", map[string]string{"Content-Type": "text/plain"}, 415},
		{"POST", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415},
		{"POST", map[string]string{"Content-Type": "application/json; charset=utf-8"}, 200},
		{"GET", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"GET", map[string]string{"Sec-Fetch-Site": "-"}, 404},
		{"OPTIONS", map[string]string{"Origin": "http://evil.example", "Access-Control-Request-Method": "GET"}, 405},
		{"HEAD", nil, 405},
		{"PUT", nil, 405},
		{"DELETE", nil, 405},
		{"PATCH", nil, 405},
	} {
		if a := s.ask(c.method, "/api/do/copy", "{}", c.change); a.status != c.status {
			t.Errorf("%s %q: %d, not %d: %s", c.method, c.change, a.status, c.status, a.body)
		}
	}
	if a := s.ask("GET", "/", "", map[string]string{"Sec-Fetch-Site": "cross-site"}); a.status != 403 {
		t.Errorf("/ of another site: %d", a.status)
	}
	if a := s.ask("POST", "/api/do/copy", `{"filter":"`+strings.Repeat("a", maxPosted)+`"}`, nil); a.status != 413 {
		t.Errorf("a long body: %d", a.status)
	}
	for _, body := range []string{"", "{", "{} {}", `"x"`} {
		if a := s.ask("POST", "/api/do/copy", body, nil); a.status != 400 {
			t.Errorf("the body %q: %d", body, a.status)
		}
	}
}

func TestEveryResponseHasSecurityHeaders(t *testing.T) {
	s := start(t, Options{Actor: &fakeActor{}}).enter()
	s.reader.bodies[0] = []byte("<script>alert(1)</script>")
	for _, c := range []struct{ method, path, host string }{
		{"GET", "/", ""},
		{"GET", "/a.js", ""},
		{"GET", "/api/status", ""},
		{"GET", "/api/body?frame=0", ""},
		{"GET", "/api/nothing", ""},
		{"GET", "/", "evil.example"},
		{"HEAD", "/", ""},
		{"OPTIONS", "/api/status", ""},
		{"POST", "/enter", ""},
		{"POST", "/api/do/mark", ""},
		{"POST", "/api/do/copy", ""},
	} {
		change := map[string]string{}
		if c.host != "" {
			change["Host"] = c.host
		}
		a := s.ask(c.method, c.path, "{}", change)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
		} {
			if got := a.head.Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("%s %s: %s is %q", c.method, c.path, name, got)
			}
		}
		for name := range a.head {
			if strings.HasPrefix(name, "Access-Control") {
				t.Errorf("%s %s: %s", c.method, c.path, name)
			}
		}
		if kind := a.head.Get("Content-Type"); strings.Contains(kind, "html") && c.path != "/" {
			t.Errorf("%s %s is %s", c.method, c.path, kind)
		}
	}
}

// net/http reads the rest of a body before it answers, so a body that does not arrive must end too.
func TestUnfinishedBodyIsCutAtItsTimeLimit(t *testing.T) {
	past := func() time.Time { return time.Now().Add(-bodyTimeout - time.Second) } // the time for a body is over when it begins
	s := start(t, Options{Now: past, Stuck: time.Hour})
	for _, request := range []string{"GET /", "GET /api/status", "POST /api/do/copy", "POST /enter"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
			request, strings.TrimPrefix(s.base, "http://"), s.base)
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
			t.Errorf("%s: got %q, %v", request, answer, err)
		}
		conn.Close()
	}
}

func TestServerEndsWithoutAPage(t *testing.T) {
	s := start(t, Options{Idle: 50 * time.Millisecond})
	if err := s.end(); !errors.Is(err, ErrIdle) {
		t.Fatalf("ended with %v", err)
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://")); err == nil {
		c.Close()
		t.Error("the listener is open")
	}
}
