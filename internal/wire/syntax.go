package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deeply JSON may nest before mcpc calls it hostile.
const MaxDepth = 1000

// whiteSpace is what JSON takes for it (RFC 8259, section 2): less than Unicode.
const whiteSpace = " \t\r\n"

// A SyntaxError says where bytes stop being the JSON that was expected.
type SyntaxError struct {
	// Offset counts bytes from the start.
	Offset int64
	// Rule is "depth", "utf8", "syntax", "not_object", "not_array", "trailing"
	// or, in a message, "too_many".
	Rule string
	Text string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Text, e.Offset) }

// read lets look go through raw, within bounds: raw is in UTF-8 and no deeper
// than MaxDepth wherever read reports no error.
//
// The first look is strict, because then the tokenizer sees to the UTF-8 in the
// same pass. It also refuses unpaired surrogates ("\ud800"), which are legal
// JSON that real servers send: for them, and for the place of an error, there
// is a second look.
func read(raw []byte, look func(*jsontext.Decoder) *SyntaxError) (unpaired bool, err *SyntaxError) {
	if len(raw) == 0 { // as a member that is not there
		return false, &SyntaxError{Rule: "syntax", Text: endsTooEarly}
	}
	if at := tooDeep(raw); at >= 0 {
		return false, &SyntaxError{Offset: int64(at), Rule: "depth",
			Text: fmt.Sprintf("nested more than %d deep", MaxDepth)}
	}
	d := newDecoder(raw)
	err = look(&d.Decoder)
	d.release()
	if err == nil || err.Rule != "syntax" {
		return false, err
	}
	if at := invalidAt(raw); at < len(raw) {
		return false, &SyntaxError{Offset: int64(at), Rule: "utf8", Text: "not UTF-8"}
	}
	d = newDecoder(raw, jsontext.AllowInvalidUTF8(true))
	err = look(&d.Decoder)
	d.release()
	if err != nil && err.Rule == "syntax" {
		return false, fault(raw)
	}
	return err == nil, err
}

// fault reads raw token by token, which is slower and shows more exactly where
// it breaks: in [1,] at the comma and not behind it.
func fault(raw []byte) *SyntaxError {
	d := newDecoder(raw, jsontext.AllowInvalidUTF8(true))
	defer d.release()
	return syntaxError(&d.Decoder, d.SkipValue())
}

// A decoder reads bytes where they stand: on a bytes.Buffer it copies nothing.
type decoder struct {
	jsontext.Decoder
	src bytes.Buffer
}

// decoders are used again: most of what is read is so short that making a
// decoder would cost more than reading.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

var usualOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true)}

func newDecoder(raw []byte, unusual ...jsontext.Options) *decoder {
	d := decoders.Get().(*decoder)
	d.src = *bytes.NewBuffer(raw)
	d.Reset(&d.src, append(usualOptions, unusual...)...)
	return d
}

// release gives d back, and holds on to nothing that it has read.
func (d *decoder) release() {
	d.src = bytes.Buffer{}
	d.Reset(&d.src)
	decoders.Put(d)
}

// nextName reads the name of a member. The usual ones are not copied.
func nextName(d *jsontext.Decoder) (string, error) {
	quoted, err := d.ReadValue()
	if err != nil {
		return "", err
	}
	if bare := quoted[1 : len(quoted)-1]; bytes.IndexByte(bare, '\\') < 0 {
		return nameOf(bare), nil
	}
	name, _ := jsontext.AppendUnquote(nil, quoted) // half a surrogate pair reads U+FFFD
	return string(name), nil
}

// nameOf is the name that stands between quotes, without escapes.
func nameOf(bare []byte) string {
	if name := usualNames[nameSlot(bare)]; name == string(bare) {
		return name
	}
	return string(bare)
}

// usual are the names and the methods that stand in most messages.
const usual = `jsonrpc id method params result error code message data _meta
	progressToken progress total level logger resultType nextCursor ttlMs cacheScope tools name title description
	inputSchema outputSchema annotations readOnlyHint destructiveHint idempotentHint openWorldHint
	type properties required content text isError structuredContent
	notifications/progress notifications/message`

// usualNames has them each in a slot of its own.
var usualNames = func() (names [256]string) {
	for _, name := range strings.Fields(usual) {
		names[nameSlot([]byte(name))] = name
	}
	return names
}()

func nameSlot(name []byte) byte {
	slot := byte(len(name))
	for _, c := range name[:min(len(name), 3)] {
		slot = slot*17 + c
	}
	return slot
}

// open reads the bracket that begins an object or an array.
func open(d *jsontext.Decoder, raw []byte, bracket jsontext.Kind) *SyntaxError {
	if d.PeekKind() == bracket {
		if _, err := d.ReadToken(); err != nil {
			return syntaxError(d, err)
		}
		return nil
	}
	// "not found" is no JSON, although it begins like null.
	if _, err := d.ReadValue(); err != nil {
		return syntaxError(d, err)
	}
	if err := atEnd(d, raw); err != nil {
		return err
	}
	if bracket == '{' {
		return &SyntaxError{Rule: "not_object", Text: "not a JSON object"}
	}
	return &SyntaxError{Rule: "not_array", Text: "not a JSON array"}
}

// nextValue reads one value and says where it stands, so that nothing is copied
// however large it is.
func nextValue(d *jsontext.Decoder) (from, to int, err error) {
	value, err := d.ReadValue()
	to = int(d.InputOffset())
	return to - len(value), to, err
}

// closed reads the bracket that ends the outermost object or array.
func closed(d *jsontext.Decoder, raw []byte) *SyntaxError {
	if _, err := d.ReadToken(); err != nil {
		return syntaxError(d, err)
	}
	return atEnd(d, raw)
}

func atEnd(d *jsontext.Decoder, raw []byte) *SyntaxError {
	rest := bytes.TrimLeft(raw[d.InputOffset():], whiteSpace)
	if len(rest) > 0 {
		return &SyntaxError{Offset: int64(len(raw) - len(rest)), Rule: "trailing", Text: "more bytes follow the JSON value"}
	}
	return nil
}

const endsTooEarly = "the JSON ends too early"

func syntaxError(d *jsontext.Decoder, err error) *SyntaxError {
	out := &SyntaxError{Offset: d.InputOffset(), Rule: "syntax", Text: "invalid JSON"}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		out.Offset = syntactic.ByteOffset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		out.Text = endsTooEarly
	}
	return out
}

// tooDeep gives the place of the first bracket that nests too deeply, or -1. It
// is one pass without a stack, so that depth cannot cost more than reading.
func tooDeep(raw []byte) int {
	if bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")) <= MaxDepth {
		return -1
	}
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			i = endOfString(raw, i)
		case c < '[': // most of what stands between strings
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

// endOfString gives the place of the quote that closes the one at from.
func endOfString(raw []byte, from int) int {
	for i := from + 1; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return len(raw)
}

// invalidAt gives the place of the first byte that is not UTF-8, or len(raw).
func invalidAt(raw []byte) int {
	if utf8.Valid(raw) {
		return len(raw)
	}
	at := 0
	for at < len(raw) {
		r, n := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

// duplicateIn gives a JSON pointer to the first member of raw that stands twice
// in its object, at any depth, or "".
func duplicateIn(raw []byte) string {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowInvalidUTF8(true))
	var failed *jsontext.SyntacticError
	if err := d.SkipValue(); errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &failed) {
		return string(failed.JSONPointer)
	}
	return ""
}
