package share

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"mcpc/internal/capture/rows"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// mostLongest is the number of words that Longest returns.
const (
	mostLongest = 10
	// longestWord is the maximum length of a returned word. Longer words are cut.
	longestWord = 1 << 10
)

// protocols are the members of messages whose values are defined by the protocol or a schema, or
// are names that a server gives.
var protocols = []string{
	"_meta",
	"jsonrpc",
	"id",
	"method",
	"name",
	"type",
	"mimeType",
	"protocolVersion",
	"inputSchema",
	"outputSchema",
	"lastModified",
	"createdAt",
	"lastUpdatedAt",
	"uri",
	"uriTemplate",
	"supportedVersions",
	"cursor",
	"nextCursor",
}

// Longest returns the longest words of a capture, the longest first, as candidates for hiding. It
// reads the values of messages, commands and stderr.
func Longest(c *rows.Capture) (words []string, err error) {
	l := longest{}
	for _, head := range c.Heads {
		for _, word := range slices.Concat(head.Argv, head.Command) {
			l.text([]byte(word))
		}
	}
	for _, row := range c.Rows() {
		err := row.EachFrame(func(f wire.Frame) error {
			if f.Kind == wire.Stderr {
				l.text(f.Raw)
			} else if f.Kind == wire.Body || f.Kind == wire.Event {
				l.message(f.Raw)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return l.words, nil
}

// A longest collects the longest words.
type longest struct{ words []string }

// message collects the words of the strings in JSON. It skips the members in protocols and invalid
// JSON.
func (l *longest) message(raw json.RawMessage) {
	if members, err := jsonraw.Object(raw); err == nil {
		for _, m := range members {
			if !slices.Contains(protocols, m.Name) {
				l.message(m.Value)
			}
		}
	} else if items, err := jsonraw.Array(raw); err == nil {
		for _, item := range items {
			l.message(item)
		}
	} else if text, ok := jsonraw.Text(raw); ok {
		l.text([]byte(text))
	}
}

// text collects the words of a text.
func (l *longest) text(text []byte) {
	for word := range bytes.FieldsFuncSeq(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("\"'\\,;(){}[]<>•", r)
	}) {
		l.keep(word[:min(len(word), longestWord)])
	}
}

// keep adds a word if it is among the longest and not in the list yet.
func (l *longest) keep(word []byte) {
	n := len(l.words)
	if n == mostLongest && len(word) <= len(l.words[n-1]) || slices.Contains(l.words, string(word)) {
		return
	}
	l.words = append(l.words, string(word))
	sliceutil.Sort(l.words, func(a, b string) int { return len(b) - len(a) })
	l.words = l.words[:min(len(l.words), mostLongest)]
}

// shortestDoubt is the minimum length of a word that may be a secret.
const shortestDoubt = 20

// Doubts returns long words of letters and digits in a capture, shortened. They may be secrets.
func Doubts(c *rows.Capture) ([]string, error) {
	words, err := Longest(c)
	var doubts []string
	for _, word := range words {
		letters := strings.ContainsFunc(word, unicode.IsLetter)
		digits := strings.ContainsAny(word, "0123456789")
		if len(word) >= shortestDoubt && letters && digits && !strings.ContainsAny(word, "/:") &&
			len(redact.HiddenIn(word)) == 0 {
			doubts = append(doubts, term.Shorten(term.Line(word), 60))
		}
	}
	return doubts, err
}

// Doubts returns the words of the bundle that may be secrets.
func (b *Bundle) Doubts() ([]string, error) { return Doubts(b.capture) }
