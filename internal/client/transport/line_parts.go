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
	// Message is nil if the part is text.
	Message *wire.Message
}

// maxNotJSON is how many braces of a line may begin no JSON. After them the rest of the line is
// text.
const maxNotJSON = 32

// SplitLine splits a line that contains messages and is not one message: the server printed text
// without a line end before a message, or no line end between two. A line of only messages is split
// into them. Beside text, only a response that isAwaited accepts is a message, also a broken one:
// servers log the messages that they send and receive. It returns nil if the line has no such
// message.
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
	// Beside text, start again with the awaited responses only; the rest becomes text.
	found := s.parts
	s.parts = nil
	s.end = 0
	to := 0
	for _, p := range found {
		from := to
		to += len(p.Raw)
		if p.Message != nil && isAwaited(p.Message) {
			s.addMessage(from, to)
		}
	}
	s.addText(len(line))
	if !slices.ContainsFunc(s.parts, func(p LinePart) bool { return !isText(p) }) {
		return nil
	}
	return s.parts
}

// A lineSplitter splits a line into messages and text.
type lineSplitter struct {
	line  []byte
	parts []LinePart
	// end is the offset after the last part.
	end int
}

// split adds all parts of the line. It searches no object for nested messages, because they may be
// data, even if the object is not valid JSON or does not end.
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
				s.addMessage(at, to)
			}
			at = to
			continue
		}
		notJSON++
		if at > 0 && isAwaited(wire.ParseMessage(s.line[at:])) { // a broken response: it takes the rest
			s.addMessage(at, len(s.line))
			break
		}
		size := objectSize(s.line[at:])
		if size == 0 { // everything after the brace may be in the object
			break
		}
		at += size
	}
	s.addText(len(s.line))
}

// addMessage adds the message between two offsets, with the blanks around it.
func (s *lineSplitter) addMessage(from, to int) {
	if isBlank(s.line[s.end:from]) {
		from = s.end
	}
	if isBlank(s.line[to:]) {
		to = len(s.line)
	}
	s.addText(from)
	raw := s.line[from:to:to]
	s.parts = append(s.parts, LinePart{Raw: raw, Message: wire.ParseMessage(raw)})
	s.end = to
}

// addText adds the text up to an offset, if there is any.
func (s *lineSplitter) addText(to int) {
	if s.end < to {
		s.parts = append(s.parts, LinePart{Raw: s.line[s.end:to:to]})
		s.end = to
	}
}

// objectSize returns the number of bytes from an opening brace to the brace that closes it, for text
// that is not JSON. It returns 0 if no brace closes it.
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

// isBlank reports whether text is only white space.
func isBlank(text []byte) bool { return len(bytes.Trim(text, jsonraw.WhiteSpace)) == 0 }
