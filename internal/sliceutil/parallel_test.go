package sliceutil

import (
	"fmt"
	"sync/atomic"
	"testing"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, batchSize - 1, batchSize, batchSize + 1, 10*batchSize + 7} {
		done := make([]atomic.Int32, n)
		Parallel(n, func(i int) { done[i].Add(1) })
		for i := range done {
			if times := done[i].Load(); times != 1 {
				t.Errorf("%d of %d was done %d times", i, n, times)
			}
		}
	}
}

// A bug in one goroutine ends the command like any other bug.
func TestSpreadCrash(t *testing.T) {
	t.Parallel()
	for _, bad := range []int{0, batchSize - 1, batchSize, 5*batchSize + 3} {
		func() {
			defer func() {
				if got := recover(); got != fmt.Sprint(bad) {
					t.Errorf("got %v, want %d", got, bad)
				}
			}()
			Parallel(6*batchSize, func(i int) {
				if i == bad {
					panic(fmt.Sprint(i))
				}
			})
		}()
	}
}
