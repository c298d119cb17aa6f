// Package suggest finds the known word that the user probably meant by an unknown one.
package suggest

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"

	"mcpc/internal/wire"
)

// Nearest returns the known word that is most similar to word, or "" if no word is near. A known
// word is near if at most two characters in five would have to change; two swapped neighbours count
// as one. If no word is near, Nearest returns the only known word that begins with word, if word
// has three characters or more. Of equally near words it returns the first.
func Nearest(word string, known []string) string {
	length := utf8.RuneCountInString(word)
	if length == 0 || length > 200 {
		return ""
	}
	typed := strings.ToLower(word)
	swaps := swapNeighbours(typed)
	best := ""
	bestShare := 0.4 // of the characters that would have to change
	for _, k := range known {
		lower := strings.ToLower(k)
		other := utf8.RuneCountInString(k)
		longer := max(length, other)
		if longer-min(length, other) > longer*2/5 {
			continue // the difference in length alone is too large
		}
		distance := levenshtein.ComputeDistance(typed, lower)
		for _, swap := range swaps {
			distance = min(distance, 1+levenshtein.ComputeDistance(swap, lower))
		}
		share := float64(distance) / float64(longer)
		if share < bestShare || best == "" && share == bestShare {
			best = k
			bestShare = share
		}
	}
	if best == "" && length >= 3 {
		return onlyCompletion(typed, known)
	}
	return best
}

// onlyCompletion returns the only known word that begins with prefix in any case, or "" if no word
// or several words do. prefix is in lower case.
func onlyCompletion(prefix string, known []string) string {
	completion := ""
	for _, k := range known {
		if !strings.HasPrefix(strings.ToLower(k), prefix) || k == completion {
			continue
		}
		if completion != "" {
			return ""
		}
		completion = k
	}
	return completion
}

// NearestName returns the known name of a tool, a prompt or a resource that is most similar to
// name, or "" if no name is near. A name is a verb and an object: unless at most two letters
// differ, a known name with the same object comes before a name that has more letters in common.
// For find_issues it returns search_issues rather than find_dsns.
func NearestName(name string, known []string) string {
	near := Nearest(name, known)
	object := lastWord(name)
	if len(object) < minWord || isTypo(name, near) || near != "" && endsInWord(near, object) {
		return near
	}
	var same []string
	for _, k := range known {
		if endsInWord(k, object) && !slices.Contains(same, k) {
			same = append(same, k)
		}
	}
	if len(same) == 1 {
		return same[0]
	}
	if near == "" || len(same) == 0 || len(same) > maxSame {
		return near
	}
	return slices.MinFunc(same, func(a, b string) int { return distance(name, a) - distance(name, b) })
}

const (
	// minWord is the shortest object of a name.
	minWord = 4
	// maxSame is how many names with the same object are compared.
	maxSame = 100
)

// distance returns how many letters differ, in any case.
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
			if isSeparator(name[i-1]) { // before the only word it begins no second one: _Bar
				continue
			}
			return name[i:]
		}
	}
	return ""
}

// endsInWord reports whether a name ends in a word and has other words before it.
func endsInWord(name, word string) bool {
	return len(name) > len(word) && strings.EqualFold(lastWord(name), word)
}

func isSeparator(b byte) bool { return strings.IndexByte("_-./: ", b) >= 0 }

func isUpper(b byte) bool { return 'A' <= b && b <= 'Z' }

// maxSwapped is the longest word that swapNeighbours changes: each result costs as much time as the word.
const maxSwapped = 24

// swapNeighbours returns word with each pair of neighbours swapped, or nil if it is longer than
// maxSwapped.
func swapNeighbours(word string) []string {
	runes := []rune(word)
	var all []string
	for i := 0; i+1 < len(runes) && len(runes) <= maxSwapped; i++ {
		if runes[i] != runes[i+1] {
			runes[i], runes[i+1] = runes[i+1], runes[i]
			all = append(all, string(runes))
			runes[i], runes[i+1] = runes[i+1], runes[i]
		}
	}
	return all
}

// DidYouMean returns a hint for an unknown word: form with the nearest known word instead of %s, or
// otherwise if no word is near. mcpc never corrects a word itself.
func DidYouMean(form wire.Hint, typed string, known []string, otherwise wire.Hint) wire.Hint {
	if near := Nearest(typed, known); near != "" {
		return "did you mean " + wire.Hint(strings.Replace(string(form), "%s", near, 1)) + "?"
	}
	return otherwise
}

// OrMeant returns a text about an unknown name, with the nearest known name if there is one.
func OrMeant(text, name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return text + "; did you mean " + near + "?"
	}
	return text
}
