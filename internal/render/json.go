package render

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/tidwall/pretty"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/sanitize"
)

// maxColored is the longest JSON that is coloured: colouring 100 MB takes seconds and gigabytes.
const maxColored = 1 << 20

// JSON writes one JSON document and a line end. A pipe gets the bytes unchanged. On a terminal the
// document is indented and hidden characters are \u escapes, so that a copied value is still the
// same. Bytes that are not JSON are written as sanitized text with the reason.
func JSON(w io.Writer, st term.Style, raw []byte) error {
	if !st.Terminal {
		return term.WriteLine(w, raw)
	}
	return PrettyJSON(w, st, raw)
}

// JSONLine writes one JSON document on one line, into a pipe unchanged except for line ends. On a
// terminal it escapes hidden characters.
func JSONLine(w io.Writer, st term.Style, raw []byte) error {
	if bytes.ContainsAny(raw, "\r\n") {
		raw = jsonraw.Compact(raw)
	}
	if st.Terminal {
		raw = term.EscapeHidden(raw)
	}
	return term.WriteLine(w, raw)
}

// PrettyJSON writes a document as JSON does on a terminal: indented, coloured if s allows it, hidden
// characters as \u escapes. Bytes that are not JSON are written as sanitized text with the reason.
func PrettyJSON(w io.Writer, s term.Style, raw []byte) error {
	if len(raw) >= longJSON {
		return writeLong(w, s, raw)
	}
	if err := jsonraw.Valid(raw); err != nil {
		if writeErr := term.WriteLine(w, []byte(s.Block(string(raw)))); writeErr != nil {
			return writeErr
		}
		return term.WriteLine(w, []byte(s.Paint(term.Dim, "[not JSON: "+err.Error()+"]")))
	}
	return term.WriteLine(w, colored(s, term.EscapeHidden(IndentJSON(s, raw))))
}

// longJSON is the minimum size of JSON that is written in pieces and not indented: indenting takes
// several times its memory.
const longJSON = 8 << 20

// writeLong writes long JSON in pieces: sanitized, but neither indented nor coloured. It writes bytes that
// are not JSON as text, with the reason.
func writeLong(w io.Writer, s term.Style, raw []byte) error {
	clean := sanitize.NewWriter(w, sanitize.JSON)
	invalid := jsonraw.Valid(raw) // an error or nil
	if invalid != nil {
		clean = s.Sanitizer(w) // \u escapes would be wrong outside of JSON
	}
	out := bufio.NewWriterSize(clean, 64<<10)
	for piece := range slices.Chunk(raw, 64<<10) {
		_, _ = out.Write(piece) // Flush returns the error
	}
	out.WriteByte('\n')
	err := errors.Join(out.Flush(), clean.Close())
	if invalid == nil || err != nil {
		return err
	}
	return term.WriteLine(w, []byte(s.Paint(term.Dim, "[not JSON: "+invalid.Error()+"]")))
}

// IndentJSON returns valid JSON with one member to a line, or unchanged if it is nested so deeply that
// the indentation would be far longer than the JSON. It must not get invalid JSON, because
// pretty.Pretty repairs it.
func IndentJSON(s term.Style, raw []byte) []byte {
	if indentCost(raw) > 4*len(raw)+maxColored {
		return raw
	}
	return pretty.PrettyOptions(raw, &pretty.Options{Width: min(s.Width, 80), Indent: "  "})
}

// indentCost returns how many bytes of indentation raw would get. Ten kilobytes of brackets could
// become gigabytes of blanks.
func indentCost(raw []byte) int {
	cost := 0
	depth := 0
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

// colored returns valid JSON with a colour for each token. pretty.Color is not used: after \\ it
// cuts a character of several bytes in two.
func colored(s term.Style, text []byte) []byte {
	if !s.Color || len(text) > maxColored {
		return text
	}
	out := make([]byte, 0, 2*len(text))
	for i := 0; i < len(text); {
		n := tokenLength(text[i:])
		token := string(text[i : i+n])
		i += n
		c := token[0]
		switch {
		case c == '"' && i < len(text) && text[i] == ':':
			token = s.Paint(term.Cyan, token)
		case c == '"':
			token = s.Paint(term.Green, token)
		case c == 'n': // null
			token = s.Paint(term.Dim, token)
		case c == '-' || c >= '0' && c <= '9' || c == 't' || c == 'f': // a number or a boolean
			token = s.Paint(term.Yellow, token)
		}
		out = append(out, token...)
	}
	return out
}

// tokenLength returns the length of the string, number or word at the start of text, or 1 for any
// other byte.
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
