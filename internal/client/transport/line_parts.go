package transport

import (
	"bytes"
	"slices"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A LinePart is a part of a line that is not one message: a message in it, or text.
type LinePart struct {
	Raw []byte
	// Message is nil for text.
	Message *wire.Message
}

// maxNotJSON is how many braces of a line may begin no JSON. The rest of the line is text then.
const maxNotJSON = 32

// SplitLine splits a line that is not one message but has messages: the server printed text
// without a line end before one, or no line end between two. A line of nothing but messages is
// split into them. Beside text only a response that isAwaited accepts is a message, also a
// broken one: servers log what they send and receive, too. Returns nil if the line has no
// message that can be used.
func SplitLine(line []byte, isAwaited func(*wire.Message) bool) []LinePart {
	if !bytes.Contains(line, []byte(`"jsonrpc"`)) {
		return nil
	}
	s := lineSplitter{line: line}
	s.split(isAwaited)
	isText := func(p LinePart) bool { return p.Message == nil }
	if !slices.ContainsFunc(s.parts, isText) {
		return s.parts
	}
	found := s.parts
	s.parts = nil
	s.end = 0
	to := 0
	for _, p := range found {
		from := to
		to += len(p.Raw)
		if p.Message != nil && isAwaited(p.Message) {
			s.message(from, to)
		}
	}
	s.text(len(line))
	if !slices.ContainsFunc(s.parts, func(p LinePart) bool { return !isText(p) }) {
		return nil
	}
	return s.parts
}

// A lineSplitter finds the messages in a line.
type lineSplitter struct {
	line  []byte
	parts []LinePart
	// end is where the parts end.
	end int
}

// split finds the messages. It looks into no object, whether that is JSON, looks like it, or
// does not end: a message nested there may be data.
func (s *lineSplitter) split(isAwaited func(*wire.Message) bool) {
	notJSON := 0
	for at := 0; notJSON < maxNotJSON; {
		brace := bytes.IndexByte(s.line[at:], '{')
		if brace < 0 {
			break
		}
		at += brace
		object, rest := jsonraw.Prefix(s.line[at:])
		if object != nil {
			to := len(s.line) - len(rest)
			if wire.ParseMessage(object).Kind != wire.Invalid {
				s.message(at, to)
			}
			at = to
			continue
		}
		notJSON++
		if at > 0 && isAwaited(wire.ParseMessage(s.line[at:])) {
			s.message(at, len(s.line))
			break
		}
		size := objectSize(s.line[at:])
		if size == 0 {
			break
		}
		at += size
	}
	s.text(len(s.line))
}

// message adds the message that begins at from and ends at to, with the blanks around it.
func (s *lineSplitter) message(from, to int) {
	if isBlank(s.line[s.end:from]) {
		from = s.end
	}
	if isBlank(s.line[to:]) {
		to = len(s.line)
	}
	s.text(from)
	raw := s.line[from:to:to]
	s.parts = append(s.parts, LinePart{Raw: raw, Message: wire.ParseMessage(raw)})
	s.end = to
}

// text adds the text up to an offset, if there is any.
func (s *lineSplitter) text(to int) {
	if s.end < to {
		s.parts = append(s.parts, LinePart{Raw: s.line[s.end:to:to]})
		s.end = to
	}
}

// objectSize returns the size of what begins with a brace and is not JSON, up to the brace
// that closes it. Returns 0 if none does.
func objectSize(text []byte) int {
	var open bracketDepth
	for i, c := range text {
		open.add(c)
		if open.depth == 0 {
			return i + 1
		}
	}
	return 0
}

func isBlank(text []byte) bool { return len(bytes.Trim(text, jsonraw.WhiteSpace)) == 0 }
