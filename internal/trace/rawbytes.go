package trace

import (
	"bytes"

	"mcpc/internal/jsonraw"
)

// bytesIn gives the bytes of the frame in a line that is as a Recorder writes it, without
// reading all of it as JSON; false where it is not, which parseLine reads. The bytes are in
// buf, which is used again.
func bytesIn(line, buf []byte) (raw []byte, ok bool) {
	at := bytes.Index(line[:min(len(line), prefixWithin)], rawBegins)
	if at < 0 {
		return nil, false
	}
	quoted, ok := quickRaw(line[at:])
	if !ok {
		return nil, false
	}
	return jsonraw.Unquote(buf[:0], quoted)
}

// quickRaw gives the string with which a line ends, in its quotes.
func quickRaw(rest []byte) (quoted []byte, ok bool) {
	text, begins := bytes.CutPrefix(rest, rawBegins)
	if !begins || !bytes.HasSuffix(text, []byte(`"}`)) {
		return nil, false
	}
	return rest[len(rawBegins)-1 : len(rest)-1], true
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
	quoted, ok := quickRaw(raw[at:])
	if !ok || jsonraw.Valid(quoted) != nil {
		return parseLine(raw)
	}
	line, err := parseLine(append(bytes.Clone(raw[:at]), '}'))
	if err == nil && line.Frame != nil {
		line.Frame.Raw, _ = jsonraw.Unquote(quoted[:0], quoted)
	}
	return line, err
}

// SpelledOtherwise reports that the bytes of the frame in a line may be written in another
// way than AppendFrame writes text: a character by its number, or all of them in base 64.
func SpelledOtherwise(line []byte) bool {
	return spelledByNumber(line) || bytes.Contains(line[:min(len(line), prefixWithin)], []byte(`"raw64":`))
}

// spelledByNumber reports an escape such as \u0061. A backslash of the message itself has
// another before it.
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
