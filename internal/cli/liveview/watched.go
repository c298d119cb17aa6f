package liveview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/diff"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// followStderr keeps what the view's own server writes to standard error from now on, and notes what its tap says.
func (a *Actor) followStderr(s *startedServer) {
	watch := &a.Factory.Watch
	shown := watch.Load() // of -v
	tap := wire.Tap(func(f wire.Frame) {
		if shown != nil {
			(*shown)(f)
		}
		if f.Kind == wire.Stderr {
			a.addOutput(f.Raw)
			if s.Watched != nil {
				a.noteStderr(s, string(f.Raw))
			}
		}
	})
	watch.Store(&tap)
}

// maxOutputLine is the maximum number of bytes of a line in the output of a server.
const maxOutputLine = 4 << 10

// addOutput keeps a line of standard error of the view's own server.
func (a *Actor) addOutput(line []byte) {
	a.mu.Lock()
	_, _ = fmt.Fprintln(&a.output, jsonraw.Excerpt(line, maxOutputLine))
	a.mu.Unlock()
	a.Changed()
}

// hasOutput reports whether the view's own server has written to standard error.
func (a *Actor) hasOutput() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.output.text) > 0
}

// ServerOutput returns the last lines that the view's own server wrote to standard error, without secrets.
func (a *Actor) ServerOutput() []string {
	a.mu.Lock()
	text := string(a.output.text)
	a.mu.Unlock()
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// maxNotice is the maximum number of bytes of a notice, which is shown in one line.
const maxNotice = 500

// noteStderr shows a line of standard error if it is one of mcpc, not of the server: the tap warns if the server
// or its build has failed, and notes that the server runs again.
func (a *Actor) noteStderr(s *startedServer, line string) {
	text, isOfTap := strings.CutPrefix(line, "mcpc: ")
	if !isOfTap {
		return
	}
	if warning, isWarning := strings.CutPrefix(text, "warning: "); isWarning {
		a.mu.Lock()
		a.warningCount++
		a.mu.Unlock()
		a.setTrouble(warning)
		return
	}
	text, isNote := strings.CutPrefix(text, "note: ")
	a.showNotice(text)
	if isNote {
		notify(s.restarted)
		notify(s.relisten)
	}
}

// setTrouble makes views show why the view's own server does not run, until it does. "" means that it runs.
func (a *Actor) setTrouble(text string) {
	text = oneLine(a.Factory.Secrets.Text(text))
	a.mu.Lock()
	hasChanged := a.trouble != text
	a.trouble = text
	a.mu.Unlock()
	if hasChanged {
		a.Changed()
	}
}

// lastTrouble returns why the view's own server does not run, safe for a terminal, or "".
func (a *Actor) lastTrouble() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.trouble
}

// countWarnings returns how many warnings the tap of the view's own server has written.
func (a *Actor) countWarnings() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.warningCount
}

// noteListing notes the outcome of listing the tools of a watched server. A good one ends the trouble, unless
// the tap has warned since it had written the given number of warnings.
func (a *Actor) noteListing(s *startedServer, out wire.Outcome, warnings int) {
	if s.Watched == nil || out.Kind == wire.Signal {
		return
	}
	if !out.OK() {
		a.setTrouble(troubleOf(out))
	} else if warnings == a.countWarnings() {
		a.setTrouble("")
	}
}

// listenStarted asks the view's own server to report changes of its lists, until the view is closed. If the
// server refuses or the subscription ends, it is asked again after the next restart.
func (a *Actor) listenStarted(s *startedServer) {
	for {
		a.listenTo(a.ownServer.Load(), s.Watched != nil)
		select {
		case <-a.ctx.Done():
			return
		case <-s.relisten:
		}
	}
}

// showNotice makes views show a text about the view's own server.
func (a *Actor) showNotice(text string) {
	text = oneLine(text)
	a.mu.Lock()
	a.notice = text
	a.noticeCount++
	a.mu.Unlock()
	a.Changed()
}

// oneLine returns the beginning of a text as one line that is safe for a terminal.
func oneLine(text string) string { return term.Line(jsonraw.Excerpt([]byte(text), maxNotice)) }

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

// troubleOf returns what a failed request to a watched server says about it: the reason of the tap, if no server
// was ready, or else the failure of the request.
func troubleOf(out wire.Outcome) string {
	e := out.RPCError()
	if e == nil {
		return failure.Headline(out)
	}
	if why, _ := e.TapReason(); why != "" {
		return why
	}
	return out.Method + ": " + failure.Headline(out)
}

// withoutTap returns the outcome of a failed start for a user who did not ask for a tap: if the tap made
// the error, because no server was ready, the outcome is that of a server that does not start.
func withoutTap(out wire.Outcome) wire.Outcome {
	e := out.RPCError()
	if e == nil {
		return out
	}
	why, stderr := e.TapReason()
	if why == "" {
		return out
	}
	out.Kind = wire.Transport
	out.Text = "the server does not start: " + why
	out.Message = nil
	out.Process = &wire.ProcessFacts{Stderr: stderr}
	return out
}
