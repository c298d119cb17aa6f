package arguments

import (
	"strings"
	"unicode"

	"mcpc/internal/jsonraw"
)

// BrokenObject parses words that are a JSON object whose quotes a shell or an editor has changed:
// PowerShell removes double quotes, cmd keeps single quotes and splits at spaces, and editors
// insert typographic quotes. It returns the members as NAME=VALUE words. Returns nil if the words
// are valid JSON or anything else, or if a value is an object or a list.
func BrokenObject(args []string) []string {
	text := strings.TrimSpace(strings.Join(args, " "))
	if jsonraw.Valid([]byte(text)) == nil {
		return nil
	}
	text = strings.NewReplacer(`\"`, `"`, "“", `"`, "”", `"`, "‘", "'", "’", "'").Replace(text)
	members, isObject := strings.CutPrefix(strings.TrimSpace(strings.Trim(text, "'")), "{")
	members = strings.TrimSuffix(strings.TrimSpace(members), "}") // it may be missing
	if !isObject || strings.ContainsAny(members, "{}[]") {
		return nil
	}
	var words []string
	for _, member := range splitOutsideQuotes(members, ',') {
		if strings.TrimSpace(member) == "" {
			continue // an extra comma
		}
		parts := splitOutsideQuotes(member, ':')
		name, ok := unquote(parts[0])
		if !ok || len(parts) < 2 {
			return nil
		}
		hasLetters := strings.Trim(name, "-_") != ""
		if !hasLetters || strings.ContainsFunc(name, isNotNameRune) {
			return nil // text in braces that cannot be read as an object
		}
		value, ok := unquote(strings.Join(parts[1:], ":")) // the value may contain colons, as a URL does
		if !ok {
			return nil
		}
		words = append(words, name+"="+value)
	}
	return words
}

// isNotNameRune reports whether r is not a letter, a digit, - or _.
func isNotNameRune(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
}

// unquote removes the quotes around a text, and reports whether no quote or backslash is left
// inside.
func unquote(text string) (string, bool) {
	text = strings.TrimSpace(text)
	for _, quote := range []string{`"`, "'"} {
		if len(text) > 1 && strings.HasPrefix(text, quote) && strings.HasSuffix(text, quote) {
			text = text[1 : len(text)-1]
			break
		}
	}
	return text, !strings.ContainsAny(text, `"\`)
}

// splitOutsideQuotes splits text at separators that are not inside double quotes.
func splitOutsideQuotes(text string, separator rune) []string {
	inQuotes := false
	var parts []string
	start := 0
	for i, r := range text {
		if r == '"' {
			inQuotes = !inQuotes
		} else if r == separator && !inQuotes {
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}
