package host

import (
	"runtime"
	"runtime/debug"
)

// TuneGC lets a small heap grow before it is collected, which would begin at
// 4 MB: most commands end before that, and what is read in many calls or a stream of
// small messages is dead at once. Until the first collection the percentage is raised. From
// then on it is the usual one, and bytes that are never touched, which take no memory, count
// as in use, so that a collection comes when the heap is twice as large as they are. When
// much is in use they count for little: with a larger percentage in their place, a batch
// of large results takes twice the memory. No later conversation changes it.
func TuneGC(e *Env, many bool) {
	if e.Ballast != nil || e.Getenv("GOGC") != "" {
		return
	}
	size := 4 << 20
	if many {
		size = 8 << 20
	}
	debug.SetGCPercent(400)
	first := new(*byte) // a pointer, since what has none may share its block
	runtime.AddCleanup(first, func(percent int) { debug.SetGCPercent(percent) }, 100)
	e.Ballast = make([]byte, size)
}

// KeepHeapSmall undoes what TuneGC did, where much is read that is garbage at once: little is in
// use then, and a collection is cheap.
func KeepHeapSmall(e *Env) {
	if e.Getenv("GOGC") == "" {
		e.Ballast = []byte{}
		debug.SetGCPercent(100)
	}
}
