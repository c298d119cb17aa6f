package sliceutil

import "sort"

// Sort sorts all by compare. Equal elements keep their order. It makes a smaller program than the
// functions of package slices, which have 8 to 30 kB of code for each type that they sort. Use them
// for pointers, which share one copy, and where speed matters.
func Sort[T any](all []T, compare func(a, b T) int) {
	sort.SliceStable(all, func(i, j int) bool { return compare(all[i], all[j]) < 0 })
}
