package capture

import (
	"bytes"

	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A peeked describes the message of a frame, which was not parsed if it is large.
type peeked struct {
	exchange.Facts
	size int
}

// peek looks at a large response as a capture has it, within a JSON string, without taking
// it out of there: most of a capture's bytes are results, and a listing shows none of them.
// It only understands what nearly all responses are, an object with "jsonrpc", "id" and
// "result" and no surprises; ok is false for everything else, which the caller reads
// properly.
func peek(escaped []byte) (p peeked, ok bool) {
	s := peeker{b: escaped}
	ok = s.object()
	s.skipSpace()
	if !ok || s.at != len(s.b) || s.id == nil || !s.versioned || !s.result {
		return peeked{}, false
	}
	// The id is made a message of, so that it is compared as all ids are.
	m := wire.ParseMessage(append(append([]byte(`{"jsonrpc":"2.0","id":`), s.id...), `,"result":{}}`...))
	if m.Kind != wire.Response {
		return peeked{}, false
	}
	facts := exchange.Facts{Traits: m.Traits(), ToolError: s.toolError, EscapedMeta: s.meta, Members: s.has}
	return peeked{facts, len(escaped) - s.escapes}, true
}

// A peeker walks through escaped JSON.
type peeker struct {
	b  []byte
	at int
	// escapes is how many bytes the escaping has added so far.
	escapes int

	id                           []byte
	versioned, result, toolError bool
	seen                         int // of isError
	meta                         []byte
	has                          exchange.Members
}

func (s *peeker) skipSpace() {
	for s.at < len(s.b) {
		switch {
		case s.b[s.at] == ' ':
			s.at++
		case s.b[s.at] == '\\' && s.at+1 < len(s.b) && (s.b[s.at+1] == 'n' || s.b[s.at+1] == 't' || s.b[s.at+1] == 'r'):
			s.at, s.escapes = s.at+2, s.escapes+1
		default:
			return
		}
	}
}

// eat reads one plain byte.
func (s *peeker) eat(c byte) bool {
	s.skipSpace()
	if s.at < len(s.b) && s.b[s.at] == c {
		s.at++
		return true
	}
	return false
}

// text reads a string and gives its inside, still escaped.
func (s *peeker) text() (inside []byte, ok bool) {
	s.skipSpace()
	if !bytes.HasPrefix(s.b[s.at:], []byte(`\"`)) {
		return nil, false
	}
	s.at, s.escapes = s.at+2, s.escapes+1
	from := s.at
	for {
		next := bytes.IndexByte(s.b[s.at:], '\\')
		if next < 0 || s.at+next+1 >= len(s.b) {
			return nil, false
		}
		s.at += next
		switch s.b[s.at+1] {
		case '"':
			s.at, s.escapes = s.at+2, s.escapes+1
			return s.b[from : s.at-2], true
		case '\\':
			if !s.escape() {
				return nil, false
			}
		default:
			return nil, false // a control character, which may not stand there
		}
	}
}

// escape reads an escape of the inner JSON. One that spells a character by its
// number is left to those who know which of them are none.
func (s *peeker) escape() bool {
	s.at, s.escapes = s.at+2, s.escapes+1
	if s.at >= len(s.b) || s.b[s.at] == 'u' {
		return false
	}
	if s.b[s.at] == '\\' {
		if s.at+1 >= len(s.b) || s.b[s.at+1] != '"' && s.b[s.at+1] != '\\' {
			return false
		}
		s.at, s.escapes = s.at+1, s.escapes+1
	}
	s.at++
	return true
}

// object reads the envelope.
func (s *peeker) object() bool {
	return s.members(func(name []byte) bool {
		switch string(name) {
		case "jsonrpc":
			version, ok := s.text()
			ok = ok && !s.versioned && string(version) == "2.0"
			s.versioned = true
			return ok
		case "id":
			ok := s.id == nil
			s.id = s.scalar()
			return ok && s.id != nil
		case "result":
			ok := !s.result
			s.result = true
			return ok && s.members(s.inResult)
		}
		return false
	})
}

func (s *peeker) inResult(name []byte) bool {
	s.has.Add(name)
	switch string(name) {
	case "isError":
		if s.seen++; s.seen > 1 {
			return false
		}
		value := s.scalar()
		s.toolError = string(value) == "true"
		return s.toolError || string(value) == "false"
	case "_meta":
		from := s.at
		ok := s.value()
		if s.meta == nil {
			s.meta = s.b[from:s.at]
		}
		return ok
	case "resultType":
		kind, ok := s.text()
		return ok && string(kind) == "complete"
	case "content", "contents", "messages", "tools", "prompts", "resources", "resourceTemplates": // those of arrays
		s.skipSpace()
		return s.at < len(s.b) && s.b[s.at] == '[' && s.value()
	}
	return s.value()
}

// members reads an object and lets value read what stands under each name.
func (s *peeker) members(value func(name []byte) bool) bool {
	if !s.eat('{') {
		return false
	}
	if s.eat('}') {
		return true
	}
	for {
		name, ok := s.text()
		if !ok || !s.eat(':') || !value(name) {
			return false
		}
		if s.eat('}') {
			return true
		}
		if !s.eat(',') {
			return false
		}
	}
}

// scalar reads a string without escapes or a plain word, as JSON.
func (s *peeker) scalar() []byte {
	s.skipSpace()
	if s.at < len(s.b) && s.b[s.at] == '\\' {
		text, ok := s.text()
		if !ok || bytes.IndexByte(text, '\\') >= 0 {
			return nil
		}
		return append(append([]byte{'"'}, text...), '"')
	}
	from := s.at
	s.word()
	return s.b[from:s.at]
}

func (s *peeker) word() {
	for s.at < len(s.b) && (s.b[s.at] >= 'a' && s.b[s.at] <= 'z' || s.b[s.at] >= '0' && s.b[s.at] <= '9' ||
		s.b[s.at] == '-' || s.b[s.at] == '+' || s.b[s.at] == '.' || s.b[s.at] == 'E') {
		s.at++
	}
}

// value reads over any value. That its brackets match is all that is looked at.
func (s *peeker) value() bool {
	var open []byte
	for {
		s.skipSpace()
		if s.at >= len(s.b) || len(open) > jsonraw.MaxDepth/2 {
			return false
		}
		switch c := s.b[s.at]; c {
		case '{', '[':
			s.at++
			open = append(open, c+2)
			continue
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return false
			}
			s.at++
			open = open[:len(open)-1]
		case ',', ':':
			if len(open) == 0 {
				return false
			}
			s.at++
			continue
		case '\\':
			if _, ok := s.text(); !ok {
				return false
			}
		default:
			before := s.at
			if s.word(); s.at == before {
				return false
			}
		}
		if len(open) == 0 {
			return true
		}
	}
}
