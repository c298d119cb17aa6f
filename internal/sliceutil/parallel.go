package sliceutil

import (
	"sync"
)

// share is how many small things are worth another goroutine.
const share = 250

// Parallel calls do for each number below n: where they are many, on all cores and in no
// order. A panic of do is the caller's.
func Parallel(n int, do func(i int)) {
	some := func(from int) {
		for i := from; i < min(from+share, n); i++ {
			do(i)
		}
	}
	var others sync.WaitGroup
	var crashed sync.Once
	var crash any
	for from := share; from < n; from += share {
		others.Go(func() {
			defer func() {
				if c := recover(); c != nil {
					crashed.Do(func() { crash = c })
				}
			}()
			some(from)
		})
	}
	some(0)
	others.Wait()
	if crash != nil {
		panic(crash)
	}
}
