package mcp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/spool"
)

// The findings about the special names equal the findings about all names, and the other names have
// no findings.
func TestSpecialNamesAgreeWithFullComparison(t *testing.T) {
	defer func(n int) { maxHashes = n }(maxHashes)
	parts := []string{"get", "sum", "1", "l", "I", "rn", "m", "0", "O", "-", "\u0435", "\u200b", "раураl", "ab"}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		maxHashes = 1 + round%40
		dir, all := spool.Dir(""), []string(nil)
		if round%2 == 0 {
			dir = spool.Dir(t.TempDir())
		}
		kept := NewNames(dir)
		for i := range r.IntN(120) {
			name := ""
			for range r.IntN(4) {
				name += parts[r.IntN(len(parts))]
			}
			if r.IntN(3) > 0 {
				name += fmt.Sprint("-", i) // most are not special
			}
			all = append(all, name)
			kept.Add(name)
		}
		names, numbers, err := kept.Special()
		if err != nil || kept.Count() != len(all) {
			t.Fatalf("%v, %d names of %d", err, kept.Count(), len(all))
		}
		like, special := Lookalikes(names), make([]string, len(all))
		for i, number := range numbers {
			if special[number] = like[i]; names[i] != all[number] {
				t.Errorf("name %d is %q and not %q", number, names[i], all[number])
			}
		}
		if want := Lookalikes(all); !slices.Equal(special, want) {
			t.Errorf("%q look like %q, want %q", all, special, want)
		}
		if got, want := Confusable("tool", names), Confusable("tool", all); !slices.Equal(got, want) {
			t.Errorf("%q: found %v, want %v", all, got, want)
		}
		for i, name := range all {
			several, twin := false, false
			for j, other := range all {
				several = several || i != j && name == other
				twin = twin || i != j && string(appendSkeleton(nil, foldToASCII(name))) == string(appendSkeleton(nil, foldToASCII(other)))
			}
			there := slices.Contains(numbers, i)
			if several && !there || there && !twin && jsonraw.IsASCII(name) {
				t.Errorf("%q of %q: special is %t", name, strings.Join(all, " "), there)
			}
		}
	}
}

// Many names are in a file, and compared in parts.
func TestManyNames(t *testing.T) {
	kept := NewNames(spool.Dir(t.TempDir()))
	n := 3*maxHashes + 7
	for i := range n {
		kept.Add(fmt.Sprint("tool-", 2_000_000+2*i%(2*n-20))) // the first ten come again
	}
	names, numbers, err := kept.Special()
	if err != nil || len(names) != 20 || numbers[0] != 0 || numbers[10] != n-10 || names[10] != names[0] {
		t.Errorf("%v: %q, %v", err, names, numbers)
	}
}
