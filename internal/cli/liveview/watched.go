package liveview

import (
	"cmp"
	"slices"
	"strings"

	"mcpc/internal/diff"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/reload"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// followNotices notes what the tap of the view's own server writes to standard error from now on.
func (a *Actor) followNotices() {
	watch := &a.Factory.Watch
	shown := watch.Load() // of -v
	tap := wire.Tap(func(f wire.Frame) {
		if shown != nil {
			(*shown)(f)
		}
		if f.Kind == wire.Stderr {
			a.noteStderr(string(f.Raw))
		}
	})
	watch.Store(&tap)
}

// maxNotice is the maximum number of bytes of a notice, which is shown in one line.
const maxNotice = 500

// noteStderr shows a line of standard error if it is one of mcpc, not of the server.
func (a *Actor) noteStderr(line string) {
	text, isOfTap := strings.CutPrefix(line, "mcpc: ")
	if isOfTap {
		a.showNotice(strings.TrimPrefix(text, "note: "))
	}
}

// showNotice makes views show a text about the view's own server.
func (a *Actor) showNotice(text string) {
	text = term.Line(jsonraw.Excerpt([]byte(text), maxNotice))
	a.mu.Lock()
	a.notice = text
	a.noticeCount++
	a.mu.Unlock()
	a.Changed()
}

// lastNotice returns the last notice about the server, safe for a terminal, and the number of notices.
func (a *Actor) lastNotice() (text string, count int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.notice, a.noticeCount
}

// describeChanges returns a sentence about the changes of a server's definitions, the most severe ones first.
func describeChanges(changes []diff.Change) string {
	const maxNamed = 3
	mostSevereFirst := func(a, b diff.Change) int { return cmp.Compare(b.Level, a.Level) }
	sorted := slices.SortedStableFunc(slices.Values(changes), mostSevereFirst)
	var named []string
	for _, c := range sorted[:min(len(sorted), maxNamed)] {
		text := c.Subject.String() + ": " + c.Text
		if c.Level > diff.Harmless {
			text += " (" + c.Level.String() + ")"
		}
		named = append(named, text)
	}
	if more := len(sorted) - len(named); more > 0 {
		named = append(named, english.Plural(more, "more change"))
	}
	return strings.Join(named, "; ")
}

// withoutTap returns the outcome of a failed start for a user who did not ask for a tap: if the tap made
// the error, because no server was ready, the outcome is that of a server that does not start.
func withoutTap(out wire.Outcome) wire.Outcome {
	e := out.RPCError()
	if e == nil {
		return out
	}
	why, stderr := reload.ReasonOf(e)
	if why == "" {
		return out
	}
	out.Kind = wire.Transport
	out.Text = "the server does not start: " + why
	out.Message = nil
	out.Process = &wire.ProcessFacts{Stderr: stderr}
	return out
}
