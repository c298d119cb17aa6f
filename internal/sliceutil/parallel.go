package sliceutil

import (
	"sync"
)

// batchSize is the number of calls of do that one goroutine makes.
const batchSize = 250

// Parallel calls do with each number from 0 below n. If n is larger than batchSize, it calls do
// concurrently and in no order. It re-raises a panic of do in the caller's goroutine.
func Parallel(n int, do func(i int)) {
	doBatch := func(from int) {
		for i := from; i < min(from+batchSize, n); i++ {
			do(i)
		}
	}
	var others sync.WaitGroup
	var panicked sync.Once
	var panicValue any // of the first panic in another goroutine
	for from := batchSize; from < n; from += batchSize {
		others.Go(func() {
			defer func() {
				if value := recover(); value != nil {
					panicked.Do(func() { panicValue = value })
				}
			}()
			doBatch(from)
		})
	}
	doBatch(0) // in this goroutine
	others.Wait()
	if panicValue != nil {
		panic(panicValue)
	}
}
