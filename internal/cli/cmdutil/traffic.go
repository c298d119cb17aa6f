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
func (f *Factory) ShowTraffic(verbose int, explain bool) {
	if verbose == 0 && !explain {
		f.Watch.Store(nil)
		return
	}
	show := traffic.Verbose(f.Stderr(), f.ErrStyle, verbose)
	tap := wire.Tap(func(frame wire.Frame) {
		if explain {
			f.Frames.mu.Lock()
			f.Frames.frames = append(f.Frames.frames, frame)
			f.Frames.mu.Unlock()
		}
		show(frame)
	})
	f.Watch.Store(&tap)
}

// hintAtRecord tells a person where the evidence is, of endings that it explains,
// unless it was shown.
func (f *Factory) hintAtRecord(ended wire.Kind) {
	shown := f.Explain || f.Verbose > 0 || !f.ErrStyle.Terminal || f.JSON || f.Wire
	if r := &f.Record; shown || r.Ring == nil || r.Run() == 0 || !r.Crossed.Load() {
		return
	}
	switch ended {
	case wire.RPCFailed, wire.Transport, wire.BadResponse, wire.Timeout, wire.OutputInvalid:
		failure.Hint(f.Stderr(), f.ErrStyle, wire.Run("show last")+" shows the exchange")
	}
}

// Explained prints the exchange that the command was about, and names those
// that led to it. A command that got no further shows what it came to.
func Explained(ctx context.Context, f *Factory, methods ...string) {
	if !f.Explain {
		return
	}
	all := traffic.WithoutRepeats(wire.Fold(f.Frames.all()))
	var own []*wire.Exchange
	var before []string
	asked := false
	for _, e := range all {
		method := wire.ParseMessage(e.Request.Raw).Method
		meant := slices.Contains(methods, method)
		asked = asked || meant
		if meant || e.Request.Raw == nil || e.ByServer() {
			own = append(own, e)
		} else {
			before = append(before, method)
		}
	}
	if !asked {
		own = all
		before = nil
	}
	if len(before) > 0 {
		f.Note("earlier requests of this command: " + strings.Join(before, ", ") + " (-vv shows them)")
	}
	var b bytes.Buffer
	if traffic.Explain(&b, f.ErrStyle, own) {
		whole := "-vv shows the whole messages"
		if !f.NoRecord {
			whole = f.HintText(wire.Run("show last")) + " shows the whole messages"
		}
		f.Note("long parts are left out: " + whole)
	}
	if ctx.Err() != nil || !f.ErrStyle.Terminal || !f.ShowPaged(b.Bytes()) {
		_, _ = f.Stderr().Write(b.Bytes())
	}
}
