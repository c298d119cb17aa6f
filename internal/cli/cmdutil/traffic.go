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

// A frameLog collects the frames of a command.
type frameLog struct {
	mu     sync.Mutex
	frames []wire.Frame
}

// all returns the frames.
func (l *frameLog) all() []wire.Frame {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.frames)
}

// Clear drops the frames.
func (l *frameLog) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames = nil
}

// ShowTraffic shows the frames from now on: with verbose > 0 live, with explain when the command
// ends.
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

// hintAtRecording prints a hint at the recorded exchange if the recording explains the outcome, a
// person reads it, and the traffic was not shown.
func (f *Factory) hintAtRecording(ended wire.Kind) {
	shown := f.Explain || f.Verbose > 0 || !f.ErrStyle.Terminal || f.JSON || f.Wire
	if r := &f.Record; shown || r.Ring == nil || r.Run() == 0 || !r.Crossed.Load() {
		return
	}
	switch ended {
	case wire.RPCFailed, wire.Transport, wire.BadResponse, wire.Timeout, wire.OutputInvalid:
		failure.Hint(f.Stderr(), f.ErrStyle, wire.Run("show last")+" shows the exchange")
	}
}

// PrintExplanation prints the exchanges of the methods that the command is about, if --explain is set, and
// notes which requests it leaves out. If none of these methods was sent, it prints all exchanges.
func PrintExplanation(ctx context.Context, f *Factory, methods ...string) {
	if !f.Explain {
		return
	}
	all := traffic.WithoutRepeats(wire.GroupFrames(f.Frames.all()))
	var own []*wire.Exchange
	var earlier []string
	found := false
	for _, e := range all {
		method := wire.ParseMessage(e.Request.Raw).Method
		isOwn := slices.Contains(methods, method)
		found = found || isOwn
		if isOwn || e.Request.Raw == nil || e.IsFromServer() {
			own = append(own, e)
		} else {
			earlier = append(earlier, method)
		}
	}
	if !found {
		own = all
		earlier = nil
	}
	if len(earlier) > 0 {
		f.Note("earlier requests of this command: " + strings.Join(earlier, ", ") + " (-vv shows them)")
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
