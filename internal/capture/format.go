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

// formatVersion is the version of the capture format. A reader refuses every other version.
const formatVersion = 1

// A Head is the first line of a run.
type Head struct {
	// Mcpc is the version of the program that recorded.
	Mcpc    string    `json:"mcpc,omitempty"`
	Started time.Time `json:"started,omitzero"`
	// Target is the server as a person would name it, without secrets.
	Target string `json:"target,omitempty"`
	// Argv is the command line of mcpc, without secrets.
	Argv []string `json:"argv,omitempty"`
	// Command is the command of a stdio server if Argv does not have it, without secrets.
	Command []string `json:"command,omitempty"`
	// Run is the number of the run in its ring; 0 in any other file.
	Run int `json:"run,omitempty"`
	// Mark marks each line of the run; "" if no other run is recorded into the file at the same time.
	Mark string `json:"in,omitempty"`
	// By names the recorder: ByCommand, ByTap, ByProxy or ByImport.
	By string `json:"by,omitempty"`
	// Pid is the process that recorded; 0 if it is unknown.
	Pid int `json:"pid,omitempty"`
	// IsNested is set if mcpc started the recorder as a server and records the same requests.
	IsNested bool `json:"nested,omitempty"`
	// ReplayOf names the exchange that this run replays, as in "42.3"; "" if this run is no replay.
	ReplayOf string `json:"of,omitempty"`
	// PreviousRun is the run that this one continues, or 0.
	PreviousRun int `json:"after,omitempty"`
	// FirstRun is the run that began the recording that this one continues, or 0.
	FirstRun int `json:"first,omitempty"`
	// Trace and Span are the hexadecimal ids of the command's span, the parent of the span of each
	// request; "" if the command made no spans.
	Trace string `json:"trace,omitempty"`
	Span  string `json:"span,omitempty"`
}

// The values of Head.By say what recorded a run.
const (
	ByCommand = "command"
	ByTap     = "tap"
	ByProxy   = "proxy"
	// ByImport is for traffic that another program recorded between a client and servers.
	ByImport = "import"
)

// Between reports whether the run was recorded between clients and servers.
func (h *Head) Between() bool { return h.By == ByProxy || h.By == ByImport }

// A headLine is the JSON of a head.
type headLine struct {
	Version int `json:"mcpc-traffic"`
	Head
}

// An End is the last line of a run and says how the command ended. With an ID it ends one request,
// before the run ends. Its texts have no secrets.
type End struct {
	// Exit is the exit status of the process.
	Exit int       `json:"exit"`
	Time time.Time `json:"time,omitzero"`
	// ID is the id of a request that was given up while the run continued; nil if the run itself
	// ended.
	ID   json.RawMessage `json:"id,omitempty"`
	Kind wire.Kind       `json:"kind,omitempty"`
	// Many is set if the outcome summarizes many exchanges.
	Many bool `json:"many,omitempty"`
	// Method and Name are the request's: "tools/call", "get-sum".
	Method string `json:"method,omitempty"`
	Name   string `json:"name,omitempty"`
	// Took is the time from sending the request to its outcome; 0 if nothing was sent.
	Took     time.Duration  `json:"took,omitempty"`
	Text     string         `json:"text,omitempty"`
	Hint     string         `json:"hint,omitempty"`
	Findings []wire.Finding `json:"findings,omitempty"`
}

// A Line is one line of a capture. At most one of its fields but In is set.
type Line struct {
	Head  *Head
	Frame *wire.Frame
	End   *End
	// Lost is how many frames the recorder left out here.
	Lost int
	// Next is the run that continues this one.
	Next int
	// Carried is how many frames before this line were repeated from the run before.
	Carried *int
	// Mark is the mark of the line's run; "" if that is the run of the last head.
	Mark string
}

// AppendHead appends a head as one line with its line feed.
func AppendHead(b []byte, h Head) []byte {
	h.Started = h.Started.UTC()
	return appendLine(b, headLine{formatVersion, h})
}

// AppendFrame appends a frame as one line with its line feed. The bytes of the frame are the last
// member, so that a reader can skip them.
func AppendFrame(b []byte, f wire.Frame) []byte {
	b = slices.Grow(b, len(f.Raw)+len(f.Raw)/8)
	return append(appendPieces(b, f, func(b []byte) []byte { return b }), '\n')
}

// WriteFrame writes the line that AppendFrame appends, without its line feed. It writes a long
// frame in pieces.
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

// appendPieces appends a frame as a line without its line feed. It calls flush after each piece of
// the frame's bytes; flush may write b, and returns the buffer to continue with. Afterwards the
// memory of the piece may be released, if a spool owns it.
func appendPieces(b []byte, f wire.Frame, flush func(b []byte) []byte) []byte {
	b = appendMembers(b, f)
	if f.Raw != nil { // not nil but empty: the frame has a body of 0 bytes
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

// appendMembers appends the beginning of a line: all members of a frame except its bytes, and no
// closing brace. It omits members with a zero value.
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
	b = appendText(b, "unread", f.DecodeError)
	b = appendText(b, "again", f.PreviousID)
	return b
}

// AppendEnd appends an end as one line with its line feed.
func AppendEnd(b []byte, e End) []byte {
	e.Time = e.Time.UTC()
	return appendLine(b, map[string]End{"end": e})
}

// appendLine appends a value, which json can encode, as one line with its line feed.
func appendLine(b []byte, value any) []byte {
	line := bytes.NewBuffer(b)
	e := json.NewEncoder(line)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
	return line.Bytes()
}

// appendHTTP appends the JSON of an HTTP head. It omits empty members, except "proto", which begins
// the object, and "fields".
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

// appendSSE appends the JSON of the facts about an event.
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
	if s.IsComment {
		b = append(b, `,"comment":true`...)
	}
	return append(b, '}')
}

// appendText appends a member with a string unless the string is empty.
func appendText(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(append(append(b, ',', '"'), name...), '"', ':')
	return appendQuoted(b, value)
}

// appendQuoted appends a JSON string. It is fast for a text without escapes.
func appendQuoted(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return append(b, jsonraw.Quote(text)...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// appendInt appends a member with a number unless the number is 0.
func appendInt(b []byte, name string, value int64) []byte {
	if value == 0 {
		return b
	}
	b = append(append(append(b, ',', '"'), name...), '"', ':')
	return strconv.AppendInt(b, value, 10)
}

// appendTime appends a member with a time unless the time is zero.
func appendTime(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	b = append(append(append(b, ',', '"'), name...), '"', ':', '"')
	return append(appendRFC3339(b, t), '"')
}

// A formattedSecond is a second and its RFC 3339 text without a zone.
type formattedSecond struct {
	unix int64
	text string
}

// lastSecond is the second that appendRFC3339 formatted last. It is kept because formatting a date
// takes longer than the rest of a line, and thousands of frames may have the same second.
var lastSecond atomic.Pointer[formattedSecond]

// appendRFC3339 appends t in UTC, as time.RFC3339Nano formats it.
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

// AddMark returns a line with the mark of its run, for a file with lines of several runs. The line
// must not be a head's, which already has the mark.
func AddMark(line []byte, mark string) []byte {
	return append([]byte(MarkPrefix+mark+`",`), line[1:]...)
}

// MarkPrefix begins a line that has the mark of its run.
const MarkPrefix = `{"in":"`

// maxPrefix is how many bytes may precede the frame's bytes in a line that is read quickly.
const maxPrefix = 4 << 10

var rawPrefix = []byte(`,"raw":"`)

// Safe returns the head with its secrets hidden.
func (h Head) Safe(s *redact.Secrets) Head {
	h.Target = s.Text(h.Target)
	h.Argv = s.Command(h.Argv)
	h.Command = s.Command(h.Command)
	return h
}

// Safe returns the end with its secrets hidden.
func (e End) Safe(s *redact.Secrets) End {
	e.ID = json.RawMessage(s.Text(string(e.ID)))
	e.Method = s.Text(e.Method)
	e.Name = s.Text(e.Name)
	e.Text = s.Text(e.Text)
	e.Hint = s.Text(e.Hint)
	e.Findings = SafeFindings(s, e.Findings)
	return e
}

// SafeFindings returns a copy of findings with their secrets hidden.
func SafeFindings(s *redact.Secrets, findings []wire.Finding) []wire.Finding {
	findings = slices.Clone(findings)
	for i := range findings {
		f := &findings[i]
		f.Text = s.Text(f.Text)
		f.Want = s.Text(f.Want)
		f.Got = s.Text(f.Got)
	}
	return findings
}
