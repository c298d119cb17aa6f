package har

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// An entryTraffic is the traffic of one HTTP request, or of one exchange over stdio.
type entryTraffic struct {
	isStdio bool
	// requestHead and responseHead are nil if the frames have no such head.
	requestHead, responseHead *wire.Frame
	sent, received            []*wire.Frame
	closed                    *wire.Frame // the end of the stream; nil without an end
	hidden                    int         // the secrets hidden in the messages
	long                      *longTexts
}

// addFrame sorts a frame into the traffic. It ignores kinds that HAR cannot have.
func (c *entryTraffic) addFrame(f *wire.Frame) {
	switch f.Kind {
	case wire.Head:
		if f.HTTP == nil {
			return
		}
		if f.Dir == wire.Sent {
			c.requestHead = f
		} else {
			c.responseHead = f
		}
	case wire.Body, wire.Event, wire.Noise:
		c.hidden += f.Hidden
		if c.isStdio && f.Kind == wire.Noise { // not a message, though on standard output
			return
		}
		if f.Dir == wire.Sent {
			c.sent = append(c.sent, f)
		} else {
			c.received = append(c.received, f)
		}
	case wire.Closed:
		c.closed = f
	}
}

// makeRequest returns the request of the entry. Without a head, as over stdio, makeEntry sets the
// method and the URL.
func (c *entryTraffic) makeRequest() request {
	r := request{Cookies: []pair{}, Headers: []pair{}, Query: []pair{}, HeadersSize: -1}
	text := joinLines(c.sent)
	r.BodySize = totalBytes(c.sent)
	mime := "application/json"
	if c.requestHead != nil {
		head := c.requestHead.HTTP
		r.Method = head.Method
		r.URL = head.URL
		r.HTTPVersion = head.Proto
		r.Headers = pairsOf(head.Fields)
		r.Query = queryPairs(head.URL)
		if contentType := head.Field("Content-Type"); contentType != "" {
			mime = contentType
		}
	}
	if len(c.sent) > 0 {
		r.Post = &postData{MimeType: mime}
		r.Post.Text, r.Post.Encoding = c.long.encode(text)
	}
	return r
}

// makeResponse returns the response of the entry. Without a response, as after a cut, its status is
// 0.
func (c *entryTraffic) makeResponse() response {
	r := response{Cookies: []pair{}, Headers: []pair{}, HeadersSize: -1, BodySize: totalBytes(c.received)}
	body := joinLines(c.received)
	r.Content.MimeType = "application/json"
	if len(c.received) > 1 {
		r.Content.MimeType = "application/x-ndjson"
	}
	if c.responseHead != nil {
		head := c.responseHead.HTTP
		r.Status = max(head.Status, 0)
		r.StatusText = http.StatusText(head.Status)
		r.HTTPVersion = head.Proto
		r.Headers = pairsOf(head.Fields)
		r.RedirectURL = head.Field("Location")
		r.Content.MimeType = head.Field("Content-Type")
	} else if len(c.received) > 0 {
		r.Status = http.StatusOK // stdio has no status, and a stream was opened before
	}
	// Events, or a part of a stream that is not an event.
	if len(c.received) > 0 && c.received[0].Kind != wire.Body {
		body = eventStream(c.received)
		r.BodySize = -1 // the recording has the events, not the bytes
		if r.Content.MimeType == "" {
			r.Content.MimeType = "text/event-stream"
		}
	}
	// The head of a stream that was opened before is in another entry.
	if c.responseHead == nil && !c.isStdio && len(c.received) > 0 {
		r.Content.MimeType = "text/event-stream"
	}
	r.Content.Size = len(body)
	r.Content.Text, r.Content.Encoding = c.long.encode(body)
	if end := c.closed; end != nil && end.Close != nil && end.Close.How != "end" {
		r.Error = strings.TrimSpace(end.Close.How + " " + end.Close.Text)
	}
	return r
}

// makeEvents returns the server-sent events as browsers list them.
func (c *entryTraffic) makeEvents() []event {
	var all []event
	for _, f := range c.received {
		if f.Kind != wire.Event || f.SSE == nil || f.SSE.IsComment {
			continue
		}
		e := event{
			Time: float64(f.Time.UnixMicro()) / 1e6,
			Name: cmp.Or(f.SSE.Event, "message"),
			Data: c.long.shorten(f.Raw),
		}
		if f.SSE.ID != nil {
			e.ID = *f.SSE.ID
		}
		all = append(all, e)
	}
	return all
}

// makeTimings returns the timings by the times of the frames. The client's own measurements, if
// any, take precedence. An unknown phase is -1. Wait and Receive are then 0, because HAR requires
// them.
func (c *entryTraffic) makeTimings() timings {
	t := timings{Blocked: -1, DNS: -1, Connect: -1, SSL: -1}
	var begin, head, end time.Time
	for _, f := range append(append([]*wire.Frame{c.requestHead}, c.sent...), c.responseHead) {
		if f != nil && begin.IsZero() {
			begin = f.Time
		}
	}
	if n := len(c.received); n > 0 {
		head = c.received[0].Time
		end = c.received[n-1].Time
	}
	if c.closed != nil && c.closed.Time.After(end) && c.closed.Dir == wire.Received {
		end = c.closed.Time
	}
	if c.responseHead != nil {
		head = c.responseHead.Time
	}
	if begin.IsZero() {
		begin = head
	}
	t.Wait = between(begin, head)
	t.Receive = between(head, end)
	if c.responseHead != nil && c.responseHead.HTTP.Timing != nil {
		t.setMeasured(*c.responseHead.HTTP.Timing)
	}
	return t
}

// setMeasured sets the timings that the client measured for its connection. A step that did not
// happen, because the connection was open, stays unknown.
func (t *timings) setMeasured(m wire.Timing) {
	if m.DNS > 0 {
		t.DNS = milliseconds(m.DNS)
	}
	if m.Connect > 0 {
		t.Connect = milliseconds(m.Connect + max(m.TLS, 0)) // HAR counts TLS in Connect too
	}
	if m.TLS > 0 {
		t.SSL = milliseconds(m.TLS)
	}
	t.Wait = milliseconds(max(m.FirstByte-max(m.DNS, 0)-max(m.Connect, 0)-max(m.TLS, 0), 0))
}

// between returns the milliseconds between two times; 0 if one is unknown or the clock went
// backwards.
func between(from, to time.Time) float64 {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return milliseconds(max(to.Sub(from), 0))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// pairsOf returns header fields as pairs of HAR.
func pairsOf(fields []wire.Field) []pair {
	out := make([]pair, len(fields))
	for i, f := range fields {
		out[i] = pair(f)
	}
	return out
}

// queryPairs returns the parameters of a URL in their order. A parameter that cannot be decoded stays as
// it is.
func queryPairs(link string) []pair {
	out := []pair{}
	_, rest, _ := strings.Cut(link, "?")
	rest, _, _ = strings.Cut(rest, "#")
	for _, part := range strings.Split(rest, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		out = append(out, pair{unescapeQuery(name), unescapeQuery(value)})
	}
	return out
}

func unescapeQuery(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// totalBytes returns the number of bytes in the frames.
func totalBytes(frames []*wire.Frame) int {
	n := 0
	for _, f := range frames {
		n += f.Bytes()
	}
	return n
}

// joinLines returns messages as they are on standard output, each on its own line. A single message has
// no line feed.
func joinLines(frames []*wire.Frame) []byte {
	if len(frames) == 1 {
		return frames[0].Raw
	}
	var b []byte
	for i, f := range frames {
		if i > 0 {
			b = append(b, '\n')
		}
		b = append(b, f.Raw...)
	}
	return b
}

// eventStream writes events as a stream has them (WHATWG HTML, section 9.2). The parser has dropped
// comments beside data and the kind of line ends.
func eventStream(frames []*wire.Frame) []byte {
	var b bytes.Buffer
	for _, f := range frames {
		if f.Kind == wire.Noise {
			b.Write(f.Raw) // bytes of the stream that are no event
			continue
		}
		facts := f.SSE
		if facts == nil {
			facts = &sse.Facts{}
		}
		if facts.Event != "" && facts.Event != "message" {
			b.WriteString("event: " + oneLine(facts.Event) + "\n")
		}
		if facts.ID != nil {
			b.WriteString("id: " + oneLine(*facts.ID) + "\n")
		}
		if facts.Retry != nil && *facts.Retry >= 0 {
			b.WriteString("retry: " + strconv.FormatInt(facts.Retry.Milliseconds(), 10) + "\n")
		}
		mark := "data: "
		if facts.IsComment {
			mark = ":"
		}
		b.Grow(len(f.Raw) + len(mark) + 2)
		for line := range bytes.SplitSeq(f.Raw, []byte("\n")) {
			b.WriteString(mark)
			b.Write(line)
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func oneLine(text string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(text) }
