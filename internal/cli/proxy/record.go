package proxy

import (
	"mcpc/internal/capture/forward"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/render/traffic"
	"mcpc/internal/wire"
)

// overhear records what is forwarded between others, and shows it with -v. A caller
// must Close the Watcher before the command ends.
func overhear(a *cmdutil.Factory, where, by string) *forward.Watcher {
	if a.Environ != nil {
		a.Secrets.LearnEnvironment(a.Environ())
	}
	a.Env.StartRecording(where, by, nil)
	recorder := a.Record.Recorder
	verbose := traffic.Verbose(a.Stderr(), a.ErrStyle, a.Verbose)
	watching := forward.Options{Now: a.Now, Tap: func(f wire.Frame) {
		a.Record.Crossed.Store(true)
		if a.Verbose == 0 {
			recorder.Tap(f)
			return
		}
		f = a.Secrets.Frame(f)
		recorder.TapSafe(f)
		verbose(f)
	}}
	if recorder != nil {
		watching.Lost = recorder.Lost
	}
	return forward.NewWatcher(watching)
}
