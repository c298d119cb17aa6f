package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"mcpc/internal/compress"
	"mcpc/internal/spool"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// shortBody is how many bytes are read of a body that should be empty, longRefusal of a body that
// explains a refusal.
const (
	shortBody   = 64 << 10
	longRefusal = 256 << 10
)

// readResponse reads the response to a request: a refusal, a stream of events or a single body.
func (t *HTTP) readResponse(ctx context.Context, rt *roundTrip, out *Outgoing) Reply {
	if rt.resp.StatusCode/100 != 2 {
		return t.readRefusal(rt, out)
	}
	t.connector.answeredPOST.Store(true)
	kind := mediaType(rt.resp)
	if kind == "text/event-stream" {
		// Events are UTF-8, whatever the header declares (WHATWG HTML, section 9.2.6).
		t.reportCharset(rt)
		return t.readEvents(ctx, rt, out)
	}
	return t.readSingleBody(ctx, rt, kind, out)
}

// reportCharset reports a response that declares a charset other than UTF-8 although its bytes are
// UTF-8: JSON is always UTF-8 and has no such parameter (RFC 8259, sections 8.1 and 11).
func (t *HTTP) reportCharset(rt *roundTrip) {
	if charset := charsetOf(rt.resp); charset != "" {
		text := "declared as charset " + charset + ", not allowed for JSON; read as UTF-8"
		t.inbox.Repeated(
			wire.Finding{Rule: "charset", Severity: wire.Warning, Text: "an answer was " + text},
			"answers were "+text,
		)
	}
}

// isUTF8 reports whether a body is UTF-8 without zero bytes: JSON text contains no zero byte, and
// UTF-16 contains many. It reads the whole body, so call it only if the response declares a
// charset.
func isUTF8(body []byte) bool { return utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 }

// charsetOf returns the charset that a response declares, or "" if it is compatible with UTF-8 or
// missing.
func charsetOf(resp *http.Response) string {
	_, params, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch charset := params["charset"]; strings.ToLower(charset) {
	case "utf-8", "utf8", "us-ascii":
		return ""
	default:
		return charset
	}
}

// readSingleBody reads a response that is one body of media type kind, and returns the response to out
// in it. Everything else becomes a fault; with AcceptsAny, the body is the reply whatever it is.
func (t *HTTP) readSingleBody(ctx context.Context, rt *roundTrip, kind string, out *Outgoing) Reply {
	body, f := t.readBody(ctx, rt)
	if f != nil {
		return Failed(f)
	}
	m := wire.ParseMessage(body)
	charset := charsetOf(rt.resp)
	if out.AcceptsAny {
		return Reply{Message: m, HTTP: rt.facts(body)}
	}
	if len(bytes.TrimSpace(body)) == 0 {
		text := fmt.Sprintf("no response to request %s: HTTP %d with an empty body", IDText(out.ID), rt.resp.StatusCode)
		return Failed(badResponseFault(text, nil))
	}
	if kind != "application/json" {
		f = badResponseFault("expected application/json or text/event-stream, got "+describeType(rt.resp, kind), body)
		return Reply{Fault: f, HTTP: rt.facts(body)}
	}
	if charset != "" && !isUTF8(body) {
		return Reply{Fault: badResponseFault("the response is not UTF-8 but charset "+charset, body), HTTP: rt.facts(body)}
	}
	t.reportCharset(rt)
	if m.Kind != wire.Invalid {
		if answer, odd := t.pickResponse(m, out); answer != nil {
			return Reply{Message: answer, Irregularity: odd}
		}
	}
	return Reply{Fault: mismatchFault(out, m), HTTP: rt.facts(body)}
}

// pickResponse returns the response to out from a message or a batch, and a finding if the response breaks a
// rule. An error without an id answers the only open request. Requests and notifications go to the
// inbox. A response to another request is only delivered if it is in a batch: the caller decides on
// it otherwise.
func (t *HTTP) pickResponse(m *wire.Message, out *Outgoing) (answer *wire.Message, odd *wire.Finding) {
	if m.Kind == wire.Batch && out.AllowsBatch {
		for _, item := range m.Items {
			if itemAnswer, itemOdd := t.pickResponse(item, out); itemAnswer != nil {
				answer = itemAnswer
				odd = itemOdd
			} else if isReply(item) {
				t.inbox.Receive(item)
			}
		}
		return answer, odd
	}
	if m.IsResponseTo(out.ID) || m.Kind == wire.ErrorResponse && !m.HasID() {
		return m, nil
	}
	if response, odd := irregularResponse(m, out); response != nil {
		return response, odd
	}
	if m.Kind != wire.Batch && !isReply(m) {
		t.inbox.Receive(m)
	}
	return nil, nil
}

// readRefusal reads a response whose status is not 2xx. If the body is a JSON-RPC error for this
// request, that error is the reply. For 401 and 403 the reply is a fault in any case, because the
// status decides what the user has to do; the error becomes part of its text.
func (t *HTTP) readRefusal(rt *roundTrip, out *Outgoing) Reply {
	body := t.refusalBody(rt)
	rt.record(wire.Body, body)
	facts := rt.facts(body)
	m := wire.ParseMessage(body)
	isOurs := !m.HasID() || m.IsResponseTo(out.ID) || hasOtherID(m, out.ID) || out.AcceptsAny
	isError := m.Kind == wire.ErrorResponse && isOurs
	isAuth := rt.resp.StatusCode == http.StatusUnauthorized || rt.resp.StatusCode == http.StatusForbidden
	if isError && !isAuth {
		return Reply{Message: m, HTTP: facts}
	}
	f := rt.refusal(body)
	if isError {
		f.Text += ": " + m.Error.Message
	}
	return Reply{Fault: f, HTTP: facts}
}

// refusalBody reads the body of a refusal: JSON up to the message limit, other bodies up to
// longRefusal bytes.
func (t *HTTP) refusalBody(rt *roundTrip) []byte {
	limit := int64(longRefusal)
	if mediaType(rt.resp) == "application/json" {
		limit = max(int64(t.maxSize), longRefusal)
	}
	src, f := decodedBody(rt.resp)
	if f != nil { // an unknown encoding: show the bytes as they are
		src = rt.resp.Body
	}
	body, _ := io.ReadAll(io.LimitReader(src, limit)) // a part explains the refusal, too
	return body
}

// describeType returns the media type of a response for an error: kind, or the field itself if kind is not
// a media type.
func describeType(resp *http.Response, kind string) string {
	field := resp.Header.Get("Content-Type")
	if wire.IsToken(strings.Replace(kind, "/", "", 1)) {
		return kind
	}
	if field == "" {
		return "no Content-Type"
	}
	return fmt.Sprintf("a Content-Type that is not one media type: %q", field)
}

// readBody reads and decodes a whole body. The message limit applies to the decoded size. A body
// with an encoding that mcpc cannot decode is returned as it was sent, with a fault.
func (t *HTTP) readBody(ctx context.Context, rt *roundTrip) ([]byte, *Fault) {
	if t.maxSize.isExceededBy(int(rt.resp.ContentLength)) {
		return nil, TooLarge(int64(t.maxSize))
	}
	src, unread := decodedBody(rt.resp)
	if unread != nil {
		src = rt.resp.Body
	}
	decoder := src
	isDecoded := decoder != io.Reader(rt.resp.Body)
	if t.maxSize > 0 && (rt.resp.ContentLength < 0 || isDecoded) { // else Content-Length bounds the size
		src = io.LimitReader(src, int64(t.maxSize)+1) // one more byte shows that the limit is exceeded
	}
	// The server declares the length, so it is trusted only up to 256 MiB.
	buffer := t.Spool.New(min(max(rt.resp.ContentLength, 0), 256<<20))
	_, readErr := buffer.ReadFrom(src)
	body, err := buffer.Bytes()
	if readErr != nil {
		err = readErr
	}
	if _, isFile := errors.AsType[*spool.FileError](err); isFile {
		rt.connector.rec.recordClosed(rt.stream, wire.Sent, "cancelled", "the response could not be kept")
		return nil, spoolFault(err)
	}
	if readErr != nil {
		rt.record(wire.Noise, body)
		rt.recordCut(ctx, readErr)
		return nil, incompleteBody(ctx, rt.resp, body, isDecoded, readErr)
	}
	if t.maxSize.isExceededBy(len(body)) {
		return nil, TooLarge(int64(t.maxSize))
	}
	rt.record(wire.Body, body)
	if unread != nil {
		unread.raw = body
	}
	if coding := compress.Trailing(decoder); coding != "" {
		t.inbox.Repeated(wire.Finding{
			Rule: "encoding", Severity: wire.Warning,
			Text: "the body of a response has other bytes after its " + coding + " data, ignored",
		},
			"bodies of responses have other bytes after their compressed data, ignored")
	}
	return body, unread
}

// incompleteBody returns the fault for a body whose reading failed with err after these bytes.
// isDecoded reports whether they were decoded. If their JSON is complete, the server declared a
// wrong length.
func incompleteBody(ctx context.Context, resp *http.Response, body []byte, isDecoded bool, err error) *Fault {
	f := cutFault(ctx, int64(len(body)), err)
	if context.Cause(ctx) != nil {
		return f
	}
	encoding := resp.Header.Get("Content-Encoding")
	if isDecoded && !compress.IsUnreadable(err) {
		f.Text += ", decoded from " + encoding
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && isJSON(body) {
		f.Text = fmt.Sprintf("the response ended before its Content-Length of %d bytes, although its JSON is complete",
			resp.ContentLength)
		if encoding != "" {
			f.Text += ": it was compressed (" + encoding + "), and the field has the length before compression"
		}
		f.Hint = "the error is in the server or in a proxy in front of it: -vvv shows the header fields"
	}
	return f
}

// spoolFault returns the fault of a large message that could not be written to a file.
func spoolFault(err error) *Fault {
	return &Fault{
		Kind: wire.LocalIO, Phase: "read", Reached: wire.Answered, Err: err,
		Text: "keeping the response in a temporary file: " + usage.Bare(err).Error(),
		Hint: "free space on the disk, or use one that has it with --state DIR",
	}
}

// decodedBody returns a reader of the decoded body. mcpc does not ask for compression, but some servers
// and proxies compress all the same.
func decodedBody(resp *http.Response) (io.Reader, *Fault) {
	if len(resp.Header["Content-Encoding"]) == 0 {
		return resp.Body, nil
	}
	codings := compress.Codings(resp.Header)
	if err := compress.Check(codings); err != nil {
		text := "the response has the encoding " + strings.Join(codings, ", ") + ", which mcpc cannot decode"
		return nil, badResponseFault(text, nil)
	}
	return compress.NewReader(resp.Body, codings), nil
}
