package validate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON Schema writes regular expressions as ECMA-262 does. Go's are nearly the
// same; fromECMA rewrites what differs and is cheap. What Go has and ECMA-262
// has not, such as (?i), stays: schemas are also written by people who have
// Python in mind.

// The characters of \s in ECMA-262, and all others.
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

// fromECMA returns Go's spelling of a pattern. why is the first thing that has none, or ""; the spelling then has
// something simple in its place.
func fromECMA(source string) (spelling, why string) {
	e := &ecma{in: source}
	for e.in != "" {
		e.translateNext()
	}
	return e.out.String(), e.why
}

// lack writes a substitute for the next n bytes, which Go cannot express.
func (e *ecma) replaceUnsupported(n int, substitute, what string) {
	if e.why == "" {
		e.why = what + " is not supported"
	}
	e.replaceNext(n, substitute)
}

// lookArounds are the beginnings of assertions about the text before or after a place.
var lookArounds = []string{"(?=", "(?!", "(?<=", "(?<!"}

// take writes as is what stands next.
func (e *ecma) copyNext(n int) { e.replaceNext(n, e.in[:n]) }

// swap writes something else for what stands next.
func (e *ecma) replaceNext(n int, with string) {
	e.out.WriteString(with)
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
	switch c := e.in[1]; {
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

// unicode reads \uXXXX, two of them for one character, and \u{X…}.
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

// property reads \p{Script=Greek}, which Go calls \p{Greek}.
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
