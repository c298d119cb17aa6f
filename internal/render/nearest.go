package render

import (
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Nearest gives the known word that somebody who typed word probably meant, or
// "" where none is near: more than two characters in five would have to change.
// Of two that are as near, the first is given.
func Nearest(word string, known []string) string {
	best, bestShare := "", 0.4
	length := utf8.RuneCountInString(word)
	if length == 0 || length > 200 {
		return ""
	}
	typed := strings.ToLower(word)
	for _, k := range known {
		other := utf8.RuneCountInString(k)
		longer := max(length, other)
		// The difference in length alone is too much: do not look closer.
		if longer-min(length, other) > longer*2/5 {
			continue
		}
		share := float64(levenshtein.ComputeDistance(typed, strings.ToLower(k))) / float64(longer)
		if share < bestShare || best == "" && share == bestShare {
			best, bestShare = k, share
		}
	}
	return best
}
