package redact

import (
	"bytes"
	"strings"

	"mcpc/internal/spool"
)

const (
	// keyWord is in each private key that is written as text (RFC 7468, RFC 4880).
	keyWord = "PRIVATE"
	// maxKey is the maximum size of a key in bytes. minKeyLine is how many characters of
	// base64 in a row distinguish a key from a text about keys.
	maxKey     = 64 << 10
	minKeyLine = 12
	// maxKeyName is the maximum length of the words before PRIVATE KEY.
	maxKeyName = 40
)

// plainKey returns a key with its escaped line ends decoded, at any level of escaping.
func plainKey(text string) string {
	if strings.Contains(text, "%") { // as in a URL or a form; a key itself has no percent sign
		text = unescaped(text)
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		from := i
		for i < len(text) && text[i] == '\\' {
			i++
		}
		if i == len(text) { // the backslashes belong to the quote after the key
			return b.String()
		}
		isEscaped := i > from
		if text[i] == '\r' || isEscaped && text[i] == 'r' {
			continue // a line feed follows
		}
		if isEscaped && text[i] == 'n' {
			b.WriteByte('\n')
		} else {
			b.WriteString(text[from : i+1])
		}
	}
	return b.String()
}

// hideKeys hides private keys, from -----BEGIN to -----END with line ends of any kind in between. A
// key that was cut reaches to the end of the text or string.
func hideKeys(raw []byte, _ bool) edit {
	e := edit{raw: raw}
	for offset := 0; ; {
		word := spool.Index(raw, keyWord, offset)
		if word == len(raw) {
			return e
		}
		offset = word + len(keyWord)
		from, ok := keyStart(raw[:word], e.done)
		if !ok {
			continue
		}
		to := keyEnd(raw, offset)
		if to == 0 {
			continue
		}
		plain := plainKey(string(raw[from:to]))
		e.replace(from, to, Redacted(plain))
		e.secrets = append(append(e.secrets, plain), keyLines(plain)...)
		offset = to
	}
}

// keyStart returns the place where a key begins, not before done. before is the text up to the word
// PRIVATE in the key's first line. It reports false if the line is not the first line of a key.
func keyStart(before []byte, done int) (int, bool) {
	searched := max(done, len(before)-maxKeyName)
	offset := bytes.LastIndex(before[searched:], []byte("BEGIN"))
	if offset < 0 {
		return 0, false
	}
	word := searched + offset
	for _, c := range before[word+len("BEGIN"):] {
		isSpace := c == ' ' || c == '+' // + is a space in a form-encoded text
		if !isSpace && !capitals[c] {
			return 0, false
		}
	}
	dashesEnd := word
	if word > done && (before[word-1] == ' ' || before[word-1] == '+') {
		dashesEnd-- // SSH2 has a space after the dashes
	}
	dashes := dashesEnd
	for dashes > done && before[dashes-1] == '-' {
		dashes--
	}
	return dashes, dashesEnd-dashes >= 4 // SSH2 has four, other formats have five
}

// keyEnd returns the place where a key ends: after its last line, at the quote that ends the string
// with it, or maxKey bytes on. offset is the place after the word PRIVATE in the key's first line.
// It returns 0 if the text is not a key.
func keyEnd(raw []byte, offset int) int {
	line := raw[offset:min(len(raw), offset+maxKeyName)]
	dashes := bytes.Index(line, []byte("----"))
	if dashes < 0 {
		return 0
	}
	label := strings.ReplaceAll(strings.TrimRight(string(line[:dashes]), " +"), "+", " ") // a form has + for a space
	// OpenPGP has KEY BLOCK.
	if label != " KEY" && label != " KEY BLOCK" {
		return 0
	}
	body := offset + dashes
	for body < len(raw) && raw[body] == '-' {
		body++
	}
	rest := raw[body:min(len(raw), body+maxKey)]
	rest = rest[:nextKey(rest)]
	size := len(rest)
	if quote := bytes.IndexAny(rest, `"'`); quote >= 0 { // the key was cut, or the string ends after it
		size = len(bytes.TrimRight(rest[:quote], `\`))
	}
	if end := bytes.Index(rest, []byte("-END")); end >= 0 && end < size {
		after := end + len("-END")
		for after < len(rest) && (capitals[rest[after]] || rest[after] == ' ' || rest[after] == '+') {
			after++
		}
		for after < len(rest) && rest[after] == '-' {
			after++
		}
		size = after
	}
	// Without base64 it is a text about keys.
	if !bytes.Contains(rest[:size], []byte("ENCRYPTED")) && !hasKeyLine(rest[:size]) {
		return 0
	}
	return body + size
}

// nextKey returns the place where the next key begins in rest, or len(rest) without a further key.
// Keys do not nest, and without this check each of many first lines would cost a search of maxKey
// bytes.
func nextKey(rest []byte) int {
	for offset := 0; ; {
		dashes := bytes.Index(rest[offset:], []byte("----"))
		if dashes < 0 {
			return len(rest)
		}
		from := offset + dashes
		offset = from
		for offset < len(rest) && rest[offset] == '-' {
			offset++
		}
		if bytes.HasPrefix(bytes.TrimLeft(rest[offset:min(len(rest), offset+len(" BEGIN"))], " +"), []byte("BEGIN")) {
			return from
		}
	}
}

// keyLineLength is the length of the lines of a key (RFC 7468, section 2).
const keyLineLength = 64

// keyLines returns the full base64 lines of a key in its usual form. They may be sent one by one.
func keyLines(key string) []string {
	isOther := func(c rune) bool { return c > 127 || c == '-' || c == '_' || base64Values[c] == noDigit }
	var lines []string
	for _, run := range strings.FieldsFunc(key, isOther) {
		for len(run) >= keyLineLength {
			lines = append(lines, run[:keyLineLength])
			run = run[keyLineLength:]
		}
	}
	return lines
}

// hasKeyLine reports whether body has at least minKeyLine characters of base64 in a row.
func hasKeyLine(body []byte) bool {
	run := 0
	for _, c := range body {
		if c != '-' && c != '_' && base64Values[c] < 64 {
			run++
		} else {
			run = 0
		}
		if run >= minKeyLine {
			return true
		}
	}
	return false
}
