package match

import (
	"fmt"
	"strings"

	"mcpc/internal/english"
)

// Counts are the numbers of differing values that were accepted, by reason.
type Counts map[Kind]int

// Add adds the counts of another comparison.
func (c Counts) Add(other Counts) {
	for kind, n := range other {
		c[kind] += n
	}
}

// Matched returns the number of values that the rules of a file accepted.
func (c Counts) Matched() int {
	n := 0
	for _, word := range matcherWords {
		n += c[Kind(word)]
	}
	return n
}

// countTexts are the parts of a summary, in their order. Members of the protocol are not listed,
// because they are not part of an answer.
var countTexts = []struct {
	kind Kind
	text string
}{
	{Ignore, "ignored"},
	{Type, "matched by type"},
	{Regex, "matched by regex"},
	{Number, "matched by number"},
	{Time, "matched as a time"},
	{UUID, "matched as a uuid"},
	{Unordered, "in another order"},
	{Bound, "bound"},
	{Normalised, "normalised"},
	{ByHash, "matched a redacted value"},
	{ByLength, "matched a redacted value by its length"},
	{ByPlace, "redacted and not compared"},
}

// String returns a summary, as "3 values ignored, 1 bound", or "" if all counts are zero.
func (c Counts) String() string {
	var all []string
	for _, t := range countTexts {
		n := c[t.kind]
		if n > 0 && len(all) == 0 {
			all = append(all, english.Plural(n, "value")+" "+t.text)
		} else if n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, t.text))
		}
	}
	return strings.Join(all, ", ")
}
