package shellwords

import (
	"strings"
	"unicode"
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
