package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// The head of a request whose body comes in parts is forwarded without waiting for them, and the
// parts are recorded as one body.
func TestProxyForwardsTheHeadOfAShortBody(t *testing.T) {
	asked, got := make(chan bool), make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	b := proxied(t, WatcherOptions{}, server.URL)
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	half := len(toolCall) / 2
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", b.proxy.Address, len(toolCall), toolCall[:half])
	<-asked
	io.WriteString(conn, toolCall[half:])
	if body := <-got; body != toolCall {
		t.Errorf("the server read %q", body)
	}
	if answer := make([]byte, 12); must(io.ReadFull(conn, answer)) > 0 && string(answer) != "HTTP/1.1 202" {
		t.Errorf("the client got %q", answer)
	}
	var bodies []string
	for _, f := range b.seen() {
		if f.Kind == wire.Body {
			bodies = append(bodies, string(f.Raw))
		}
	}
	if !reflect.DeepEqual(bodies, []string{toolCall}) {
		t.Errorf("recorded: %q", bodies)
	}
}

// A body whose last bytes were left out is reported as lost, and its first bytes are not recorded
// as a message.
func TestBodyWithoutItsLastBytes(t *testing.T) {
	lost, leave := 0, make(chan bool)
	w := NewWatcher(WatcherOptions{Tap: func(wire.Frame) {}, Now: time.Now, OnLost: func(n int) { lost += n }, MaxQueued: 10_000})
	s := &halfStream{w: w, onWhole: func(raw []byte) { t.Errorf("%q is no body", raw) }}
	w.schedule(func() { <-leave })
	s.write([]byte("{"))
	s.writeLast(make([]byte, 10_000), false)
	close(leave)
	w.Close()
	if lost != 1 || !s.finished {
		t.Errorf("%d lost, over %t", lost, s.finished)
	}
}

// A stream whose end was left out with its last bytes is not recorded as a message.
func TestStreamWithoutItsEnd(t *testing.T) {
	for _, how := range []string{"kept", "line"} {
		lost, leave, left := 0, make(chan bool), make(chan bool)
		w := NewWatcher(WatcherOptions{Tap: func(wire.Frame) {}, Now: time.Now, OnLost: func(n int) { lost += n }, MaxQueued: 10_000})
		s := &halfStream{w: w}
		take := func(raw []byte) { t.Errorf("%s: %q is no message", how, raw) }
		switch how {
		case "kept":
			s.onWhole = take
		case "line":
			s.readStream = func(src io.Reader, fragment bool) { s.eachLine(src, fragment, take) }
		}
		w.schedule(func() { <-leave })
		s.write([]byte("{"))
		w.schedule(func() { close(left) })
		w.enqueue(chunk{bytes: make([]byte, w.options.MaxQueued-w.bytes)}) // so that nothing has room any more
		s.writeLast([]byte("}"), false)
		close(leave)
		<-left
		w.enqueue(chunk{after: s.finish}) // as seeSent does
		w.Close()
		if lost != 1 || !s.finished {
			t.Errorf("%s: %d lost, over %t", how, lost, s.finished)
		}
	}
}
