package poison

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"mcpc/internal/english"
	"mcpc/internal/sanitize"
)

// maxMatches bounds the signs of one kind in one text.
const maxMatches = 50

var urls = newPhrases(
	[]string{"://"},
	func() *regexp.Regexp { return regexp.MustCompile("[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\\s\"'`<>)\\]}]+") },
)

// Signs returns what Scan finds in one text, and the URLs in it, to compare two definitions. Each
// sign is unique: its kind, a space, and the text ("hidden U+200B", "instruction ignore previous
// instructions", "secret your password", "url https://example.com").
func Signs(text string) []string {
	text = text[:min(len(text), maxScanned)]
	count := map[string]int{}
	seen := map[string]bool{}
	var signs []string
	add := func(kind, found string) {
		sign := kind + " " + found
		if !seen[sign] && count[kind] < maxMatches {
			seen[sign] = true
			count[kind]++
			signs = append(signs, sign)
		}
	}
	var before rune
	for i, r := range text {
		if isHidden(r) && !isNeededJoiner(before, r, text[i+utf8.RuneLen(r):]) {
			add("hidden", fmt.Sprintf("U+%04X", r))
		}
		before = r
	}
	if n := sanitize.Hidden(text); n > 0 && count["hidden"] == 0 { // it knows more hidden characters
		add("hidden", english.Plural(n, "character"))
	}
	words := joinWords(text)
	for _, found := range instructions.findAll(words) {
		add("instruction", strings.ToLower(found))
	}
	for _, found := range findSecretRequests("", words) {
		add("secret", strings.ToLower(found))
	}
	for _, found := range urls.findAll(text) {
		found = strings.TrimRight(found, ".,;:!?")
		if !isReserved(found) {
			add("url", found)
		}
	}
	return signs
}

// isReserved reports whether a URL's host is reserved for examples and tests (RFC 2606, RFC 6761),
// so that no server has it. It is false for URLs that some readers parse in another way: with a
// user name or a backslash.
func isReserved(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || strings.Contains(address, "\\") {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), ".")
	last := len(labels) - 1
	switch labels[last] {
	case "example", "test", "localhost":
		return true
	case "com", "net", "org":
		return last > 0 && labels[last-1] == "example"
	}
	return false
}
