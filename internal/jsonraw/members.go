// Package jsonraw reads and composes JSON and keeps the bytes of values unchanged.
package jsonraw

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A Member is one name and value of a JSON object. Value aliases the object's bytes. Its capacity
// equals its length, so that appending to it cannot overwrite the message.
type Member struct {
	// Name is the decoded name. An unpaired surrogate is decoded as U+FFFD.
	Name  string
	Value json.RawMessage
}

// Members are the members of a JSON object in their original order, including duplicates. Names are
// case-sensitive, unlike in encoding/json, since other implementations distinguish "Method" and
// "method".
type Members []Member

// Get returns the value of the first member called name, without surrounding white space, and
// reports whether there is one.
func (m Members) Get(name string) (json.RawMessage, bool) {
	for i := range m {
		if m[i].Name == name {
			return m[i].Value, true
		}
	}
	return nil, false
}

// Value returns the value of the first member called name, or nil.
func (m Members) Value(name string) json.RawMessage {
	value, _ := m.Get(name)
	return value
}

// Text returns the string value of the first member called name, or "" if it is not a string.
func (m Members) Text(name string) string {
	s, _ := Text(m.Value(name))
	return s
}

// Words returns the set of strings in the array value of the first member called name. It is empty if
// the value is not an array.
func (m Members) Words(name string) map[string]bool {
	items, _ := Array(m.Value(name))
	words := make(map[string]bool, len(items))
	for _, item := range items {
		if word, ok := Text(item); ok {
			words[word] = true
		}
	}
	return words
}

// Duplicate returns the first name that occurs twice, which may be "". It reports false if all
// names differ.
func (m Members) Duplicate() (string, bool) {
	if len(m) <= 8 { // faster than a map
		for i := range m {
			if slices.ContainsFunc(m[:i], func(o Member) bool { return o.Name == m[i].Name }) {
				return m[i].Name, true
			}
		}
		return "", false
	}
	seen := make(map[string]bool, len(m))
	for i := range m {
		if seen[m[i].Name] {
			return m[i].Name, true
		}
		seen[m[i].Name] = true
	}
	return "", false
}

// Valid returns nil if raw is one JSON value in UTF-8 with a depth of at most MaxDepth, or else the
// error.
func Valid(raw []byte) *SyntaxError {
	s := scanner{raw: raw, mayHaveDuplicates: true} // compares no names
	if !s.readValue() {
		return s.syntaxError()
	}
	return s.checkEnd()
}

// Prefix returns the JSON value at the beginning of a text and the rest of the text. It returns nil
// if the text does not begin with a value.
func Prefix(text []byte) (value, rest []byte) {
	s := scanner{raw: text, mayHaveDuplicates: true}
	if !s.readValue() {
		return nil, text
	}
	return text[:s.offset:s.offset], text[s.offset:]
}

// wrongType returns the error for raw that is not an object, or not an array: with rule and text if it
// is another JSON value, else its syntax error.
func wrongType(raw []byte, rule, text string) *SyntaxError {
	if len(raw) == 0 { // such as a missing member
		return &SyntaxError{Rule: "syntax", Text: "the JSON ends too early"}
	}
	if err := Valid(raw); err != nil {
		return err // "not found" is not JSON, although it begins like null
	}
	return &SyntaxError{Rule: rule, Text: text}
}

// Object parses a JSON object. The values alias raw. With an error, it returns the members before
// the error.
func Object(raw []byte) (Members, *SyntaxError) {
	var room [16]Member // most objects have at most 16 members
	members, err := AppendMembers(room[:0], raw)
	return append(make(Members, 0, len(members)), members...), err // one allocation of the exact size
}

// AppendMembers parses a JSON object as Object does, and appends the members to members.
func AppendMembers(members Members, raw []byte) (Members, *SyntaxError) {
	s := scanner{raw: raw, mayHaveDuplicates: true}
	if s.skipSpace() != '{' {
		return members, wrongType(raw, "not_object", "not a JSON object")
	}
	if !s.readOpening() {
		return members, s.syntaxError()
	}
	for s.skipSpace() != '}' {
		quoted, escaped, ok := s.readName(0)
		from := s.offset
		if !ok || !s.readValue() {
			return members, s.syntaxError()
		}
		members = append(members, s.newMember(decodeName(quoted, escaped), from))
		if !s.readSeparator('}') {
			return members, s.syntaxError()
		}
	}
	s.offset++
	return members, s.checkEnd()
}

// First returns the value of the first member called name, or nil. It does not read or validate the
// bytes after it.
func First(raw []byte, name string) json.RawMessage {
	if begin := bytes.TrimLeft(raw, WhiteSpace); len(begin) == 0 || begin[0] != '{' {
		return nil // EachMember takes long to find the error
	}
	var value json.RawMessage
	_ = EachMember(raw, func(_ int, memberName string, from, to int) bool {
		if memberName == name {
			value = raw[from:to:to]
		}
		return memberName != name
	})
	return value
}

// EachMember calls f for each member of the object raw until f returns false. i is the index of the
// member, and raw[from:to] is its value. It returns an error if raw is not a valid object; the bytes
// after a member at which f returned false are not checked.
func EachMember(raw []byte, f func(i int, name string, from, to int) bool) *SyntaxError {
	s := scanner{raw: raw, mayHaveDuplicates: true}
	if s.skipSpace() != '{' {
		return wrongType(raw, "not_object", "not a JSON object")
	}
	i := 0
	isStopped := false
	isValid := s.readObject(func(name string) bool {
		from := s.offset
		if !s.readValue() {
			return false
		}
		isStopped = !f(i, name, from, s.offset)
		i++
		return !isStopped
	})
	if isStopped {
		return nil
	}
	if !isValid {
		return s.syntaxError()
	}
	return s.checkEnd()
}

// Array parses a JSON array. The items alias raw. With an error, it returns the items before the
// error.
func Array(raw []byte) ([]json.RawMessage, *SyntaxError) { return ArrayUpTo(raw, math.MaxInt) }

// ArrayUpTo parses a JSON array of at most maxItems items. The items alias raw. With an error, it returns
// the items before the error.
func ArrayUpTo(raw []byte, maxItems int) (items []json.RawMessage, err *SyntaxError) {
	s := scanner{raw: raw, mayHaveDuplicates: true}
	if s.skipSpace() != '[' {
		return nil, wrongType(raw, "not_array", "not a JSON array")
	}
	isValid := s.readArray(func() bool {
		from := s.offset
		if !s.readValue() {
			return false
		}
		items = append(items, raw[from:s.offset:s.offset])
		return len(items) <= maxItems
	})
	if len(items) > maxItems { // only batches have a limit
		return items, &SyntaxError{Rule: "too_many", Text: "more messages than any batch has"}
	}
	if !isValid {
		return items, s.syntaxError()
	}
	return items, s.checkEnd()
}

// Text decodes a JSON string, and reports false if raw is not one. It decodes an unpaired surrogate
// as U+FFFD.
func Text(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' || raw[len(raw)-1] != '"' { // else there is no white space around it
		raw = bytes.Trim(raw, WhiteSpace)
	}
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if inner := raw[1 : len(raw)-1]; raw[len(raw)-1] == '"' && isBare(inner) && utf8.Valid(inner) {
		return decodeName(raw, false), true
	}
	// The decoder cannot distinguish an unpaired surrogate from other errors.
	var room [512]byte // the text is copied once
	s, err := jsontext.AppendUnquote(room[:0], raw)
	if err != nil && Valid(raw) != nil {
		return "", false
	}
	return string(s), true
}

// Unquote decodes the JSON string quoted and appends its text to dst. dst may be the beginning of
// quoted. ok is false if quoted is not a JSON string or has an unpaired surrogate, which is
// appended as U+FFFD.
func Unquote(dst, quoted []byte) (_ []byte, ok bool) {
	dst, err := jsontext.AppendUnquote(dst, quoted)
	return dst, err == nil
}

// isBare reports whether the bytes between two quotes have no escapes.
func isBare[B []byte | string](inner B) bool {
	for i := range len(inner) {
		if !bare[inner[i]] {
			return false
		}
	}
	return true
}

// Quote returns s as a JSON string with the necessary escapes only. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) []byte { return appendQuote(make([]byte, 0, len(s)+2), s) }

// appendQuote appends the JSON string of s to b, as Quote does.
func appendQuote(b []byte, s string) []byte {
	if isBare(s) && utf8.ValidString(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	quoted, err := jsontext.AppendQuote(b, s)
	if err != nil { // s is not UTF-8
		quoted, _ = jsontext.AppendQuote(b, string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD"))))
	}
	return quoted
}

// Compact returns raw without the white space between tokens. Everything else stays unchanged. It
// returns invalid JSON unchanged.
func Compact(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// IsASCII reports whether all bytes of text are ASCII.
func IsASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// TextOrRaw returns the decoded string if raw is a JSON string, or else raw.
func TextOrRaw(raw json.RawMessage) string {
	if s, ok := Text(raw); ok {
		return s
	}
	return string(raw)
}
