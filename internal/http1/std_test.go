//go:build unix

package http1

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// HTTP/2 is left to net/http, over the connection on which it was negotiated.
func TestHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	var conns atomic.Int64
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := std()
	client.ForceAttemptHTTP2, client.TLSClientConfig = true, &tls.Config{InsecureSkipVerify: true}
	via := New(client, time.Now)
	for range 3 {
		if got := post(t, via, server.URL, "{}"); got != "HTTP/2.0" {
			t.Errorf("got %s", got)
		}
	}
	if conns.Load() != 1 {
		t.Errorf("%d connections", conns.Load())
	}
}

// Times are traced as by net/http, and the state of TLS is that of each response.
func TestTrace(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "<a>")
		w.WriteHeader(http.StatusEarlyHints)
		fmt.Fprint(w, "good")
	}))
	defer server.Close()
	trace := func(via http.RoundTripper) (events []string) {
		var mu sync.Mutex
		note := func(event string) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, event)
		}
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			GetConn:              func(addr string) { note("get " + addr) },
			GotConn:              func(info httptrace.GotConnInfo) { note(fmt.Sprint("got ", info.Reused)) },
			ConnectStart:         func(string, string) { note("connect") },
			ConnectDone:          func(string, string, error) { note("connected") },
			TLSHandshakeStart:    func() { note("handshake") },
			TLSHandshakeDone:     func(tls.ConnectionState, error) { note("secured") },
			WroteHeaders:         func() { note("wrote") },
			WroteRequest:         func(httptrace.WroteRequestInfo) {},
			Got1xxResponse:       func(code int, h textproto.MIMEHeader) error { note(fmt.Sprint(code, h["Link"])); return nil },
			GotFirstResponseByte: func() { note("answered") },
		})
		for range 2 {
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("{}"))
			resp, err := via.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.TLS == nil || !resp.TLS.HandshakeComplete || resp.Request != req {
				t.Error("the response has no state of TLS, or not its request")
			}
		}
		return events
	}
	client := func() *http.Transport {
		c := std()
		c.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
		return c
	}
	got, want := trace(New(client(), time.Now)), trace(client())
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// What is not a plain request over a connection of its own goes to net/http.
func TestLeftToNetHTTP(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "proxied "+r.URL.String()) }))
	defer proxy.Close()
	client := std()
	client.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
	if got := post(t, New(client, time.Now), "http://server.example/a", "{}"); got != "proxied http://server.example/a" {
		t.Errorf("got %s", got)
	}
	for name, edit := range map[string]func(*http.Request){
		"field name":  func(r *http.Request) { r.Header["A B"] = []string{"c"} },
		"field value": func(r *http.Request) { r.Header["A"] = []string{"b\nc"} },
		"method":      func(r *http.Request) { r.Method = "A B" },
		"scheme":      func(r *http.Request) { r.URL.Scheme = "ftp" },
		"host":        func(r *http.Request) { r.URL.Host = "" },
	} {
		req, _ := http.NewRequest(http.MethodPost, proxy.URL, nil)
		edit(req)
		_, err := own().RoundTrip(req)
		_, want := std().RoundTrip(req)
		if err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
}
