package capture

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A Parser parses lines. It keeps every HTTP head that it parsed, because the requests of a client
// repeat theirs: use one for some lines, not for a whole capture.
type Parser struct{ heads map[string]*wire.HTTPHead }

// ParseLine parses one line. A line of an unknown kind is an empty Line without an error. The error
// says how the line is damaged. A long raw is overwritten.
func ParseLine(raw []byte) (Line, error) { return new(Parser).Parse(raw) }

// parseLine parses a line in any JSON spelling.
func (p *Parser) parseLine(raw []byte) (Line, error) {
	m, bad := jsonraw.Object(raw)
	if bad != nil {
		return Line{}, bad
	}
	line, err := p.parseMembers(raw, m)
	line.Mark = m.Text("in")
	return line, err
}

// parseMembers returns the Line with the members m, except its Mark. raw is the line. The first
// known member decides the kind of the line. A line of an unknown kind is an empty Line.
func (p *Parser) parseMembers(raw []byte, m jsonraw.Members) (Line, error) {
	if version, ok := m.Get("mcpc-traffic"); ok {
		if n := integer(version); n != formatVersion {
			return Line{}, &VersionError{Got: string(version)}
		}
		var h Head
		err := json.Unmarshal(raw, &h)
		return Line{Head: &h}, err
	}
	if end, ok := m.Get("end"); ok {
		var e End
		err := json.Unmarshal(end, &e)
		return Line{End: &e}, err
	}
	for _, count := range []struct {
		name string
		line func(n int) Line
	}{
		{"lost", func(n int) Line { return Line{Lost: n} }},
		{"next", func(n int) Line { return Line{Next: n} }},
		{"carried", func(n int) Line { return Line{Carried: &n} }},
	} {
		if n, ok := m.Get(count.name); ok {
			return count.line(int(integer(n))), nil
		}
	}
	if _, ok := m.Get("kind"); !ok {
		return Line{}, nil
	}
	f, failed := p.parseFrame(m)
	return Line{Frame: f}, failed
}

// A VersionError is the error for a capture in a version of the format that this reader does not
// know.
type VersionError struct{ Got string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the capture has version %s of the format, and this mcpc reads version %d", e.Got, formatVersion)
}

// parseFrame parses a frame. It returns nil and no error for a frame of an unknown kind, which a
// later version may write. A member with an invalid value is zero, except for dir and the bytes,
// which a frame cannot do without.
func (p *Parser) parseFrame(m jsonraw.Members) (*wire.Frame, error) {
	kind, ok := wire.ParseFrameKind(m.Text("kind"))
	if !ok {
		return nil, nil
	}
	dir, ok := wire.ParseDirection(m.Text("dir"))
	if !ok {
		return nil, fmt.Errorf("a frame was neither sent nor received")
	}
	f := &wire.Frame{Dir: dir, Kind: kind}
	for _, member := range m {
		switch raw := member.Value; member.Name {
		case "seq":
			f.Seq = uint64(integer(raw))
		case "time":
			text, _ := jsonraw.Text(raw)
			f.Time = parseTime(text)
		case "stream":
			f.Stream = int(integer(raw))
		case "conn":
			f.Conn = int(integer(raw))
		case "hidden":
			f.Hidden = int(integer(raw))
		case "size":
			f.Size = int(integer(raw))
		case "again":
			f.PreviousID, _ = jsonraw.Text(raw)
		case "unread":
			f.DecodeError, _ = jsonraw.Text(raw)
		case "http":
			// Equal heads share one value.
			head := p.heads[string(raw)]
			if head == nil {
				head = parseHTTP(raw)
				if p.heads == nil {
					p.heads = map[string]*wire.HTTPHead{}
				}
				p.heads[string(raw)] = head
			}
			f.HTTP = head
		case "sse":
			f.SSE = parseSSE(raw)
		case "close":
			f.Close = parseClose(raw)
		case "fault":
			f.Fault = &wire.FaultFacts{}
			_ = json.Unmarshal(raw, f.Fault) // a member of a wrong type is ignored
		case "held":
			f.Held = &wire.HeldFacts{}
			_ = json.Unmarshal(raw, f.Held)
		}
	}
	if f.Kind == wire.Event && f.SSE == nil { // no Recorder writes such a frame
		f.SSE = &sse.Facts{}
	}
	return f, parseRaw(f, m)
}

// parseRaw sets the bytes of a frame. It leaves them nil if the line has no bytes.
func parseRaw(f *wire.Frame, m jsonraw.Members) error {
	if raw, ok := m.Get("raw"); ok {
		text, ok := jsonraw.Text(raw)
		if !ok {
			return fmt.Errorf("raw is not a string")
		}
		f.Raw = []byte(text)
	} else if raw, ok := m.Get("raw64"); ok {
		text, _ := jsonraw.Text(raw)
		bytes, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return fmt.Errorf("raw64: %w", err)
		}
		f.Raw = bytes
	}
	return nil
}

// parseHTTP parses the member "http" of a frame. Missing members are zero.
func parseHTTP(raw []byte) *wire.HTTPHead {
	m, _ := jsonraw.Object(raw)
	h := &wire.HTTPHead{
		Method: m.Text("method"),
		URL:    m.Text("url"),
		Proto:  m.Text("proto"),
		Status: int(integer(member(m, "status"))),
	}
	fields, _ := jsonraw.Array(member(m, "fields"))
	for _, field := range fields {
		if pair, _ := jsonraw.Array(field); len(pair) == 2 {
			name, _ := jsonraw.Text(pair[0])
			value, _ := jsonraw.Text(pair[1])
			h.Fields = append(h.Fields, wire.Field{Name: name, Value: value})
		}
	}
	if timing, ok := m.Get("timing"); ok {
		times, _ := jsonraw.Object(timing)
		duration := func(name string) time.Duration { return time.Duration(integer(member(times, name))) }
		h.Timing = &wire.Timing{
			DNS:       duration("dns"),
			Connect:   duration("connect"),
			TLS:       duration("tls"),
			FirstByte: duration("firstByte"),
		}
	}
	return h
}

// parseSSE parses the member "sse" of a frame.
func parseSSE(raw []byte) *sse.Facts {
	m, _ := jsonraw.Object(raw)
	s := &sse.Facts{Event: m.Text("event"), IsComment: string(member(m, "comment")) == "true"}
	if id, ok := m.Get("id"); ok {
		text, _ := jsonraw.Text(id)
		s.ID = &text
	}
	if retry, ok := m.Get("retry"); ok {
		d := time.Duration(integer(retry))
		s.Retry = &d
	}
	return s
}

// parseClose parses the member "close" of a frame.
func parseClose(raw []byte) *wire.CloseFacts {
	m, _ := jsonraw.Object(raw)
	by, _ := wire.ParseDirection(m.Text("by"))
	return &wire.CloseFacts{By: by, How: m.Text("how"), Text: m.Text("text")}
}

// member returns the value of a member; nil if the member is missing.
func member(m jsonraw.Members, name string) json.RawMessage {
	raw, _ := m.Get(name)
	return raw
}

// integer parses a whole number; anything else is 0.
func integer(raw []byte) int64 {
	n, _ := strconv.ParseInt(string(raw), 10, 64)
	return n
}

// parseTime parses a time; the zero time if it is invalid.
func parseTime(text string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, text)
	return t
}

// FrameBytes returns the bytes of the frame in a line, without parsing the line as JSON. It reports
// false if a Recorder would spell the line differently; ParseLine reads such a line. The result
// uses the memory of buf.
func FrameBytes(line, buf []byte) (raw []byte, ok bool) {
	at := bytes.Index(line[:min(len(line), maxPrefix)], rawPrefix)
	if at < 0 {
		return nil, false
	}
	quoted, ok := trailingRaw(line[at:])
	if !ok {
		return nil, false
	}
	return jsonraw.Unquote(buf[:0], quoted) // false if the string is damaged
}

// trailingRaw returns the string, in its quotes, of the member "raw" that ends a line. rest begins
// with that member. It reports false if rest does not end as a line of a Recorder does.
func trailingRaw(rest []byte) ([]byte, bool) {
	text, begins := bytes.CutPrefix(rest, rawPrefix)
	if !begins || !bytes.HasSuffix(text, []byte(`"}`)) {
		return nil, false
	}
	return rest[len(rawPrefix)-1 : len(rest)-1], true // the prefix ends with the quote
}

// Parse parses one line. A line of an unknown kind is an empty Line without an error. If a Recorder
// wrote the line, it decodes the bytes of a long frame in place, which overwrites raw and saves two
// copies of them.
func (p *Parser) Parse(raw []byte) (Line, error) {
	if len(raw) < LongFrame {
		return p.parseLine(raw)
	}
	at := bytes.Index(raw[:maxPrefix], rawPrefix)
	if at < 0 {
		return p.parseLine(raw)
	}
	quoted, ok := trailingRaw(raw[at:])
	if !ok || jsonraw.Valid(quoted) != nil {
		return p.parseLine(raw)
	}
	// Parse the line without the bytes, which end it.
	line, err := p.parseLine(append(bytes.Clone(raw[:at]), '}'))
	if err == nil && line.Frame != nil {
		line.Frame.Raw, _ = jsonraw.Unquote(quoted[:0], quoted)
	}
	return line, err
}

// HasOtherEscapes reports whether the bytes of the frame in a line may be spelled otherwise than
// AppendFrame writes them: with \u escapes or in base64.
func HasOtherEscapes(line []byte) bool {
	return hasUnicodeEscape(line) || bytes.Contains(line[:min(len(line), maxPrefix)], []byte(`"raw64":`))
}

// hasUnicodeEscape reports whether a JSON text has an escape such as \u0061. In a backslash of the
// message itself, which is doubled, no escape begins.
func hasUnicodeEscape(text []byte) bool {
	for at := 0; ; at += 2 {
		next := bytes.Index(text[at:], []byte(`\u`))
		if next < 0 {
			return false
		}
		at += next
		before := at
		for before > 0 && text[before-1] == '\\' {
			before--
		}
		// An even number of backslashes before this one are escaped backslashes.
		if (at-before)%2 == 0 {
			return true
		}
	}
}
