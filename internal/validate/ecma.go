package validate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON Schema uses the regular expressions of ECMA-262, which differ little from Go's. fromECMA
// rewrites the differences. It leaves syntax that only Go has, such as (?i), unchanged, because
// authors of schemas also use Python's syntax.

// The characters that \s and \S match in ECMA-262, and its dot.
const (
	ecmaSpace = `\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	ecmaOther = `\x00-\x08\x0e-\x1f!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}` +
		`\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
	ecmaDot = `[^\n\r\x{2028}\x{2029}]`
)

// An ecma translates one pattern of ECMA-262 to Go's syntax.
type ecma struct {
	rest    string // not translated yet
	out     strings.Builder
	inClass bool // rest begins within [ and ]
	// unsupported names what Go cannot express, or is "" if it can express everything so far.
	unsupported string
}

// fromECMA returns Go's spelling of a pattern. why names the first construct that Go cannot
// express, or is "". The spelling then contains a substitute for the construct.
func fromECMA(source string) (spelling, why string) {
	e := &ecma{rest: source}
	for e.rest != "" {
		e.translateNext()
	}
	return e.out.String(), e.unsupported
}

// replaceUnsupported replaces the next n bytes, which Go cannot express.
func (e *ecma) replaceUnsupported(n int, substitute, what string) {
	if e.unsupported == "" {
		e.unsupported = what + " is not supported"
	}
	e.replaceNext(n, substitute)
}

// lookArounds are the prefixes of look-ahead and look-behind assertions.
var lookArounds = []string{"(?=", "(?!", "(?<=", "(?<!"}

// copyNext copies the next n bytes.
func (e *ecma) copyNext(n int) { e.replaceNext(n, e.rest[:n]) }

// replaceNext replaces the next n bytes.
func (e *ecma) replaceNext(n int, replacement string) {
	e.out.WriteString(replacement)
	e.rest = e.rest[n:]
}

// translateNext translates the next token of rest: an escape, a bracket, or a character.
func (e *ecma) translateNext() {
	if !e.inClass {
		for _, prefix := range lookArounds {
			if strings.HasPrefix(e.rest, prefix) {
				e.replaceUnsupported(len(prefix), "(?:", "look-around")
				return
			}
		}
	}
	switch {
	case e.rest[0] == '\\':
		e.translateEscape()
	case e.inClass && e.rest[0] == '[':
		e.replaceNext(1, `\[`)
	case e.inClass:
		e.inClass = e.rest[0] != ']'
		e.copyNext(1)
	case strings.HasPrefix(e.rest, "[^]"): // any character
		e.replaceNext(3, `[\x00-\x{10ffff}]`)
	case strings.HasPrefix(e.rest, "[]"): // no character
		e.replaceNext(2, `[^\x00-\x{10ffff}]`)
	case strings.HasPrefix(e.rest, "[^"):
		e.inClass = true
		e.copyNext(2)
	case e.rest[0] == '[':
		e.inClass = true
		e.copyNext(1)
	case e.rest[0] == '.':
		e.replaceNext(1, ecmaDot)
	default:
		e.copyNext(1)
	}
}

// translateEscape translates the escape at the start of rest.
func (e *ecma) translateEscape() {
	if len(e.rest) == 1 {
		e.copyNext(1)
		return
	}
	c := e.rest[1]
	switch {
	case c == 's':
		e.writeSet(ecmaSpace)
	case c == 'S':
		e.writeSet(ecmaOther)
	case c == 'u':
		e.translateUnicode()
	case c == 'c' && len(e.rest) > 2 && e.rest[2]|0x20 >= 'a' && e.rest[2]|0x20 <= 'z': // \cA is Ctrl-A
		e.replaceNext(3, fmt.Sprintf(`\x%02x`, e.rest[2]&0x1f))
	case c == 'p' || c == 'P':
		e.translateProperty()
	case c >= '1' && c <= '9' && !e.inClass:
		e.replaceUnsupported(2, "(?:)", "a back-reference")
	case c == 'k' && !e.inClass:
		name, _, _ := strings.Cut(e.rest, ">")
		e.replaceUnsupported(min(len(name)+1, len(e.rest)), "(?:)", "a back-reference")
	case c == 'b' && e.inClass: // a backspace; elsewhere a word boundary
		e.replaceNext(2, `\x08`)
	default:
		_, n := utf8.DecodeRuneInString(e.rest[1:])
		e.copyNext(1 + n)
	}
}

func (e *ecma) writeSet(members string) {
	if e.inClass {
		e.replaceNext(2, members)
		return
	}
	e.replaceNext(2, "["+members+"]")
}

// translateUnicode translates \uXXXX, surrogate pairs of it, and \u{X…}.
func (e *ecma) translateUnicode() {
	if rest, ok := strings.CutPrefix(e.rest, `\u{`); ok {
		if hex, _, ok := strings.Cut(rest, "}"); ok {
			e.replaceNext(len(`\u{}`)+len(hex), `\x{`+hex+`}`)
			return
		}
	}
	r, ok := hexRune(e.rest)
	if !ok {
		e.copyNext(2)
		return
	}
	n := len(`\uXXXX`)
	low, ok := hexRune(e.rest[n:])
	if ok && utf16.DecodeRune(r, low) != utf8.RuneError {
		r = utf16.DecodeRune(r, low)
		n *= 2
	}
	if utf16.IsSurrogate(r) {
		e.replaceUnsupported(n, `\x{fffd}`, "half of a surrogate pair")
		return
	}
	e.replaceNext(n, fmt.Sprintf(`\x{%x}`, r))
}

func hexRune(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}

// translateProperty translates \p{Script=Greek} to Go's \p{Greek}.
func (e *ecma) translateProperty() {
	name, _, ok := strings.Cut(e.rest, "}")
	if !ok || len(name) < 3 || name[2] != '{' {
		e.copyNext(2)
		return
	}
	n := len(name) + 1
	kind, value, ok := strings.Cut(name[3:], "=")
	switch kind {
	case "Script", "sc", "Script_Extensions", "scx", "General_Category", "gc":
		if ok {
			e.replaceNext(n, name[:3]+value+"}")
			return
		}
	}
	e.copyNext(n)
}
