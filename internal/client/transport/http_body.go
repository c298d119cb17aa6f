package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"mcpc/internal/compress"
	"mcpc/internal/jsonraw"
	"mcpc/internal/spool"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// shortBody is how much is read of a body that should be empty, longRefusal of
// one that explains a refusal.
const (
	shortBody   = 64 << 10
	longRefusal = 256 << 10
)

// read looks at a response to a request.
func (t *HTTP) read(ctx context.Context, rt *roundTrip, out *Outgoing) Reply {
	if rt.resp.StatusCode/100 != 2 {
		return t.readRefusal(rt, out)
	}
	t.via.answered.Store(true)
	switch kind := mediaType(rt.resp); {
	case kind == "text/event-stream":
		// Events are UTF-8, whatever a header says (WHATWG HTML, section 9.2.6).
		t.foreignCharset(rt)
		return t.readEvents(ctx, rt, out)
	default:
		return t.readWhole(ctx, rt, kind, out)
	}
}

// foreignCharset tells of a charset that is none of UTF-8's, where the bytes are
// UTF-8 all the same: JSON is, and has no such parameter (RFC 8259, sections 8.1
// and 11).
func (t *HTTP) foreignCharset(rt *roundTrip) {
	if charset := charsetOf(rt.resp); charset != "" {
		text := "declared as charset " + charset + ", not allowed for JSON; read as UTF-8"
		t.inbox.Repeated(
			wire.Finding{Rule: "charset", Level: wire.Warning, Text: "an answer was " + text},
			"answers were "+text,
		)
	}
}

// isUTF8 reports whether a body is UTF-8. It reads the whole body: ask only if the response declares a charset. A zero
// byte, which no JSON holds, is how UTF-16 shows.
func isUTF8(body []byte) bool { return utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 }

// charsetOf is the charset of a response, or "" where it is UTF-8.
func charsetOf(resp *http.Response) string {
	_, params, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch charset := params["charset"]; strings.ToLower(charset) {
	case "utf-8", "utf8", "us-ascii":
		return ""
	default:
		return charset
	}
}

// readWhole reads a response that is one body.
func (t *HTTP) readWhole(ctx context.Context, rt *roundTrip, kind string, out *Outgoing) Reply {
	body, f := t.readBody(ctx, rt)
	if f != nil {
		return Failed(f)
	}
	m := wire.ParseMessage(body)
	charset := charsetOf(rt.resp)
	switch {
	case out.AnyReply:
		return Reply{Message: m, HTTP: rt.facts(body)}
	case len(bytes.TrimSpace(body)) == 0:
		return Failed(
			badContent(
				fmt.Sprintf("no response to request %s: HTTP %d with an empty body", IDText(out.ID), rt.resp.StatusCode),
				nil,
			),
		)
	case kind != "application/json":
		f = badContent("expected application/json or text/event-stream, got "+typeOf(rt.resp, kind), body)
		return Reply{Fault: f, HTTP: rt.facts(body)}
	case charset != "" && !isUTF8(body):
		return Reply{Fault: badContent("the response is not UTF-8 but charset "+charset, body), HTTP: rt.facts(body)}
	}
	t.foreignCharset(rt)
	if m.Kind != wire.Invalid {
		if answer, odd := t.pick(m, out); answer != nil {
			return Reply{Message: answer, Odd: odd}
		}
	}
	return Reply{Fault: noAnswerTo(out, m), HTTP: rt.facts(body)}
}

// pick finds the answer to out in a message or a batch; the rest goes to the
// inbox, but for a response to something else: what that means depends on what
// comes after it. An error that names no id answers the only request there is. The finding says
// what is wrong with the answer, or is nil.
func (t *HTTP) pick(m *wire.Message, out *Outgoing) (answer *wire.Message, odd *wire.Finding) {
	if m.Kind == wire.Batch && out.Batches {
		for _, item := range m.Items {
			if a, o := t.pick(item, out); a != nil {
				answer = a
				odd = o
			} else if isReply(item) {
				t.inbox.Receive(item)
			}
		}
		return answer, odd
	}
	if m.Answers(out.ID) || m.Kind == wire.ErrorResponse && NoID(m) {
		return m, nil
	}
	if response, odd := plainResponse(m, out); response != nil {
		return response, odd
	}
	if m.Kind != wire.Batch && !isReply(m) {
		t.inbox.Receive(m)
	}
	return nil, nil
}

// readRefusal reads a response that is not 2xx. Its body may be a JSON-RPC
// error, which then is the answer, with the status as its context.
func (t *HTTP) readRefusal(rt *roundTrip, out *Outgoing) Reply {
	body := t.refusalBody(rt)
	rt.record(wire.Body, body)
	facts := rt.facts(body)
	m := wire.ParseMessage(body)
	rpc := m.Kind == wire.ErrorResponse && (NoID(m) || m.Answers(out.ID) || hasOtherID(m, out.ID) || out.AnyReply)
	if rpc && rt.resp.StatusCode != http.StatusUnauthorized && rt.resp.StatusCode != http.StatusForbidden {
		return Reply{Message: m, HTTP: facts}
	}
	f := rt.refusal(body)
	if rpc {
		f.Text += ": " + m.Error.Message
	}
	return Reply{Fault: f, HTTP: facts}
}

// refusalBody reads what can be had of a refusal's body: a message as a whole,
// of anything else the start.
func (t *HTTP) refusalBody(rt *roundTrip) []byte {
	limit := int64(longRefusal)
	if mediaType(rt.resp) == "application/json" {
		limit = max(int64(t.maxSize), longRefusal)
	}
	src, f := decoded(rt.resp)
	if f != nil {
		src = rt.resp.Body
	}
	body, _ := io.ReadAll(io.LimitReader(src, limit))
	return body
}

// typeOf returns the media type of a response for an error: kind, or the field itself if it is no media type.
func typeOf(resp *http.Response, kind string) string {
	field := resp.Header.Get("Content-Type")
	if wire.IsToken(strings.Replace(kind, "/", "", 1)) {
		return kind
	}
	if field == "" {
		return "no Content-Type"
	}
	return fmt.Sprintf("a Content-Type that is not one media type: %q", field)
}

// readBody reads a whole body within the limit, which holds for what it is
// after decoding.
func (t *HTTP) readBody(ctx context.Context, rt *roundTrip) ([]byte, *Fault) {
	if t.maxSize.isExceededBy(int(rt.resp.ContentLength)) {
		return nil, TooLarge(int64(t.maxSize))
	}
	src, unread := decoded(rt.resp)
	if unread != nil {
		src = rt.resp.Body
	}
	decoder := src
	if t.maxSize > 0 && (rt.resp.ContentLength < 0 || src != io.Reader(rt.resp.Body)) {
		src = io.LimitReader(src, int64(t.maxSize)+1)
	}
	// The server states the length, so that only so much of it is believed.
	buffer := t.Spool.New(min(max(rt.resp.ContentLength, 0), 256<<20))
	_, failed := buffer.ReadFrom(src)
	body, err := buffer.Bytes()
	if _, isFile := errors.AsType[*spool.FileError](cmp.Or(failed, err)); isFile {
		rt.via.rec.closed(rt.stream, wire.Sent, "cancelled", "the response could not be kept")
		return nil, notKept(cmp.Or(failed, err))
	}
	if failed != nil {
		rt.record(wire.Noise, body)
		rt.recordCut(ctx, failed)
		f := cutFault(ctx, int64(len(body)), failed)
		if decoder != io.Reader(rt.resp.Body) && !compress.IsUnreadable(failed) && context.Cause(ctx) == nil {
			f.Text += ", decoded from " + rt.resp.Header.Get("Content-Encoding")
		}
		if errors.Is(failed, io.ErrUnexpectedEOF) && context.Cause(ctx) == nil && jsonraw.Valid(body) == nil {
			f.Text = fmt.Sprintf("the response ended before its Content-Length of %d bytes, although its JSON is complete",
				rt.resp.ContentLength)
			if encoding := rt.resp.Header.Get("Content-Encoding"); encoding != "" {
				f.Text += ": it was compressed (" + encoding + "), and the field has the length before"
			}
			f.Hint = "an error of the server or of a proxy in front of it: -vvv shows the header fields"
		}
		return nil, f
	}
	if t.maxSize.isExceededBy(len(body)) {
		return nil, TooLarge(int64(t.maxSize))
	}
	rt.record(wire.Body, body)
	if unread != nil {
		unread.raw = body
	}
	if coding := compress.Trailing(decoder); coding != "" {
		t.inbox.Repeated(wire.Finding{Rule: "encoding", Level: wire.Warning,
			Text: "the body of a response has other bytes after its " + coding + " data, ignored"},
			"bodies of responses have other bytes after their compressed data, ignored")
	}
	return body, unread
}

// notKept is the fault of a large message that could not be written to a file.
func notKept(err error) *Fault {
	return &Fault{Kind: wire.LocalIO, Phase: "read", Reached: wire.Answered, Err: err,
		Text: "keeping the response in a temporary file: " + usage.Bare(err).Error(),
		Hint: "free space on the disk, or use one that has it with --state DIR"}
}

// decoded undoes the codings of a response. None is asked for, but there are servers and proxies that compress all the
// same.
func decoded(resp *http.Response) (io.Reader, *Fault) {
	if len(resp.Header["Content-Encoding"]) == 0 {
		return resp.Body, nil
	}
	codings := compress.Codings(resp.Header)
	if err := compress.Check(codings); err != nil {
		return nil, badContent("the response has the encoding "+strings.Join(codings, ", ")+", which mcpc cannot decode", nil)
	}
	return compress.NewReader(resp.Body, codings), nil
}
