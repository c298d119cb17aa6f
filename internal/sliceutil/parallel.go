package sliceutil

import (
	"sync"
)

// batchSize is the number of calls of do that one goroutine makes.
const batchSize = 250

// Parallel calls do with each number from 0 below n. If n is larger than share, it calls do
// concurrently and in no order. It re-raises a panic of do in the caller's goroutine.
func Parallel(n int, do func(i int)) {
	some := func(from int) {
		for i := from; i < min(from+batchSize, n); i++ {
			do(i)
		}
	}
	var others sync.WaitGroup
	var crashed sync.Once
	var crash any
	for from := batchSize; from < n; from += batchSize {
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
