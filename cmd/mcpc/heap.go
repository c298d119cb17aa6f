package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// smallHeap is how many bytes may be in use for the heap to be a small one.
const smallHeap = 16 << 20

// spareCollections lets a small heap grow before it is collected, which would begin at
// 4 MB: most commands end before that, and what is read in many calls or a stream of
// small messages is dead at once. When much is in use, memory counts again, and no later
// conversation of the process changes that: with a fixed percentage, a batch of large
// results takes twice the memory.
func (a *env) spareCollections(many bool) {
	if a.spared || a.getenv("GOGC") != "" {
		return
	}
	a.spared = true
	percent := 200
	if many {
		percent = 400
	}
	debug.SetGCPercent(percent)
	afterCollection(func() (again bool) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if live[0].Value.Uint64() < smallHeap {
			return true
		}
		debug.SetGCPercent(100)
		return false
	})
}

// afterCollection calls do after each collection until it says that it was enough.
func afterCollection(do func() (again bool)) {
	canary := new(*byte) // a pointer, since what has none may share its place
	runtime.AddCleanup(canary, func(do func() bool) {
		if do() {
			afterCollection(do)
		}
	}, do)
}
