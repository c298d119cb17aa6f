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

// maxColored is the length from which JSON is printed without colour: colouring
// 100 MB takes seconds and gigabytes.
const maxColored = 1 << 20

// JSON writes one JSON document and a line end. Into a pipe go the bytes as they
// are. On a terminal they are indented, and characters that hide are written as
// \u escapes, so that what is copied from the screen is still the same value.
// Bytes that are no JSON are shown as sanitized text with the reason.
func JSON(w io.Writer, st term.Style, raw []byte) error {
	if !st.Terminal {
		return term.WriteLine(w, raw)
	}
	return PrettyJSON(w, st, raw)
}

// JSONLine writes one JSON document on one line, into a pipe as it is but for line
// ends between its parts. On a terminal characters that hide are escaped.
func JSONLine(w io.Writer, st term.Style, raw []byte) error {
	if bytes.ContainsAny(raw, "\r\n") {
		raw = jsonraw.Compact(raw)
	}
	if st.Terminal {
		raw = term.EscapeHidden(raw)
	}
	return term.WriteLine(w, raw)
}

// PrettyJSON is JSON for a reader.
func PrettyJSON(w io.Writer, s term.Style, raw []byte) error {
	if len(raw) >= longJSON {
		return showLong(s, w, raw)
	}
	if err := jsonraw.Valid(raw); err != nil {
		if e := term.WriteLine(w, []byte(s.Block(string(raw)))); e != nil {
			return e
		}
		return term.WriteLine(w, []byte(s.Paint(term.Dim, "[not JSON: "+err.Error()+"]")))
	}
	return term.WriteLine(w, colored(s, term.EscapeHidden(IndentJSON(s, raw))))
}

// longJSON is from where on JSON is written in pieces, and not indented: as a whole it
// would take its memory several times.
const longJSON = 8 << 20

// showLong writes JSON for a reader in pieces.
func showLong(s term.Style, w io.Writer, raw []byte) error {
	clean := sanitize.NewWriter(w, sanitize.JSON)
	bad := jsonraw.Valid(raw)
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
	return term.WriteLine(w, []byte(s.Paint(term.Dim, "[not JSON: "+bad.Error()+"]")))
}

// IndentJSON gives valid JSON with one member to a line. pretty.Pretty repairs
// broken JSON, so that nothing may come here but what wire.Valid has seen.
func IndentJSON(s term.Style, raw []byte) []byte {
	if indentCost(raw) > 4*len(raw)+maxColored {
		return raw
	}
	return pretty.PrettyOptions(raw, &pretty.Options{Width: min(s.Width, 80), Indent: "  "})
}

// indentCost is how many bytes of indentation raw would get. Ten kilobytes of
// brackets could otherwise become gigabytes of blanks.
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

// colored paints the tokens of valid JSON, one after the other. pretty.Color is
// not used: behind a \\ it cuts a character of several bytes in two.
func colored(s term.Style, text []byte) []byte {
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
			token = s.Paint(term.Cyan, token)
		case c == '"':
			token = s.Paint(term.Green, token)
		case c == 'n':
			token = s.Paint(term.Dim, token)
		case c == '-' || c >= '0' && c <= '9' || c == 't' || c == 'f':
			token = s.Paint(term.Yellow, token)
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
