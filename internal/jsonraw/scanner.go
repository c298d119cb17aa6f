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
// methods report false after an error, and syntaxError returns the error.
type scanner struct {
	raw    []byte
	offset int
	depth  int
	// tooDeep is set if offset is the position of a bracket that is nested too deeply.
	tooDeep bool
	// hasUnpaired is set once a string holds an unpaired surrogate ("\ud800"), which is legal
	// JSON that real servers send.
	hasUnpaired bool
	// names are the names of the open objects so far; nameCount is their number.
	names     [MaxNames]nameRange
	nameCount int
	// mayHaveDuplicates is set once an object has a duplicate member, or may have one. The names are
	// not compared after that.
	mayHaveDuplicates bool
	// releasedTo is the offset that the bytes of a file were released from memory up to.
	releasedTo int
}

// MaxNames bounds the names of open objects that are compared for duplicates.
const MaxNames = 32

// A nameRange is the range of a name in the raw bytes.
type nameRange struct{ from, to int }

// syntaxError returns the error of the scanner. It finds the exact offset by reading the tokens with
// jsontext: in [1,] it is the comma.
func (s *scanner) syntaxError() *SyntaxError {
	if s.tooDeep {
		return &SyntaxError{Offset: int64(s.offset), Rule: "depth", Text: fmt.Sprintf("nested more than %d deep", MaxDepth)}
	}
	at := firstInvalidUTF8(s.raw)
	// A character that is cut off at the end of a truncated value is not a separate error.
	if at < len(s.raw) && (utf8.FullRune(s.raw[at:]) || !s.isCut()) {
		return &SyntaxError{Offset: int64(at), Rule: "utf8", Text: "not UTF-8"}
	}
	decoder := jsontext.NewDecoder(
		bytes.NewBuffer(s.raw),
		jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true),
	)
	decodeErr := decoder.SkipValue()
	syntaxErr := &SyntaxError{Offset: decoder.InputOffset(), Rule: "syntax", Text: "invalid JSON"}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](decodeErr); ok {
		syntaxErr.Offset = syntactic.ByteOffset
	}
	if errors.Is(decodeErr, io.EOF) || errors.Is(decodeErr, io.ErrUnexpectedEOF) {
		syntaxErr.Text = "the JSON ends too early"
	}
	return syntaxErr
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

// checkEnd returns an error unless only white space follows.
func (s *scanner) checkEnd() *SyntaxError {
	s.skipSpace()
	if s.offset < len(s.raw) {
		return &SyntaxError{Offset: int64(s.offset), Rule: "trailing", Text: "more bytes follow the JSON value"}
	}
	return nil
}

// newMember returns the member whose value was just read.
func (s *scanner) newMember(name string, from int) Member {
	return Member{Name: name, Value: s.raw[from:s.offset:s.offset]}
}

// readOpening reads the opening bracket of an object or an array.
func (s *scanner) readOpening() bool {
	s.tooDeep = s.depth == MaxDepth
	if s.tooDeep {
		return false
	}
	s.offset++
	s.depth++
	return true
}

// readObject reads an object; its opening brace is next. It calls each at the value of every member,
// which each must read; if each returns false, readObject stops and reports false. If each is nil,
// readObject reads the values itself.
func (s *scanner) readObject(each func(name string) bool) bool {
	if !s.readOpening() {
		return false
	}
	outer := s.nameCount // the names of the objects around this one
	for s.skipSpace() != '}' {
		quoted, escaped, ok := s.readName(outer)
		if !ok {
			return false
		}
		if each != nil {
			ok = each(decodeName(quoted, escaped))
		} else {
			ok = s.readValue()
		}
		if !ok || !s.readSeparator('}') {
			return false
		}
	}
	s.offset++
	s.depth--
	s.nameCount = outer // forgets the names of this object
	return true
}

// readName reads the name of a member and the colon, and moves to the value. outer is the index
// in s.names of the first name of the innermost open object.
func (s *scanner) readName(outer int) (quoted []byte, escaped, ok bool) {
	from := s.offset
	escaped, ok = s.readString()
	if !ok {
		return nil, false, false
	}
	quoted = s.raw[from:s.offset]
	if escaped { // names are compared as bytes, and one name can be escaped in several ways
		s.mayHaveDuplicates = true
	} else {
		s.rememberName(outer, from+1, s.offset-1)
	}
	if s.skipSpace() != ':' {
		return nil, false, false
	}
	s.offset++
	s.skipSpace()
	return quoted, escaped, true
}

// rememberName remembers raw[from:to] as a name of the innermost open object. It sets mayHaveDuplicates
// if the object has the name already, or if there are too many names. The names of the object begin at
// outer.
func (s *scanner) rememberName(outer, from, to int) {
	if s.mayHaveDuplicates {
		return
	}
	name := s.raw[from:to]
	for _, other := range s.names[outer:s.nameCount] {
		if other.to-other.from == len(name) && string(s.raw[other.from:other.to]) == string(name) {
			s.mayHaveDuplicates = true
			return
		}
	}
	s.mayHaveDuplicates = s.nameCount == MaxNames
	if !s.mayHaveDuplicates {
		s.names[s.nameCount] = nameRange{from, to}
		s.nameCount++
	}
}

// readArray reads an array; its opening bracket is next. It calls each at every item, which each must
// read; if each returns false, readArray stops and reports false. If each is nil, readArray reads the
// items itself.
func (s *scanner) readArray(each func() bool) bool {
	if !s.readOpening() {
		return false
	}
	for c := s.skipSpace(); c != ']'; c = s.skipSpace() {
		ok := false
		if each != nil {
			ok = each()
		} else {
			ok = s.readValue()
		}
		if !ok || !s.readSeparator(']') {
			return false
		}
	}
	s.offset++
	s.depth--
	return true
}

// readSeparator reads the comma after a member or an item. It returns false if the text is invalid: if
// neither the closing bracket follows, which it does not read, nor a comma and another part.
func (s *scanner) readSeparator(closes byte) bool {
	// The bytes of a large message are in a file; bytes that were read need no memory any more.
	s.releasedTo = spool.ReleasePassed(s.raw, s.releasedTo, s.offset)
	switch s.skipSpace() {
	case closes:
		return true
	case ',':
		s.offset++
		return s.skipSpace() != closes // the end of raw is found by the next read
	}
	return false
}

// readValue reads any value.
func (s *scanner) readValue() bool {
	switch s.skipSpace() {
	case '"':
		_, ok := s.readString()
		return ok
	case '{':
		return s.readObject(nil)
	case '[':
		return s.readArray(nil)
	case 't':
		return s.readWord("true")
	case 'f':
		return s.readWord("false")
	case 'n':
		return s.readWord("null")
	default:
		return s.readNumber()
	}
}

// readString reads a string. If escaped is false, the bytes between the quotes are its value.
func (s *scanner) readString() (escaped, ok bool) {
	if !s.nextIs('"') {
		return false, false
	}
	raw := s.raw
	end := s.offset + 1
	// Most strings are short, and ASCII without escapes.
	short := raw[:min(len(raw), end+maxShort)]
	for end < len(short) && bareASCII[short[end]] {
		end++
	}
	if end < len(raw) && raw[end] == '"' {
		s.offset = end + 1
		return false, true
	}
	return s.readPieces(end)
}

// readPieces reads a string that begins at s.offset and whose first bytes, up to offset, are bare ASCII.
// It reads pieces of spool.Piece bytes, so that a long string in a file is never in memory as a whole.
// It annotates a string of several pieces with the result, so that later scanners skip it.
func (s *scanner) readPieces(offset int) (escaped, ok bool) {
	raw := s.raw
	text := textReader{}
	for isFirst := true; ; isFirst = false {
		end := min(len(raw), offset+spool.Piece)
		n, isEnded, ok := text.read(raw[offset:end], end == len(raw))
		if !ok {
			return false, false
		}
		offset += n
		if isEnded && !isFirst {
			spool.Annotate(raw[s.offset:], longText{offset - s.offset, text.hasEscape, text.hasUnpaired})
		}
		if isEnded {
			s.offset = offset
			s.hasUnpaired = s.hasUnpaired || text.hasUnpaired
			return text.hasEscape, true
		}
		// The string has several pieces. An earlier scanner may have read it already.
		known, isKnown := spool.Annotation(raw[s.offset:]).(longText)
		if isFirst && isKnown && s.offset+known.length <= len(raw) {
			s.offset += known.length
			s.hasUnpaired = s.hasUnpaired || known.unpaired
			return known.escaped, true
		}
		spool.Release(raw[offset-n : offset])
	}
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

// readNumber reads a number (RFC 8259, section 6).
func (s *scanner) readNumber() bool {
	if s.nextIs('-') {
		s.offset++
	}
	if s.nextIs('0') {
		s.offset++
	} else if !s.readDigits() {
		return false
	}
	if s.nextIs('.') {
		s.offset++
		if !s.readDigits() {
			return false
		}
	}
	if s.nextIs('e') || s.nextIs('E') {
		s.offset++
		if s.nextIs('+') || s.nextIs('-') {
			s.offset++
		}
		return s.readDigits()
	}
	return true
}

// readDigits reads digits, and reports whether there is at least one.
func (s *scanner) readDigits() bool {
	from := s.offset
	for s.offset < len(s.raw) && s.raw[s.offset] >= '0' && s.raw[s.offset] <= '9' {
		s.offset++
	}
	return s.offset > from
}

// readWord reads a word, and reports false if it does not follow.
func (s *scanner) readWord(w string) bool {
	if !bytes.HasPrefix(s.raw[s.offset:], []byte(w)) {
		return false
	}
	s.offset += len(w)
	return true
}

// nextIs reports whether the next byte is c.
func (s *scanner) nextIs(c byte) bool { return s.offset < len(s.raw) && s.raw[s.offset] == c }

// skipSpace skips white space and returns the next byte, or 0 at the end.
func (s *scanner) skipSpace() byte {
	for ; s.offset < len(s.raw); s.offset++ {
		if c := s.raw[s.offset]; c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}
