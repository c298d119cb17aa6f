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

const (
	// maxLongest is the maximum number of words that Longest returns.
	maxLongest = 10
	// maxWordLength is the maximum length of a returned word. Longer words are cut.
	maxWordLength = 1 << 10
)

// protocolMembers are the members of messages whose values are defined by the protocol or a schema, or
// are names that a server gives.
var protocolMembers = []string{
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
func Longest(c *rows.Capture) ([]string, error) {
	l := longestWords{}
	for _, head := range c.Heads {
		for _, word := range slices.Concat(head.Argv, head.Command) {
			l.addText([]byte(word))
		}
	}
	for _, row := range c.Rows() {
		err := row.EachFrame(func(f wire.Frame) error {
			if f.Kind == wire.Stderr {
				l.addText(f.Raw)
			} else if f.Kind == wire.Body || f.Kind == wire.Event {
				l.addMessage(f.Raw)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return l.words, nil
}

// longestWords collects the longest words, the longest first.
type longestWords struct{ words []string }

// addMessage collects the words of the strings in JSON. It skips the members in protocolMembers and
// invalid JSON.
func (l *longestWords) addMessage(raw json.RawMessage) {
	if members, err := jsonraw.Object(raw); err == nil {
		for _, m := range members {
			if !slices.Contains(protocolMembers, m.Name) {
				l.addMessage(m.Value)
			}
		}
	} else if items, err := jsonraw.Array(raw); err == nil {
		for _, item := range items {
			l.addMessage(item)
		}
	} else if text, ok := jsonraw.Text(raw); ok {
		l.addText([]byte(text))
	}
}

// addText collects the words of a text.
func (l *longestWords) addText(text []byte) {
	for word := range bytes.FieldsFuncSeq(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("\"'\\,;(){}[]<>•", r)
	}) {
		l.addWord(word[:min(len(word), maxWordLength)])
	}
}

// addWord adds a word if it is among the longest and not in the list yet.
func (l *longestWords) addWord(word []byte) {
	n := len(l.words)
	isTooShort := n == maxLongest && len(word) <= len(l.words[n-1])
	if isTooShort || slices.Contains(l.words, string(word)) {
		return
	}
	l.words = append(l.words, string(word))
	sliceutil.Sort(l.words, func(a, b string) int { return len(b) - len(a) })
	l.words = l.words[:min(len(l.words), maxLongest)]
}

// minDoubtful is the minimum length of a word that may be a secret.
const minDoubtful = 20

// Doubts returns long words of letters and digits in a capture, shortened. They may be secrets.
func Doubts(c *rows.Capture) ([]string, error) {
	words, err := Longest(c)
	var doubts []string
	for _, word := range words {
		if isDoubtful(word) {
			doubts = append(doubts, term.Shorten(term.Line(word), 60))
		}
	}
	return doubts, err
}

// isDoubtful reports whether a word looks like a secret: it is long, mixes letters and digits, is no
// path or URL, and is no placeholder of a hidden secret.
func isDoubtful(word string) bool {
	hasLetters := strings.ContainsFunc(word, unicode.IsLetter)
	hasDigits := strings.ContainsAny(word, "0123456789")
	if len(word) < minDoubtful || !hasLetters || !hasDigits {
		return false
	}
	return !strings.ContainsAny(word, "/:") && len(redact.HiddenIn(word)) == 0
}

// Doubts returns the words of the bundle that may be secrets.
func (b *Bundle) Doubts() ([]string, error) { return Doubts(b.capture) }
