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

// HTTP is the Streamable HTTP transport. It sends each message as a POST. The response is one JSON
// body or a stream of events; the server chooses for each response (basic/transports, "Streamable
// HTTP").
type HTTP struct {
	url string
	// redactedURL is the URL without its secrets.
	redactedURL string
	connector   *Connector
	inbox       Inbox
	rec         *Recorder
	maxSize     MaxSize
	userFields  []wire.Field
	// edits are header fields that setFields applies after all others, in one request.
	edits []wire.Field
	// Spool is the directory for large messages until the process ends; "" keeps them in memory.
	Spool spool.Dir
}

// NewHTTP returns a transport that posts to url through the connections of via. The extra header
// fields are the user's; they replace all other fields of the same name.
func NewHTTP(url string, via *Connector, limit MaxSize, extra []wire.Field, to Inbox) *HTTP {
	return &HTTP{
		url: url, redactedURL: redact.RedactURL(url), connector: via, inbox: to, rec: via.rec,
		maxSize: limit, userFields: extra,
	}
}

// Name returns StreamableHTTP.
func (t *HTTP) Name() Name { return StreamableHTTP }

// Listen does nothing: the server's messages arrive in responses to requests.
func (t *HTTP) Listen() {}

// Gone returns nil: each request has its own exchange.
func (t *HTTP) Gone() <-chan struct{} { return nil }

// Close does nothing: the Connector owns the connections.
func (t *HTTP) Close() {}

// Call posts a request and reads the response from the body or from the stream of events.
func (t *HTTP) Call(ctx context.Context, out *Outgoing) Reply {
	rt, f := t.roundTrip(ctx, http.MethodPost, out)
	if f != nil {
		return faultReply(rt, f)
	}
	defer rt.resp.Body.Close()
	if out.OnHeader != nil && rt.resp.StatusCode/100 == 2 {
		out.OnHeader(rt.resp.Header)
	}
	r := t.readResponse(ctx, rt, out)
	if r.HTTP == nil {
		r.HTTP = rt.facts(nil)
	}
	return r
}

// Send posts a message and accepts each 2xx status as the acknowledgement: the specification
// requires 202 with no body, servers also send 200 and 204. A JSON-RPC error in the body becomes the
// reply's message.
func (t *HTTP) Send(ctx context.Context, out *Outgoing) Reply {
	rt, f := t.roundTrip(ctx, http.MethodPost, out)
	if f != nil {
		return faultReply(rt, f)
	}
	defer rt.resp.Body.Close()
	if rt.resp.StatusCode/100 != 2 {
		return t.readRefusal(rt, out)
	}
	if mediaType(rt.resp) == "text/event-stream" {
		return Reply{HTTP: rt.facts(nil)} // no event can answer this message
	}
	body, _ := io.ReadAll(io.LimitReader(rt.resp.Body, shortBody)) // the status alone is the acknowledgement
	rt.record(wire.Body, body)
	r := Reply{HTTP: rt.facts(body)}
	if m := wire.ParseMessage(body); m.Kind == wire.ErrorResponse && !m.HasID() {
		r.Message = m
	}
	return r
}

// faultReply returns the reply for a fault, with the facts of the HTTP response if its header was
// read.
func faultReply(rt *roundTrip, f *Fault) Reply {
	if rt == nil || rt.resp == nil {
		return Failed(f)
	}
	return Reply{Fault: f, HTTP: rt.facts(nil)}
}

// roundTrip sends one HTTP request and waits for the response's header. It returns a fault if there is
// no usable header; the roundTrip is then nil, or has the response if its header is too large. The
// caller closes the body if there is no fault.
func (t *HTTP) roundTrip(ctx context.Context, method string, out *Outgoing) (*roundTrip, *Fault) {
	rt := &roundTrip{
		connector: t.connector, redactedURL: t.redactedURL, stream: t.rec.nextStream(),
		clock: t.rec.Now, trace: out.Trace,
	}
	if method == http.MethodPost {
		rt.body = out.Raw
		rt.previousID = out.PreviousID
	}
	req, err := http.NewRequestWithContext(rt.withTrace(ctx), method, t.url, bytes.NewReader(rt.body))
	if err != nil {
		return nil, &Fault{Kind: wire.Usage, Phase: "connect", Text: "not a URL: " + t.redactedURL, Err: withoutURL(err)}
	}
	t.setFields(req, out)
	rt.req = req
	rt.resp, err = t.connector.roundTrip(req)
	if err != nil {
		rt.recordCut(ctx, err)
		return nil, connectFault(ctx, rt, withoutURL(err))
	}
	if size := headerSize(rt.resp.Header); size > maxHeader {
		rt.resp.Body.Close()
		return rt, badResponseFault(fmt.Sprintf("the response's header is larger than %d KiB", maxHeader>>10), nil)
	}
	return rt, nil
}

// withoutURL returns the cause of a net/http error, without the URL, which may contain secrets.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// setFields writes the header: first the transport's own fields, then cookies, the revision's fields
// and the user's. The user's fields replace all others; an empty value removes a field.
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
	if field := t.connector.cookies.field(req.URL, t.rec.Now); field != "" {
		h.Set("Cookie", field)
	}
	for _, f := range out.Fields {
		h.Set(f.Name, f.Value)
	}
	for _, f := range t.userFields {
		setExtra(req, f)
	}
	for _, f := range t.edits {
		setExtra(req, f)
		canonical := textproto.CanonicalMIMEHeaderKey(f.Name)
		isWrittenOtherwise := canonical != f.Name && canonical != "Host" // net/http writes Host itself
		if f.Value != "" && isWrittenOtherwise {                         // Set would change the name's case
			req.Header.Del(f.Name)
			req.Header[f.Name] = []string{f.Value}
		}
	}
}

// Draft returns the head of the request that would carry the message, without sending it. It returns
// an error if the transport's URL is not valid.
func (t *HTTP) Draft(out *Outgoing) (wire.HTTPHead, error) {
	req, err := http.NewRequest(http.MethodPost, t.url, nil)
	if err != nil {
		return wire.HTTPHead{}, withoutURL(err)
	}
	t.setFields(req, out)
	req.Header.Set("Host", req.Host)
	req.Header.Set("Content-Length", strconv.Itoa(len(out.Raw)))
	return wire.HTTPHead{Method: req.Method, URL: t.redactedURL, Fields: t.rec.fieldsOf(req.Header)}, nil
}

// setExtra sets a header field of the user; an empty value removes the field.
func setExtra(req *http.Request, f wire.Field) {
	switch {
	case strings.EqualFold(f.Name, "Host"):
		req.Host = f.Value
	case f.Value == "" && strings.EqualFold(f.Name, "User-Agent"):
		// net/http sends its own value if the field is missing, and no field if the value is "".
		req.Header.Set(f.Name, "")
	case f.Value == "":
		req.Header.Del(f.Name)
	default:
		req.Header.Set(f.Name, f.Value)
	}
}

// mediaType returns the media type of a response, without parameters.
func mediaType(resp *http.Response) string {
	return wire.MediaType(resp.Header.Get("Content-Type"))
}

// recordCut records that the response is incomplete and which side ended it: this side if ctx is done,
// with its cause as the text, else the server, with err.
func (rt *roundTrip) recordCut(ctx context.Context, err error) {
	if ctx.Err() != nil {
		text := ""
		if why := context.Cause(ctx); why != ctx.Err() { // "context canceled" does not help a user
			text = why.Error()
		}
		rt.connector.rec.recordClosed(rt.stream, wire.Sent, "cancelled", text)
		return
	}
	rt.connector.rec.recordClosed(rt.stream, wire.Received, "cut", withoutURL(err).Error())
}

// record records a received body, or noise, which is not a message. It ignores empty input.
func (rt *roundTrip) record(kind wire.FrameKind, raw []byte) {
	if len(raw) > 0 {
		rt.connector.rec.RecordBody(wire.Received, kind, rt.stream, raw, nil)
	}
}

// shownFields are the header fields that help a user to understand a failed response, by their
// canonical names.
var shownFields = [...]string{"Location", "Retry-After", "Www-Authenticate", "Allow"}

// facts returns the facts of the response for a report, with body as its body.
func (rt *roundTrip) facts(body []byte) *wire.HTTPFacts {
	resp := rt.resp
	facts := &wire.HTTPFacts{
		Status: resp.StatusCode, URL: rt.redactedURL,
		ContentType: resp.Header.Get("Content-Type"), Body: body,
	}
	for _, name := range shownFields {
		for _, value := range resp.Header[name] {
			if name == "Location" {
				value = redact.RedactURL(value)
			}
			facts.Fields = append(facts.Fields, wire.Field{Name: name, Value: value})
		}
	}
	return facts
}
