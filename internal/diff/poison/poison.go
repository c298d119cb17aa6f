// Package poison finds in a text what may be meant for a model and not for the reader. It is a
// heuristic: a sign is a reason to read the text, and no verdict.
package poison

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"mcpc/internal/sanitize"
)

// mostBytes is how much of a text is read.
const mostBytes = 1 << 20

// instructions are phrases that tell a model what to do, or to keep it from the user.
var instructions = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.Join([]string{
		`(ignore|disregard|forget|override)\s+(all\s+|any\s+|the\s+|your\s+)*(previous|prior|earlier|above|other|system)\s+\w+`,
		`(do\s+not|don't|never)\s+(tell|mention|inform|notify|show|reveal|disclose)\b[^.\n]{0,60}`,
		`without\s+(telling|informing|notifying|asking|mentioning)\b[^.\n]{0,40}`,
		`(before|instead\s+of|after)\s+(using|calling|running|invoking)\s+(this|any|other|another|every|each)\b[^.\n]{0,40}`,
		`you\s+must\s+(always|first|never)\b[^.\n]{0,60}`,
		`<\s*(important|system|secret|instructions?|admin)\s*>`,
	}, "|"))
})

var urls = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\\s\"'`<>)\\]}]+") })

// Signs gives each sign once, as its kind, a blank, and what was found: "hidden U+200B",
// "instruction ignore previous instructions", "url https://example.com".
func Signs(text string) (signs []string) {
	text = text[:min(len(text), mostBytes)]
	seen := map[string]bool{}
	add := func(kind, found string) {
		if one := kind + " " + strings.Join(strings.Fields(found), " "); !seen[one] {
			seen[one] = true
			signs = append(signs, one)
		}
	}
	sanitize.Block(text, func(b []byte, r rune, _ string) []byte {
		add("hidden", fmt.Sprintf("U+%04X", r))
		return b
	})
	for _, found := range instructions().FindAllString(text, 20) {
		add("instruction", strings.ToLower(found))
	}
	for _, found := range urls().FindAllString(text, 50) {
		add("url", strings.TrimRight(found, ".,;:!?"))
	}
	return signs
}
