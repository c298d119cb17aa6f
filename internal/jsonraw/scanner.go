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

// A scanner reads JSON where it stands (RFC 8259): in UTF-8, and at most MaxDepth deep. Its
// methods report false where something is wrong; failed says what.
type scanner struct {
	raw   []byte
	at    int
	depth int
	// tooDeep is set where at is the offset of a bracket that nests too deeply.
	tooDeep bool
	// unpaired is set once a string holds an unpaired surrogate ("\ud800"), which is legal
	// JSON that real servers send.
	unpaired bool
	// names are those of the objects that are open, as far as they were read.
	names [MostNames]place
	named int
	// twice is set once a member stands twice in its object, or may: then the names are no
	// longer compared.
	twice bool
	// kept is from where on the bytes that were read are still in memory, if they are in a file.
	kept int
}

// MostNames is how many names of open objects are compared with the next one.
const MostNames = 32

// A place is where a name stands.
type place struct{ from, to int }

// failed says why raw is not what was expected. Where it breaks shows jsontext, token by
// token: in [1,] at the comma and not behind it.
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

// isCut reports whether raw is the beginning of a JSON value, which may end within a character.
func (s *scanner) isCut() bool {
	err := jsontext.NewDecoder(
		bytes.NewBuffer(s.raw),
		jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true),
	).SkipValue()
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// ended reports that nothing but white space follows.
func (s *scanner) ended() *SyntaxError {
	s.next()
	if s.at < len(s.raw) {
		return &SyntaxError{Offset: int64(s.at), Rule: "trailing", Text: "more bytes follow the JSON value"}
	}
	return nil
}

// member is the one whose value was just read.
func (s *scanner) member(name string, from int) Member {
	return Member{Name: name, Value: s.raw[from:s.at:s.at]}
}

// open reads the bracket at which an object or an array begins.
func (s *scanner) open() bool {
	s.tooDeep = s.depth == MaxDepth
	if s.tooDeep {
		return false
	}
	s.at++
	s.depth++
	return true
}

// object reads an object; each reads the value of the member with that name, and
// begins at it. Where each is nil any value will do.
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

// memberName reads the name of a member and the colon behind it, and goes to the value. The names of the innermost open
// object are noted from outer on.
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

// name notes a name of the innermost open object, whose names stand behind those of
// the outer ones.
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

// array reads an array; each reads one item. Where each is nil any value will do.
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

// goesOn reads the comma behind a member or an item. It stops before the bracket that
// closes them; no such bracket may follow a comma.
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

// text reads a string. Unless it is escaped, the bytes between its quotes are its
// value.
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

// maxShort is how many bytes of a string are looked at one by one.
const maxShort = 64

// bare are the bytes that stand for themselves in a string.
var bare = func() (bare [256]bool) {
	for c := int(' '); c < 256; c++ {
		bare[c] = c != '"' && c != '\\'
	}
	return bare
}()

// bareASCII are those of them that are ASCII.
var bareASCII = func() (ascii [256]bool) {
	copy(ascii[:utf8.RuneSelf], bare[:])
	return ascii
}()

// number reads what RFC 8259, section 6 calls one.
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

func (s *scanner) digits() bool {
	from := s.at
	for s.at < len(s.raw) && s.raw[s.at] >= '0' && s.raw[s.at] <= '9' {
		s.at++
	}
	return s.at > from
}

func (s *scanner) word(w string) bool {
	if !bytes.HasPrefix(s.raw[s.at:], []byte(w)) {
		return false
	}
	s.at += len(w)
	return true
}

func (s *scanner) is(c byte) bool { return s.at < len(s.raw) && s.raw[s.at] == c }

// next goes to the next byte that is no white space and gives it; 0 at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.raw); s.at++ {
		if c := s.raw[s.at]; c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}
