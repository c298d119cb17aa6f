package forward

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/capture/fault"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// A faulted is one HTTP request through a Proxy with fault rules. What the Watcher sees of it
// is what the client sends and gets.
type faulted struct {
	p   *Proxy
	x   *exchange
	req *http.Request
	// fired is the rule for the request, nil where none fires; noted is set once the Watcher
	// knows what it did.
	crossing fault.Crossing
	fired    *fault.Decision
	noted    bool
}

// A cutError is how a rule ends a connection.
type cutError struct{ reset bool }

func (cutError) Error() string { return "cut by a fault rule" }

// clientKey is the key of the client's connection in the context of a request.
type clientKey struct{}

// ConnContext is for the http.Server that serves the Proxy: it lets rules reset connections.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// cut is the error with which a response ends; the connection is closed then.
func (f *faulted) cut() error {
	if tcp, ok := f.req.Context().Value(clientKey{}).(*net.TCPConn); ok && f.fired.Reset {
		_ = tcp.SetLinger(0)
	}
	return cutError{f.fired.Reset}
}

// expired are the sessions that a rule has ended, each with the decision.
type expired struct {
	mu sync.Mutex
	of map[string]*fault.Decision
}

func (e *expired) end(session string, d *fault.Decision) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil || len(e.of) > mostKeys {
		e.of = map[string]*fault.Decision{}
	}
	e.of[session] = d
}

func (e *expired) get(session string) *fault.Decision {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.of[session]
}

// send forwards a request, by the rules where there are any.
func (p *Proxy) send(x *exchange, req *http.Request) (*http.Response, error) {
	if !p.Faults.Active() {
		return p.web.RoundTrip(req)
	}
	f := &faulted{p: p, x: x, req: req}
	whole, err := f.read()
	if err != nil || !whole {
		if err != nil {
			return nil, err
		}
		return p.web.RoundTrip(req)
	}
	f.fired = f.p.Faults.Decide(f.crossing)
	if before := p.expired.get(f.crossing.Session); before != nil && f.crossing.Session != "" {
		again := *before
		again.Facts.ID, again.Facts.Method, again.Facts.Name = "", f.crossing.Row.Method, f.crossing.Row.Name
		if f.crossing.Message != nil {
			again.Facts.ID = string(f.crossing.Message.ID)
		}
		f.fired = &again
	}
	if f.fired == nil {
		return f.forward()
	}
	if resp := f.respond(); resp != nil {
		f.note(wire.Received, "")
		return resp, nil
	}
	switch f.fired.Name {
	case "drop request":
		f.note(wire.Sent, "")
		return nil, f.hold()
	case "drop notification":
		f.note(wire.Sent, "")
		return f.response(http.StatusAccepted, "", nil), nil
	case "replace", "header":
		if f.fired.OfRequest {
			f.edit()
		}
	}
	req.Header.Del("Accept-Encoding") // what is changed must be read
	return f.forward()
}

// read reads the message of the request, which is sent later. One that is too long to be recorded
// is not judged.
func (f *faulted) read() (whole bool, err error) {
	var raw []byte
	if f.req.Body != nil && f.req.Body != http.NoBody {
		body := f.req.Body
		if raw, err = io.ReadAll(io.LimitReader(body, mostMessage+1)); err != nil {
			return false, err
		}
		f.req.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(raw), body), body}
		if len(raw) > mostMessage {
			return false, nil
		}
	}
	f.crossing.Session = f.req.Header.Get("Mcp-Session-Id")
	if m := wire.ParseMessage(raw); len(raw) > 0 && m.Kind != wire.Batch && m.Kind != wire.Invalid {
		f.crossing.Message = m
	}
	head := &wire.HTTPHead{Method: f.req.Method, URL: f.p.named(f.req.URL), Fields: fieldsOf(f.req.Header)}
	target := redact.RedactURL(f.p.named(f.p.Routes[f.x.target].To))
	f.crossing.Row = f.p.Faults.Live.Row(target, f.crossing.Session, wire.Sent, head, f.crossing.Message)
	return true, nil
}

// edit changes the request that is sent on.
func (f *faulted) edit() {
	if f.fired.Name == "header" {
		setField(f.req.Header, f.fired.Field)
		f.note(wire.Sent, "")
		return
	}
	was := f.crossing.Message.Raw
	is := f.fired.Request(was)
	if bytes.Equal(was, is) {
		f.note(wire.Sent, "nothing to replace")
		return
	}
	f.fired.Mirror(f.req.Header, was, is, f.p.Faults.Encode)
	f.req.Body, f.req.ContentLength = io.NopCloser(bytes.NewReader(is)), int64(len(is))
	f.note(wire.Sent, "")
}

func setField(h http.Header, field wire.Field) {
	if h.Del(field.Name); field.Value != "" {
		h.Set(field.Name, field.Value)
	}
}

// respond is the response of a rule that lets nothing through; nil with any other.
func (f *faulted) respond() *http.Response {
	d := f.fired
	switch d.Name {
	case "status":
		resp := f.response(int(d.N), "text/plain; charset=utf-8", []byte("mcpc fault: status "+strconv.FormatInt(d.N, 10)+"\n"))
		if d.Text != "" {
			resp.Header.Set("Retry-After", d.Text)
		}
		return resp
	case "401":
		resp := f.response(http.StatusUnauthorized, "text/plain; charset=utf-8", []byte("mcpc fault: 401\n"))
		resp.Header.Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="made up by a fault rule"`)
		return resp
	case "expire-session":
		f.p.expired.end(f.crossing.Session, d)
		return f.response(http.StatusNotFound, "text/plain; charset=utf-8", []byte("mcpc fault: session expired\n"))
	}
	if message, ok := d.Responds(); ok {
		return f.response(http.StatusOK, "application/json", message)
	}
	return nil
}

func (f *faulted) response(status int, kind string, body []byte) *http.Response {
	h := http.Header{}
	if kind != "" {
		h.Set("Content-Type", kind)
	}
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: f.req}
}

// hold waits until the client gives up.
func (f *faulted) hold() error {
	<-f.req.Context().Done()
	return f.req.Context().Err()
}

// note tells the Watcher what a rule did, in its turn.
func (f *faulted) note(dir wire.Direction, text string) { f.noteOf(f.fired, dir, text) }

// idle tells the Watcher that a rule fired and found nothing to do.
func (f *faulted) idle() {
	if f.fired != nil && !f.noted && f.fired.Name != "cut" {
		f.note(wire.Received, "nothing was changed")
	}
}

func (f *faulted) noteOf(d *fault.Decision, dir wire.Direction, text string) {
	f.noted = f.noted || d == f.fired
	facts := d.Facts
	facts.Text = text
	f.p.Watcher.do(func() {
		f.x.seeSent()
		f.x.frame(wire.Frame{Dir: dir, Kind: wire.Fault, Fault: &facts})
	})
}

// forward sends the request, and gives the response as the rules have it.
func (f *faulted) forward() (*http.Response, error) {
	resp, err := f.p.web.RoundTrip(f.req)
	if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, err
	}
	if err := f.head(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/event-stream" && contentEncoding(resp.Header) == "" {
		resp.Body = &faultyBody{ReadCloser: resp.Body, next: (&faultyEvents{f: f, src: resp.Body, session: f.session(resp)}).next}
		f.fit(resp)
		f.pace(resp)
		return resp, nil
	}
	if err := f.whole(resp); err != nil {
		return nil, err
	}
	f.pace(resp)
	f.idle()
	return resp, nil
}

// fit lets the length of an event stream that says how long it is be that which it will have.
func (f *faulted) fit(resp *http.Response) {
	switch {
	case resp.ContentLength < 0:
	case f.fired != nil: // which is not known yet
		resp.ContentLength = -1
		resp.Header.Del("Content-Length")
	default:
		raw, err := io.ReadAll(resp.Body)
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(raw), &failing{resp.Body, err}), resp.Body}
		if err == nil {
			resp.ContentLength = int64(len(raw))
			resp.Header.Set("Content-Length", strconv.Itoa(len(raw)))
		}
	}
}

// session is the id that the server has given, or that of the request.
func (f *faulted) session(resp *http.Response) string {
	return cmp.Or(resp.Header.Get("Mcp-Session-Id"), f.crossing.Session)
}

// head does what comes before the head of the response, and to it.
func (f *faulted) head(resp *http.Response) error {
	d := f.fired
	switch {
	case d == nil:
	case d.Name == "delay":
		f.note(wire.Received, "")
		return fault.Wait(f.req.Context(), d.Wait)
	case d.Name == "hang":
		f.note(wire.Received, "")
		return f.hold()
	case d.Name == "cut" && d.N == 0 && !d.Events:
		f.note(wire.Received, "")
		return f.cut()
	case d.Name == "header" && !d.OfRequest:
		if setField(resp.Header, d.Field); strings.EqualFold(d.Field.Name, "Content-Length") {
			resp.ContentLength = -1
			if n, err := strconv.ParseInt(d.Field.Value, 10, 64); err == nil {
				resp.ContentLength = n
			}
		}
		f.note(wire.Received, "")
	}
	return nil
}

// whole changes a response that is one message. Without a rule for the request it is only looked
// at where it may say what the server calls itself.
func (f *faulted) whole(resp *http.Response) error {
	d := f.fired
	opens := f.crossing.Message != nil && f.crossing.Message.Method == "initialize" && contentEncoding(resp.Header) == ""
	if d == nil && !opens {
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, mostMessage))
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(raw), &failing{rest, err}), rest}
	m := wire.ParseMessage(raw)
	f.answered(m, f.session(resp))
	if d == nil || err != nil || len(raw) == 0 || len(raw) == mostMessage {
		return nil
	}
	switch {
	case d.Name == "drop response":
		f.note(wire.Received, "")
		resp.Body.Close()
		return f.hold()
	case d.Name == "cut" && d.Events:
		f.note(wire.Received, "the response was no event stream: cut before it")
		resp.Body.Close()
		return f.cut()
	case d.Name == "list-changed":
		f.note(wire.Received, "the response was no event stream: nothing was sent")
		return nil
	case d.Name == "reorder":
		f.note(wire.Received, "the response was no event stream: nothing to reorder")
		return nil
	}
	out, done := d.Message(raw)
	if !done {
		return nil
	}
	f.note(wire.Received, "")
	body := bytes.Join(out, nil)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), rest}
	resp.ContentLength = int64(len(body))
	resp.Header.Del("Content-Length")
	return nil
}

// failing ends as the body before it did.
type failing struct {
	io.Reader
	err error
}

func (r *failing) Read(to []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	return r.Reader.Read(to)
}

// answered lets later filters know the server.
func (f *faulted) answered(m *wire.Message, session string) {
	if f.crossing.Message != nil && m.Answers(f.crossing.Message.ID) {
		f.p.Faults.Live.Answered(f.crossing.Row, session, m)
	}
}

// isCut reports that a rule has ended the connection.
func isCut(err error) bool {
	_, ok := errors.AsType[cutError](err)
	return ok
}
