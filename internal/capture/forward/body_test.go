package forward

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// The head of a request whose body comes in parts is not held back for them, and what comes is
// recorded as one body.
func TestProxyForwardsTheHeadOfAShortBody(t *testing.T) {
	asked, got := make(chan bool), make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	b := proxied(t, Options{}, server.URL)
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

// What is kept as a whole is what is read to its end: all of it, where nothing was left out.
func TestWholeBodiesAreThoseThatAreRead(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 8))
	for range 2000 {
		var chunks []chunk
		for range r.IntN(5) {
			chunks = append(chunks, chunk{bytes: []byte(strings.Repeat("x", r.IntN(3))), gap: r.IntN(8) == 0})
		}
		bodiesAreAlike(t, chunks)
	}
	half := make([]byte, mostMessage/2+1)
	bodiesAreAlike(t, []chunk{{bytes: half[:mostMessage/2]}, {bytes: half[:mostMessage/2]}})
	bodiesAreAlike(t, []chunk{{bytes: half}, {bytes: half}, {bytes: half[:1]}})
}

// A body of which the last bytes were left out is reported as lost, and its first bytes are not recorded as a message.
func TestBodyWithoutItsLastBytes(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		lost, leave := 0, make(chan bool)
		w := NewWatcher(Options{Tap: func(wire.Frame) {}, Now: time.Now, Lost: func(n int) { lost += n }, Waiting: 10_000})
		s := &halfStream{w: w}
		take := func(raw []byte) { t.Errorf("%q is no body", raw) }
		if s.whole = take; !keeps {
			s.whole, s.read = nil, func(src io.Reader, fragment bool) { s.readWhole(src, fragment, take) }
		}
		w.do(func() { <-leave })
		s.write([]byte("{"))
		s.writeLast(make([]byte, 10_000), false)
		close(leave)
		w.Close()
		if lost != 1 || !s.over {
			t.Errorf("kept %t: %d lost, over %t", keeps, lost, s.over)
		}
	}
}

func bodiesAreAlike(t *testing.T, chunks []chunk) {
	t.Helper()
	var got [2]string
	for i := range got {
		lost := 0
		w := NewWatcher(Options{Tap: func(wire.Frame) {}, Now: time.Now, Lost: func(n int) { lost += n }})
		s := &halfStream{w: w}
		body := "none"
		take := func(raw []byte) { body = fmt.Sprint(len(raw)) }
		if s.whole = take; i > 0 {
			s.whole, s.read = nil, func(src io.Reader, fragment bool) { s.readWhole(src, fragment, take) }
		}
		for _, c := range chunks {
			s.take(c)
		}
		s.finish()
		w.Close()
		got[i] = fmt.Sprintf("%s, %d lost, %d held", body, lost, w.held)
	}
	if got[0] != got[1] {
		t.Fatalf("kept: %s; read: %s; of %d chunks", got[0], got[1], len(chunks))
	}
}

// A stream whose end was left out with its last bytes is not recorded as a message.
func TestStreamWithoutItsEnd(t *testing.T) {
	for _, how := range []string{"kept", "read", "line"} {
		lost, leave, left := 0, make(chan bool), make(chan bool)
		w := NewWatcher(Options{Tap: func(wire.Frame) {}, Now: time.Now, Lost: func(n int) { lost += n }, Waiting: 10_000})
		s := &halfStream{w: w}
		take := func(raw []byte) { t.Errorf("%s: %q is no message", how, raw) }
		switch how {
		case "kept":
			s.whole = take
		case "read":
			s.read = func(src io.Reader, fragment bool) { s.readWhole(src, fragment, take) }
		case "line":
			s.read = func(src io.Reader, fragment bool) { s.eachLine(src, fragment, take) }
		}
		w.do(func() { <-leave })
		s.write([]byte("{"))
		w.do(func() { close(left) })
		w.add(chunk{bytes: make([]byte, w.o.Waiting-w.bytes)}) // so that nothing has room any more
		s.writeLast([]byte("}"), false)
		close(leave)
		<-left
		w.add(chunk{do: s.finish}) // as seeSent does
		w.Close()
		if lost != 1 || !s.over {
			t.Errorf("%s: %d lost, over %t", how, lost, s.over)
		}
	}
}
