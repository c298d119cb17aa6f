// Package sliceutil has functions for slices that package slices lacks.
package sliceutil

// Map is what each of all becomes; nil of none.
func Map[T, U any](all []T, becomes func(T) U) (others []U) {
	for _, one := range all {
		others = append(others, becomes(one))
	}
	return others
}
