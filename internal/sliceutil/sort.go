package sliceutil

import "sort"

// Sort sorts all by compare; what is equal keeps its order. Package slices has code of its
// own for each type that it sorts, 8 to 30 kB of the program: it is for pointers, which
// share one, and where time counts.
func Sort[T any](all []T, compare func(a, b T) int) {
	sort.SliceStable(all, func(i, j int) bool { return compare(all[i], all[j]) < 0 })
}
