package main

import (
	"mcpc/internal/render"
	"mcpc/internal/trace"
	"mcpc/internal/wire"
)

// overhear records what is forwarded between others, and shows it with -v. A caller
// must Close the Watcher before the command ends.
func (a *app) overhear(where, by string) *trace.Watcher {
	if a.environ != nil {
		a.secrets.LearnEnvironment(a.environ())
	}
	a.startRecording(where, by, nil)
	recorder := a.record.Recorder
	verbose := render.Verbose(a.stderr(), a.errStyle, a.verbose)
	watching := trace.Watching{Now: a.now, Tap: func(f wire.Frame) {
		a.record.crossed.Store(true)
		if a.verbose == 0 {
			recorder.Tap(f)
			return
		}
		f = a.secrets.Frame(f)
		recorder.TapSafe(f)
		verbose(f)
	}}
	if recorder != nil {
		watching.Lost = recorder.Lost
	}
	return trace.NewWatcher(watching)
}
