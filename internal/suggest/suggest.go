// Package suggest finds the known word that a mistyped one was meant to be.
package suggest

import (
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"

	"mcpc/internal/wire"
)

// Nearest returns the known word that the user who typed word probably meant, or
// "" where none is near: more than two characters in five would have to change,
// where two neighbours that changed places are one. The beginning of one known
// word only, of three characters or more, means that word. Of two that are as
// near, the first is given.
func Nearest(word string, known []string) string {
	best, bestShare := "", 0.4
	length := utf8.RuneCountInString(word)
	if length == 0 || length > 200 {
		return ""
	}
	typed := strings.ToLower(word)
	swaps := swapped(typed)
	begun, more := "", false
	for _, k := range known {
		lower := strings.ToLower(k)
		if strings.HasPrefix(lower, typed) && k != begun {
			begun, more = k, begun != ""
		}
		other := utf8.RuneCountInString(k)
		longer := max(length, other)
		// The difference in length alone is too much: do not look closer.
		if longer-min(length, other) > longer*2/5 {
			continue
		}
		distance := levenshtein.ComputeDistance(typed, lower)
		for _, swap := range swaps {
			distance = min(distance, 1+levenshtein.ComputeDistance(swap, lower))
		}
		share := float64(distance) / float64(longer)
		if share < bestShare || best == "" && share == bestShare {
			best, bestShare = k, share
		}
	}
	if best == "" && length >= 3 && !more {
		return begun
	}
	return best
}

// longestSwapped is the longest word of which neighbours are tried in each other's
// place: users type no longer ones, and each try costs as much as the word itself.
const longestSwapped = 24

// swapped are the words that come of changing two neighbours' places.
func swapped(word string) (all []string) {
	runes := []rune(word)
	for i := 0; i+1 < len(runes) && len(runes) <= longestSwapped; i++ {
		if runes[i] != runes[i+1] {
			runes[i], runes[i+1] = runes[i+1], runes[i]
			all = append(all, string(runes))
			runes[i], runes[i+1] = runes[i+1], runes[i]
		}
	}
	return all
}

// DidYouMean is the hint for a word that is none of those that are known: the one that
// was perhaps meant, in the place of %s in a form, or what else leads on. Nothing is
// ever corrected by itself.
func DidYouMean(form wire.Hint, typed string, known []string, otherwise wire.Hint) wire.Hint {
	if near := Nearest(typed, known); near != "" {
		return "did you mean " + wire.Hint(strings.Replace(string(form), "%s", near, 1)) + "?"
	}
	return otherwise
}

// OrMeant is a text about a name that is unknown, with the one that was perhaps meant.
func OrMeant(text, name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return text + "; did you mean " + near + "?"
	}
	return text
}
