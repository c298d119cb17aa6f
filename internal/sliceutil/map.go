// Package sliceutil has functions for slices that package slices lacks.
package sliceutil

// Map returns the results of becomes for each element of all; nil if all is empty.
func Map[T, U any](all []T, becomes func(T) U) []U {
	var others []U
	for _, one := range all {
		others = append(others, becomes(one))
	}
	return others
}
