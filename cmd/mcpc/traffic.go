package main

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/render"
	"mcpc/internal/wire"
)

// A frameLog keeps the frames of a command.
type frameLog struct {
	mu     sync.Mutex
	frames []wire.Frame
}

func (l *frameLog) add(f wire.Frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames = append(l.frames, f)
}

func (l *frameLog) all() []wire.Frame {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.frames)
}

func (l *frameLog) empty() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames = nil
}

// showTraffic shows the frames from the next one on: -v as they cross, --explain at the end.
func (a *app) showTraffic(verbose int, explain bool) {
	if verbose == 0 && !explain {
		a.watch.Store(nil)
		return
	}
	show := render.Verbose(a.stderr(), a.errStyle, verbose)
	tap := wire.Tap(func(f wire.Frame) {
		if explain {
			a.frames.add(f)
		}
		show(f)
	})
	a.watch.Store(&tap)
}

// hintAtRecord tells a person where the evidence is, of endings that it explains,
// unless it was shown.
func (a *app) hintAtRecord() {
	shown := a.explain || a.verbose > 0 || !a.errStyle.Terminal || a.json || a.wire
	if r := &a.record; shown || r.ring == nil || r.Run() == 0 || !r.crossed.Load() {
		return
	}
	switch a.ending.Kind {
	case wire.RPCFailed, wire.Transport, wire.BadResponse, wire.Timeout, wire.OutputInvalid:
		render.Hint(a.stderr(), a.errStyle, wire.Run("show last")+" shows the exchange")
	}
}

// explained prints the exchange that the command was about, and names those
// that led to it. A command that got no further shows what it came to.
func (a *app) explained(methods ...string) {
	if !a.explain {
		return
	}
	all := render.Untold(wire.Fold(a.frames.all()))
	var own []*wire.Exchange
	var before []string
	asked := false
	for _, e := range all {
		method := wire.ParseMessage(e.Request.Raw).Method
		meant := slices.Contains(methods, method)
		if asked = asked || meant; meant || e.Request.Raw == nil || e.ByServer() {
			own = append(own, e)
		} else {
			before = append(before, method)
		}
	}
	if !asked {
		own, before = all, nil
	}
	if len(before) > 0 {
		a.note("earlier requests of this command: " + strings.Join(before, ", ") + " (-vv shows them)")
	}
	var b bytes.Buffer
	render.Explain(&b, a.errStyle, own)
	if interrupted := a.ending.Kind == wire.Signal; interrupted || !a.errStyle.Terminal || !a.paged(b.Bytes()) {
		_, _ = a.stderr().Write(b.Bytes())
	}
}
