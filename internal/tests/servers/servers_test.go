package servers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// post sends list, and returns the status and the body, or "" and an error.
func post(client *http.Client, address string) (string, error) {
	r, err := http.NewRequest(http.MethodPost, address, strings.NewReader(list))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "tools/list")
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.Status + "\n" + string(body), err
}

// newClient returns a client that opens a connection for each request: a connection that is kept
// open ends with the server that was replaced.
func newClient(transport *http.Transport) *http.Client {
	transport.DisableKeepAlives = true
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// newDemo returns a server on which the demo runs.
func newDemo(t *testing.T, flags ...string) *Server {
	t.Helper()
	s := ForTest(t)
	if err := s.Demo(flags...); err != nil {
		t.Fatal(err)
	}
	return s
}

func wantTool(t *testing.T, client *http.Client, address, tool string) {
	t.Helper()
	answer, err := post(client, address)
	if err != nil || !strings.HasPrefix(answer, "200 ") || !strings.Contains(answer, `"name":"`+tool+`"`) {
		t.Errorf("%s: got %q, %v, want the tool %s", address, answer, err, tool)
	}
}

func TestServerKeepsItsAddress(t *testing.T) {
	s := newDemo(t)
	client := newClient(&http.Transport{})
	wantTool(t, client, s.URL("/mcp"), "echo")
	s.Stop()
	if answer, err := post(client, s.URL("/mcp")); err == nil {
		t.Errorf("a stopped server answers %q", answer)
	}
	if err := s.Play("tool played\n"); err != nil {
		t.Fatal(err)
	}
	wantTool(t, client, s.URL("/mcp"), "played")
	if err := s.Demo("--json-answers"); err != nil {
		t.Fatal(err)
	}
	wantTool(t, client, s.URL("/mcp"), "echo")
	log, err := os.ReadFile(s.Log().Name())
	request := "POST tools/list " + list + " Mcp-Protocol-Version=2026-07-28 "
	if got := strings.Count(string(log), request); err != nil || got != 3 {
		t.Errorf("the log has %d requests (%v), want 3:\n%s", got, err, log)
	}
}

func TestDemoRefusesFlagsOfTheProcess(t *testing.T) {
	if _, err := Demo("--stateless", "--json-answers", "--tasks", "--broken-skills", "--auth"); err != nil {
		t.Error(err)
	}
	if _, err := Demo("--fault"); err == nil {
		t.Error("--fault is no error")
	}
}

func TestLogWritesCompleteLinesOfInput(t *testing.T) {
	log := NewLog(filepath.Join(t.TempDir(), "log"))
	input := log.Input()
	for _, part := range []string{`{"jsonrpc":"2.0","id":1,"me`, "thod\":\"ping\"}\n{", `"jsonrpc"`} {
		if _, err := io.WriteString(input, part); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(log.Name())
	if want := `IN ping {"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestLoginFails(t *testing.T) {
	answers, err := ParseAnswers("/mcp 401 WWW-Authenticate: Bearer here=\"HERE\"\n/register+token 200 {}\n")
	if err != nil {
		t.Fatal(err)
	}
	l := NewLogin(NewLog(filepath.Join(t.TempDir(), "log")), answers)
	t.Cleanup(func() { _ = l.Close() })
	client := newClient(&http.Transport{})
	get := func(path string) (status int, header, body string) {
		resp, err := client.Get(l.Origin() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, resp.Header.Get("WWW-Authenticate"), string(text)
	}
	if status, header, _ := get("/mcp"); status != 401 || header != `Bearer here="`+url.QueryEscape(l.Origin())+`"` {
		t.Errorf("the answer in place of the demo's is %d %s", status, header)
	}
	if _, _, body := get(issuerPath); !strings.Contains(body, l.Origin()+"/authorize") {
		t.Errorf("the demo's metadata is %q", body)
	}
	if err := l.Fail("several", "file"); err != nil {
		t.Fatal(err)
	}
	if _, _, body := get(issuerPath); !strings.Contains(body, "file:///etc/passwd") {
		t.Errorf("the wrong metadata is %q", body)
	}
	if err := l.Fail("nothing"); err == nil {
		t.Error("a failure that there is not is no error")
	}
	if l.Requests() != 3 || !l.Received("/mcp") || l.Received("/token") {
		t.Errorf("%d requests, /mcp %t, /token %t, want 3 without /token",
			l.Requests(), l.Received("/mcp"), l.Received("/token"))
	}
	if _, err := ParseAnswers("/mcp"); err == nil {
		t.Error("a path without an answer is no error")
	}
}

func TestFrontsReachTheServer(t *testing.T) {
	s := newDemo(t)
	dir, err := os.MkdirTemp("", "mcpc") // short enough for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })

	socket, err := NewSocket(filepath.Join(dir, "s"), s.URL("/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	dial := func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket.Address()) }
	wantTool(t, newClient(&http.Transport{DialContext: dial}), "http://localhost/mcp", "echo")

	socks, err := NewSOCKS(filepath.Join(dir, "socks.log"), s.URL("/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	defer socks.Close()
	through := func(scheme, address string) *http.Client {
		proxy := &url.URL{Scheme: scheme, Host: address, User: url.UserPassword("user", "word")}
		return newClient(&http.Transport{Proxy: http.ProxyURL(proxy)})
	}
	plain := newClient(&http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "socks5h", Host: socks.Address()})})
	wantTool(t, plain, "http://tools.example/mcp", "echo")
	if host, err := os.ReadFile(filepath.Join(dir, "socks.log")); string(host) != "tools.example" {
		t.Errorf("the SOCKS proxy was asked for %q, %v", host, err)
	}

	tunnel, err := NewTunnel(filepath.Join(dir, "tunnel.log"), "user:word")
	if err != nil {
		t.Fatal(err)
	}
	defer tunnel.Close()
	wantTool(t, through("http", tunnel.Address()), s.URL("/mcp"), "echo")
	refusing := newClient(&http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: tunnel.Address()})})
	if answer, err := post(refusing, s.URL("/mcp")); err != nil || !strings.HasPrefix(answer, "407 ") {
		t.Errorf("without credentials the proxy answers %q, %v", answer, err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "tunnel.log"))
	if string(log) != strings.Repeat("POST "+s.Address()+"\n", 2) {
		t.Errorf("the proxy's log is %q, %v", log, err)
	}
}

func TestTLSFrontRequiresCertificates(t *testing.T) {
	s := newDemo(t)
	for _, check := range []ClientCheck{NoClientCheck, ClientCheckTLS12, ClientCheckTLS13} {
		front, err := NewTLS(s.URL("/mcp"), check)
		if err != nil {
			t.Fatal(err)
		}
		defer front.Close()
		dir := t.TempDir()
		ca, both := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "both.pem")
		if err := errors.Join(front.Authority.Write(ca, ""), front.Client.Write(both, both)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(ca)
		if err != nil {
			t.Fatal(err)
		}
		config := &tls.Config{RootCAs: x509.NewCertPool()}
		config.RootCAs.AppendCertsFromPEM(text)
		without := newClient(&http.Transport{TLSClientConfig: config})
		if answer, err := post(without, front.URL("/mcp")); (err == nil) != (check == NoClientCheck) {
			t.Errorf("check %d without a certificate: %q, %v", check, answer, err)
		}
		pair, err := tls.LoadX509KeyPair(both, both)
		if err != nil {
			t.Fatal(err)
		}
		config = config.Clone()
		config.Certificates = []tls.Certificate{pair}
		wantTool(t, newClient(&http.Transport{TLSClientConfig: config}), front.URL("/mcp"), "echo")
	}
}
