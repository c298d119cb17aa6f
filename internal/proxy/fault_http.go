package proxy

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/compress"
	"mcpc/internal/pause"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A faultedRequest is one HTTP request of a Proxy with fault rules or filters. The Watcher sees what
// the client sends and receives, not what the server does.
type faultedRequest struct {
	p       *Proxy
	x       *exchange
	req     *http.Request
	subject subject
	// fired is the decision about the request; nil if no rule fires. recorded is set once the
	// recording has the fault.
	fired    *decision
	recorded bool
}

// cutConnection returns the error that makes the server close the connection. It has the connection
// reset if the rule requires a reset.
func (f *faultedRequest) cutConnection() error {
	if tcp, ok := f.req.Context().Value(clientKey{}).(*net.TCPConn); ok && f.fired.Reset {
		_ = tcp.SetLinger(0) // a close with no linger time is a reset
	}
	return errCut
}

// send applies rules and filters to a request, sends it if it passes, and returns the response for
// the client. A request longer than maxMessage passes unchanged.
func (f *faultedRequest) send() (*http.Response, error) {
	whole, err := f.readMessage()
	if err != nil {
		return nil, err
	}
	if !whole {
		return f.p.transport.RoundTrip(f.req)
	}
	if f.p.Desk.MayHold() {
		f.req.Header.Del("Accept-Encoding") // the response must be readable to be held
	}
	if resp, err := f.holdRequest(); resp != nil || err != nil {
		return resp, err
	}
	f.fired = f.p.Desk.fireRule(f.subject)
	if f.fired == nil {
		return f.forward()
	}
	if resp := f.composeResponse(); resp != nil {
		return resp, nil
	}
	if f.fired.Name == actionDropRequest {
		f.recordFault(wire.Sent, "")
		return nil, f.waitForClient()
	}
	if f.fired.OfRequest {
		f.editRequest()
	}
	f.req.Header.Del("Accept-Encoding") // the response must be readable to be changed
	return f.forward()
}

// A body reads from one source and closes another.
type body struct {
	io.Reader
	io.Closer
}

// readAhead reads a body, but at most maxMessage+1 bytes, so that the caller can tell a longer one.
// again reads the same bytes, and then the rest or the error.
func readAhead(source io.ReadCloser) (raw []byte, again body, err error) {
	raw, err = io.ReadAll(io.LimitReader(source, maxMessage+1))
	readRest := source.Read
	if err != nil {
		readRest = func([]byte) (int, error) { return 0, err }
	}
	return raw, body{io.MultiReader(bytes.NewReader(raw), readerFunc(readRest)), source}, err
}

// readMessage reads the message of the request. It returns false if the message is longer than
// maxMessage.
func (f *faultedRequest) readMessage() (whole bool, err error) {
	var raw []byte
	if f.req.Body != nil && f.req.Body != http.NoBody {
		raw, f.req.Body, err = readAhead(f.req.Body)
		if err != nil || len(raw) > maxMessage {
			return false, err
		}
	}
	f.subject.Session = f.req.Header.Get("Mcp-Session-Id")
	text, decodeErr := compress.Decode(raw, compress.Codings(f.req.Header), maxMessage)
	// Rules and filters see a request that cannot be read as one without a message.
	if decodeErr == nil && len(text) > 0 && len(text) <= maxMessage {
		f.subject.Message = parseSingle(text)
	}
	head := &wire.HTTPHead{Method: f.req.Method, URL: f.p.publicURL(f.req.URL), Fields: fieldsOf(f.req.Header)}
	f.subject.Row = f.p.Desk.Row(f.target(), f.subject.Session, wire.Sent, head, f.subject.Message)
	return true, nil
}

// target returns the server's name in filters.
func (f *faultedRequest) target() string {
	if f.subject.Row != nil {
		return f.subject.Row.Target
	}
	return f.p.servers[f.x.target]
}

// editRequest changes the request as the rule says: a header field, or a value of the message.
func (f *faultedRequest) editRequest() {
	if f.fired.Name == actionHeader {
		setField(f.req.Header, f.fired.Field)
		f.recordFault(wire.Sent, "")
		return
	}
	before := f.subject.Message.Raw
	after, text := f.fired.changeForServer(before)
	f.recordFault(wire.Sent, text)
	f.fired.mirrorHeader(f.req.Header, before, after, f.p.Desk.Encode)
	f.setBody(after)
}

// setBody replaces the body of the request.
func (f *faultedRequest) setBody(data []byte) {
	f.req.Header.Del("Content-Encoding")
	f.req.Body = io.NopCloser(bytes.NewReader(data))
	f.req.ContentLength = int64(len(data))
}

// setField sets a header field; an empty value deletes it.
func setField(h http.Header, field wire.Field) {
	h.Del(field.Name)
	if field.Value != "" {
		h.Set(field.Name, field.Value)
	}
}

// composeResponse returns the response of a rule that does not forward the request to the server,
// or nil if the rule forwards it.
func (f *faultedRequest) composeResponse() *http.Response {
	d := f.fired
	h := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	body := []byte("mcpc fault: " + d.Facts.Action + "\n")
	status := http.StatusOK
	switch d.Name {
	case actionStatus:
		status = int(d.N)
		if d.Text != "" {
			h.Set("Retry-After", d.Text)
		}
	case actionUnauthorized:
		status = http.StatusUnauthorized
		h.Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="made up by a fault rule"`)
	case actionExpireSession:
		status = http.StatusNotFound
	case actionDropNotification:
		status = http.StatusAccepted
		h = http.Header{}
		body = nil
	case actionRPCError, actionToolError:
		h.Set("Content-Type", "application/json")
		body = d.composeResponse()
	default:
		return nil
	}
	dir := wire.Received
	if d.Name == actionDropNotification {
		dir = wire.Sent // the fault is that the server does not receive it
	}
	f.recordFault(dir, "")
	return f.newResponse(status, h, body)
}

// newResponse returns a response of the Proxy itself.
func (f *faultedRequest) newResponse(status int, h http.Header, body []byte) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: f.req,
	}
}

// waitForClient waits until the client gives up, and returns the context's error.
func (f *faultedRequest) waitForClient() error {
	<-f.req.Context().Done()
	return f.req.Context().Err()
}

// recordFault records what the rule did. Text says why nothing was changed, if so.
func (f *faultedRequest) recordFault(dir wire.Direction, text string) {
	f.recordDecision(f.fired, dir, text)
}

// recordUnchangedOnce records that the rule fired but had nothing to change, unless the fault was
// recorded before.
func (f *faultedRequest) recordUnchangedOnce() {
	if f.fired == nil || f.recorded || f.fired.Name == actionCut { // a cut is recorded at its own time
		return
	}
	f.recordFault(wire.Received, "nothing was changed")
}

// recordDecision records what a rule did to the request or to another message of the stream.
func (f *faultedRequest) recordDecision(d *decision, dir wire.Direction, text string) {
	f.recorded = f.recorded || d == f.fired
	facts := d.Facts
	facts.Text = text
	f.p.Watcher.schedule(func() {
		f.x.seeSent() // the request comes before its fault in the recording
		f.x.emit(wire.Frame{Dir: dir, Kind: wire.Fault, Fault: &facts})
	})
}

// forward sends the request, and returns the response after the rules were applied.
func (f *faultedRequest) forward() (*http.Response, error) {
	resp, err := f.p.transport.RoundTrip(f.req)
	if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, err
	}
	return f.applyToResponse(resp)
}

// applyToResponse applies rules and filters to a response.
func (f *faultedRequest) applyToResponse(resp *http.Response) (*http.Response, error) {
	session := f.sessionID(resp)
	if f.fired != nil || f.p.Desk.MayHold() || isEventStream(resp) {
		uncompress(resp)
	}
	isStream := isEventStream(resp) && len(compress.Codings(resp.Header)) == 0
	if isStream {
		f.watchEvents(resp)
		resp.ContentLength = -1
		resp.Header.Del("Content-Length") // events may change
	}
	// The events of a stream are changed while they are read.
	err := f.applyToHead(resp)
	if err == nil && !isStream {
		err = f.applyToBody(resp, session)
	}
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	if f.fired != nil {
		f.applyPace(resp)
	}
	if !isStream {
		f.recordUnchangedOnce()
	}
	return resp, nil
}

// sessionID returns the session id of the response, or else of the request, or "".
func (f *faultedRequest) sessionID(resp *http.Response) string {
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		return id
	}
	return f.req.Header.Get("Mcp-Session-Id")
}

// uncompress decodes a response that rules or filters may need to read. A response with an unknown
// coding stays unchanged. Every client accepts a response without a coding (RFC 9110, section
// 12.5.3).
func uncompress(resp *http.Response) {
	codings := compress.Codings(resp.Header)
	if len(codings) == 0 || compress.Check(codings) != nil {
		return
	}
	resp.Body = body{compress.NewReader(resp.Body, codings), resp.Body}
	resp.ContentLength = -1
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
}

// applyToHead applies the rule to the head of the response, or delays or cuts it. An error means
// that the client receives no response.
func (f *faultedRequest) applyToHead(resp *http.Response) error {
	d := f.fired
	if d == nil {
		return nil
	}
	if d.Name == actionDelay {
		f.recordFault(wire.Received, "")
		return pause.For(f.req.Context(), d.Wait)
	}
	if d.Name == actionHang {
		f.recordFault(wire.Received, "")
		return f.waitForClient()
	}
	if d.Name == actionCut && d.N == 0 && !d.Events {
		f.recordFault(wire.Received, "")
		return f.cutConnection()
	}
	if d.Name == actionHeader && !d.OfRequest {
		f.recordFault(wire.Received, "")
		setField(resp.Header, d.Field)
	}
	return nil
}

// applyToBody applies rules and filters to a response that is one message. Without both it only
// reads the server's name.
func (f *faultedRequest) applyToBody(resp *http.Response, session string) error {
	d := f.fired
	codings := compress.Codings(resp.Header)
	isInitialize := f.subject.Message != nil && f.subject.Message.Method == "initialize" && compress.Check(codings) == nil
	isReadable := len(codings) == 0
	isJSON := strings.Contains(resp.Header.Get("Content-Type"), "json")
	mayHold := f.p.Desk.MayHold() && isReadable && isJSON
	if d == nil && !isInitialize && !mayHold {
		return nil
	}
	raw, again, err := readAhead(resp.Body)
	resp.Body = again
	text, _ := compress.Decode(raw, codings, maxMessage)
	m := wire.ParseMessage(text)
	f.learnServer(m, session)
	if mayHold && err == nil && len(raw) <= maxMessage {
		raw, err = f.holdResponse(resp, m, session)
		if err != nil {
			return err
		}
	}
	// After an error, the rest of the body passes as it is read.
	if d == nil || err != nil || len(raw) == 0 || len(raw) > maxMessage {
		return nil
	}
	if d.Name == actionDropResponse {
		f.recordFault(wire.Received, "")
		return f.waitForClient()
	}
	if d.Name == actionCut && d.Events {
		f.recordFault(wire.Received, "the response was not an event stream: cut before it")
		return f.cutConnection()
	}
	if d.Name == actionListChanged || d.Name == actionReorder {
		f.recordFault(wire.Received, "the response was not an event stream: nothing was changed")
		return nil
	}
	if messages, changed := d.changeForClient(raw); changed && isReadable {
		f.recordFault(wire.Received, "")
		setBody(resp, bytes.Join(messages, nil))
	}
	return nil
}

// setBody replaces the body of a response.
func setBody(resp *http.Response, data []byte) {
	resp.Body = body{bytes.NewReader(data), resp.Body}
	resp.ContentLength = int64(len(data))
	resp.Header.Del("Content-Length")
}

// learnServer lets later filters know the server's name.
func (f *faultedRequest) learnServer(m *wire.Message, session string) {
	if f.subject.Message != nil && m.IsResponseTo(f.subject.Message.ID) {
		f.p.Desk.Live.LearnServer(f.subject.Row, session, m)
	}
}

// holdRecorder returns the function that records a held message. If the user answers a server
// request, the client does not receive it, so the function first calls seen, which records the
// request. Seen is nil if the message is recorded anyway.
func (f *faultedRequest) holdRecorder(dir wire.Direction, seen func()) func(wire.HeldFacts, []byte) {
	return func(facts wire.HeldFacts, raw []byte) {
		f.p.Watcher.schedule(func() {
			f.x.seeSent()
			if facts.How == Answered && seen != nil {
				seen()
				raw = nil // seen has recorded it
			}
			f.x.emit(wire.Frame{Dir: dir, Kind: wire.Held, Held: &facts, Raw: raw})
		})
	}
}

// holdRequest lets a user decide about a request. Both results are nil if the request is to be
// sent, perhaps edited. It returns a response if the request is not sent to the server, or an error
// if the client receives no response.
func (f *faultedRequest) holdRequest() (*http.Response, error) {
	m := f.subject.Message
	if m == nil || !f.p.Desk.MayHold() {
		return nil, nil
	}
	candidate := Candidate{Message: m, Row: f.subject.Row, Record: f.holdRecorder(wire.Sent, nil)}
	ruling := f.p.Desk.Hold(f.req.Context(), candidate)
	if err := f.req.Context().Err(); err != nil {
		return nil, err
	}
	switch ruling.How {
	case Dropped:
		if m.Kind == wire.Request {
			return nil, f.waitForClient()
		}
		return f.newResponse(http.StatusAccepted, http.Header{}, nil), nil
	case Answered:
		header := http.Header{"Content-Type": {"application/json"}}
		return f.newResponse(http.StatusOK, header, wire.ComposeResult(m.ID, ruling.Raw)), nil
	case Edited:
		return f.replaceRequest(m, ruling.Raw)
	}
	return nil, nil // it passes unchanged
}

// replaceRequest replaces a request by the user's edited one, and returns nil. Rules do not apply
// to a batch or to invalid JSON: it sends such a request at once and returns the response.
func (f *faultedRequest) replaceRequest(m *wire.Message, edited []byte) (*http.Response, error) {
	mirrorHeader(f.req.Header, m.Raw, edited, f.p.Desk.Encode)
	f.setBody(edited)
	f.subject.Message = parseSingle(edited)
	if f.subject.Message == nil {
		// Without rules, the response is still matched with the original request.
		f.subject.Message = m
		return f.forward()
	}
	return nil, nil
}

// holdResponse lets a user decide about a response that is one message. It returns the message that
// passes, and sets it as the body if it was edited.
func (f *faultedRequest) holdResponse(resp *http.Response, m *wire.Message, session string) ([]byte, error) {
	if m.Kind == wire.Invalid || m.Kind == wire.Batch {
		return m.Raw, nil
	}
	ruling := f.p.Desk.Hold(f.req.Context(),
		Candidate{Message: m, Row: f.rowForMessage(m, session), Record: f.holdRecorder(wire.Received, nil)})
	switch ruling.How {
	case Dropped:
		return nil, f.waitForClient()
	case Edited:
		setBody(resp, ruling.Raw)
		return ruling.Raw, nil
	}
	return m.Raw, nil
}

// rowForMessage returns the row that filters are matched with for a message of the server.
func (f *faultedRequest) rowForMessage(m *wire.Message, session string) *rows.Row {
	if request := f.subject.Message; request != nil && m.IsResponseTo(request.ID) {
		row := *f.subject.Row
		row.Dir = wire.Received
		return &row
	}
	return f.p.Desk.Row(f.target(), session, wire.Received, nil, m)
}

// holdEvent lets a user decide about an event. It returns the event that passes and its data, or
// false if the client receives no event. Without a filter, and for what is no single message, the
// event passes.
func (e *eventRewriter) holdEvent(event []byte, ev sse.Event, m *wire.Message) (passed, data []byte, ok bool) {
	f := e.request
	if !f.p.Desk.MayHold() || m.Kind == wire.Invalid || m.Kind == wire.Batch {
		return event, ev.Data, true
	}
	row := f.rowForMessage(m, e.session)
	recordHold := f.holdRecorder(wire.Received, func() { f.x.seeEvent(ev) })
	record := func(facts wire.HeldFacts, raw []byte) {
		if isRecordedAfter(facts, row) {
			e.recordPassed = func() { recordHold(facts, raw) }
			return
		}
		recordHold(facts, raw)
	}
	ruling := f.p.Desk.Hold(f.req.Context(), Candidate{Message: m, Row: row, Record: record})
	switch ruling.How {
	case Dropped:
		return nil, nil, false
	case Edited:
		return replaceData(event, ruling.Raw), ruling.Raw, true
	case Answered:
		f.respondToServer(e.endpoint, e.session, wire.ComposeResult(m.ID, ruling.Raw))
		return nil, nil, false
	}
	return event, ev.Data, true
}

// respondToServer sends the server a response to its request, in place of the client: to the URL of
// the client's requests, or to the endpoint of the old transport. An endpoint of "" is the former.
// A failure is only recorded: the client does not know about the response.
func (f *faultedRequest) respondToServer(endpoint, session string, response []byte) {
	target, err := f.req.URL.Parse(endpoint)
	if err != nil {
		return
	}
	req := f.req.Clone(context.WithValue(f.req.Context(), ownKey{}, true))
	req.Method = http.MethodPost
	req.URL = target
	req.ContentLength = int64(len(response))
	req.Body = io.NopCloser(bytes.NewReader(response))
	// The fields of the client's own request, which the clone copied, do not fit the response.
	for _, name := range []string{"Last-Event-Id", "Mcp-Method", "Mcp-Name", "Content-Length", "Content-Encoding"} {
		req.Header.Del(name)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := f.p.RoundTrip(req)
	if err == nil { // reading the body records it
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxMessage))
		resp.Body.Close()
	}
}
