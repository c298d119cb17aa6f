package transport

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// What is remembered of ids is what a map of all of them has, as far as the latest ones go.
func TestAskedIDsAreThoseOfAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 9))
	for range 20 {
		var asked AskedIDs
		all, next, last := map[string]bool{}, r.Int64N(1_000_000), int64(-1)
		ids := []string{`"a"`, `""`, "-1", "01", "1.5", "1e3", "9999999999999999999", "0"}
		for range 3000 {
			id := ids[r.IntN(len(ids))]
			if r.IntN(20) > 0 {
				if next += r.Int64N(3); r.IntN(500) == 0 {
					next += r.Int64N(mostNumbers - 10)
				}
				id = fmt.Sprint(max(0, next-r.Int64N(8)))
			}
			if n, ok := numberOf([]byte(id)); ok && (last < 0 || n < last+mostNumbers) {
				last = max(last, n)
			}
			ids = append(ids, id)
			mark := r.IntN(4) == 0
			asked.Put([]byte(id), mark)
			all[id] = mark
		}
		for _, id := range slices.Concat(ids, []string{`"b"`, fmt.Sprint(last + 1), fmt.Sprint(last + mostNumbers), "12345678901234567"}) {
			wantMark, want := all[id]
			mark, known := asked.Lookup([]byte(id))
			if n, ok := numberOf([]byte(id)); ok && n <= last-mostNumbers {
				continue // it may be forgotten
			}
			if mark != wantMark || known != want {
				t.Fatalf("%s: %t, %t; want %t, %t", id, mark, known, wantMark, want)
			}
		}
	}
}

// An id that the user chose, far from those that are counted, makes none of them forgotten.
func TestAskedIDsOfTheUser(t *testing.T) {
	for _, ids := range [][]string{{"1", "1000000", "2"}, {"1000000", "1", "2"}, {"0", "10240", "1"}, {"20000", "9760", "20001"}} {
		for given := range ids {
			var asked AskedIDs
			for i, id := range ids {
				asked.Put([]byte(id), i == given)
			}
			for i, id := range ids {
				if mark, known := asked.Lookup([]byte(id)); mark != (i == given) || !known {
					t.Errorf("%s in %s: %t, %t", id, ids, mark, known)
				}
			}
		}
	}
}
