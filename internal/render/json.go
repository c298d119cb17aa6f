package render

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/tidwall/pretty"

	"mcpc/internal/jsonraw"
	"mcpc/internal/sanitize"
)

// maxColored is the length from which JSON is printed without colour: colouring
// 100 MB takes seconds and gigabytes.
const maxColored = 1 << 20

// JSON writes one JSON document and a line end. Into a pipe go the bytes as they
// are. On a terminal they are indented, and characters that hide are written as
// \u escapes, so that what is copied from the screen is still the same value.
// Bytes that are no JSON are shown as sanitized text with the reason.
func JSON(w io.Writer, st Style, raw []byte) error {
	if !st.Terminal {
		return writeLine(w, raw)
	}
	return showJSON(w, st, raw)
}

// JSONLine writes one JSON document on one line, into a pipe as it is but for line
// ends between its parts. On a terminal characters that hide are escaped.
func JSONLine(w io.Writer, st Style, raw []byte) error {
	if bytes.ContainsAny(raw, "\r\n") {
		raw = jsonraw.Compact(raw)
	}
	if st.Terminal {
		raw = escapeHidden(raw)
	}
	return writeLine(w, raw)
}

// showJSON is JSON for a reader.
func showJSON(w io.Writer, s Style, raw []byte) error {
	if len(raw) >= longJSON {
		return s.showLong(w, raw)
	}
	if err := jsonraw.Valid(raw); err != nil {
		if e := writeLine(w, []byte(s.Block(string(raw)))); e != nil {
			return e
		}
		return writeLine(w, []byte(s.paint(dim, "[not JSON: "+err.Error()+"]")))
	}
	return writeLine(w, s.colored(escapeHidden(s.indented(raw))))
}

// longJSON is from where on JSON is written in pieces, and not indented: as a whole it
// would take its memory several times.
const longJSON = 8 << 20

// showLong writes JSON for a reader in pieces.
func (s Style) showLong(w io.Writer, raw []byte) error {
	clean, bad := sanitize.NewWriter(w, sanitize.JSON), jsonraw.Valid(raw)
	if bad != nil {
		clean = s.Sanitizer(w)
	}
	out := bufio.NewWriterSize(clean, 64<<10)
	for piece := range slices.Chunk(raw, 64<<10) {
		_, _ = out.Write(piece) // Flush has the error
	}
	out.WriteByte('\n')
	err := errors.Join(out.Flush(), clean.Close())
	if bad == nil || err != nil {
		return err
	}
	return writeLine(w, []byte(s.paint(dim, "[not JSON: "+bad.Error()+"]")))
}

// indented gives valid JSON with one member to a line. pretty.Pretty repairs
// broken JSON, so that nothing may come here but what wire.Valid has seen.
func (s Style) indented(raw []byte) []byte {
	if indentCost(raw) > 4*len(raw)+maxColored {
		return raw
	}
	return pretty.PrettyOptions(raw, &pretty.Options{Width: min(s.Width, 80), Indent: "  "})
}

// indentCost is how many bytes of indentation raw would get. Ten kilobytes of
// brackets could otherwise become gigabytes of blanks.
func indentCost(raw []byte) int {
	cost, depth := 0, 0
	for ; len(raw) > 0; raw = raw[tokenLength(raw):] {
		switch raw[0] {
		case '{', '[':
			depth++
			cost += 2 * depth
		case '}', ']':
			depth--
		case ',':
			cost += 2 * depth
		}
	}
	return cost
}

// colored paints the tokens of valid JSON, one after the other. pretty.Color is
// not used: behind a \\ it cuts a character of several bytes in two.
func (s Style) colored(text []byte) []byte {
	if !s.Color || len(text) > maxColored {
		return text
	}
	out := make([]byte, 0, 2*len(text))
	for i := 0; i < len(text); {
		n := tokenLength(text[i:])
		token := string(text[i : i+n])
		i += n
		switch c := token[0]; {
		case c == '"' && i < len(text) && text[i] == ':':
			token = s.paint(cyan, token)
		case c == '"':
			token = s.paint(green, token)
		case c == 'n':
			token = s.paint(dim, token)
		case c == '-' || c >= '0' && c <= '9' || c == 't' || c == 'f':
			token = s.paint(yellow, token)
		}
		out = append(out, token...)
	}
	return out
}

// tokenLength is the length of the string, number or word that text begins with,
// or 1 for any other byte.
func tokenLength(text []byte) int {
	if text[0] == '"' {
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(text)
	}
	n := bytes.IndexAny(text, "\"{}[]:, \n\r\t")
	if n < 0 {
		return len(text)
	}
	return max(n, 1)
}

// escapeHidden writes the hidden characters of valid JSON, which can only stand
// in its strings, as \u escapes.
func escapeHidden(raw []byte) []byte { return sanitize.Bytes(raw, sanitize.JSON) }

// watched says whether a person will see this stream: there is a terminal, or
// colour was asked for, which only a terminal behind a pager can use.
func (s Style) watched() bool { return s.Terminal || s.Color }

// writeLine writes one line, whose end may stand already, in one call.
func writeLine(w io.Writer, line []byte) error {
	return writeText(w, bytes.TrimRight(line, "\r\n"))
}

// writeText writes text and, where it does not end in one, a line end.
func writeText(w io.Writer, text []byte) error {
	if len(text) > maxJoined {
		if _, err := w.Write(text); err != nil || bytes.HasSuffix(text, []byte("\n")) {
			return err
		}
		text = nil
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text[:len(text):len(text)], '\n')
	}
	_, err := w.Write(text)
	return err
}

// maxJoined is the length up to which a line and its end are joined to be written
// at once. A large text is not copied for one byte.
const maxJoined = 64 << 10
