package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deeply JSON may nest before mcpc calls it hostile.
const MaxDepth = 1000

// A Member is one name and value of a JSON object, as it stood there. Value
// aliases the object's bytes.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members is a JSON object in the order in which it was written, duplicates
// included. Names are compared exactly: "Method" is not "method", because what
// Go's encoding/json folds together other peers keep apart.
type Members []Member

// Get gives the value of the first member called name, and whether there is one.
func (m Members) Get(name string) (json.RawMessage, bool) {
	for i := range m {
		if m[i].Name == name {
			return m[i].Value, true
		}
	}
	return nil, false
}

// Text gives the string that stands under name, or "".
func (m Members) Text(name string) string {
	raw, _ := m.Get(name)
	s, _ := Text(raw)
	return s
}

// Duplicate names the first member that stands twice, or is "".
func (m Members) Duplicate() string {
	seen := make(map[string]bool, len(m))
	for i := range m {
		if seen[m[i].Name] {
			return m[i].Name
		}
		seen[m[i].Name] = true
	}
	return ""
}

// A SyntaxError says where bytes stop being the JSON that was expected.
type SyntaxError struct {
	// Offset counts bytes from the start.
	Offset int64
	// Rule is "depth", "utf8", "syntax", "not_object", "not_array" or "trailing".
	Rule string
	Text string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Text, e.Offset) }

// Valid reports how raw fails to be one JSON value of bounded depth in UTF-8,
// or nil.
func Valid(raw []byte) *SyntaxError {
	if err := checkBounds(raw); err != nil {
		return err
	}
	d := newDecoder(raw)
	if err := d.SkipValue(); err != nil {
		return syntaxError(d, err)
	}
	return atEnd(d)
}

// Object takes the JSON object raw apart. The values alias raw.
func Object(raw []byte) (Members, *SyntaxError) {
	if err := checkBounds(raw); err != nil {
		return nil, err
	}
	d := newDecoder(raw)
	if k := d.PeekKind(); k != '{' {
		return nil, wrongKind(d, k, "object")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, syntaxError(d, err)
	}
	var members Members
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return members, syntaxError(d, err)
		}
		name := token.String()
		value, err := nextValue(d, raw)
		if err != nil {
			return members, syntaxError(d, err)
		}
		members = append(members, Member{Name: name, Value: value})
	}
	return members, closed(d)
}

// Array takes the JSON array raw apart. The items alias raw.
func Array(raw []byte) ([]json.RawMessage, *SyntaxError) {
	if err := checkBounds(raw); err != nil {
		return nil, err
	}
	d := newDecoder(raw)
	if k := d.PeekKind(); k != '[' {
		return nil, wrongKind(d, k, "array")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, syntaxError(d, err)
	}
	var items []json.RawMessage
	for k := d.PeekKind(); k != ']' && k != 0; k = d.PeekKind() {
		value, err := nextValue(d, raw)
		if err != nil {
			return items, syntaxError(d, err)
		}
		items = append(items, value)
	}
	return items, closed(d)
}

// Text gives the string that raw holds; false where raw is no JSON string.
func Text(raw []byte) (string, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	// An unpaired surrogate is an error to the decoder and still a text to a
	// reader: it comes back as U+FFFD.
	s, _ := jsontext.AppendUnquote(nil, raw)
	return string(s), raw[len(raw)-1] == '"'
}

// Quote writes s as a JSON string. Nothing but what JSON demands is escaped:
// what a user typed is what is sent.
func Quote(s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		b, _ = jsontext.AppendQuote(nil, string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD"))))
	}
	return b
}

// Compact gives raw without the white space between its tokens; numbers,
// strings and the order of members stay as they are.
func Compact(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

func newDecoder(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(raw),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// nextValue reads one value and gives its bytes in raw, so that nothing is
// copied however large it is.
func nextValue(d *jsontext.Decoder, raw []byte) (json.RawMessage, error) {
	d.PeekKind()
	from := d.InputOffset()
	if err := d.SkipValue(); err != nil {
		return nil, err
	}
	value := raw[from:d.InputOffset()]
	return bytes.TrimLeft(value, " \t\r\n:,"), nil
}

func closed(d *jsontext.Decoder) *SyntaxError {
	if _, err := d.ReadToken(); err != nil {
		return syntaxError(d, err)
	}
	return atEnd(d)
}

func atEnd(d *jsontext.Decoder) *SyntaxError {
	offset := d.InputOffset()
	if _, err := d.ReadToken(); err != io.EOF {
		return &SyntaxError{Offset: offset, Rule: "trailing", Text: "more bytes follow the JSON value"}
	}
	return nil
}

func wrongKind(d *jsontext.Decoder, k jsontext.Kind, want string) *SyntaxError {
	if k == 0 {
		_, err := d.ReadToken()
		return syntaxError(d, err)
	}
	return &SyntaxError{Rule: "not_" + want, Text: "not a JSON " + want}
}

func syntaxError(d *jsontext.Decoder, err error) *SyntaxError {
	out := &SyntaxError{Offset: d.InputOffset(), Rule: "syntax", Text: "invalid JSON"}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		out.Offset = syntactic.ByteOffset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		out.Text = "the JSON ends too early"
	}
	return out
}

// checkBounds is one linear pass, so that neither depth nor broken text can
// cost more than reading it.
func checkBounds(raw []byte) *SyntaxError {
	if at := tooDeep(raw); at >= 0 {
		return &SyntaxError{Offset: int64(at), Rule: "depth",
			Text: fmt.Sprintf("nested more than %d deep", MaxDepth)}
	}
	if !utf8.Valid(raw) {
		return &SyntaxError{Offset: int64(invalidAt(raw)), Rule: "utf8", Text: "not UTF-8"}
	}
	return nil
}

func tooDeep(raw []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
			n := bytes.IndexAny(raw[i:], "\"\\")
			if n < 0 {
				return -1
			}
			i += n - 1
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

func invalidAt(raw []byte) int {
	at := 0
	for at < len(raw) {
		r, n := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return at
}
