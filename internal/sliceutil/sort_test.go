package sliceutil

import (
	"slices"
	"testing"
)

// It sorts as package slices does, and keeps the order of what is equal.
func TestSort(t *testing.T) {
	t.Parallel()
	type pair struct{ by, at int }
	var got []pair
	for i := range 500 {
		got = append(got, pair{i * 7919 % 13, i})
	}
	want := slices.Clone(got)
	compare := func(a, b pair) int { return a.by - b.by }
	slices.SortStableFunc(want, compare)
	if Sort(got, compare); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
