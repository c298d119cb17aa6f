package diff

import (
	"slices"
	"strings"
	"unicode"
)

// maxTableCells bounds the table of one comparison. If two lists need more cells, everything between
// their equal prefix and their equal suffix counts as changed.
const maxTableCells = 1 << 20

// A Piece is an item of one list or of both.
type Piece struct {
	Text     string
	InA, InB bool
}

// changedWords compares two texts as bags of words. It returns the share of words in the longer
// text that the other text lacks, from 0 to 1, and the size in bytes of the words that only b has.
// It returns 0 if both texts are empty. Spaces, commas, semicolons and bars separate words; a full
// stop after a word is ignored.
func changedWords(a, b string) (share float64, added int) {
	before := splitWords(a)
	after := splitWords(b)
	longer := max(len(before), len(after))
	if longer == 0 {
		return 0, 0
	}
	unmatched := map[string]int{} // words of a, with their number
	for _, word := range before {
		unmatched[word]++
	}
	common := 0
	for _, word := range after {
		if unmatched[word] > 0 {
			unmatched[word]--
			common++
		} else {
			added += len(word)
		}
	}
	return 1 - float64(common)/float64(longer), added
}

// splitWords returns the words of a text without spaces, separators and full stops.
func splitWords(text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;|", r) })
	for i, word := range words {
		words[i] = strings.TrimRight(word, ".")
	}
	return words
}

// isMoved reports whether two texts have the same words in another order.
func isMoved(a, b string) bool {
	share, _ := changedWords(a, b)
	return share == 0 && !slices.Equal(strings.Fields(a), strings.Fields(b))
}

// Align aligns two lists. It returns each common item once and keeps the order of both lists. The equal
// items at both ends need no table.
func Align(a, b []string) []Piece {
	begin := 0
	var pieces []Piece
	for begin < len(a) && begin < len(b) && a[begin] == b[begin] {
		pieces = append(pieces, Piece{Text: a[begin], InA: true, InB: true})
		begin++
	}
	end := 0 // the number of equal items at the end
	for end < len(a)-begin && end < len(b)-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	pieces = append(pieces, alignByLCS(a[begin:len(a)-end], b[begin:len(b)-end])...)
	for _, text := range a[len(a)-end:] {
		pieces = append(pieces, Piece{Text: text, InA: true, InB: true})
	}
	return pieces
}

// alignByLCS aligns two lists by their longest common subsequence. Between common items, the items
// of a come before the items of b. Lists that are too long for a table have no common items.
func alignByLCS(a, b []string) []Piece {
	i := 0
	j := 0
	var pieces []Piece
	if len(a)*len(b) <= maxTableCells {
		length := lcsLengths(a, b)
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				pieces = append(pieces, Piece{Text: a[i], InA: true, InB: true})
				i++
				j++
			case length[i+1][j] >= length[i][j+1]:
				pieces = append(pieces, Piece{Text: a[i], InA: true})
				i++
			default:
				pieces = append(pieces, Piece{Text: b[j], InB: true})
				j++
			}
		}
	}
	for ; i < len(a); i++ {
		pieces = append(pieces, Piece{Text: a[i], InA: true})
	}
	for ; j < len(b); j++ {
		pieces = append(pieces, Piece{Text: b[j], InB: true})
	}
	return pieces
}

// lcsLengths returns a table with the length of the longest common subsequence of a[i:] and b[j:]
// at [i][j].
func lcsLengths(a, b []string) [][]int32 {
	length := make([][]int32, len(a)+1)
	cells := make([]int32, (len(a)+1)*(len(b)+1))
	for i := range length {
		length[i] = cells[i*(len(b)+1) : (i+1)*(len(b)+1)]
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	return length
}

// SplitWords splits a text into words, each with the spaces after it. Joined, they are the text.
func SplitWords(text string) []string {
	start := 0
	inBlanks := false
	var words []string
	for i, r := range text {
		isBlank := r == ' ' || r == '\t' || r == '\n'
		if inBlanks && !isBlank { // the next word begins
			words = append(words, text[start:i])
			start = i
		}
		inBlanks = isBlank
	}
	if start < len(text) {
		words = append(words, text[start:])
	}
	return words
}
