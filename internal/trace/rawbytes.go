package trace

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"mcpc/internal/wire"
)

// bytesIn gives the bytes of the frame in a line that is as a Recorder writes it,
// without reading all of it as JSON; false where it is not, which parseLine reads. What
// it gives stands in buf, which is used again.
func bytesIn(line, buf []byte) (raw []byte, ok bool) {
	_, members, ok := cutMark(line)
	if !ok {
		return nil, false
	}
	_, rest, ok := quickFrame(members)
	if !ok {
		return nil, false
	}
	for _, name := range []string{`,"http":`, `,"sse":`, `,"close":`} {
		if _, rest, ok = quickObject(rest, name); !ok {
			return nil, false
		}
	}
	for _, name := range []string{`,"hidden":`, `,"size":`} {
		if text, there := bytes.CutPrefix(rest, []byte(name)); there {
			if _, rest, ok = quickNumber(text); !ok {
				return nil, false
			}
		}
	}
	if string(rest) == "}" {
		return nil, true
	}
	text, ok := quickRaw(rest)
	if !ok || !utf8.Valid(text) || hasControl(text) {
		return nil, false
	}
	return appendUnescaped(buf[:0], text)
}

// quickRaw gives the inside of the string with which a line ends.
func quickRaw(rest []byte) (text []byte, ok bool) {
	text, begins := bytes.CutPrefix(rest, rawBegins)
	text, ends := bytes.CutSuffix(text, []byte(`"}`))
	return text, begins && ends
}

// quickObject reads a member that is an object, if it stands next; ok is false where it
// is none.
func quickObject(rest []byte, begins string) (object, behind []byte, ok bool) {
	text, there := bytes.CutPrefix(rest, []byte(begins))
	if !there {
		return nil, rest, true
	}
	end := objectEnd(text)
	if end < 0 || text[0] != '{' || wire.Valid(text[:end]) != nil {
		return nil, nil, false
	}
	return text[:end], text[end:], true
}

// objectEnd is where the object ends with which text begins, or -1; that its brackets
// match is all that is looked at.
func objectEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// hasControl reports a byte that may not stand in a JSON string.
func hasControl(text []byte) bool {
	for _, c := range text {
		if c < 0x20 {
			return true
		}
	}
	return false
}

// appendUnescaped undoes the escapes of a JSON string; ok is false where it is none. What
// it gives may stand in the place of text.
func appendUnescaped(out, text []byte) (_ []byte, ok bool) {
	for {
		next := bytes.IndexByte(text, '\\')
		if next < 0 {
			return append(out, text...), bytes.IndexByte(text, '"') < 0
		}
		if next+1 == len(text) || bytes.IndexByte(text[:next], '"') >= 0 {
			return out, false
		}
		c := text[next+1]
		switch c {
		case '"', '\\':
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		default:
			r, size := escapeAt(text[next:])
			if size == 0 {
				return out, false
			}
			out = utf8.AppendRune(append(out, text[:next]...), r)
			text = text[next+size:]
			continue
		}
		out = append(append(out, text[:next]...), c)
		text = text[next+2:]
	}
}

// escapeAt is what the escape stands for with which text begins, and how long that is; 0
// where it is none. Half a pair of surrogates is no character.
func escapeAt(text []byte) (r rune, size int) {
	if len(text) < 2 {
		return 0, 0
	}
	if at := strings.IndexByte(`"\/bfnrt`, text[1]); at >= 0 {
		return rune("\"\\/\b\f\n\r\t"[at]), 2
	}
	unit := func(text []byte) (rune, bool) {
		if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
		return rune(n), err == nil
	}
	r, ok := unit(text)
	if !ok {
		return 0, 0
	}
	if low, ok := unit(text[6:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
		return utf16.DecodeRune(r, low), 12
	}
	if utf16.IsSurrogate(r) {
		r = utf8.RuneError
	}
	return r, 6
}

// parseLong is parseLine for who needs the line only once: the bytes of a long frame are
// decoded where they stand, where a Recorder wrote them, because they would take their
// memory twice more.
func parseLong(raw []byte) (Line, error) {
	if len(raw) < longFrame {
		return parseLine(raw)
	}
	at := bytes.Index(raw[:prefixWithin], rawBegins)
	if at < 0 {
		return parseLine(raw)
	}
	text, ok := quickRaw(raw[at:])
	if !ok || !utf8.Valid(text) || hasControl(text) || !areEscapes(text) {
		return parseLine(raw)
	}
	line, err := parseLine(append(bytes.Clone(raw[:at]), '}'))
	if err == nil && line.Frame != nil {
		line.Frame.Raw, _ = appendUnescaped(text[:0], text)
	}
	return line, err
}

// areEscapes reports a text that appendUnescaped undoes.
func areEscapes(text []byte) bool {
	for {
		next := bytes.IndexByte(text, '\\')
		if next < 0 {
			return bytes.IndexByte(text, '"') < 0
		}
		_, size := escapeAt(text[next:])
		if size == 0 || bytes.IndexByte(text[:next], '"') >= 0 {
			return false
		}
		text = text[next+size:]
	}
}

// spelledByNumber reports that a character of a line may be written by its number:
// what is looked for may stand there in another spelling. A backslash of the message
// itself has another before it.
func spelledByNumber(line []byte) bool {
	for at := 0; ; at += 2 {
		next := bytes.Index(line[at:], []byte(`\u`))
		if next < 0 {
			return false
		}
		at += next
		before := at
		for before > 0 && line[before-1] == '\\' {
			before--
		}
		if (at-before)%2 == 0 {
			return true
		}
	}
}

// isBase64 reports that the bytes of a line are written in base 64.
func isBase64(line []byte) bool {
	return bytes.Contains(line[:min(len(line), prefixWithin)], []byte(`"raw64":`))
}
