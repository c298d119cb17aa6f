package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"mcpc/internal/redact"
	"mcpc/internal/spool"
	"mcpc/internal/wire"
)

// HTTP is Streamable HTTP: every message is a POST of its own, and its
// answer is one JSON body or a stream of events, decided response by response
// (basic/transports, "Streamable HTTP").
type HTTP struct {
	url string
	// shown is the URL without its secrets.
	shown   string
	via     *Connector
	inbox   Inbox
	rec     *Recorder
	maxSize MaxSize
	extra   []wire.Field
	// edits come after all other header fields, in one request.
	edits []wire.Field
	// Spool is where large messages are kept until the process ends; "" is in memory.
	Spool spool.Dir
}

// NewHTTP makes a transport that posts to a URL over the connections of via. The
// extra header fields are the user's, which come last and win.
func NewHTTP(url string, via *Connector, limit MaxSize, extra []wire.Field, to Inbox) *HTTP {
	return &HTTP{url: url, shown: redact.RedactURL(url), via: via, inbox: to, rec: via.rec, maxSize: limit, extra: extra}
}

func (t *HTTP) Name() Name { return StreamableHTTP }

// Listen: what comes, comes in the answers to requests.
func (t *HTTP) Listen() {}

func (t *HTTP) Gone() <-chan struct{} { return nil }

// Close: the connections are the Connector's.
func (t *HTTP) Close() {}

func (t *HTTP) Call(ctx context.Context, out *Outgoing) Reply {
	rt, f := t.roundTrip(ctx, http.MethodPost, out)
	if f != nil {
		return headless(rt, f)
	}
	defer rt.resp.Body.Close()
	if out.Headed != nil && rt.resp.StatusCode/100 == 2 {
		out.Headed(rt.resp.Header)
	}
	r := t.read(ctx, rt, out)
	if r.HTTP == nil {
		r.HTTP = rt.facts(nil)
	}
	return r
}

// Send posts a message and takes any 2xx for its acknowledgement: the
// specification says 202 with no body, servers say 200 and 204 as well. An error
// in that body answers the message all the same.
func (t *HTTP) Send(ctx context.Context, out *Outgoing) Reply {
	rt, f := t.roundTrip(ctx, http.MethodPost, out)
	if f != nil {
		return headless(rt, f)
	}
	defer rt.resp.Body.Close()
	if rt.resp.StatusCode/100 != 2 {
		return t.readRefusal(rt, out)
	}
	if mediaType(rt.resp) == "text/event-stream" {
		return Reply{HTTP: rt.facts(nil)} // nothing can be meant for us there
	}
	body, _ := io.ReadAll(io.LimitReader(rt.resp.Body, shortBody))
	rt.record(wire.Body, body)
	r := Reply{HTTP: rt.facts(body)}
	if m := wire.ParseMessage(body); m.Kind == wire.ErrorResponse && NoID(m) {
		r.Message = m
	}
	return r
}

// headless is the reply where no head came, or one that cannot be used.
func headless(rt *roundTrip, f *Fault) Reply {
	if rt == nil || rt.resp == nil {
		return Failed(f)
	}
	return Reply{Fault: f, HTTP: rt.facts(nil)}
}

// roundTrip sends one HTTP request and waits for the response's head.
func (t *HTTP) roundTrip(ctx context.Context, method string, out *Outgoing) (*roundTrip, *Fault) {
	rt := &roundTrip{via: t.via, shown: t.shown, stream: t.rec.nextStream(), clock: t.rec.Now, crossing: out.Crossing}
	if method == http.MethodPost {
		rt.body = out.Raw
		rt.again = out.Again
	}
	req, err := http.NewRequestWithContext(rt.traced(ctx), method, t.url, bytes.NewReader(rt.body))
	if err != nil {
		return nil, &Fault{Kind: wire.Usage, Phase: "connect", Text: "not a URL: " + t.shown, Err: withoutURL(err)}
	}
	t.setFields(req, out)
	rt.req = req
	rt.resp, err = t.via.roundTrip(req)
	if err != nil {
		rt.recordCut(ctx, err)
		return nil, connectFault(ctx, rt, withoutURL(err))
	}
	if size := headerSize(rt.resp.Header); size > maxHeader {
		rt.resp.Body.Close()
		return rt, badContent(fmt.Sprintf("the response's header is larger than %d KiB", maxHeader>>10), nil)
	}
	return rt, nil
}

// withoutURL is an error of net/http without the URL, which may hold secrets.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// setFields writes the header: the transport's own, the cookies, the era's, then the
// user's, who may replace any of them or remove it with an empty value.
func (t *HTTP) setFields(req *http.Request, out *Outgoing) {
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
	if field := t.via.cookies.field(req.URL, t.rec.Now); field != "" {
		h.Set("Cookie", field)
	}
	for _, f := range out.Fields {
		h.Set(f.Name, f.Value)
	}
	for _, f := range t.extra {
		setExtra(req, f)
	}
	for _, f := range t.edits {
		setExtra(req, f)
		canonical := textproto.CanonicalMIMEHeaderKey(f.Name)
		if f.Value != "" && canonical != f.Name && canonical != "Host" { // the name crosses as it is written
			req.Header.Del(f.Name)
			req.Header[f.Name] = []string{f.Value}
		}
	}
}

// Draft is the head of the request that would carry the message. Nothing is sent. The
// error is that of a URL that is none.
func (t *HTTP) Draft(out *Outgoing) (wire.HTTPHead, error) {
	req, err := http.NewRequest(http.MethodPost, t.url, nil)
	if err != nil {
		return wire.HTTPHead{}, withoutURL(err)
	}
	t.setFields(req, out)
	req.Header.Set("Host", req.Host)
	req.Header.Set("Content-Length", strconv.Itoa(len(out.Raw)))
	return wire.HTTPHead{Method: req.Method, URL: t.shown, Fields: t.rec.fieldsOf(req.Header)}, nil
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

func mediaType(resp *http.Response) string {
	return wire.MediaType(resp.Header.Get("Content-Type"))
}

// recordCut records that no whole answer came, and who ended it.
func (rt *roundTrip) recordCut(ctx context.Context, err error) {
	if ctx.Err() != nil {
		text := ""
		if why := context.Cause(ctx); why != ctx.Err() {
			text = why.Error()
		}
		rt.via.rec.closed(rt.stream, wire.Sent, "cancelled", text)
		return
	}
	rt.via.rec.closed(rt.stream, wire.Received, "cut", withoutURL(err).Error())
}

// record records what came: a body, or noise, which is not a message.
func (rt *roundTrip) record(kind wire.FrameKind, raw []byte) {
	if len(raw) > 0 {
		rt.via.rec.Body(wire.Received, kind, rt.stream, raw, nil)
	}
}

// factFields are the fields that a person may need, by their canonical names.
var factFields = [...]string{"Location", "Retry-After", "Www-Authenticate", "Allow"}

// facts keeps what a person may need of the response.
func (rt *roundTrip) facts(body []byte) *wire.HTTPFacts {
	resp := rt.resp
	facts := &wire.HTTPFacts{Status: resp.StatusCode, URL: rt.shown,
		ContentType: resp.Header.Get("Content-Type"), Body: body}
	for _, name := range factFields {
		for _, value := range resp.Header[name] {
			if name == "Location" {
				value = redact.RedactURL(value)
			}
			facts.Fields = append(facts.Fields, wire.Field{Name: name, Value: value})
		}
	}
	return facts
}
