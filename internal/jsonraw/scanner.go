package jsonraw

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcpc/internal/spool"
)

// A scanner reads JSON in place (RFC 8259), in UTF-8 and with a depth of at most MaxDepth. Its
// methods report false after an error, and failed returns the error.
type scanner struct {
	raw   []byte
	at    int
	depth int
	// tooDeep is set if at is the offset of a bracket that is nested too deeply.
	tooDeep bool
	// unpaired is set once a string holds an unpaired surrogate ("\ud800"), which is legal
	// JSON that real servers send.
	unpaired bool
	// names are the names of the open objects so far.
	names [MostNames]place
	named int
	// twice is set once an object has a duplicate member, or may have one. The names are not
	// compared after that.
	twice bool
	// kept is the offset up to which the bytes of a file were released from memory.
	kept int
}

// MostNames bounds the names of open objects that are compared for duplicates.
const MostNames = 32

// A place is the range of a name in the raw bytes.
type place struct{ from, to int }

// failed returns the error of the scanner. It finds the exact offset by reading the tokens with
// jsontext: in [1,] it is the comma.
func (s *scanner) failed() *SyntaxError {
	if s.tooDeep {
		return &SyntaxError{Offset: int64(s.at), Rule: "depth", Text: fmt.Sprintf("nested more than %d deep", MaxDepth)}
	}
	at := invalidAt(s.raw)
	if at < len(s.raw) && (utf8.FullRune(s.raw[at:]) || !s.isCut()) {
		return &SyntaxError{Offset: int64(at), Rule: "utf8", Text: "not UTF-8"}
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(s.raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	err := d.SkipValue()
	out := &SyntaxError{Offset: d.InputOffset(), Rule: "syntax", Text: "invalid JSON"}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		out.Offset = syntactic.ByteOffset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		out.Text = "the JSON ends too early"
	}
	return out
}

// isCut reports whether raw is a truncated JSON value. It may end within a character.
func (s *scanner) isCut() bool {
	err := jsontext.NewDecoder(
		bytes.NewBuffer(s.raw),
		jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true),
	).SkipValue()
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// ended returns an error unless only white space follows.
func (s *scanner) ended() *SyntaxError {
	s.next()
	if s.at < len(s.raw) {
		return &SyntaxError{Offset: int64(s.at), Rule: "trailing", Text: "more bytes follow the JSON value"}
	}
	return nil
}

// member returns the member whose value was just read.
func (s *scanner) member(name string, from int) Member {
	return Member{Name: name, Value: s.raw[from:s.at:s.at]}
}

// open reads the opening bracket of an object or an array.
func (s *scanner) open() bool {
	s.tooDeep = s.depth == MaxDepth
	if s.tooDeep {
		return false
	}
	s.at++
	s.depth++
	return true
}

// object reads an object. It calls each at the value of every member, which each must read. If each
// is nil, object reads the values itself.
func (s *scanner) object(each func(name string) bool) bool {
	if !s.open() {
		return false
	}
	outer := s.named
	for s.next() != '}' {
		quoted, escaped, ok := s.memberName(outer)
		if !ok {
			return false
		}
		if each != nil {
			ok = each(nameOf(quoted, escaped))
		} else {
			ok = s.value()
		}
		if !ok || !s.goesOn('}') {
			return false
		}
	}
	s.at++
	s.depth--
	s.named = outer
	return true
}

// memberName reads the name of a member and the colon, and moves to the value. outer is the index
// in s.names of the first name of the innermost open object.
func (s *scanner) memberName(outer int) (quoted []byte, escaped, ok bool) {
	from := s.at
	escaped, ok = s.text()
	if !ok {
		return nil, false, false
	}
	quoted = s.raw[from:s.at]
	if escaped {
		s.twice = true
	} else {
		s.name(outer, from+1, s.at-1)
	}
	if s.next() != ':' {
		return nil, false, false
	}
	s.at++
	s.next()
	return quoted, escaped, true
}

// name remembers a name of the innermost open object, and sets twice if the object has it already
// or there are too many names. The names of the object begin at outer.
func (s *scanner) name(outer, from, to int) {
	if s.twice {
		return
	}
	name := s.raw[from:to]
	for _, other := range s.names[outer:s.named] {
		if other.to-other.from == len(name) && string(s.raw[other.from:other.to]) == string(name) {
			s.twice = true
			return
		}
	}
	s.twice = s.named == MostNames
	if !s.twice {
		s.names[s.named] = place{from, to}
		s.named++
	}
}

// array reads an array. It calls each at every item, which each must read. If each is nil, array
// reads the items itself.
func (s *scanner) array(each func() bool) bool {
	if !s.open() {
		return false
	}
	for c := s.next(); c != ']'; c = s.next() {
		ok := false
		if each != nil {
			ok = each()
		} else {
			ok = s.value()
		}
		if !ok || !s.goesOn(']') {
			return false
		}
	}
	s.at++
	s.depth--
	return true
}

// goesOn reads the comma after a member or an item. It reports true before the closing bracket and
// before the next part, and false if neither follows. The closing bracket must not follow a comma.
func (s *scanner) goesOn(closes byte) bool {
	s.kept = spool.Passed(s.raw, s.kept, s.at)
	switch s.next() {
	case closes:
		return true
	case ',':
		s.at++
		return s.next() != closes
	}
	return false
}

// value reads any value.
func (s *scanner) value() bool {
	switch s.next() {
	case '"':
		_, ok := s.text()
		return ok
	case '{':
		return s.object(nil)
	case '[':
		return s.array(nil)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		return s.number()
	}
}

// text reads a string. If escaped is false, the bytes between the quotes are its value. It
// remembers the length of a long string in a file.
func (s *scanner) text() (escaped, ok bool) {
	if !s.is('"') {
		return false, false
	}
	raw := s.raw
	at := s.at + 1
	// Most strings are short, and ASCII without escapes.
	short := raw[:min(len(raw), at+maxShort)]
	for at < len(short) && bareASCII[short[at]] {
		at++
	}
	if at < len(raw) && raw[at] == '"' {
		s.at = at + 1
		return false, true
	}
	t := textReader{}
	pieces := 0
	for ended := false; !ended; {
		to := min(len(raw), at+spool.Piece)
		n, end, ok := t.read(raw[at:to], to == len(raw))
		if !ok {
			return false, false
		}
		at += n
		ended = end
		if ended {
			break
		}
		if known, ok := spool.Noted(raw[s.at:]).(longText); ok && pieces == 0 && s.at+known.length <= len(raw) {
			s.at += known.length
			s.unpaired = s.unpaired || known.unpaired
			return known.escaped, true
		}
		spool.Release(raw[at-n : at])
		pieces++
	}
	if pieces > 0 {
		spool.Note(raw[s.at:], longText{at - s.at, t.escaped, t.unpaired})
	}
	s.at, s.unpaired = at, s.unpaired || t.unpaired
	return t.escaped, true
}

// maxShort bounds the bytes of a string that are checked one by one.
const maxShort = 64

// bare are the bytes that need no escape in a string.
var bare = func() (bare [256]bool) {
	for c := int(' '); c < 256; c++ {
		bare[c] = c != '"' && c != '\\'
	}
	return bare
}()

// bareASCII are the bare bytes that are ASCII.
var bareASCII = func() (ascii [256]bool) {
	copy(ascii[:utf8.RuneSelf], bare[:])
	return ascii
}()

// number reads a number (RFC 8259, section 6).
func (s *scanner) number() bool {
	if s.is('-') {
		s.at++
	}
	if s.is('0') {
		s.at++
	} else if !s.digits() {
		return false
	}
	if s.is('.') {
		s.at++
		if !s.digits() {
			return false
		}
	}
	if s.is('e') || s.is('E') {
		s.at++
		if s.is('+') || s.is('-') {
			s.at++
		}
		return s.digits()
	}
	return true
}

// digits reads digits, and reports whether there is at least one.
func (s *scanner) digits() bool {
	from := s.at
	for s.at < len(s.raw) && s.raw[s.at] >= '0' && s.raw[s.at] <= '9' {
		s.at++
	}
	return s.at > from
}

// word reads a word, and reports false if it does not follow.
func (s *scanner) word(w string) bool {
	if !bytes.HasPrefix(s.raw[s.at:], []byte(w)) {
		return false
	}
	s.at += len(w)
	return true
}

// is reports whether the next byte is c.
func (s *scanner) is(c byte) bool { return s.at < len(s.raw) && s.raw[s.at] == c }

// next skips white space and returns the next byte, or 0 at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.raw); s.at++ {
		if c := s.raw[s.at]; c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}
