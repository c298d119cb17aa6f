package mock

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/loopback"
	"mcpc/internal/wire"
)

// A Request is what a client sent, for counting or showing it.
type Request struct {
	Method  string
	Header  http.Header
	Message *wire.Message
}

// HTTP plays a script on a listener until ctx is done. Connections are served by hand, byte
// by byte, because most faults are below what net/http can send. seen, which may be nil, is
// called for every request.
func (s *Script) HTTP(ctx context.Context, l net.Listener, seen func(Request)) error {
	if s.TLS != "" {
		certificate, err := certificate(s.TLS)
		if err != nil {
			return err
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{certificate}})
	}
	h := &httpServer{script: s, seen: seen, counts: count{}}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer h.open.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accepting a connection: %w", err)
		}
		h.open.Go(func() { h.serve(ctx, conn) })
	}
}

type httpServer struct {
	script *Script
	seen   func(Request)
	open   sync.WaitGroup

	mu     sync.Mutex
	counts count
	came   []*wire.Message // in the order in which they came
}

// serve answers the requests of one connection, one after the other.
func (h *httpServer) serve(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	if !h.accepted(ctx, conn) {
		return
	}
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			misunderstood(conn, err)
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			misunderstood(conn, err)
			return
		}
		m := wire.ParseMessage(body)
		req.Header.Set("Host", req.Host)
		x := &exchange{conn: conn, in: in, message: m, header: req.Header, await: h.waiter(m)}
		if !h.answer(ctx, x, req) || x.gone {
			return
		}
	}
}

// answer plays the rule for a request; false ends the connection.
func (h *httpServer) answer(ctx context.Context, x *exchange, req *http.Request) bool {
	if h.seen != nil {
		h.seen(Request{req.Method, req.Header, x.message})
	}
	if reason := loopback.Reject(req.Host, req.Header); reason != "" && strings.HasPrefix(req.RequestURI, "/") { // else it is asked as a proxy
		return x.respond(http.StatusForbidden, []string{"Content-Type: text/plain; charset=utf-8"}, []byte("mcpc mock: "+reason+"\n"))
	}
	names := []string{x.message.Method, req.Method}
	if req.Method != http.MethodPost {
		names = names[1:]
	}
	h.mu.Lock()
	r := h.script.ruleFor(h.counts, names...)
	h.mu.Unlock()
	if r == nil {
		return h.behave(x, req)
	}
	for _, a := range r.actions {
		if a.word == "pass" {
			return h.behave(x, req)
		}
		if !x.play(ctx, a) {
			return false
		}
	}
	return x.finish()
}

// behave answers as a well-behaved server.
func (h *httpServer) behave(x *exchange, req *http.Request) bool {
	if req.Method != http.MethodPost {
		status := http.StatusMethodNotAllowed
		if req.Method == http.MethodDelete && h.script.Session != "" {
			status = http.StatusOK
		}
		return x.respond(status, nil, nil)
	}
	a := h.script.wellBehaved(x.message)
	var fields []string
	if a.session != "" {
		fields = append(fields, "Mcp-Session-Id: "+a.session)
	}
	if a.message != nil {
		fields = append(fields, "Content-Type: application/json")
	}
	return x.respond(a.status, fields, a.message)
}

// An exchange is one request being answered.
type exchange struct {
	conn    net.Conn
	in      *bufio.Reader
	message *wire.Message
	header  http.Header
	await   func(ctx context.Context, method string) *wire.Message
	// status and fields wait until the first byte of the body.
	status  string
	fields  []string
	begun   bool
	written bool
	gone    bool
}

// play does one action; false ends the connection.
func (x *exchange) play(ctx context.Context, a action) bool {
	rest := expand(a.rest, x.message, x.header)
	switch a.word {
	case "status":
		x.status = rest
	case "header":
		x.fields = append(x.fields, unescape(rest))
	case "result":
		return x.json(string(wire.ComposeResult(x.message.ID, []byte(rest))))
	case "error":
		return x.json(composeError(x.message, rest))
	case "json":
		return x.json(rest)
	case "text":
		kind, body, _ := strings.Cut(rest, " ")
		return x.body(kind, unescape(body))
	case "sse":
		x.fields = append(x.fields, "Content-Type: text/event-stream", "Connection: close")
		return x.head()
	case "event":
		return x.write("data: " + rest + "\n\n")
	case "send":
		return x.write(unescape(rest))
	case "repeat":
		return x.repeat(rest)
	case "nest":
		n, _ := strconv.Atoi(rest)
		return x.write(strings.Repeat("[", n) + strings.Repeat("]", n))
	case "gzip":
		return x.write(compressed(strings.NewReader(unescape(rest))))
	case "zeros":
		n, _ := strconv.ParseInt(rest, 10, 64)
		return x.write(compressed(io.LimitReader(zeros{}, n)))
	case "drip":
		return x.drip(ctx, rest)
	case "await":
		x.message = x.await(ctx, rest)
		return x.message != nil
	case "wait":
		return x.pause(ctx, duration(rest))
	case "hang":
		_ = x.head()
		_, _ = io.Copy(io.Discard, x.in) // until the client closes the connection
		return false
	case "close":
		return x.head() && false
	case "reset":
		x.reset()
		return false
	}
	return true
}

func composeError(m *wire.Message, rest string) string {
	rest, data, _ := strings.Cut(rest, " | ")
	code, message, _ := strings.Cut(rest, " ")
	n, _ := strconv.ParseInt(code, 10, 64)
	return string(failure(m, n, message, data))
}

// json writes a body as application/json, or an event where a stream has begun.
func (x *exchange) json(text string) bool {
	if x.begun {
		return x.write("data: " + text + "\n\n")
	}
	return x.body("application/json", text)
}

func (x *exchange) body(kind, body string) bool {
	if !hasField(x.fields, "content-type") && kind != "-" {
		x.fields = append(x.fields, "Content-Type: "+kind)
	}
	if !hasField(x.fields, "content-length") && !hasField(x.fields, "transfer-encoding") {
		x.fields = append(x.fields, "Content-Length: "+strconv.Itoa(len(body)))
	}
	return x.write(body)
}

func hasField(fields []string, name string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { return strings.HasPrefix(strings.ToLower(f), name+":") })
}

// head writes the status line and the header, once. A rule that begins with
// bytes and names no status writes no head: its bytes are the whole answer.
func (x *exchange) head() bool {
	if x.begun || x.status == "" && len(x.fields) == 0 {
		x.begun = true
		return true
	}
	x.begun = true
	code, reason, _ := strings.Cut(cmp.Or(x.status, "200"), " ")
	if n, err := strconv.Atoi(code); err == nil && reason == "" {
		reason = http.StatusText(n)
	}
	text := "HTTP/1.1 " + code + " " + reason + "\r\n" + strings.Join(append(x.fields, ""), "\r\n") + "\r\n"
	_, err := io.WriteString(x.conn, text)
	return err == nil
}

func (x *exchange) write(text string) bool {
	if !x.head() {
		return false
	}
	x.written = true
	_, err := io.WriteString(x.conn, text)
	return err == nil
}

func (x *exchange) repeat(rest string) bool {
	times, text, _ := strings.Cut(rest, " ")
	n, _ := strconv.Atoi(times)
	text = unescape(text)
	block := strings.Repeat(text, max(1, min(n, 64<<10/max(1, len(text)))))
	each := len(block) / max(1, len(text))
	for ; n >= each && each > 0; n -= each {
		if !x.write(block) {
			return false
		}
	}
	return x.write(strings.Repeat(text, n))
}

func (x *exchange) drip(ctx context.Context, rest string) bool {
	between, text, _ := strings.Cut(rest, " ")
	text = unescape(text)
	for i := range len(text) {
		if !x.write(text[i:i+1]) || !x.pause(ctx, duration(between)) {
			return false
		}
	}
	return true
}

// respond is a whole answer of a well-behaved server; the connection stays open.
func (x *exchange) respond(status int, fields []string, body []byte) bool {
	x.status, x.fields = strconv.Itoa(status), append(fields, "Content-Length: "+strconv.Itoa(len(body)))
	return x.write(string(body))
}

// finish ends an answer that the script did not end itself. The connection can
// be used again only where the client can tell where the answer ended.
func (x *exchange) finish() bool {
	if !x.begun {
		if !hasField(x.fields, "content-length") {
			x.fields = append(x.fields, "Content-Length: 0")
		}
		x.status = cmp.Or(x.status, "202")
		return x.head()
	}
	return hasField(x.fields, "content-length")
}

// pause waits, or less if the client leaves.
func (x *exchange) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// reset makes the close a reset: data that was not read, and no lingering.
func (x *exchange) reset() {
	conn := x.conn
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
	x.gone = true
}

func compressed(src io.Reader) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.Copy(z, src)
	if err = errors.Join(err, z.Close()); err != nil {
		return ""
	}
	return b.String()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
