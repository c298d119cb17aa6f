package proxy

import (
	"mcpc/internal/capture/forward"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/render/traffic"
	"mcpc/internal/wire"
)

// overhear records what is forwarded between others, and shows it with -v. A caller
// must Close the Watcher before the command ends.
func overhear(f *cmdutil.Factory, where, by string) *forward.Watcher {
	if f.Environ != nil {
		f.Secrets.LearnEnvironment(f.Environ())
	}
	f.Env.StartRecording(where, by, nil)
	recorder := f.Record.Recorder
	verbose := traffic.Verbose(f.Stderr(), f.ErrStyle, f.Verbose)
	watching := forward.Options{Now: f.Now, Tap: func(frame wire.Frame) {
		f.Record.Crossed.Store(true)
		if f.Verbose == 0 {
			recorder.Tap(frame)
			return
		}
		frame = f.Secrets.Frame(frame)
		recorder.TapSafe(frame)
		verbose(frame)
	}}
	if recorder != nil {
		watching.Lost = recorder.Lost
	}
	return forward.NewWatcher(watching)
}
