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

// A Request is a request of a client, for counting or showing it.
type Request struct {
	Method  string
	Header  http.Header
	Message *wire.Message
}

// HTTP plays a script on a listener until ctx is done. It writes to the connections byte by byte,
// because net/http cannot send most faults. It calls seen, which may be nil, for every request.
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

// An httpServer plays one script over HTTP.
type httpServer struct {
	script *Script
	seen   func(Request)
	open   sync.WaitGroup

	mu     sync.Mutex
	counts count
	// received holds the messages of all connections in order.
	received []*wire.Message
}

// serve answers the requests of one connection in order.
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
			rejectBytes(conn, err)
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			rejectBytes(conn, err)
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

// answer plays the rule for a request. It reports false if the connection must be closed.
func (h *httpServer) answer(ctx context.Context, x *exchange, req *http.Request) bool {
	if h.seen != nil {
		h.seen(Request{req.Method, req.Header, x.message})
	}
	asProxy := !strings.HasPrefix(req.RequestURI, "/") // an absolute URI addresses a proxy
	if reason := loopback.Reject(req.Host, req.Header); reason != "" && !asProxy {
		fields := []string{"Content-Type: text/plain; charset=utf-8"}
		return x.respond(http.StatusForbidden, fields, []byte("mcpc mock: "+reason+"\n"))
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

// behave answers like a correct server. It reports false if writing fails.
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

// An exchange is one request and the response being written for it.
type exchange struct {
	conn    net.Conn
	in      *bufio.Reader
	message *wire.Message
	header  http.Header
	// await waits for a later request of the method. It returns nil if ctx ends first.
	await func(ctx context.Context, method string) *wire.Message
	// status and fields are written with the first byte of the body.
	status string
	fields []string
	// begun is set once the head is written or skipped.
	begun bool
	// gone is set once the connection is reset.
	gone bool
}

// play executes one action. It reports false if the connection must be closed.
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

// composeError returns the JSON-RPC error for the text CODE MESSAGE [| DATA] of an action.
func composeError(m *wire.Message, rest string) string {
	rest, data, _ := strings.Cut(rest, " | ")
	code, message, _ := strings.Cut(rest, " ")
	n, _ := strconv.ParseInt(code, 10, 64)
	return string(failure(m, n, message, data))
}

// json writes a body of type application/json, or an event if a stream has begun.
func (x *exchange) json(text string) bool {
	if x.begun {
		return x.write("data: " + text + "\n\n")
	}
	return x.body("application/json", text)
}

// body writes a whole body, with its type and length unless the script sets them. A kind of "-"
// omits the type.
func (x *exchange) body(kind, body string) bool {
	if !hasField(x.fields, "content-type") && kind != "-" {
		x.fields = append(x.fields, "Content-Type: "+kind)
	}
	if !hasField(x.fields, "content-length") && !hasField(x.fields, "transfer-encoding") {
		x.fields = append(x.fields, "Content-Length: "+strconv.Itoa(len(body)))
	}
	return x.write(body)
}

// hasField reports whether fields contain the field with the lower-case name.
func hasField(fields []string, name string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { return strings.HasPrefix(strings.ToLower(f), name+":") })
}

// head writes the status line and the header fields, once. It writes nothing for a rule without
// status and fields: the bytes of such a rule are the whole response.
func (x *exchange) head() bool {
	bare := x.status == "" && len(x.fields) == 0
	if x.begun || bare {
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

// write writes the head, if it was not written yet, and text.
func (x *exchange) write(text string) bool {
	if !x.head() {
		return false
	}
	_, err := io.WriteString(x.conn, text)
	return err == nil
}

// repeat writes the text of N BYTES, N times, in blocks of about 64 KiB.
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

// drip writes the text of TIME BYTES byte by byte, with a pause after each byte.
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

// respond writes a whole response with its length. The connection stays open.
func (x *exchange) respond(status int, fields []string, body []byte) bool {
	x.status = strconv.Itoa(status)
	x.fields = append(fields, "Content-Length: "+strconv.Itoa(len(body)))
	return x.write(string(body))
}

// finish ends a response that the script did not end. It reports whether the connection can be
// reused: the client must be able to see where the response ends.
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

// pause waits for d. It reports false if ctx ends first.
func (x *exchange) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// reset closes the connection with a TCP reset instead of an orderly end.
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

// compressed returns the content of src in gzip format, or "" if reading fails.
func compressed(src io.Reader) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.Copy(z, src)
	err = errors.Join(err, z.Close())
	if err != nil {
		return ""
	}
	return b.String()
}

// zeros is an endless reader of zero bytes.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
