package mock

import (
	"bufio"
	"bytes"
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
	h := &httpServer{script: s, seen: seen, counts: eventCounts{}}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer h.connections.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accepting a connection: %w", err)
		}
		h.connections.Go(func() { h.serve(ctx, conn) })
	}
}

// An httpServer plays one script over HTTP.
type httpServer struct {
	script      *Script
	seen        func(Request)
	connections sync.WaitGroup

	mu     sync.Mutex
	counts eventCounts
	// received holds the messages of all connections in order.
	received []*wire.Message
}

// serve answers the requests of one connection in order.
func (h *httpServer) serve(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	if !h.playAccept(ctx, conn) {
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
		x := &exchange{conn: conn, in: in, message: m, header: req.Header, await: h.addReceived(m)}
		if !h.answer(ctx, x, req) || x.isReset {
			return
		}
	}
}

// answer plays the rule for a request. It reports false if the connection must be closed.
func (h *httpServer) answer(ctx context.Context, x *exchange, req *http.Request) bool {
	if h.seen != nil {
		h.seen(Request{req.Method, req.Header, x.message})
	}
	isForProxy := !strings.HasPrefix(req.RequestURI, "/") // an absolute URI addresses a proxy, with any host
	if reason := loopback.RejectionReason(req.Host, req.Header); reason != "" && !isForProxy {
		fields := []string{"Content-Type: text/plain; charset=utf-8"}
		return x.writeResponse(http.StatusForbidden, fields, []byte("mcpc mock: "+reason+"\n"))
	}
	// A rule can name the JSON-RPC method of a POST, or the HTTP method.
	names := []string{req.Method}
	if req.Method == http.MethodPost {
		names = []string{x.message.Method, req.Method}
	}
	h.mu.Lock()
	r := h.script.countEvent(h.counts, names...)
	h.mu.Unlock()
	if r == nil {
		return h.answerCorrectly(x, req)
	}
	for _, a := range r.actions {
		if a.name == "pass" {
			return h.answerCorrectly(x, req)
		}
		if !x.play(ctx, a) {
			return false
		}
	}
	return x.finish()
}

// answerCorrectly answers like a correct server. It reports false if writing fails.
func (h *httpServer) answerCorrectly(x *exchange, req *http.Request) bool {
	if req.Method != http.MethodPost {
		status := http.StatusMethodNotAllowed
		if req.Method == http.MethodDelete && h.script.Session != "" {
			status = http.StatusOK
		}
		return x.writeResponse(status, nil, nil)
	}
	a := h.script.answerCorrectly(x.message)
	var fields []string
	if a.session != "" {
		fields = append(fields, "Mcp-Session-Id: "+a.session)
	}
	if a.message != nil {
		fields = append(fields, "Content-Type: application/json")
	}
	return x.writeResponse(a.status, fields, a.message)
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
	// headDone is set once the head is written or skipped.
	headDone bool
	// isReset is set once the connection is reset.
	isReset bool
}

// play executes one action. It reports false if the connection must be closed.
func (x *exchange) play(ctx context.Context, a action) bool {
	text := expandVariables(a.text, x.message, x.header)
	switch a.name {
	case "status":
		x.status = text
	case "header":
		x.fields = append(x.fields, unescape(text))
	case "result":
		return x.writeJSON(string(wire.ComposeResult(x.message.ID, []byte(text))))
	case "error":
		return x.writeJSON(composeError(x.message, text))
	case "json":
		return x.writeJSON(text)
	case "text":
		kind, body, _ := strings.Cut(text, " ")
		return x.writeBody(kind, unescape(body))
	case "sse":
		x.fields = append(x.fields, "Content-Type: text/event-stream", "Connection: close")
		return x.writeHead()
	case "event":
		return x.write("data: " + text + "\n\n")
	case "send":
		return x.write(unescape(text))
	case "repeat":
		return x.writeRepeated(text)
	case "nest":
		n, _ := strconv.Atoi(text)
		return x.write(strings.Repeat("[", n) + strings.Repeat("]", n))
	case "gzip":
		return x.write(gzipText(strings.NewReader(unescape(text))))
	case "zeros":
		n, _ := strconv.ParseInt(text, 10, 64)
		return x.write(gzipText(io.LimitReader(zeros{}, n)))
	case "drip":
		return x.writeSlowly(ctx, text)
	case "await":
		x.message = x.await(ctx, text)
		return x.message != nil
	case "wait":
		return x.pause(ctx, parseDuration(text))
	case "hang":
		_ = x.writeHead()
		_, _ = io.Copy(io.Discard, x.in) // until the client closes the connection
		return false
	case "close":
		_ = x.writeHead()
		return false
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
	return string(errorResponse(m, n, message, data))
}

// writeJSON writes a body of type application/json, or an event if a stream has begun.
func (x *exchange) writeJSON(text string) bool {
	if x.headDone {
		return x.write("data: " + text + "\n\n")
	}
	return x.writeBody("application/json", text)
}

// writeBody writes a whole body, with its type and length unless the script sets them. A kind of "-"
// omits the type.
func (x *exchange) writeBody(kind, body string) bool {
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

// writeHead writes the status line and the header fields, once. It writes nothing for a rule without
// status and fields: the bytes of such a rule are the whole response. It reports false if writing fails.
func (x *exchange) writeHead() bool {
	isEmpty := x.status == "" && len(x.fields) == 0
	if x.headDone || isEmpty {
		x.headDone = true
		return true
	}
	x.headDone = true
	status := x.status
	if status == "" {
		status = "200"
	}
	code, reason, _ := strings.Cut(status, " ")
	if n, err := strconv.Atoi(code); err == nil && reason == "" {
		reason = http.StatusText(n)
	}
	// The empty last field ends the line of the field before it.
	text := "HTTP/1.1 " + code + " " + reason + "\r\n" + strings.Join(append(x.fields, ""), "\r\n") + "\r\n"
	_, err := io.WriteString(x.conn, text)
	return err == nil
}

// write writes the head, if it was not written yet, and text. It reports false if writing fails.
func (x *exchange) write(text string) bool {
	if !x.writeHead() {
		return false
	}
	_, err := io.WriteString(x.conn, text)
	return err == nil
}

// writeRepeated writes the text of the action "repeat N BYTES", N times, in blocks of about 64 KiB. It
// reports false if writing fails.
func (x *exchange) writeRepeated(rest string) bool {
	times, text, _ := strings.Cut(rest, " ")
	n, _ := strconv.Atoi(times)
	text = unescape(text)
	block := strings.Repeat(text, max(1, min(n, 64<<10/max(1, len(text)))))
	textsPerBlock := len(block) / max(1, len(text)) // 0 if the text is empty
	for ; n >= textsPerBlock && textsPerBlock > 0; n -= textsPerBlock {
		if !x.write(block) {
			return false
		}
	}
	return x.write(strings.Repeat(text, n))
}

// writeSlowly writes the text of the action "drip TIME BYTES" byte by byte, with a pause after each byte.
// It reports false if writing fails or ctx ends.
func (x *exchange) writeSlowly(ctx context.Context, rest string) bool {
	pause, text, _ := strings.Cut(rest, " ")
	text = unescape(text)
	for i := range len(text) {
		if !x.write(text[i:i+1]) || !x.pause(ctx, parseDuration(pause)) {
			return false
		}
	}
	return true
}

// writeResponse writes a whole response with its length. The connection stays open.
func (x *exchange) writeResponse(status int, fields []string, body []byte) bool {
	x.status = strconv.Itoa(status)
	x.fields = append(fields, "Content-Length: "+strconv.Itoa(len(body)))
	return x.write(string(body))
}

// finish ends a response that the script did not end. It reports whether the connection can be
// reused: the client must be able to see where the response ends.
func (x *exchange) finish() bool {
	if !x.headDone {
		if !hasField(x.fields, "content-length") {
			x.fields = append(x.fields, "Content-Length: 0")
		}
		if x.status == "" {
			x.status = "202"
		}
		return x.writeHead()
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
	if tlsConn, ok := conn.(*tls.Conn); ok { // TLS would send its own end
		conn = tlsConn.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // Close then sends a reset
	}
	conn.Close()
	x.isReset = true
}

// gzipText returns the content of src in gzip format, or "" if reading fails.
func gzipText(src io.Reader) string {
	var b bytes.Buffer
	zipper := gzip.NewWriter(&b)
	_, err := io.Copy(zipper, src)
	err = errors.Join(err, zipper.Close())
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
