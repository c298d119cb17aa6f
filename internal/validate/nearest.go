package validate

import (
	"cmp"
	"slices"
	"strings"
)

// What is compared to find a name that may have been meant.
const (
	maxNearNames  = 1000
	maxNearLength = 64
	maxNear       = 3
)

// nearest lists the known names that one is likely a slip for, nearest first.
func nearest(name string, known []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var near []candidate
	limit := len(name) / 3
	for _, k := range known[:min(len(known), maxNearNames)] {
		if far := distance(plain(name), plain(k), limit); far <= limit {
			near = append(near, candidate{k, far})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	var names []string
	for _, c := range near[:min(len(near), maxNear)] {
		names = append(names, c.name)
	}
	return names
}

// plain drops what people mix up in names: case, and how words are joined.
func plain(name string) string { return joints.Replace(strings.ToLower(name)) }

var joints = strings.NewReplacer("_", "", "-", "")

// distance is the number of single letters to insert, drop, change or swap with
// the next, or something over limit.
func distance(a, b string, limit int) int {
	if len(a) > maxNearLength || len(b) > maxNearLength || max(len(a)-len(b), len(b)-len(a)) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			changed := last[j]
			if a[i] != b[j] {
				changed++
			}
			row[j+1] = min(changed, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
