package capture

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/spool"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// formatVersion is that of the capture format; a reader refuses a higher one.
const formatVersion = 1

// A Head is the first line of a run.
type Head struct {
	// Mcpc is the version of the program that recorded.
	Mcpc    string    `json:"mcpc,omitempty"`
	Started time.Time `json:"started,omitzero"`
	// Target is the server as a person would name it, Argv the command line that
	// was given, Command that of a stdio server where Argv does not have it, all without
	// secrets.
	Target  string   `json:"target,omitempty"`
	Argv    []string `json:"argv,omitempty"`
	Command []string `json:"command,omitempty"`
	// Run is the number of the run in the ring; 0 elsewhere.
	Run int `json:"run,omitempty"`
	// In marks each line of the run where others may be recorded into the same file at
	// the same time; "" elsewhere.
	In string `json:"in,omitempty"`
	// By says what recorded: "command", "tap" or "proxy".
	By string `json:"by,omitempty"`
	// Pid is the process that recorded; 0 where that is not known.
	Pid int `json:"pid,omitempty"`
	// Of names the exchange that this run issued again, as in "42.3"; "" elsewhere.
	Of string `json:"of,omitempty"`
	// After is the run that this one goes on from; 0 elsewhere.
	After int `json:"after,omitempty"`
	// First is the run that began the recording which this one goes on from; 0 elsewhere.
	First int `json:"first,omitempty"`
	// Trace and Span are the hexadecimal ids of the span of the command, of which each request
	// names one of its own in traceparent; "" where the command made no spans.
	Trace string `json:"trace,omitempty"`
	Span  string `json:"span,omitempty"`
}

// What recorded a run.
const (
	ByCommand = "command"
	ByTap     = "tap"
	ByProxy   = "proxy"
	// ByImport is for what another program recorded, between a client and servers as a proxy.
	ByImport = "import"
)

// Between reports whether the run was recorded between clients and servers.
func (h *Head) Between() bool { return h.By == ByProxy || h.By == ByImport }

// A headLine is a head as a capture has it.
type headLine struct {
	Version int `json:"mcpc-traffic"`
	Head
}

// An End is the last line of a run: how the command ended, or where it names a
// request how that did. Its texts have no secrets.
type End struct {
	// Exit is the exit status of the process.
	Exit int       `json:"exit"`
	Time time.Time `json:"time,omitzero"`
	// ID is that of the request of an exchange that was given up while the run goes on;
	// nil elsewhere.
	ID   json.RawMessage `json:"id,omitempty"`
	Kind wire.Kind       `json:"kind,omitempty"`
	// Many is set where the ending sums up that of many exchanges, and is none's own.
	Many bool `json:"many,omitempty"`
	// Method and Name are what was asked: "tools/call", "get-sum".
	Method string `json:"method,omitempty"`
	Name   string `json:"name,omitempty"`
	// Took is from sending the request to its ending; 0 where nothing was sent.
	Took     time.Duration  `json:"took,omitempty"`
	Text     string         `json:"text,omitempty"`
	Hint     string         `json:"hint,omitempty"`
	Findings []wire.Finding `json:"findings,omitempty"`
}

// A Line is one line of a capture: exactly one of its first six members is set.
type Line struct {
	Head  *Head
	Frame *wire.Frame
	End   *End
	// Lost is how many frames the recorder left out here, because the disk was
	// slower than the traffic.
	Lost int
	// Next is the run in which this one goes on, and Carried how many frames before
	// this line were repeated from the run before.
	Next    int
	Carried *int
	// In is that of the head of the line's run; "" where that is the last head.
	In string
}

// AppendHead appends a head as one line, line feed included.
func AppendHead(b []byte, h Head) []byte {
	h.Started = h.Started.UTC()
	return appendLine(b, headLine{formatVersion, h})
}

// AppendFrame appends a frame as one line, line feed included. The bytes stand
// last, so that a reader that does not need them need not read them.
func AppendFrame(b []byte, f wire.Frame) []byte {
	b = slices.Grow(b, len(f.Raw)+len(f.Raw)/8)
	return append(appendPieces(b, f, func(b []byte) []byte { return b }), '\n')
}

// WriteFrame writes what AppendFrame appends, but for its line feed; a long frame in
// pieces.
func WriteFrame(w io.Writer, f wire.Frame) error {
	var err error
	write := func(b []byte) []byte {
		if err == nil {
			_, err = w.Write(b)
		}
		return b[:0]
	}
	write(appendPieces(nil, f, write))
	return err
}

// appendPieces appends a frame as a line without its line feed. Behind each piece of its
// bytes flush is called, which may write what is in b, and gives what is left of it.
func appendPieces(b []byte, f wire.Frame, flush func(b []byte) []byte) []byte {
	b = appendMembers(b, f)
	if f.Raw != nil { // which is not the same as no bytes
		prefix := `,"raw":"`
		appendEncoded := jsonraw.AppendEscaped
		if !jsonraw.ValidUTF8(f.Raw) {
			prefix = `,"raw64":"`
			appendEncoded = base64.StdEncoding.AppendEncode
		}
		b = append(b, prefix...)
		for piece := range slices.Chunk(f.Raw, pieceBytes) {
			b = flush(appendEncoded(b, piece))
			spool.Release(piece)
		}
		b = append(b, '"')
	}
	return append(b, '}')
}

// appendFacts begins a line with all but the bytes.
func appendMembers(b []byte, f wire.Frame) []byte {
	b = append(b, `{"seq":`...)
	b = strconv.AppendUint(b, f.Seq, 10)
	b = appendTime(b, "time", f.Time)
	b = appendText(b, "dir", f.Dir.String())
	b = appendText(b, "kind", f.Kind.String())
	b = appendInt(b, "stream", int64(f.Stream))
	b = appendInt(b, "conn", int64(f.Conn))
	if f.HTTP != nil {
		b = appendHTTP(append(b, `,"http":`...), f.HTTP)
	}
	if f.SSE != nil {
		b = appendSSE(append(b, `,"sse":`...), f.SSE)
	}
	if f.Close != nil {
		b = append(b, `,"close":{"by":"`...)
		b = append(append(b, f.Close.By.String()...), '"')
		b = appendText(b, "how", f.Close.How)
		b = appendText(b, "text", f.Close.Text)
		b = append(b, '}')
	}
	if f.Fault != nil {
		facts, _ := jsonraw.Marshal(f.Fault)
		b = append(append(b, `,"fault":`...), facts...)
	}
	if f.Held != nil {
		facts, _ := jsonraw.Marshal(f.Held)
		b = append(append(b, `,"held":`...), facts...)
	}
	b = appendInt(b, "hidden", int64(f.Hidden))
	b = appendInt(b, "size", int64(f.Size))
	b = appendText(b, "unread", f.Unread)
	b = appendText(b, "again", f.Again)
	return b
}

// AppendEnd appends an end as one line, line feed included.
func AppendEnd(b []byte, e End) []byte {
	e.Time = e.Time.UTC()
	return appendLine(b, map[string]End{"end": e})
}

// appendLine appends a value of which no member fails as one line.
func appendLine(b []byte, value any) []byte {
	line := bytes.NewBuffer(b)
	e := json.NewEncoder(line)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
	return line.Bytes()
}

func appendHTTP(b []byte, h *wire.HTTPHead) []byte {
	b = append(b, `{"proto":`...)
	b = appendQuoted(b, h.Proto)
	b = appendText(b, "method", h.Method)
	b = appendText(b, "url", h.URL)
	b = appendInt(b, "status", int64(h.Status))
	b = append(b, `,"fields":[`...)
	for i, f := range h.Fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(append(b, '['), f.Name)
		b = appendQuoted(append(b, ','), f.Value)
		b = append(b, ']')
	}
	b = append(b, ']')
	if t := h.Timing; t != nil {
		b = append(b, `,"timing":{"firstByte":`...)
		b = strconv.AppendInt(b, int64(t.FirstByte), 10)
		b = appendInt(b, "dns", int64(t.DNS))
		b = appendInt(b, "connect", int64(t.Connect))
		b = appendInt(b, "tls", int64(t.TLS))
		b = append(b, '}')
	}
	return append(b, '}')
}

func appendSSE(b []byte, s *sse.Facts) []byte {
	b = append(b, `{"event":`...)
	b = appendQuoted(b, s.Event)
	if s.ID != nil {
		b = append(b, `,"id":`...)
		b = appendQuoted(b, *s.ID)
	}
	if s.Retry != nil {
		b = append(b, `,"retry":`...)
		b = strconv.AppendInt(b, int64(*s.Retry), 10)
	}
	if s.Comment {
		b = append(b, `,"comment":true`...)
	}
	return append(b, '}')
}

// appendText appends a member that is not empty.
func appendText(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(append(append(b, ',', '"'), name...), '"', ':')
	return appendQuoted(b, value)
}

// appendQuoted appends a JSON string. Most have nothing to escape.
func appendQuoted(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return append(b, jsonraw.Quote(text)...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// appendInt appends a member that is not 0.
func appendInt(b []byte, name string, value int64) []byte {
	if value == 0 {
		return b
	}
	b = append(append(append(b, ',', '"'), name...), '"', ':')
	return strconv.AppendInt(b, value, 10)
}

func appendTime(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	b = append(append(append(b, ',', '"'), name...), '"', ':', '"')
	return append(appendRFC3339(b, t), '"')
}

// A datedSecond is a second as RFC 3339 has it, without its zone.
type formattedSecond struct {
	unix int64
	text string
}

// lastSecond is the second of the last time that was written: thousands of frames cross in one,
// and its date takes longer than the rest of a line.
var lastSecond atomic.Pointer[formattedSecond]

// appendRFC3339 is time.RFC3339Nano in UTC.
func appendRFC3339(b []byte, t time.Time) []byte {
	s := lastSecond.Load()
	if unix := t.Unix(); s == nil || s.unix != unix {
		s = &formattedSecond{unix, t.UTC().Format("2006-01-02T15:04:05")}
		lastSecond.Store(s)
	}
	b = append(b, s.text...)
	if nano := t.Nanosecond(); nano > 0 {
		digits := [10]byte{'.'}
		for i := 9; i > 0; i-- {
			digits[i] = byte('0' + nano%10)
			nano /= 10
		}
		b = append(b, bytes.TrimRight(digits[:], "0")...)
	}
	return append(b, 'Z')
}

// Marked is a line with the mark of its run, where lines of several runs stand in one file;
// the line of a head has it already.
func Marked(line []byte, mark string) []byte {
	return append([]byte(MarkPrefix+mark+`",`), line[1:]...)
}

// MarkPrefix is how a line begins that says whose it is.
const MarkPrefix = `{"in":"`

// prefixWithin is how far into a line its bytes must begin to be read quickly.
const maxPrefix = 4 << 10

var rawPrefix = []byte(`,"raw":"`)

// Safe returns the head without what is known to be secret.
func (h Head) Safe(s *redact.Secrets) Head {
	h.Target, h.Argv, h.Command = s.Text(h.Target), s.Command(h.Argv), s.Command(h.Command)
	return h
}

// Safe returns the end without what is known to be secret.
func (e End) Safe(s *redact.Secrets) End {
	e.ID, e.Method, e.Name = json.RawMessage(s.Text(string(e.ID))), s.Text(e.Method), s.Text(e.Name)
	e.Text, e.Hint = s.Text(e.Text), s.Text(e.Hint)
	e.Findings = SafeFindings(s, e.Findings)
	return e
}

// SafeFindings returns a copy of findings without what is known to be secret.
func SafeFindings(s *redact.Secrets, findings []wire.Finding) []wire.Finding {
	findings = slices.Clone(findings)
	for i, f := range findings {
		findings[i].Text, findings[i].Want, findings[i].Got = s.Text(f.Text), s.Text(f.Want), s.Text(f.Got)
	}
	return findings
}
