package host

import (
	"runtime"
	"runtime/debug"
)

// TuneGC delays the first garbage collection, which would run at 4 MB: most commands end before
// that, and what many calls or a stream of small messages read becomes garbage at once.
//
// Until the first collection the percentage is raised. After it, the percentage is the usual one,
// but the ballast counts as in use: the next collection runs when the heap is twice as large. The
// ballast is never touched, so it takes no memory. When much is in use it hardly matters, while a
// larger percentage would double the memory of a batch with large results. many is set for a
// connection of many calls. Later calls change nothing.
func TuneGC(e *Env, many bool) {
	if e.Ballast != nil || e.Getenv("GOGC") != "" {
		return
	}
	ballastSize := 4 << 20
	if many {
		ballastSize = 8 << 20
	}
	const usualPercent = 100
	debug.SetGCPercent(4 * usualPercent)
	// The first collection frees this garbage, and so runs the cleanup. It is a pointer, because values
	// without pointers may share an allocation with others.
	garbage := new(*byte)
	runtime.AddCleanup(garbage, func(percent int) { debug.SetGCPercent(percent) }, usualPercent)
	e.Ballast = make([]byte, ballastSize)
}

// KeepHeapSmall undoes TuneGC for commands whose data becomes garbage at once: little is in use, so
// a collection is cheap.
func KeepHeapSmall(e *Env) {
	if e.Getenv("GOGC") == "" { // the user has not chosen a percentage
		e.Ballast = []byte{} // not nil, so that TuneGC does nothing later
		debug.SetGCPercent(100)
	}
}
