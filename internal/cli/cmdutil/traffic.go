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
func (f *Factory) hintAtRecording(kind wire.Kind) {
	isShown := f.Explain || f.Verbose > 0
	isForPerson := f.ErrStyle.Terminal && !f.JSON && !f.Wire
	if isShown || !isForPerson {
		return
	}
	record := &f.Record
	isRecorded := record.Ring != nil && record.Run() != 0 && record.HasTraffic.Load()
	if !isRecorded { // mcpc show last would show another command
		return
	}
	switch kind {
	case wire.RPCFailed, wire.Transport, wire.BadResponse, wire.Timeout, wire.OutputInvalid:
		failure.Hint(f.Stderr(), f.ErrStyle, wire.Run("show last")+" shows the exchange")
	}
}

// PrintExplanation prints the exchanges of the methods that the command is about, if --explain is
// set, and notes which requests it leaves out. If no request with such a method was sent, it prints
// all exchanges.
func PrintExplanation(ctx context.Context, f *Factory, methods ...string) {
	if !f.Explain {
		return
	}
	exchanges, earlier := selectExchanges(traffic.WithoutRepeats(wire.GroupFrames(f.Frames.all())), methods)
	if len(earlier) > 0 {
		f.Note("earlier requests of this command: " + strings.Join(earlier, ", ") + " (-vv shows them)")
	}
	var b bytes.Buffer
	if isShortened := traffic.Explain(&b, f.ErrStyle, exchanges); isShortened {
		whole := "-vv shows the whole messages"
		if !f.NoRecord {
			whole = f.HintText(wire.Run("show last")) + " shows the whole messages"
		}
		f.Note("long parts are left out: " + whole)
	}
	// After an interrupt no pager may open: the user wants the command to end.
	isPaged := ctx.Err() == nil && f.ErrStyle.Terminal && f.ShowPaged(b.Bytes())
	if !isPaged {
		_, _ = f.Stderr().Write(b.Bytes())
	}
}

// selectExchanges returns the exchanges of the given methods, with the server's requests and the
// exchanges without a request, and the methods of the other exchanges. If no exchange has a given
// method, it returns all exchanges.
func selectExchanges(all []*wire.Exchange, methods []string) (selected []*wire.Exchange, others []string) {
	found := false
	for _, e := range all {
		method := wire.ParseMessage(e.Request.Raw).Method
		isSelected := slices.Contains(methods, method)
		found = found || isSelected
		if isSelected || e.Request.Raw == nil || e.IsFromServer() {
			selected = append(selected, e)
		} else {
			others = append(others, method)
		}
	}
	if !found {
		return all, nil
	}
	return selected, others
}
