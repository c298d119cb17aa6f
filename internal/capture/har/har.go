package har

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"unicode/utf8"

	"mcpc/internal/capture/rows"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// Browsers read HAR, version 1.2 (http://www.softwareishard.com/blog/har-12-spec). An entry is one
// HTTP request with its response; over stdio, which HAR does not know, an entry is one exchange.
// Facts without a member in HAR are in members that begin with "_", which readers skip.

// An entry is an entry of an archive that mcpc writes.
type entry struct {
	Started  string   `json:"startedDateTime"`
	Time     float64  `json:"time"`
	Request  request  `json:"request"`
	Response response `json:"response"`
	Cache    struct{} `json:"cache"`
	Timings  timings  `json:"timings"`
	Comment  string   `json:"comment,omitempty"`
	// Resource is the type that Chrome lists the entry under. Events are the events of a stream.
	Resource string   `json:"_resourceType"`
	Events   []event  `json:"_eventSourceMessages,omitempty"`
	Facts    mcpFacts `json:"_mcp"`

	long *longTexts
}

type request struct {
	Method      string    `json:"method"`
	URL         string    `json:"url"`
	HTTPVersion string    `json:"httpVersion"`
	Cookies     []pair    `json:"cookies"`
	Headers     []pair    `json:"headers"`
	Query       []pair    `json:"queryString"`
	Post        *postData `json:"postData,omitempty"`
	HeadersSize int       `json:"headersSize"`
	BodySize    int       `json:"bodySize"`
}

type postData struct {
	MimeType string `json:"mimeType"`
	Text     string `json:"text"`
	// Encoding is "base64" if the bytes are no text. HAR has no member for it.
	Encoding string `json:"_encoding,omitempty"`
}

type response struct {
	Status      int     `json:"status"`
	StatusText  string  `json:"statusText"`
	HTTPVersion string  `json:"httpVersion"`
	Cookies     []pair  `json:"cookies"`
	Headers     []pair  `json:"headers"`
	Content     content `json:"content"`
	RedirectURL string  `json:"redirectURL"`
	HeadersSize int     `json:"headersSize"`
	BodySize    int     `json:"bodySize"`
	// Error describes how the stream ended, such as "cut TEXT". It is "" if the stream ended
	// regularly.
	Error string `json:"_error,omitempty"`
}

type content struct {
	Size     int    `json:"size"`
	MimeType string `json:"mimeType"`
	Text     string `json:"text,omitempty"`
	Encoding string `json:"encoding,omitempty"`
}

// An event is one server-sent event. Time is in seconds since 1970.
type event struct {
	Time float64 `json:"time"`
	Name string  `json:"eventName"`
	ID   string  `json:"eventId"`
	Data string  `json:"data"`
}

type pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// timings are in milliseconds; -1 means unknown. SSL is also a part of Connect, as HAR requires.
type timings struct {
	Blocked float64 `json:"blocked"`
	DNS     float64 `json:"dns"`
	Connect float64 `json:"connect"`
	SSL     float64 `json:"ssl"`
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
}

// mcpFacts describe the exchange and its recording.
type mcpFacts struct {
	Exchange string `json:"exchange"`
	By       string `json:"by,omitempty"`
	Target   string `json:"target,omitempty"`
	Method   string `json:"method"`
	Name     string `json:"name,omitempty"`
	ID       string `json:"id,omitempty"`
	Channel  string `json:"channel"`
	Exit     int    `json:"exit"`
	Code     int64  `json:"code,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	Notes    string `json:"notes,omitempty"`
	Text     string `json:"text,omitempty"`
	// Hidden is the number of secrets that were hidden in the messages.
	Hidden   int      `json:"hidden,omitempty"`
	Findings []string `json:"findings,omitempty"`
}

// Write writes rows as one HAR document. creator is the version of mcpc. It reads the captures of
// the rows. The list of pages is empty, for viewers that require one, such as Firefox's.
func Write(w io.Writer, creator string, rows []*rows.Row) error {
	version := string(jsonraw.Quote(creator))
	begin := `{"log":{"version":"1.2","creator":{"name":"mcpc","version":` + version + `},"pages":[],"entries":[`
	if _, err := io.WriteString(w, begin); err != nil {
		return err
	}
	h := writer{w: w, written: map[requestKey]bool{}}
	for _, row := range rows {
		if row.Within != nil && len(rows) > 1 {
			continue // the entry of that request has its messages
		}
		if err := h.writeRow(row); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n]}}\n")
	return err
}

// A requestKey identifies an HTTP request of a capture. The requests of a batch are several rows
// and one entry.
type requestKey struct {
	run          rows.RunID
	conn, stream int
}

// A writer writes the entries of an archive.
type writer struct {
	w       io.Writer
	written map[requestKey]bool
	entries int
	buf     []byte
}

// writeRow writes an entry for each HTTP request of a row, unless another row of the same batch
// wrote it.
func (h *writer) writeRow(row *rows.Row) error {
	frames, err := row.Frames()
	if err != nil {
		return err
	}
	link := "" // the URL of the row's first request
	for _, part := range groupByStream(frames) {
		first := part[0]
		key := requestKey{row.RunID(), first.Conn, first.Stream}
		if first.Stream > 0 && h.written[key] {
			continue
		}
		h.written[key] = true
		e := makeEntry(row, part, link)
		if link == "" {
			link = e.Request.URL
		}
		if err := h.writeEntry(e); err != nil {
			return err
		}
	}
	return nil
}

// writeEntry writes an entry, with its long texts in place of their marks.
func (h *writer) writeEntry(e entry) error {
	var b bytes.Buffer
	if h.entries > 0 {
		b.WriteByte(',')
	}
	b.WriteByte('\n')
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return err
	}
	h.entries++
	// The marks occur in the order of the texts.
	rest := bytes.TrimRight(b.Bytes(), "\n")
	for _, text := range e.long.texts {
		before, after, _ := bytes.Cut(rest, []byte(e.long.mark))
		if _, err := h.w.Write(before); err != nil {
			return err
		}
		for piece := range slices.Chunk(text, pieceBytes) {
			h.buf = jsonraw.AppendEscaped(h.buf[:0], piece)
			if _, err := h.w.Write(h.buf); err != nil {
				return err
			}
		}
		rest = after
	}
	_, err := h.w.Write(rest)
	return err
}

// pieceBytes is the length of the pieces that a long text is written in.
const pieceBytes = 192 << 10

// longTextBytes is the minimum size of a text that is written in pieces.
const longTextBytes = 8 << 20

// longTexts are texts that are too long to be encoded with their entry. Until it is written, a mark
// replaces each of them, in the order of the entry.
type longTexts struct {
	mark  string
	texts [][]byte
}

// shorten returns raw as text, or a mark in its place if it is long.
func (l *longTexts) shorten(raw []byte) string {
	if len(raw) < longTextBytes || !utf8.Valid(raw) {
		return string(raw)
	}
	if l.mark == "" {
		l.mark = rand.Text()
	}
	l.texts = append(l.texts, raw)
	return l.mark
}

// encode returns raw as text, or in base64 if it is not UTF-8.
func (l *longTexts) encode(raw []byte) (text, encoding string) {
	if utf8.Valid(raw) {
		return l.shorten(raw), ""
	}
	return base64.StdEncoding.EncodeToString(raw), "base64"
}

// groupByStream groups frames by their HTTP request, in the order of the requests' beginnings.
func groupByStream(frames []wire.Frame) [][]wire.Frame {
	indexes := map[int]int{}
	var parts [][]wire.Frame
	for _, f := range frames {
		i, ok := indexes[f.Stream]
		if !ok {
			i = len(parts)
			indexes[f.Stream] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], f)
	}
	return parts
}

// makeEntry returns the entry of the frames of one HTTP request, or of one exchange over stdio. link
// is its URL if the frames have no request: the stream was opened before, and its opening does not
// belong to the exchange.
func makeEntry(row *rows.Row, frames []wire.Frame, link string) entry {
	traffic := entryTraffic{isStdio: frames[0].Stream == 0, long: &longTexts{}}
	for i := range frames {
		traffic.addFrame(&frames[i])
	}
	e := entry{
		Started:  frames[0].Time.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		Resource: "fetch",
		Facts:    factsOf(row),
		long:     traffic.long,
	}
	e.Request = traffic.makeRequest()
	e.Response = traffic.makeResponse()
	e.Timings = traffic.makeTimings()
	e.Facts.Hidden = traffic.hidden
	e.Events = traffic.makeEvents()
	if len(e.Events) > 0 {
		e.Resource = "eventsource"
	}
	if traffic.isStdio {
		e.Comment = "stdio: lines of standard input and output; there was no HTTP"
		e.Request.Method = http.MethodPost
		e.Request.URL = "stdio://local/" + url.PathEscape(row.Target)
	} else if traffic.requestHead == nil {
		e.Comment = "came on a stream that was opened before; the URL is that of the exchange's request"
		e.Request.Method = http.MethodGet
		e.Request.URL = link
	}
	if u, err := url.Parse(e.Request.URL); err != nil || !u.IsAbs() {
		e.Request.URL = "about:invalid#" + url.PathEscape(e.Request.URL) // readers refuse an invalid URL
	}
	// HAR requires a method.
	if e.Request.Method == "" {
		e.Request.Method = http.MethodPost
	}
	t := e.Timings
	e.Time = max(t.DNS, 0) + max(t.Connect, 0) + t.Send + t.Wait + t.Receive
	return e
}

// factsOf returns the facts about an exchange that HAR has no members for.
func factsOf(row *rows.Row) mcpFacts {
	f := mcpFacts{
		Exchange: row.Number(),
		By:       row.By,
		Target:   row.Target,
		Method:   row.Method,
		Name:     row.Name,
		ID:       row.ID,
		Channel:  row.Channel,
		Exit:     row.Exit,
		Code:     row.Code,
		Protocol: row.Revision,
		Notes:    row.Remarks(),
		Text:     row.Text,
	}
	for _, finding := range row.Findings {
		f.Findings = append(f.Findings, finding.Text)
	}
	return f
}
