package cmdutil

import (
	"strings"
	"unicode"

	"mcpc/internal/glossary"
)

// Inert reports a word that every shell takes for a word once it is quoted, and
// that shows what it is. A server chooses its names: what is anything else is left
// out.
func Inert(word string) bool {
	for _, c := range word {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_-./:@%+,= ", c) {
			return false
		}
	}
	return word != "" && !strings.HasPrefix(word, "-") && strings.TrimSpace(word) == word && len(word) <= 200
}

// MethodNames are the methods of the protocol.
func MethodNames() (names []string) {
	entries, _ := glossary.Read()
	for _, e := range entries {
		if e.Group == "methods" {
			names = append(names, e.Words...)
		}
	}
	return names
}
