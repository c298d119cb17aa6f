package fuzz

import (
	"cmp"
	"context"
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
)

// The calls that are made to reduce the arguments of one failure.
const (
	maxAttempts       = 50
	maxCostlyAttempts = 10
)

// shrink returns the smallest arguments that it finds for which fails reports true. They violate
// the same constraint as those of c, or none if c is valid.
func (t *toolTest) shrink(
	ctx context.Context, c testCase, attempts int, fails func(args json.RawMessage) bool,
) json.RawMessage {
	args := c.args
	tried := map[string]bool{string(args): true}
	for {
		smaller := slices.DeleteFunc(reductions(args, 0), func(candidate json.RawMessage) bool {
			return compareSize(candidate, args) >= 0 || tried[string(candidate)] || !t.isAlike(candidate, c)
		})
		slices.SortStableFunc(smaller, compareSize)
		found := false
		for _, candidate := range smaller {
			if attempts == 0 || t.isStopped(ctx) {
				return args
			}
			attempts--
			tried[string(candidate)] = true
			if fails(candidate) {
				args = candidate
				found = true
				break
			}
		}
		if !found {
			return args
		}
	}
}

// isAlike reports whether arguments are valid if c is, or else violate the same constraint only.
func (t *toolTest) isAlike(args json.RawMessage, c testCase) bool {
	violations, err := t.check(args)
	if err != nil {
		return false
	}
	if c.broken == nil {
		return len(violations) == 0
	}
	return len(violations) == 1 && violations[0].Rule == c.broken.Rule && violations[0].Pointer == c.broken.Pointer
}

// compareSize compares two values by length, then by their bytes.
func compareSize(a, b json.RawMessage) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(string(a), string(b)))
}

// maxReductions bounds the reductions of the parts of one object or list.
const maxReductions = 300

// reductions returns simpler forms of a value: with fewer or simpler parts.
func reductions(raw json.RawMessage, depth int) []json.RawMessage {
	if depth > 2*deepNesting {
		return nil
	}
	var all []json.RawMessage
	switch schema.TypeOf(raw) {
	case schema.Object:
		members, _ := jsonraw.Object(raw)
		all = append(all, json.RawMessage("{}"))
		for _, m := range members {
			all = append(all, jsonraw.Without(raw, m.Name))
		}
		for _, m := range members {
			for _, simpler := range reductions(m.Value, depth+1) {
				if len(all) < maxReductions {
					all = append(all, jsonraw.With(raw, m.Name, simpler))
				}
			}
			all = append(all, m.Value) // a nested object in place of the object
		}
	case schema.Array:
		items, _ := jsonraw.Array(raw)
		for _, n := range []int{0, 1, len(items) / 2, len(items) - len(items)/4, len(items) - 1} {
			if n >= 0 && n < len(items) {
				all = append(all, jsonraw.List(items[:n]), jsonraw.List(items[len(items)-n:]))
			}
		}
		for i := range items[:min(len(items), 8)] {
			for _, simpler := range reductions(items[i], depth+1) {
				if len(all) < maxReductions {
					others := slices.Clone(items)
					others[i] = simpler
					all = append(all, jsonraw.List(others))
				}
			}
		}
	case schema.String:
		text, _ := jsonraw.Text(raw)
		for _, simpler := range shorterTexts(text) {
			all = append(all, jsonraw.Quote(simpler))
		}
	case schema.Whole, schema.Fraction:
		all = append(all, simplerNumbers(string(raw))...)
	}
	return all
}

// shorterTexts returns texts with fewer or simpler characters.
func shorterTexts(text string) []string {
	runes := []rune(text)
	n := len(runes)
	texts := []string{"", "a", strings.Repeat("a", n)}
	for _, keep := range []int{1, n / 2, n - n/4, n - n/8, n - n/16, n - n/64, n - n/256, n - 1} {
		if keep >= 0 && keep < n {
			texts = append(texts, string(runes[:keep]), string(runes[n-keep:]))
		}
	}
	return texts
}

// simplerNumbers returns numbers between 0 and the number.
func simplerNumbers(number string) []json.RawMessage {
	texts := []string{"0", "1", "-1", "0.5", "2", "1.0"}
	if n, ok := schema.Rational(number); ok {
		half := new(big.Rat).Quo(n, big.NewRat(2, 1))
		whole := new(big.Int).Quo(half.Num(), half.Denom())
		texts = append(texts, whole.String(), plain(half))
		if n.IsInt() {
			texts = append(texts, n.Num().String())
		}
		one := big.NewRat(int64(n.Sign()), 1)
		texts = append(texts, plain(new(big.Rat).Sub(n, one)))
	}
	var numbers []json.RawMessage
	for _, text := range texts {
		numbers = append(numbers, json.RawMessage(text))
	}
	return numbers
}
