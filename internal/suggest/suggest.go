// Package suggest finds the known word that a mistyped one was meant to be.
package suggest

import (
	"slices"
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

// NearestName returns the known name of a tool, a prompt or a resource that the user who typed name probably meant, or
// "" if none is near. Names are a verb and what it is about: unless only a letter or two differ, a name about the same
// thing comes before one that has more letters in common. find_issues means search_issues rather than find_dsns.
func NearestName(name string, known []string) string {
	near := Nearest(name, known)
	about := lastWord(name)
	if len(about) < minWord || isTypo(name, near) || near != "" && endsInWord(near, about) {
		return near
	}
	var same []string
	for _, k := range known {
		if endsInWord(k, about) && !slices.Contains(same, k) {
			same = append(same, k)
		}
	}
	switch {
	case len(same) == 1:
		return same[0]
	case near == "" || len(same) == 0 || len(same) > maxSame:
		return near
	}
	return slices.MinFunc(same, func(a, b string) int { return distance(name, a) - distance(name, b) })
}

const (
	// minWord is the length of the shortest word that tells what a name is about.
	minWord = 4
	// maxSame is the number of names about the same thing of which one may be meant.
	maxSame = 100
)

// distance returns how many letters have to change, whatever their case.
func distance(a, b string) int {
	return levenshtein.ComputeDistance(strings.ToLower(a), strings.ToLower(b))
}

// isTypo reports whether at most two letters differ.
func isTypo(name, near string) bool { return near != "" && distance(name, near) <= 2 }

// lastWord returns the word at the end of a name in snake_case, kebab-case or camelCase; "" if it has one word only.
func lastWord(name string) string {
	for i := len(name) - 1; i > 0; i-- {
		if isSeparator(name[i]) {
			return name[i+1:]
		}
		if isUpper(name[i]) && !isUpper(name[i-1]) {
			if isSeparator(name[i-1]) {
				continue
			}
			return name[i:]
		}
	}
	return ""
}

// endsInWord reports whether a name ends in a word, which is not all of the name.
func endsInWord(name, word string) bool {
	return len(name) > len(word) && strings.EqualFold(lastWord(name), word)
}

func isSeparator(b byte) bool { return strings.IndexByte("_-./: ", b) >= 0 }

func isUpper(b byte) bool { return 'A' <= b && b <= 'Z' }

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
