package cmdutil

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/render/failure"
	"mcpc/internal/render/traffic"
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

func (l *frameLog) Empty() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames = nil
}

// ShowTraffic shows the frames from the next one on: -v as they cross, --explain at the end.
func ShowTraffic(a *Factory, verbose int, explain bool) {
	if verbose == 0 && !explain {
		a.Watch.Store(nil)
		return
	}
	show := traffic.Verbose(a.Stderr(), a.ErrStyle, verbose)
	tap := wire.Tap(func(f wire.Frame) {
		if explain {
			a.Frames.add(f)
		}
		show(f)
	})
	a.Watch.Store(&tap)
}

// hintAtRecord tells a person where the evidence is, of endings that it explains,
// unless it was shown.
func hintAtRecord(a *Factory, ended wire.Kind) {
	shown := a.Explain || a.Verbose > 0 || !a.ErrStyle.Terminal || a.JSON || a.Wire
	if r := &a.Record; shown || r.Ring == nil || r.Run() == 0 || !r.Crossed.Load() {
		return
	}
	switch ended {
	case wire.RPCFailed, wire.Transport, wire.BadResponse, wire.Timeout, wire.OutputInvalid:
		failure.Hint(a.Stderr(), a.ErrStyle, wire.Run("show last")+" shows the exchange")
	}
}

// Explained prints the exchange that the command was about, and names those
// that led to it. A command that got no further shows what it came to.
func Explained(ctx context.Context, a *Factory, methods ...string) {
	if !a.Explain {
		return
	}
	all := traffic.WithoutRepeats(wire.Fold(a.Frames.all()))
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
		a.Note("earlier requests of this command: " + strings.Join(before, ", ") + " (-vv shows them)")
	}
	var b bytes.Buffer
	traffic.Explain(&b, a.ErrStyle, own)
	if ctx.Err() != nil || !a.ErrStyle.Terminal || !paged(a, b.Bytes()) {
		_, _ = a.Stderr().Write(b.Bytes())
	}
}
