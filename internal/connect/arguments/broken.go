package arguments

import (
	"strings"
	"unicode"

	"mcpc/internal/jsonraw"
)

// BrokenObject reads words that are one JSON object whose quotes a shell has changed: PowerShell drops the double
// quotes, cmd keeps the single ones and splits at spaces, and editors make typographic ones. It returns the members as
// NAME=VALUE words; nil if the words are no such object, if they are JSON, or if a value is an object or a list.
func BrokenObject(args []string) (words []string) {
	text := strings.TrimSpace(strings.Join(args, " "))
	if jsonraw.Valid([]byte(text)) == nil {
		return nil
	}
	text = strings.NewReplacer(`\"`, `"`, "“", `"`, "”", `"`, "‘", "'", "’", "'").Replace(text)
	inner, isObject := strings.CutPrefix(strings.TrimSpace(strings.Trim(text, "'")), "{")
	inner = strings.TrimSuffix(strings.TrimSpace(inner), "}")
	if !isObject || strings.ContainsAny(inner, "{}[]") {
		return nil
	}
	for _, part := range splitOutsideQuotes(inner, ',') {
		if strings.TrimSpace(part) == "" {
			continue // after a comma too many
		}
		pair := splitOutsideQuotes(part, ':')
		name, ok := unquoted(pair[0])
		if !ok || len(pair) < 2 || strings.Trim(name, "-_") == "" || strings.ContainsFunc(name, isNoNameRune) {
			return nil
		}
		value, ok := unquoted(strings.Join(pair[1:], ":"))
		if !ok {
			return nil
		}
		words = append(words, name+"="+value)
	}
	return words
}

func isNoNameRune(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
}

// unquoted returns a text without the quotes around it, and reports whether there is none inside of them.
func unquoted(text string) (string, bool) {
	text = strings.TrimSpace(text)
	for _, quote := range []string{`"`, "'"} {
		if len(text) > 1 && strings.HasPrefix(text, quote) && strings.HasSuffix(text, quote) {
			text = text[1 : len(text)-1]
			break
		}
	}
	return text, !strings.ContainsAny(text, `"\`)
}

// splitOutsideQuotes splits a text at a separator that is in no double quotes.
func splitOutsideQuotes(text string, separator rune) []string {
	inQuotes := false
	var parts []string
	start := 0
	for at, r := range text {
		if r == '"' {
			inQuotes = !inQuotes
		} else if r == separator && !inQuotes {
			parts = append(parts, text[start:at])
			start = at + 1
		}
	}
	return append(parts, text[start:])
}
