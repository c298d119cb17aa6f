package har

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/sliceutil"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// Imported counts the entries of an archive.
type Imported struct {
	// Entries counts the entries that became frames. The other entries became no frames: NotMCP are
	// no MCP, WebSockets have messages of MCP on a WebSocket, and Unreadable are no entries of HAR.
	Entries, NotMCP, WebSockets, Unreadable int
	// WithoutRequestBody and WithoutResponseBody count the Entries whose body is missing or incomplete
	// in the archive. WithoutTime counts the Entries without a readable time; they got the time of the
	// entry before.
	WithoutRequestBody, WithoutResponseBody, WithoutTime int
}

// All returns the number of all entries.
func (i Imported) All() int { return i.Entries + i.NotMCP + i.WebSockets + i.Unreadable }

// An ArchiveError is the error for a file that is no HTTP archive. Flows is set for a file in
// mitmproxy's own format, UTF16 for text in UTF-16.
type ArchiveError struct {
	Flows, UTF16 bool
	Err          error
}

func (e *ArchiveError) Error() string {
	if e.Flows {
		return "a flow file of mitmproxy, not an HTTP archive"
	}
	if e.UTF16 {
		return "in UTF-16, and recordings and HTTP archives are in UTF-8"
	}
	return "not an HTTP archive: " + e.Err.Error()
}

// IsUTF16 reports whether a text begins with the byte order mark of UTF-16.
func IsUTF16(begin []byte) bool {
	return bytes.HasPrefix(begin, []byte("\xFF\xFE")) || bytes.HasPrefix(begin, []byte("\xFE\xFF"))
}

func (e *ArchiveError) Unwrap() error { return e.Err }

// isFlowFile reports whether a file begins as a flow file of mitmproxy: with a length and a colon.
func isFlowFile(begin []byte) bool {
	rest := bytes.TrimLeft(begin, "0123456789")
	return len(rest) < len(begin) && bytes.HasPrefix(rest, []byte(":"))
}

// Import reads an archive entry by entry, and writes the entries that are MCP as a capture without
// secrets. HTTP entries become the recording of a proxy, stdio entries, as Write writes them, the
// recording of a tap. creator is the version of mcpc. It returns *ArchiveError and the errors of w.
func Import(w io.Writer, r io.Reader, creator string, secrets *redact.Secrets) (Imported, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	begin, _ := in.Peek(16)
	if isFlowFile(begin) {
		return Imported{}, &ArchiveError{Flows: true}
	}
	if IsUTF16(begin) {
		return Imported{}, &ArchiveError{UTF16: true}
	}
	if bytes.HasPrefix(begin, []byte(sse.ByteOrderMark)) { // some programs write one
		_, _ = in.Discard(len(sse.ByteOrderMark))
	}
	x := importer{
		w:         bufio.NewWriterSize(w, 64<<10),
		creator:   creator,
		secrets:   secrets,
		runs:      map[string]*run{},
		endpoints: map[string]bool{},
	}
	err := eachEntry(&partReader{Reader: in, maxBytes: maxPartBytes}, x.addEntry)
	if err == nil {
		err = x.flush()
	}
	if err == nil {
		err = x.endRuns()
	}
	flushErr := x.w.Flush() // after an error the entries before it are kept
	if err == nil {
		err = flushErr
	}
	return x.Imported, err
}

// endRuns writes the End of each run: nothing follows the archive.
func (x *importer) endRuns() error {
	end := capture.AppendEnd(nil, capture.End{Kind: wire.OK, Many: true})
	for n := range x.runCount {
		if _, err := x.w.Write(capture.AddMark(end, markOf(n+1))); err != nil {
			return err
		}
	}
	return nil
}

// maxPartBytes bounds an entry, a decoded body and any other part of an archive, because each is
// held in memory. Tests set a smaller limit.
var maxPartBytes = 256 << 20

var errLargeBody = errors.New("the decoded body is too large")

// A partReader reads an archive and fails at a part of more than maxBytes bytes.
type partReader struct {
	io.Reader
	maxBytes, partBytes int
}

// Read reads at most 32 KiB, so that little is read ahead of the next part.
func (r *partReader) Read(b []byte) (int, error) {
	if r.partBytes > r.maxBytes {
		return 0, fmt.Errorf("a part of it is larger than %d MiB", r.maxBytes>>20)
	}
	n, err := r.Reader.Read(b[:min(len(b), 32<<10)])
	r.partBytes += n
	return n, err
}

// eachEntry calls visit for each element of log.entries. It returns an error of visit as it is, and
// an *ArchiveError if the archive cannot be read or has no log.entries.
func eachEntry(in *partReader, visit func(raw json.RawMessage) error) error {
	found := false
	d := json.NewDecoder(in)
	err := in.eachMember(d, "log", func() error {
		return in.eachMember(d, "entries", func() error {
			found = true
			begin, err := d.Token()
			if err != nil {
				return err
			}
			if begin != json.Delim('[') {
				return errors.New("log.entries must be an array")
			}
			for d.More() {
				var raw json.RawMessage
				in.partBytes = 0
				if err := d.Decode(&raw); err != nil {
					return err
				}
				if err := visit(raw); err != nil {
					return writeError{err}
				}
			}
			_, err = d.Token()
			return err
		})
	})
	var failed writeError
	if errors.As(err, &failed) {
		return failed.error
	}
	// The archive ends before its JSON does.
	if errors.Is(err, io.EOF) {
		return &ArchiveError{Err: io.ErrUnexpectedEOF}
	}
	if err == nil && !found {
		return &ArchiveError{Err: errors.New("it has no log.entries")}
	}
	if err != nil {
		return &ArchiveError{Err: err}
	}
	return nil
}

// A writeError is an error of visit, to distinguish it from errors of reading.
type writeError struct{ error }

// eachMember reads the next value, an object, and calls found at the value of the member with a
// name; found must read it. It skips other members.
func (r *partReader) eachMember(d *json.Decoder, name string, found func() error) error {
	begin, err := d.Token()
	if err != nil {
		return err
	}
	if begin != json.Delim('{') {
		return errors.New("a JSON object was expected")
	}
	for d.More() {
		r.partBytes = 0
		key, err := d.Token()
		if err != nil {
			return err
		}
		if key == name {
			err = found()
		} else {
			var other json.RawMessage
			err = d.Decode(&other)
		}
		if err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// A readEntry is an entry that any program may have written.
type readEntry struct {
	StartedAt string `json:"startedDateTime"`
	// Time is the duration in milliseconds.
	Time     float64      `json:"time"`
	Request  readRequest  `json:"request"`
	Response readResponse `json:"response"`
	Timings  timings      `json:"timings"`
	Events   []event      `json:"_eventSourceMessages"`
	Messages []struct {
		Data string `json:"data"`
	} `json:"_webSocketMessages"`
	Facts *mcpFacts `json:"_mcp"`
	// Started is StartedAt as a time, or the time of the entry before if hasNoTime is set.
	Started   time.Time `json:"-"`
	hasNoTime bool
	// unreadRequest and unreadResponse are the reasons why a body could not be decoded, or is
	// missing.
	unreadRequest, unreadResponse error
}

// A readRequest is a request of any program.
type readRequest struct {
	Method      string `json:"method"`
	URL         string `json:"url"`
	HTTPVersion string `json:"httpVersion"`
	Headers     []pair `json:"headers"`
	// BodySize is 0 without a body, and -1 if the size is unknown.
	BodySize looseNumber `json:"bodySize"`
	Post     *struct {
		Text looseText `json:"text"`
		// HAR has no encoding here: mcpc writes one member, and other programs another.
		Encoding       string `json:"_encoding"`
		OthersEncoding string `json:"encoding"`
	} `json:"postData"`
}

// A readResponse is a response of any program.
type readResponse struct {
	Status      looseNumber `json:"status"`
	HTTPVersion string      `json:"httpVersion"`
	Headers     []pair      `json:"headers"`
	Content     struct {
		Size     looseNumber `json:"size"`
		MimeType string      `json:"mimeType"`
		Text     looseText   `json:"text"`
		Encoding string      `json:"encoding"`
	} `json:"content"`
	Error string `json:"_error"`
}

// A looseText is a string, or JSON that a program wrote in place of its text.
type looseText string

func (t *looseText) UnmarshalJSON(raw []byte) error {
	if text, isText := jsonraw.Text(raw); isText || string(raw) == "null" {
		*t = looseText(text)
	} else {
		*t = looseText(raw)
	}
	return nil
}

// A looseNumber is a whole number, or a string of one. It is 0 if it is anything else.
type looseNumber int

func (n *looseNumber) UnmarshalJSON(raw []byte) error {
	value, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err == nil && math.Abs(value) < 1e15 {
		*n = looseNumber(value)
	}
	return nil
}

// unmarshalEntry parses an entry. A member of a wrong type counts as missing. It reports false if
// the entry is not JSON, or has a wrong type and no URL.
func unmarshalEntry(raw json.RawMessage) (e readEntry, ok bool) {
	err := json.Unmarshal(raw, &e)
	_, wrongType := errors.AsType[*json.UnmarshalTypeError](err)
	return e, err == nil || wrongType && e.Request.URL != ""
}

// startLayouts are the forms of a time: of RFC 3339, and without a zone, which is taken for UTC.
var startLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05.999999999-0700"}

// setStart sets the time when the entry began. An entry without a readable time gets the time of
// the entry before.
func (x *importer) setStart(e *readEntry) {
	for _, layout := range startLayouts {
		if at, err := time.Parse(layout, e.StartedAt); err == nil {
			e.Started = at
			x.lastStart = at
			return
		}
	}
	e.hasNoTime = true
	e.Started = x.lastStart
}

// errNotInArchive is the reason why a body cannot be read that the archive does not have.
var errNotInArchive = errors.New("the archive does not have the body")

// errNoResponse is the reason why the body of a missing response cannot be read.
var errNoResponse = fmt.Errorf("%w: the entry has no response", errNotInArchive)

// readBodies decodes the bodies of an entry, and returns the request's and the response's. It sets
// unreadRequest and unreadResponse to the reasons why a body cannot be read.
func (e *readEntry) readBodies() (sent, received []byte) {
	if post := e.Request.Post; post != nil {
		encoding := post.Encoding
		if encoding == "" {
			encoding = post.OthersEncoding
		}
		sent, e.unreadRequest = bodyOf(string(post.Text), encoding, e.Request.Headers)
	}
	mustHaveBody := e.Request.Method == http.MethodPost && e.Request.BodySize != 0
	if e.unreadRequest == nil && mustHaveBody && len(sent) == 0 {
		e.unreadRequest = errNotInArchive
	}
	content := e.Response.Content
	received, e.unreadResponse = bodyOf(string(content.Text), content.Encoding, e.Response.Headers)
	if !e.Response.exists() {
		e.unreadResponse = errNoResponse
	} else if e.unreadResponse == nil && len(e.Events) == 0 {
		e.unreadResponse = e.missingBody(received)
	}
	return sent, received
}

// missingBody returns an error if the archive does not have the body of the response, or only the
// beginning of it.
func (e *readEntry) missingBody(received []byte) error {
	size := int(e.Response.Content.Size) // -1 is unknown
	if len(received) == 0 {
		if size > 0 || size < 0 && e.Response.mayHaveBody() {
			return errNotInArchive
		}
		return nil
	}
	// A body that is valid JSON is complete, whatever the archive says about its size.
	isCut := len(received) < size && !isStream(e) && jsonraw.Valid(received) != nil
	if isCut {
		return fmt.Errorf("%w: it has %d of %d bytes", errNotInArchive, len(received), size)
	}
	return nil
}

// exists reports whether the entry has a response. Every program writes a response with its header
// fields.
func (r *readResponse) exists() bool { return r.Status != 0 || r.Headers != nil || r.Error != "" }

// mayHaveBody reports whether the response may have a body that the archive omits. HAR has the size
// -1 for an unknown body.
func (r *readResponse) mayHaveBody() bool {
	switch r.Status {
	case http.StatusAccepted, http.StatusNoContent, http.StatusNotModified:
		return false
	}
	return r.Status >= http.StatusOK
}

// An importer writes entries as frames.
type importer struct {
	Imported
	w        *bufio.Writer
	creator  string
	secrets  *redact.Secrets
	runs     map[string]*run
	runCount int
	// endpoints are the URLs that messages were sent to.
	endpoints map[string]bool
	// lastStart is when the last entry began.
	lastStart time.Time
	// waiting are the entries that are not written yet, of waitingBytes bytes. writesAtOnce is set once
	// entries are written in the order of the archive.
	waiting      []*readEntry
	waitingBytes int
	writesAtOnce bool
}

// maxSortedBytes is how many bytes of entries are sorted by time. Later entries are written in the
// order of the archive.
const maxSortedBytes = 64 << 20

// addEntry adds an entry. Entries are sorted by time, because some programs write the newest first.
func (x *importer) addEntry(raw json.RawMessage) error {
	e, ok := unmarshalEntry(raw)
	if !ok {
		x.Unreadable++
		return nil
	}
	x.setStart(&e)
	x.writesAtOnce = x.writesAtOnce || e.Facts != nil // as mcpc wrote it
	x.waiting = append(x.waiting, &e)
	x.waitingBytes += len(raw)
	if x.writesAtOnce || x.waitingBytes > maxSortedBytes {
		return x.flush()
	}
	return nil
}

// flush writes the waiting entries, by time unless entries are written in the order of the archive.
// All later entries are.
func (x *importer) flush() error {
	if !x.writesAtOnce {
		sliceutil.Sort(x.waiting, func(a, b *readEntry) int { return a.Started.Compare(b.Started) })
	}
	for _, e := range x.waiting {
		if err := x.writeEntry(e); err != nil {
			return err
		}
	}
	x.waiting = nil
	x.waitingBytes = 0
	x.writesAtOnce = true
	return nil
}

// A run is what one recorder would have recorded: all HTTP traffic, or one server over stdio.
type run struct {
	mark string
	seq  uint64
	// conns are the numbers of conversations, by the server and the session.
	conns    map[string]int
	lastConn int
	// refused are the conversations by the server that refused to open them with its last response.
	refused    map[string]int
	lastStream int
	// notificationCounts are the notifications over stdio, by their hash.
	notificationCounts map[[sha256.Size]byte]int
	// requestIDs are the ids of the requests of exchanges, by their number in the recording that was exported.
	requestIDs map[string]string
}

// writeEntry writes the frames of an entry, or counts an entry that is no MCP. An entry that mcpc
// wrote becomes a part of a recording of the same kind as it was exported from.
func (x *importer) writeEntry(e *readEntry) error {
	sent, received := e.readBodies()
	if len(e.Messages) > 0 && isMessage([]byte(e.Messages[0].Data)) {
		x.WebSockets++
		return nil
	}
	if !x.isMCP(e, sent, received) {
		x.NotMCP++
		return nil
	}
	x.Entries++
	if e.hasNoTime {
		x.WithoutTime++
	}
	by := capture.ByImport
	isStdio := strings.HasPrefix(e.Request.URL, "stdio://local/")
	target := ""
	if isStdio {
		by = capture.ByTap
		target, _ = url.PathUnescape(strings.TrimPrefix(e.Request.URL, "stdio://local/"))
	}
	switch {
	case e.Facts == nil:
	case e.Facts.By == capture.ByCommand:
		by = e.Facts.By
		target = e.Facts.Target
	case e.Facts.By == capture.ByProxy && !isStdio:
		by = e.Facts.By
	}
	lines := linesOf(sent)
	if isStdio && len(lines) > 0 && isOpening(lines[0]) { // another process
		delete(x.runs, by+target)
	}
	r, err := x.findRun(target, by, e.Started)
	if err != nil {
		return err
	}
	// The entry of a pipe has what belongs to no request: only what no other entry has is new.
	if isStdio && e.Facts != nil && e.Facts.Method == rows.MethodPipe {
		err = x.writeStdio(r, e, lines, r.removeSeen(linesOf(received)))
	} else if isStdio {
		err = x.writeStdio(r, e, lines, linesOf(received))
	} else {
		err = x.writeHTTP(r, e, sent, received)
	}
	if err == nil && by == capture.ByCommand && len(lines) > 0 {
		err = x.writeEnd(r, e.Facts, wire.ParseMessage(lines[0]))
	}
	return err
}

// writeEnd writes the outcome of a command's request if its messages do not show it.
func (x *importer) writeEnd(r *run, facts *mcpFacts, request *wire.Message) error {
	if request.ID == nil || slices.Contains(exchange.OtherChannels, facts.Channel) { // no failure
		return nil
	}
	end := capture.End{
		Exit:   facts.Exit,
		ID:     request.ID,
		Kind:   wire.Kind(facts.Channel),
		Method: x.secrets.Text(facts.Method),
		Name:   x.secrets.Text(facts.Name),
		Text:   x.secrets.Text(facts.Text),
	}
	_, err := x.w.Write(capture.AddMark(capture.AppendEnd(nil, end), r.mark))
	return err
}

// isMCP reports whether an entry is MCP: its messages are JSON-RPC, or its header fields or its URL
// belong to MCP.
func (x *importer) isMCP(e *readEntry, sent, received []byte) bool {
	endpoint, _, _ := strings.Cut(e.Request.URL, "?")
	if isMessage(sent) {
		x.endpoints[endpoint] = true
		return true
	}
	for _, f := range slices.Concat(e.Request.Headers, e.Response.Headers) {
		if name := strings.ToLower(f.Name); name == "mcp-session-id" || name == "mcp-protocol-version" {
			return true
		}
	}
	// A GET or DELETE of an endpoint is MCP, a preflight request of a browser is not.
	if e.Facts != nil || x.endpoints[endpoint] && e.Request.Method != "OPTIONS" {
		return true
	}
	if !isStream(e) {
		return false
	}
	hasMCPEvent := slices.ContainsFunc(e.Events, func(v event) bool {
		return v.Name == "endpoint" || isMessage([]byte(v.Data))
	})
	return hasMCPEvent ||
		bytes.Contains(received, []byte("event: endpoint")) || bytes.Contains(received, []byte(`"jsonrpc"`))
}

// isMessage reports whether raw is a JSON-RPC message, or a batch that begins with one.
func isMessage(raw []byte) bool {
	switch m := wire.ParseMessage(raw); m.Kind {
	case wire.Request, wire.Notification, wire.Response:
		return true
	case wire.Batch:
		return len(m.Items) > 0 && isMessage(m.Items[0].Raw)
	}
	return false
}

// isStream reports whether the response is an event stream. The response's own Content-Type takes
// precedence over the archive's type of the body.
func isStream(e *readEntry) bool {
	kind := e.Response.Content.MimeType
	for _, f := range e.Response.Headers {
		if strings.EqualFold(f.Name, "Content-Type") {
			kind = f.Value
		}
	}
	return wire.MediaType(kind) == "text/event-stream" || len(e.Events) > 0
}

// findRun returns the run of a target that was recorded in the way of by. It writes the head of a
// new run, which began at a time.
func (x *importer) findRun(target, by string, began time.Time) (*run, error) {
	r := x.runs[by+target]
	if r != nil {
		return r, nil
	}
	x.runCount++
	r = &run{
		mark:               markOf(x.runCount),
		conns:              map[string]int{},
		refused:            map[string]int{},
		notificationCounts: map[[sha256.Size]byte]int{},
		requestIDs:         map[string]string{},
	}
	x.runs[by+target] = r
	head := capture.Head{Mcpc: x.creator, Started: began, Target: x.secrets.Text(target), Mark: r.mark, By: by}
	_, err := x.w.Write(capture.AppendHead(nil, head))
	return r, err
}

// markOf returns the mark of the run with number n.
func markOf(n int) string { return fmt.Sprintf("h%d", n) }

// writeFrame writes a frame without its secrets.
func (x *importer) writeFrame(r *run, f wire.Frame) error {
	r.seq++
	f.Seq = r.seq
	_, err := x.w.Write(capture.AddMark(capture.AppendFrame(nil, x.secrets.Frame(f)), r.mark))
	return err
}

// countMissing counts the bodies that the archive does not have.
func (x *importer) countMissing(e *readEntry) {
	if errors.Is(e.unreadRequest, errNotInArchive) {
		x.WithoutRequestBody++
	}
	if errors.Is(e.unreadResponse, errNotInArchive) {
		x.WithoutResponseBody++
	}
}

// writeHTTP writes the frames of an HTTP request and its response.
func (x *importer) writeHTTP(r *run, e *readEntry, sent, received []byte) error {
	r.lastStream++
	conn := r.connOf(e, sent, received)
	x.countMissing(e)
	frames := slices.Concat(r.requestFrames(e, sent), e.responseFrames(received))
	for _, f := range frames {
		f.Stream = r.lastStream
		f.Conn = conn
		if err := x.writeFrame(r, f); err != nil {
			return err
		}
	}
	return nil
}

// requestFrames returns the head and the body of the request. A body that cannot be read is Noise
// with the reason.
func (r *run) requestFrames(e *readEntry, sent []byte) []wire.Frame {
	head := &wire.HTTPHead{
		Method: e.Request.Method,
		URL:    e.Request.URL,
		Proto:  e.Request.HTTPVersion,
		Fields: fieldsOf(e.Request.Headers),
	}
	frames := []wire.Frame{{Dir: wire.Sent, Kind: wire.Head, Time: e.Started, HTTP: head}}
	if e.unreadRequest != nil {
		return append(frames, wire.Frame{
			Dir: wire.Sent, Kind: wire.Noise, Time: e.Started, Raw: []byte{}, DecodeError: e.unreadRequest.Error(),
		})
	}
	if e.Request.Post == nil {
		return frames
	}
	return append(frames, wire.Frame{
		Dir: wire.Sent, Kind: wire.Body, Time: e.Started, Raw: sent, PreviousID: r.repeatedID(e, sent),
	})
}

// responseFrames returns the head, the body or the events, and the end of the response. A body that
// cannot be read is Noise with the reason. Frames without a recorded time have the time of the head
// or of the end.
func (e *readEntry) responseFrames(received []byte) []wire.Frame {
	var frames []wire.Frame
	headTime, endTime := e.responseTimes()
	add := func(kind wire.FrameKind, at time.Time, f wire.Frame) {
		f.Dir = wire.Received
		f.Kind = kind
		f.Time = at
		frames = append(frames, f)
	}
	if e.Response.Status > 0 {
		head := &wire.HTTPHead{Status: int(e.Response.Status), Proto: e.Response.HTTPVersion}
		head.Fields = fieldsOf(e.Response.Headers)
		add(wire.Head, headTime, wire.Frame{HTTP: head})
	}
	switch {
	case e.unreadResponse != nil:
		size := max(int(e.Response.Content.Size), 0)
		add(wire.Noise, endTime, wire.Frame{Raw: []byte{}, Size: size, DecodeError: e.unreadResponse.Error()})
	case isStream(e):
		for _, f := range eventsOf(e, received, headTime, endTime) {
			add(f.Kind, f.Time, f)
		}
	case len(received) > 0:
		add(wire.Body, endTime, wire.Frame{Raw: received})
	}
	add(wire.Closed, endTime, wire.Frame{Close: e.Response.closeFacts()})
	return frames
}

// closeFacts says how the response ended. mcpc writes "cut TEXT" or "cancelled TEXT" as its error;
// other programs write any text.
func (r *readResponse) closeFacts() *wire.CloseFacts {
	how, text, _ := strings.Cut(r.Error, " ")
	if how == "cut" || how == "cancelled" {
		return &wire.CloseFacts{By: wire.Received, How: how, Text: text}
	}
	hasNoHead := r.Status == 0 && r.exists()
	if how != "" || hasNoHead {
		return &wire.CloseFacts{By: wire.Received, How: "cut", Text: r.Error}
	}
	return &wire.CloseFacts{By: wire.Received, How: "end"}
}
