package capture

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A scanner gives the lines of a capture to its index, and reads no more of them
// than that needs.
type scanner struct {
	capture *Capture
	reader  *lineReader
	// index is that of the line's run.
	index *index
	// heads are those that requests had, by what the line has of them.
	heads map[string]*wire.HTTPHead
}

const (
	// prefixWithin is how far into a line its bytes must begin to be read quickly.
	prefixWithin = 4 << 10
	// peekFrom is how large a message must be to be peeked at and not read.
	peekFrom = 1 << 10
)

var rawBegins = []byte(`,"raw":"`)

func (s *scanner) line(raw []byte, at span) error {
	c := s.capture
	if s.reader.begun && s.quick(raw, at) {
		return nil
	}
	line, err := parseLong(raw)
	s.index = c.indexOf(line.In)
	var version *VersionError
	switch {
	case errors.As(err, &version):
		return err
	case !s.reader.begun && line.Head == nil:
		return ErrNoCapture
	case err != nil && s.reader.whole:
		s.reader.found("damaged_line", fmt.Sprintf("line %d is damaged and was skipped: %v", s.reader.line, err))
		// Behind where a recorder was killed another one's line may go on. In a string its
		// beginning would be escaped.
		if i := bytes.LastIndex(raw, []byte(markBegins)); i > 0 {
			return s.line(raw[i:], span{at.at + int64(i), at.length - i})
		}
	case err != nil:
	case line.Head != nil:
		s.reader.begun = true
		c.begin(*line.Head, at)
	case s.index == nil:
		s.reader.found("damaged_line", fmt.Sprintf("line %d belongs to a run without a header and was skipped", s.reader.line))
	case s.index.finished:
		return errFinished
	case line.Frame != nil:
		s.frame(line.Frame, at)
	case line.End != nil:
		s.index.end(line.End, at)
	case line.Next > 0:
		s.index.next()
	case line.Carried != nil:
		s.index.carried()
	case line.Lost > 0:
		s.reader.found(ruleLost, fmt.Sprintf(textLost, s.reader.line, line.Lost))
	}
	return nil
}

const (
	ruleLost = "lost_frames"
	textLost = "line %d: %d frames were omitted from the recording"
)

// Lost is how many frames the recorders left out, by the Findings of a Capture.
func Lost(findings []wire.Finding) (frames int) {
	for _, f := range findings {
		var line, count int
		if f.Rule == ruleLost {
			_, _ = fmt.Sscanf(f.Text, textLost, &line, &count)
			frames += count
		}
	}
	return frames
}

func (s *scanner) frame(f *wire.Frame, at span) {
	if f.Kind != wire.Body && f.Kind != wire.Event {
		s.index.frame(f, nil, peeked{size: f.Bytes()}, at)
		return
	}
	s.message(f, at)
}

// message gives a frame with a message to the index.
func (s *scanner) message(f *wire.Frame, at span) {
	m := wire.ParseMessage(f.Raw)
	p := peeked{traits: m.Traits(), size: f.Bytes()}
	if m.Kind == wire.Response {
		result, _ := m.ResultMembers()
		flag, _ := result.Get("isError")
		p.toolError = string(flag) == "true"
	}
	s.index.frame(f, m, p, at)
}

// markBegins is how a line begins that says whose it is.
const markBegins = `{"in":"`

// cutMark takes apart whose a line says that it is, nil where it does not, and the
// members behind that.
func cutMark(raw []byte) (mark, members []byte, ok bool) {
	text, marked := bytes.CutPrefix(raw, []byte(markBegins))
	if !marked {
		members, ok = bytes.CutPrefix(raw, []byte("{"))
		return nil, members, ok
	}
	mark, members, ok = bytes.Cut(text, []byte(`",`))
	plain := !bytes.ContainsFunc(mark, func(c rune) bool { return c < '0' || c > 'z' || c == '\\' })
	return mark, members, ok && plain
}

// quick indexes a line that is as a Recorder writes it without reading it as JSON;
// false where it is not, or where the index needs more of it. Nearly all lines of
// a large capture are like that: 300 MB are indexed in 0.7 s of CPU time, without it in
// 2.6 s, and without peek in 1.5 s.
func (s *scanner) quick(raw []byte, at span) bool {
	mark, members, ok := cutMark(raw)
	if s.index = s.capture.indexOf(string(mark)); !ok || s.index == nil || s.index.finished {
		return false
	}
	f, rest, ok := quickFrame(members)
	if !ok || len(rest) < 2 || !bytes.HasSuffix(rest, []byte("}")) {
		return false
	}
	switch {
	case f.Kind == wire.Head:
		return s.quickHead(f, rest, at)
	case f.Kind == wire.Event:
		object, there := bytes.CutPrefix(rest, []byte(`,"sse":`))
		end := bytes.Index(object[:min(len(object), prefixWithin)], rawBegins)
		if !there || end < 0 || jsonraw.Valid(object[:end]) != nil {
			return false
		}
		f.SSE, rest = parseSSE(object[:end]), object[end:]
	case f.Kind != wire.Body:
		return false
	}
	quoted, ok := quickRaw(rest)
	if !ok {
		return false
	}
	if len(quoted) >= peekFrom && f.Dir == wire.Received && !s.index.opening {
		if p, ok := peek(quoted[1 : len(quoted)-1]); ok {
			s.index.frame(f, nil, p, at)
			return true
		}
	}
	if len(quoted) >= longFrame {
		return false // parseLong takes no second memory
	}
	if f.Raw, ok = jsonraw.Unquote(nil, quoted); !ok {
		return false
	}
	s.message(f, at)
	return true
}

// eventStream are the fields of a response that is a stream of events, as far as rows need them.
var eventStream = []wire.Field{{Name: "Content-Type", Value: "text/event-stream"}}

// quickHead indexes a head whose fields tell nothing, or that is like one before it: the
// requests of a client have the same one again and again.
func (s *scanner) quickHead(f *wire.Frame, rest []byte, at span) bool {
	if f.Dir == wire.Sent {
		if f.HTTP = s.headLike(rest); f.HTTP == nil {
			return false
		}
		s.index.frame(f, nil, peeked{}, at)
		return true
	}
	f.HTTP = &wire.HTTPHead{}
	_, text, ok := bytes.Cut(rest[:min(len(rest), 60)], []byte(`","status":`))
	if !ok || !bytes.HasPrefix(rest, []byte(`,"http":{"proto":"`)) {
		return false
	}
	f.HTTP.Status, _, ok = quickNumber(text)
	_, kind, _ := bytes.Cut(rest, []byte(`["Content-Type","`))
	if kind, _, _ = bytes.Cut(kind, []byte(`"`)); !ok || foreignType(string(kind)) != "" {
		return false
	}
	if isEventStream(string(kind)) {
		f.HTTP.Fields = eventStream
	}
	s.index.frame(f, nil, peeked{}, at)
	return true
}

// mostHeadsAlike is how many different heads are remembered.
const mostHeadsAlike = 200

// headLike is the head of a request with which a line ends; nil where it has something else.
func (s *scanner) headLike(rest []byte) *wire.HTTPHead {
	if h := s.heads[string(rest)]; h != nil {
		return h
	}
	object, there := bytes.CutPrefix(rest[:len(rest)-1], []byte(`,"http":`))
	if !there || jsonraw.Valid(object) != nil {
		return nil
	}
	if s.heads == nil || len(s.heads) >= mostHeadsAlike {
		s.heads = map[string]*wire.HTTPHead{}
	}
	h := parseHTTP(object)
	s.heads[string(rest)] = h
	return h
}

// quickFrame reads the members that begin each frame.
func quickFrame(members []byte) (f *wire.Frame, rest []byte, ok bool) {
	f = &wire.Frame{}
	rest, ok = bytes.CutPrefix(members, []byte(`"seq":`))
	if !ok {
		return nil, nil, false
	}
	seq, rest, ok := quickNumber(rest)
	f.Seq = uint64(seq)
	for _, member := range []struct {
		begins string
		read   func(text []byte) bool
	}{
		{`,"time":"`, func(text []byte) bool {
			var err error
			f.Time, err = time.Parse(time.RFC3339Nano, string(text))
			return err == nil
		}},
		{`,"dir":"`, func(text []byte) (ok bool) { f.Dir, ok = wire.ParseDirection(string(text)); return ok }},
		{`,"kind":"`, func(text []byte) (ok bool) { f.Kind, ok = wire.ParseFrameKind(string(text)); return ok }},
	} {
		if !ok || !bytes.HasPrefix(rest, []byte(member.begins)) {
			return nil, nil, false
		}
		rest = rest[len(member.begins):]
		end := bytes.IndexByte(rest, '"')
		if end < 0 || !member.read(rest[:end]) {
			return nil, nil, false
		}
		rest = rest[end+1:]
	}
	for _, member := range []struct {
		begins string
		value  *int
	}{{`,"stream":`, &f.Stream}, {`,"conn":`, &f.Conn}} {
		if text, there := bytes.CutPrefix(rest, []byte(member.begins)); there {
			if *member.value, rest, ok = quickNumber(text); !ok {
				return nil, nil, false
			}
		}
	}
	return f, rest, true
}

// quickNumber reads a whole number of at most 17 digits, as JSON allows it.
func quickNumber(text []byte) (n int, rest []byte, ok bool) {
	i := 0
	for i < len(text) && i < 18 && text[i] >= '0' && text[i] <= '9' {
		n = n*10 + int(text[i]-'0')
		i++
	}
	return n, text[i:], i > 0 && i < 18 && (i == 1 || text[0] != '0')
}
