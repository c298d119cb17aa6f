// Package jsonraw reads and composes JSON whose bytes are kept.
package jsonraw

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A Member is one name and value of a JSON object, as it stood there. Value
// aliases the object's bytes; it has no capacity beyond them, so that appending
// to it cannot write into the message.
type Member struct {
	// Name is the decoded name. An unpaired surrogate in it reads U+FFFD.
	Name  string
	Value json.RawMessage
}

// Members is a JSON object in the order in which it was written, duplicates
// included. Names are compared exactly: "Method" is not "method", because what
// Go's encoding/json folds together other peers keep apart.
type Members []Member

// Get gives the value of the first member called name, and whether there is one.
// The value has no white space around it.
func (m Members) Get(name string) (json.RawMessage, bool) {
	for i := range m {
		if m[i].Name == name {
			return m[i].Value, true
		}
	}
	return nil, false
}

// Value gives the value of the first member called name, or nil.
func (m Members) Value(name string) json.RawMessage {
	value, _ := m.Get(name)
	return value
}

// Text gives the string that stands under name, or "".
func (m Members) Text(name string) string {
	s, _ := Text(m.Value(name))
	return s
}

// Words are the strings in the array that stands under name.
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

// Duplicate names the first member that stands twice, if there is one: "" is a
// name like any other.
func (m Members) Duplicate() (name string, twice bool) {
	if len(m) <= 8 {
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

// Valid reports how raw fails to be one JSON value of bounded depth in UTF-8,
// or nil.
func Valid(raw []byte) *SyntaxError {
	s := scanner{raw: raw, twice: true}
	if !s.value() {
		return s.failed()
	}
	return s.ended()
}

// Prefix gives the value with which a text begins, and what follows it; nil where it
// begins with none.
func Prefix(text []byte) (value, rest []byte) {
	s := scanner{raw: text, twice: true}
	if !s.value() {
		return nil, text
	}
	return text[:s.at:s.at], text[s.at:]
}

// notA says why raw does not begin as an object or an array does.
func notA(raw []byte, rule, text string) *SyntaxError {
	if len(raw) == 0 { // as of a member that is not there
		return &SyntaxError{Rule: "syntax", Text: "the JSON ends too early"}
	}
	if err := Valid(raw); err != nil {
		return err // "not found" is not JSON, although it begins like null
	}
	return &SyntaxError{Rule: rule, Text: text}
}

// Object takes the JSON object raw apart. The values alias raw. With an error
// come the members that stand before it.
func Object(raw []byte) (Members, *SyntaxError) {
	var room [16]Member // as most objects have, or fewer
	members, err := AppendMembers(room[:0], raw)
	return append(make(Members, 0, len(members)), members...), err
}

// AppendMembers appends to members what Object returns.
func AppendMembers(members Members, raw []byte) (Members, *SyntaxError) {
	s := scanner{raw: raw, twice: true}
	if s.next() != '{' {
		return members, notA(raw, "not_object", "not a JSON object")
	}
	if !s.open() {
		return members, s.failed()
	}
	for s.next() != '}' {
		quoted, escaped, ok := s.memberName(0)
		from := s.at
		if !ok || !s.value() {
			return members, s.failed()
		}
		members = append(members, s.member(nameOf(quoted, escaped), from))
		if !s.goesOn('}') {
			return members, s.failed()
		}
	}
	s.at++
	return members, s.ended()
}

// First gives the value of the first member called name, or nil. It reads no
// further, whatever follows.
func First(raw []byte, name string) (value json.RawMessage) {
	if begin := bytes.TrimLeft(raw, WhiteSpace); len(begin) == 0 || begin[0] != '{' {
		return nil // EachMember takes long to say why
	}
	_ = EachMember(raw, func(_ int, is string, from, to int) bool {
		if is == name {
			value = raw[from:to:to]
		}
		return is != name
	})
	return value
}

// EachMember tells f of every member of the object raw: its index, its name and
// where in raw its value stands, until f says that it is enough.
func EachMember(raw []byte, f func(i int, name string, from, to int) bool) *SyntaxError {
	s := scanner{raw: raw, twice: true}
	if s.next() != '{' {
		return notA(raw, "not_object", "not a JSON object")
	}
	i := 0
	enough := false
	whole := s.object(func(name string) bool {
		from := s.at
		if !s.value() {
			return false
		}
		enough = !f(i, name, from, s.at)
		i++
		return !enough
	})
	if enough {
		return nil
	}
	if !whole {
		return s.failed()
	}
	return s.ended()
}

// Array takes the JSON array raw apart. The items alias raw. With an error come
// the items that stand before it.
func Array(raw []byte) ([]json.RawMessage, *SyntaxError) { return ArrayUpTo(raw, math.MaxInt) }

// ArrayUpTo is Array for at most so many items.
func ArrayUpTo(raw []byte, most int) (items []json.RawMessage, err *SyntaxError) {
	s := scanner{raw: raw, twice: true}
	if s.next() != '[' {
		return nil, notA(raw, "not_array", "not a JSON array")
	}
	whole := s.array(func() bool {
		from := s.at
		if !s.value() {
			return false
		}
		items = append(items, raw[from:s.at:s.at])
		return len(items) <= most
	})
	if len(items) > most {
		return items, &SyntaxError{Rule: "too_many", Text: "more messages than any batch has"}
	}
	if !whole {
		return items, s.failed()
	}
	return items, s.ended()
}

// Text gives the string that raw holds; false where raw is not a JSON string. An
// unpaired surrogate in it comes back as U+FFFD.
func Text(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		raw = bytes.Trim(raw, WhiteSpace)
	}
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if inner := raw[1 : len(raw)-1]; raw[len(raw)-1] == '"' && isBare(inner) && utf8.Valid(inner) {
		return nameOf(raw, false), true
	}
	// To the decoder an unpaired surrogate is an error like any other.
	var room [512]byte // the text is copied once
	s, err := jsontext.AppendUnquote(room[:0], raw)
	if err != nil && Valid(raw) != nil {
		return "", false
	}
	return string(s), true
}

// Unquote appends what the JSON string quoted says to dst, which may begin where quoted
// does. ok is false where quoted is no such string, or has an unpaired surrogate, which
// is appended as U+FFFD.
func Unquote(dst, quoted []byte) (_ []byte, ok bool) {
	dst, err := jsontext.AppendUnquote(dst, quoted)
	return dst, err == nil
}

// isBare reports whether the bytes between two quotes stand for themselves.
func isBare[B []byte | string](inner B) bool {
	for i := range len(inner) {
		if !bare[inner[i]] {
			return false
		}
	}
	return true
}

// Quote writes s as a JSON string. Nothing but what JSON demands is escaped:
// what a user typed is what is sent. Bytes that are no UTF-8, which JSON cannot
// carry, become U+FFFD.
func Quote(s string) []byte { return appendQuote(make([]byte, 0, len(s)+2), s) }

// appendQuote appends what Quote returns.
func appendQuote(b []byte, s string) []byte {
	if isBare(s) && utf8.ValidString(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	quoted, err := jsontext.AppendQuote(b, s)
	if err != nil {
		quoted, _ = jsontext.AppendQuote(b, string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD"))))
	}
	return quoted
}

// Compact gives raw without the white space between its tokens; numbers,
// strings and the order of members stay as they are. What is not JSON comes back
// as it is.
func Compact(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

func IsASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// TextOrRaw is the string that raw holds, or else raw itself.
func TextOrRaw(raw json.RawMessage) string {
	if s, ok := Text(raw); ok {
		return s
	}
	return string(raw)
}
