package capture

import (
	"bytes"
	"slices"
	"time"

	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A batch is some lines that follow each other. What the lines themselves tell is found out beside
// the goroutine that lists the rows, which needs them in their order.
type batch struct {
	lines []batchLine
	// raw are the bytes of the lines, texts those of their messages.
	raw, texts []byte
	// messages are those of the lines, and behind them some that can be used again.
	messages []*wire.Message
	used     int
	looked   chan struct{}
	// heads are those that requests had, by what the line has of them; statuses are those of
	// responses of which nothing else is known.
	heads    map[string]*wire.HTTPHead
	statuses map[int]*wire.HTTPHead
	// second is the date and time of the last line, as RFC 3339 has them without a fraction and a
	// zone, and unix what they are.
	second string
	unix   int64
}

// A batchLine is a line, or why there is none.
type batchLine struct {
	raw []byte
	err error
	// at is where it begins, behind where the next one does; number is its own, from 1.
	at, behind int64
	number     int
	// whole is set where it has its line feed.
	whole bool
	// skipped are the findings of the lines before it that were left out.
	skipped []wire.Finding
	quickLine
}

// A quickLine is what was learned of a line without reading it as JSON.
type quickLine struct {
	// quick is set where that is all that rows need.
	quick bool
	// mark is whose the line says that it is.
	mark    []byte
	frame   wire.Frame
	message *wire.Message
	peeked  peeked
}

// batchBytes is about how many bytes the lines of a batch have; a longer one is the last of its
// batch. Tests have smaller batches.
var batchBytes = 256 << 10

// mostBatches is how many are looked at ahead of the one that is listed.
const mostBatches = 4

// next reads as many batches as may be in memory, and gives the first, which was looked at.
// Behind a long line no more is read: one is in memory at a time, which the reader holds.
func (part *reading) next() *batch {
	for len(part.ahead) < mostBatches && !part.last && (len(part.ahead) == 0 || !part.alone) {
		b := &batch{}
		if n := len(part.free); n > 0 {
			b, part.free = part.free[n-1], part.free[:n-1]
		}
		part.fill(b)
		b.looked = make(chan struct{})
		go b.look()
		part.ahead = append(part.ahead, b)
	}
	b := part.ahead[0]
	part.ahead = part.ahead[:copy(part.ahead, part.ahead[1:])]
	<-b.looked
	return b
}

// fill reads lines into a batch.
func (part *reading) fill(b *batch) {
	r := part.lines
	part.alone = false
	if n := len(b.lines); n > 0 {
		b.lines[n-1] = batchLine{} // so that a long line is not kept
	}
	if cap(b.texts) > keepBuffer {
		b.texts, b.messages = nil, nil
	}
	b.lines, b.raw, b.texts, b.used = b.lines[:0], b.raw[:0], b.texts[:0], 0
	for len(b.raw) < batchBytes && !part.alone && !part.last {
		raw, at, err := r.rawLine()
		part.last = err != nil
		if part.alone = len(raw) > batchBytes; !part.alone {
			from := len(b.raw)
			b.raw = append(b.raw, raw...)
			raw = b.raw[from:len(b.raw):len(b.raw)]
		}
		l := b.line()
		l.raw, l.err, l.at, l.behind, l.number, l.whole, l.skipped = raw, err, at, r.offset, r.line, r.whole, part.skipped
		part.skipped = nil
	}
}

// line is one line more. What was learned of another one may be set.
func (b *batch) line() *batchLine {
	n := len(b.lines)
	b.lines = slices.Grow(b.lines, 1)[:n+1]
	return &b.lines[n]
}

// look looks at the lines.
func (b *batch) look() {
	defer close(b.looked)
	for i := range b.lines {
		if l := &b.lines[i]; l.err == nil {
			l.quickLine = quickLine{}
			l.quick = b.quick(l)
		}
	}
}

// quick looks at a line that is as a Recorder writes it without reading it as JSON; false where
// it is not, or where the index needs more of it. Nearly all lines of a large capture are like
// that.
func (b *batch) quick(l *batchLine) bool {
	mark, members, ok := cutMark(l.raw)
	if l.mark = mark; !ok {
		return false
	}
	f := &l.frame
	rest, ok := b.quickFrame(f, members)
	if !ok || len(rest) < 2 || !bytes.HasSuffix(rest, []byte("}")) {
		return false
	}
	switch {
	case f.Kind == wire.Head:
		return b.quickHead(f, rest)
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
	if len(quoted) >= peekFrom && f.Dir == wire.Received {
		if p, ok := peek(quoted[1 : len(quoted)-1]); ok {
			l.peeked = p
			return true
		}
	}
	if len(quoted) >= longFrame {
		return false // parseLong takes no second memory
	}
	from := len(b.texts)
	if b.texts, ok = jsonraw.Unquote(b.texts, quoted); !ok {
		b.texts = b.texts[:from]
		return false
	}
	f.Raw = b.texts[from:len(b.texts):len(b.texts)]
	l.message = b.message()
	l.peeked = read(l.message, f)
	return true
}

// message is one to read the next message into.
func (b *batch) message() *wire.Message {
	if b.used == len(b.messages) {
		b.messages = append(b.messages, &wire.Message{})
	}
	b.used++
	return b.messages[b.used-1]
}

// read reads the message of a frame into m.
func read(m *wire.Message, f *wire.Frame) peeked {
	m.Parse(f.Raw)
	return peeked{exchange.FactsOf(m), f.Bytes()}
}

// eventStream are the fields of a response that is a stream of events, as far as rows need them.
var eventStream = []wire.Field{{Name: "Content-Type", Value: "text/event-stream"}}

// quickHead looks at a head whose fields tell nothing, or that is like one before it: the
// requests of a client have the same one again and again.
func (b *batch) quickHead(f *wire.Frame, rest []byte) bool {
	if f.Dir == wire.Sent {
		f.HTTP = b.headLike(rest)
		return f.HTTP != nil
	}
	_, text, ok := bytes.Cut(rest[:min(len(rest), 60)], []byte(`","status":`))
	if _, begins := cutText(rest, `,"http":{"proto":"`); !ok || !begins {
		return false
	}
	status, _, ok := quickNumber(text)
	_, kind, _ := bytes.Cut(rest, []byte(`["Content-Type","`))
	kind, _, _ = bytes.Cut(kind, []byte(`"`))
	plain := string(kind) == "application/json" // what most are
	if !ok || !plain && exchange.ForeignType(string(kind)) != "" {
		return false
	}
	if !plain && exchange.IsEventStream(string(kind)) {
		f.HTTP = &wire.HTTPHead{Status: status, Fields: eventStream}
		return true
	}
	if f.HTTP = b.statuses[status]; f.HTTP == nil {
		if b.statuses == nil || len(b.statuses) >= mostHeadsAlike {
			b.statuses = map[int]*wire.HTTPHead{}
		}
		f.HTTP = &wire.HTTPHead{Status: status}
		b.statuses[status] = f.HTTP
	}
	return true
}

// mostHeadsAlike is how many different heads are remembered.
const mostHeadsAlike = 200

// headLike is the head of a request with which a line ends; nil where it has something else.
func (b *batch) headLike(rest []byte) *wire.HTTPHead {
	if h := b.heads[string(rest)]; h != nil {
		return h
	}
	object, there := bytes.CutPrefix(rest[:len(rest)-1], []byte(`,"http":`))
	if !there || jsonraw.Valid(object) != nil {
		return nil
	}
	if b.heads == nil || len(b.heads) >= mostHeadsAlike {
		b.heads = map[string]*wire.HTTPHead{}
	}
	h := parseHTTP(object)
	b.heads[string(rest)] = h
	return h
}

// quickFrame reads the members that begin each frame, and gives the others.
func (b *batch) quickFrame(f *wire.Frame, members []byte) (rest []byte, ok bool) {
	rest, ok = cutText(members, `"seq":`)
	if !ok {
		return nil, false
	}
	seq, rest, ok := quickNumber(rest)
	f.Seq = uint64(seq)
	var word []byte
	if word, rest, ok = quickWord(rest, `,"time":"`, ok); ok {
		f.Time, ok = b.quickTime(word)
	}
	if word, rest, ok = quickWord(rest, `,"dir":"`, ok); ok {
		f.Dir, ok = wire.ParseDirection(string(word))
	}
	if word, rest, ok = quickWord(rest, `,"kind":"`, ok); ok {
		f.Kind, ok = wire.ParseFrameKind(string(word))
	}
	if text, there := cutText(rest, `,"stream":`); there && ok {
		f.Stream, rest, ok = quickNumber(text)
	}
	if text, there := cutText(rest, `,"conn":`); there && ok {
		f.Conn, rest, ok = quickNumber(text)
	}
	return rest, ok
}

// quickTime reads a time. The lines of a second differ in the fraction alone.
func (b *batch) quickTime(text []byte) (t time.Time, ok bool) {
	const seconds = len("2006-01-02T15:04:05")
	nanos, scale := 0, 1_000_000_000
	for i := seconds + 1; i < len(text)-1; i++ {
		c := text[i]
		if scale /= 10; c < '0' || c > '9' || scale == 0 {
			return parseTime(text)
		}
		nanos += int(c-'0') * scale
	}
	if n := len(text); n < seconds+1 || text[n-1] != 'Z' || n > seconds+1 && (text[seconds] != '.' || n == seconds+2) {
		return parseTime(text)
	}
	if string(text[:seconds]) != b.second {
		if t, ok = parseTime(append(text[:seconds:seconds], 'Z')); !ok {
			return t, false
		}
		b.second, b.unix = string(text[:seconds]), t.Unix()
	}
	return time.Unix(b.unix, int64(nanos)).UTC(), true
}

func parseTime(text []byte) (t time.Time, ok bool) {
	t, err := time.Parse(time.RFC3339Nano, string(text))
	return t, err == nil
}

// cutText is bytes.CutPrefix.
func cutText(text []byte, prefix string) (rest []byte, ok bool) {
	if len(text) < len(prefix) || string(text[:len(prefix)]) != prefix {
		return text, false
	}
	return text[len(prefix):], true
}

// quickWord reads a member whose text has no quotes.
func quickWord(text []byte, begins string, before bool) (word, rest []byte, ok bool) {
	text, ok = cutText(text, begins)
	end := bytes.IndexByte(text, '"')
	if !ok || !before || end < 0 {
		return nil, text, false
	}
	return text[:end], text[end+1:], true
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
