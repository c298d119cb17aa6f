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

type ecma struct {
	in    string
	out   strings.Builder
	class bool
	why   string
}

// fromECMA returns Go's spelling of a pattern. why names the first construct that Go cannot
// express, or is "". The spelling then contains a substitute for the construct.
func fromECMA(source string) (spelling, why string) {
	e := &ecma{in: source}
	for e.in != "" {
		e.translateNext()
	}
	return e.out.String(), e.why
}

// replaceUnsupported replaces the next n bytes, which Go cannot express.
func (e *ecma) replaceUnsupported(n int, substitute, what string) {
	if e.why == "" {
		e.why = what + " is not supported"
	}
	e.replaceNext(n, substitute)
}

// lookArounds are the prefixes of look-ahead and look-behind assertions.
var lookArounds = []string{"(?=", "(?!", "(?<=", "(?<!"}

// copyNext copies the next n bytes.
func (e *ecma) copyNext(n int) { e.replaceNext(n, e.in[:n]) }

// replaceNext replaces the next n bytes.
func (e *ecma) replaceNext(n int, replacement string) {
	e.out.WriteString(replacement)
	e.in = e.in[n:]
}

func (e *ecma) translateNext() {
	if !e.class {
		for _, begin := range lookArounds {
			if strings.HasPrefix(e.in, begin) {
				e.replaceUnsupported(len(begin), "(?:", "look-around")
				return
			}
		}
	}
	switch {
	case e.in[0] == '\\':
		e.translateEscape()
	case e.class && e.in[0] == '[':
		e.replaceNext(1, `\[`)
	case e.class:
		e.class = e.in[0] != ']'
		e.copyNext(1)
	case strings.HasPrefix(e.in, "[^]"):
		e.replaceNext(3, `[\x00-\x{10ffff}]`)
	case strings.HasPrefix(e.in, "[]"):
		e.replaceNext(2, `[^\x00-\x{10ffff}]`)
	case strings.HasPrefix(e.in, "[^"):
		e.class = true
		e.copyNext(2)
	case e.in[0] == '[':
		e.class = true
		e.copyNext(1)
	case e.in[0] == '.':
		e.replaceNext(1, ecmaDot)
	default:
		e.copyNext(1)
	}
}

func (e *ecma) translateEscape() {
	if len(e.in) == 1 {
		e.copyNext(1)
		return
	}
	c := e.in[1]
	switch {
	case c == 's':
		e.writeSet(ecmaSpace)
	case c == 'S':
		e.writeSet(ecmaOther)
	case c == 'u':
		e.translateUnicode()
	case c == 'c' && len(e.in) > 2 && e.in[2]|0x20 >= 'a' && e.in[2]|0x20 <= 'z':
		e.replaceNext(3, fmt.Sprintf(`\x%02x`, e.in[2]&0x1f))
	case c == 'p' || c == 'P':
		e.translateProperty()
	case c >= '1' && c <= '9' && !e.class:
		e.replaceUnsupported(2, "(?:)", "a back-reference")
	case c == 'k' && !e.class:
		name, _, _ := strings.Cut(e.in, ">")
		e.replaceUnsupported(min(len(name)+1, len(e.in)), "(?:)", "a back-reference")
	case c == 'b' && e.class:
		e.replaceNext(2, `\x08`)
	default:
		_, n := utf8.DecodeRuneInString(e.in[1:])
		e.copyNext(1 + n)
	}
}

func (e *ecma) writeSet(members string) {
	if e.class {
		e.replaceNext(2, members)
		return
	}
	e.replaceNext(2, "["+members+"]")
}

// translateUnicode translates \uXXXX, surrogate pairs of it, and \u{X…}.
func (e *ecma) translateUnicode() {
	if rest, ok := strings.CutPrefix(e.in, `\u{`); ok {
		if hex, _, ok := strings.Cut(rest, "}"); ok {
			e.replaceNext(len(`\u{}`)+len(hex), `\x{`+hex+`}`)
			return
		}
	}
	r, ok := hexRune(e.in)
	if !ok {
		e.copyNext(2)
		return
	}
	n := 6
	if low, ok := hexRune(e.in[6:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
		r = utf16.DecodeRune(r, low)
		n = 12
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
	name, _, ok := strings.Cut(e.in, "}")
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
