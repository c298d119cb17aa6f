package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/wire"
)

// httpTransport is Streamable HTTP: every message is a POST of its own, and its
// answer is one JSON body or a stream of events, decided response by response
// (basic/transports, "Streamable HTTP").
type httpTransport struct {
	url    string
	client *http.Client
	inbox  inbox
	rec    *recorder
	limits Limits
	extra  []wire.Field
	stream atomic.Int64
	// background counts the drains of finished streams.
	background sync.WaitGroup
}

func newHTTPTransport(url string, extra []wire.Field, limits Limits, rec *recorder, in inbox) *httpTransport {
	return &httpTransport{url: url, client: newHTTPClient(limits), inbox: in, rec: rec, limits: limits, extra: extra}
}

// newHTTPClient has no overall timeout, which would cut long streams; no
// transparent compression, which would hold events back; and follows no
// redirect, because a POST may become a GET and header fields with secrets
// would go along.
func newHTTPClient(limits Limits) *http.Client {
	dialer := &net.Dialer{Timeout: max(limits.Connect, 0), KeepAlive: 30 * time.Second}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			DisableCompression:     true,
			TLSHandshakeTimeout:    max(limits.Connect, 0),
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			MaxResponseHeaderBytes: 256 << 10,
			MaxIdleConnsPerHost:    16,
			IdleConnTimeout:        60 * time.Second,
		},
	}
}

func (t *httpTransport) name() TransportName { return StreamableHTTP }

func (t *httpTransport) close() {
	t.background.Wait()
	t.client.CloseIdleConnections()
}

// trip is one HTTP request and what is known of how far it got.
type trip struct {
	stream  int
	req     *http.Request
	resp    *http.Response
	now     func() time.Time
	started time.Time
	wrote   atomic.Bool
	timing  wire.Timing
}

func (t *httpTransport) call(ctx context.Context, out *outgoing) reply {
	tr, f := t.roundTrip(ctx, http.MethodPost, out)
	if f != nil {
		return failed(f)
	}
	defer tr.resp.Body.Close()
	r := t.read(ctx, tr, out)
	r.header = tr.resp.Header
	if r.http == nil {
		r.http = factsOf(tr.resp, nil)
	}
	return r
}

// send posts a message and takes any 2xx for its acknowledgement: the
// specification says 202 with no body, servers say 200 and 204 as well.
func (t *httpTransport) send(ctx context.Context, out *outgoing) reply {
	tr, f := t.roundTrip(ctx, http.MethodPost, out)
	if f != nil {
		return failed(f)
	}
	defer tr.resp.Body.Close()
	if tr.resp.StatusCode/100 == 2 {
		body, _ := io.ReadAll(io.LimitReader(tr.resp.Body, 64<<10))
		t.recordBody(tr, body)
		return reply{http: factsOf(tr.resp, body), header: tr.resp.Header}
	}
	return t.readRefusal(tr, out)
}

// end asks for the session's end with DELETE; a server may refuse (405), and
// there is nothing to be done about any other answer.
func (t *httpTransport) end(ctx context.Context, out *outgoing) {
	tr, f := t.roundTrip(ctx, http.MethodDelete, out)
	if f == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(tr.resp.Body, 64<<10))
		tr.resp.Body.Close()
	}
}

// roundTrip sends one HTTP request and waits for the response's head.
func (t *httpTransport) roundTrip(ctx context.Context, method string, out *outgoing) (*trip, *fault) {
	tr := &trip{stream: int(t.stream.Add(1)), now: t.rec.now}
	ctx = httptrace.WithClientTrace(ctx, tr.trace())
	req, err := http.NewRequestWithContext(ctx, method, t.url, bytes.NewReader(out.raw))
	if err != nil {
		return nil, &fault{kind: wire.Usage, phase: "connect", text: "not a URL: " + t.url, err: err}
	}
	if method != http.MethodPost {
		req.Body, req.ContentLength = nil, 0
	}
	t.setFields(req, out)
	tr.req = req
	t.rec.request(tr.stream, req)
	if method == http.MethodPost {
		t.rec.body(wire.Sent, wire.Body, tr.stream, out.raw, nil)
	}
	tr.started = tr.now()
	tr.resp, err = t.client.Do(req)
	if err != nil {
		t.rec.closed(tr.stream, wire.Received, "cut", err.Error())
		return nil, connectFault(ctx, tr, err)
	}
	t.rec.response(tr.stream, tr.resp, &tr.timing)
	return tr, nil
}

// setFields writes the header: the transport's own, the era's, then the
// user's, who may replace any of them or remove it with an empty value.
func (t *httpTransport) setFields(req *http.Request, out *outgoing) {
	h := req.Header
	h.Set("User-Agent", "mcpc")
	h.Set("Accept-Encoding", "identity")
	switch req.Method {
	case http.MethodPost:
		h.Set("Content-Type", "application/json")
		h.Set("Accept", "application/json, text/event-stream")
	case http.MethodGet:
		h.Set("Accept", "text/event-stream")
	}
	for _, f := range out.fields {
		h.Set(f.Name, f.Value)
	}
	for _, f := range t.extra {
		setExtra(req, f)
	}
}

func setExtra(req *http.Request, f wire.Field) {
	switch {
	case strings.EqualFold(f.Name, "Host"):
		req.Host = f.Value
	case f.Value == "" && strings.EqualFold(f.Name, "User-Agent"):
		// net/http sends its own where the field is missing and none where it is "".
		req.Header.Set(f.Name, "")
	case f.Value == "":
		req.Header.Del(f.Name)
	default:
		req.Header.Set(f.Name, f.Value)
	}
}

// read looks at a response to a request.
func (t *httpTransport) read(ctx context.Context, tr *trip, out *outgoing) reply {
	if tr.resp.StatusCode/100 != 2 {
		return t.readRefusal(tr, out)
	}
	mediaType, params, _ := mime.ParseMediaType(tr.resp.Header.Get("Content-Type"))
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return failed(badContent(tr, "the answer is not in UTF-8 but in charset "+charset, nil))
	}
	switch {
	case mediaType == "text/event-stream":
		return t.readEvents(ctx, tr, out)
	case mediaType == "application/json" || out.anyReply:
		return t.readJSON(ctx, tr, out)
	default:
		return t.readOther(ctx, tr, mediaType)
	}
}

func (t *httpTransport) readJSON(ctx context.Context, tr *trip, out *outgoing) reply {
	body, f := t.readBody(ctx, tr)
	if f != nil {
		return failed(f)
	}
	if len(bytes.TrimSpace(body)) == 0 && !out.anyReply {
		return failed(noResponse(tr, body))
	}
	m := wire.ParseMessage(body)
	if out.anyReply {
		return reply{message: m, http: factsOf(tr.resp, body)}
	}
	if m.Kind != wire.Invalid {
		if answer := t.pick(m, out); answer != nil {
			return reply{message: answer, http: factsOf(tr.resp, nil)}
		}
	}
	f = badContent(tr, mismatch(m, out.id), body)
	return reply{fault: f, http: factsOf(tr.resp, body)}
}

// pick finds the answer to out in a message or a batch; the rest goes to the
// inbox. An error that names no id answers the only request there is.
func (t *httpTransport) pick(m *wire.Message, out *outgoing) *wire.Message {
	if m.Kind == wire.Batch {
		var answer *wire.Message
		for _, item := range m.Items {
			if a := t.pick(item, out); a != nil {
				answer = a
			}
		}
		return answer
	}
	if m.Answers(out.id) || m.Kind == wire.ErrorResponse && noID(m) {
		return m
	}
	t.inbox(m)
	return nil
}

func noID(m *wire.Message) bool { return m.ID == nil || string(m.ID) == "null" }

// mismatch says why a body answers nothing.
func mismatch(m *wire.Message, id json.RawMessage) string {
	if problem := m.Problem(); problem != "" {
		return problem
	}
	if m.Kind == wire.Response || m.Kind == wire.ErrorResponse {
		return "the response has id " + orNone(m.ID) + ", the request had " + string(id)
	}
	return "a " + m.Kind.String() + " came where the response was expected"
}

func orNone(id json.RawMessage) string {
	if id == nil {
		return "none"
	}
	return wire.Excerpt(id, 40)
}

// readRefusal reads a response that is not 2xx. Its body may be a JSON-RPC
// error, which then is the answer, with the status as its context.
func (t *httpTransport) readRefusal(tr *trip, out *outgoing) reply {
	body, _ := io.ReadAll(io.LimitReader(tr.resp.Body, 256<<10))
	t.recordBody(tr, body)
	facts := factsOf(tr.resp, body)
	m := wire.ParseMessage(body)
	if out.anyReply {
		return reply{message: m, http: facts}
	}
	rpc := m.Kind == wire.ErrorResponse && (noID(m) || m.Answers(out.id))
	if rpc && tr.resp.StatusCode != http.StatusUnauthorized && tr.resp.StatusCode != http.StatusForbidden {
		return reply{message: m, http: facts}
	}
	f := statusFault(tr.resp, body)
	if rpc {
		f.text += ": " + m.Error.Message
	}
	return reply{fault: f, http: facts}
}

func (t *httpTransport) readOther(ctx context.Context, tr *trip, mediaType string) reply {
	body, f := t.readBody(ctx, tr)
	if f != nil {
		return failed(f)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return reply{fault: noResponse(tr, body), http: factsOf(tr.resp, body)}
	}
	if mediaType == "" {
		mediaType = "no Content-Type"
	}
	text := "expected application/json or text/event-stream, got " + mediaType
	return reply{fault: badContent(tr, text, body), http: factsOf(tr.resp, body)}
}

// readBody reads a whole body within the limit.
func (t *httpTransport) readBody(ctx context.Context, tr *trip) ([]byte, *fault) {
	if encoding := tr.resp.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, badContent(tr, "the answer is encoded as "+encoding+", which was not asked for", nil)
	}
	if t.limits.tooLarge(int(tr.resp.ContentLength)) {
		return nil, overLimit(t.limits.Message)
	}
	var src io.Reader = tr.resp.Body
	if t.limits.Message > 0 {
		src = io.LimitReader(src, t.limits.Message+1)
	}
	var body bytes.Buffer
	if n := tr.resp.ContentLength; n > 0 {
		body.Grow(int(n) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(src); err != nil {
		t.rec.closed(tr.stream, wire.Received, "cut", err.Error())
		return nil, cutFault(ctx, int64(body.Len()), err)
	}
	if t.limits.tooLarge(body.Len()) {
		return nil, overLimit(t.limits.Message)
	}
	t.recordBody(tr, body.Bytes())
	return body.Bytes(), nil
}

func (t *httpTransport) recordBody(tr *trip, body []byte) {
	if len(body) > 0 {
		t.rec.body(wire.Received, wire.Body, tr.stream, body, nil)
	}
}

// trace notes the phases of time and whether the request left the machine.
func (tr *trip) trace() *httptrace.ClientTrace {
	var dns, connect, handshake time.Time
	since := func(from time.Time) time.Duration {
		if from.IsZero() {
			return 0
		}
		return tr.now().Sub(from)
	}
	return &httptrace.ClientTrace{
		DNSStart:             func(httptrace.DNSStartInfo) { dns = tr.now() },
		DNSDone:              func(httptrace.DNSDoneInfo) { tr.timing.DNS = since(dns) },
		ConnectStart:         func(string, string) { connect = tr.now() },
		ConnectDone:          func(string, string, error) { tr.timing.Connect = since(connect) },
		TLSHandshakeStart:    func() { handshake = tr.now() },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { tr.timing.TLS = since(handshake) },
		WroteHeaders:         func() { tr.wrote.Store(true) },
		GotFirstResponseByte: func() { tr.timing.FirstByte = since(tr.started) },
	}
}

// factsOf keeps what a person may need of a response.
func factsOf(resp *http.Response, body []byte) *wire.HTTPFacts {
	facts := &wire.HTTPFacts{Status: resp.StatusCode, URL: wire.RedactURL(resp.Request.URL.String()),
		ContentType: resp.Header.Get("Content-Type"), Body: body}
	for _, name := range []string{"Location", "Retry-After", "Www-Authenticate", "Allow"} {
		for _, value := range resp.Header.Values(name) {
			facts.Fields = append(facts.Fields, wire.Field{Name: name, Value: value})
		}
	}
	return facts
}
