package jsonraw

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcpc/internal/spool"
)

// MaxDepth is the maximum depth of JSON that mcpc accepts.
const MaxDepth = 1000

// WhiteSpace has the white space characters of JSON (RFC 8259, section 2).
const WhiteSpace = " \t\r\n"

// A SyntaxError is an error in JSON, with its offset.
type SyntaxError struct {
	// Offset is the number of bytes before the error.
	Offset int64
	// Rule is "depth", "utf8", "syntax", "not_object", "not_array", "trailing"
	// or, in a message, "too_many".
	Rule string
	Text string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Text, e.Offset) }

// decodeName decodes the name of a member. It does not allocate for usual names.
func decodeName(quoted []byte, escaped bool) string {
	if escaped {
		name, _ := jsontext.AppendUnquote(nil, quoted) // an unpaired surrogate becomes U+FFFD
		return string(name)
	}
	bare := quoted[1 : len(quoted)-1]
	if name := usualNames[nameSlot(string(bare))]; name == string(bare) {
		return name
	}
	return string(bare)
}

// usual has the names and methods that occur in most messages.
const usual = `jsonrpc id method params result error code message data _meta
	progressToken progress total level logger resultType nextCursor ttlMs cacheScope tools name title description
	inputSchema outputSchema annotations readOnlyHint destructiveHint idempotentHint openWorldHint
	type string number integer boolean object array properties required content text isError structuredContent complete
	notifications/progress notifications/message arguments tools/call
	capabilities version protocolVersion serverInfo clientInfo uri contents messages initialize
	io.modelcontextprotocol/clientInfo io.modelcontextprotocol/clientCapabilities
	io.modelcontextprotocol/protocolVersion io.modelcontextprotocol/serverInfo`

// usualNames maps slots to usual names. If two names have one slot, only the later one is found.
var usualNames = func() (names [256]string) {
	for name := range strings.FieldsSeq(usual) {
		names[nameSlot(name)] = name
	}
	return names
}()

// nameSlot hashes a name by its length and two of its letters. The factors were chosen so that few of
// the usual names share a slot.
func nameSlot(name string) byte {
	if name == "" {
		return 0
	}
	return byte(len(name)) + 2*name[0] + 26*name[len(name)-1]
}

// firstInvalidUTF8 returns the offset of the first byte that is not valid UTF-8, or len(raw).
func firstInvalidUTF8(raw []byte) int {
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

// ValidUTF8 reports whether raw is valid UTF-8.
func ValidUTF8(raw []byte) bool {
	for from := 0; from < len(raw); {
		to := len(raw)
		if from+spool.Piece < len(raw) { // a piece ends before a character that it would cut off
			to = lastRune(raw[:from+spool.Piece+1])
		}
		if !utf8.Valid(raw[from:to]) {
			return false
		}
		spool.Release(raw[from:to])
		from = to
	}
	return true
}

// DuplicateIn returns the JSON pointer of the first duplicate member in raw, at any depth, or "".
func DuplicateIn(raw []byte) string {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowInvalidUTF8(true))
	var failed *jsontext.SyntacticError
	if err := d.SkipValue(); errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &failed) {
		return string(failed.JSONPointer)
	}
	return ""
}
