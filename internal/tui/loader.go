package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// A subject identifies what is read. At most one read of each subject runs at a time.
type subject int

// maxSubjects limits the number of subjects.
const maxSubjects = 16

// A change updates the model and returns the next command.
type change func(*model) tea.Cmd

// A loader reads outside of the drawing loop until ctx ends.
type loader struct {
	ctx   context.Context
	slots [maxSubjects]slot
}

// A slot is the state of the reads of one subject.
type slot struct {
	generation uint64 // of the newest read
	isRunning  bool
	mustRepeat bool // the data changed while the read was running
	cancel     context.CancelFunc
}

// A readResult is the result of a read; apply updates the model.
type readResult struct {
	subject    subject
	generation uint64
	apply      change
}

// restart starts a read, and cancels a running read of the same subject. The returned command runs
// it outside of the drawing loop.
func (l *loader) restart(about subject, read func(context.Context) change) tea.Cmd {
	s := &l.slots[about]
	if s.isRunning {
		s.cancel()
	}
	ctx, cancel := context.WithCancel(l.ctx)
	s.generation++
	s.isRunning = true
	s.mustRepeat = false
	s.cancel = cancel
	generation := s.generation
	return func() tea.Msg {
		defer cancel()
		return readResult{about, generation, read(ctx)}
	}
}

// refresh starts a read. If a read of the same subject is running, it returns nil, and that read
// runs again afterwards.
func (l *loader) refresh(about subject, read func(context.Context) change) tea.Cmd {
	if l.slots[about].isRunning {
		l.slots[about].mustRepeat = true
		return nil
	}
	return l.restart(about, read)
}

// accept reports whether a result belongs to the newest read, and whether to read again because the
// data changed meanwhile. Other results must not be applied.
func (l *loader) accept(r readResult) (isNewest, readAgain bool) {
	s := &l.slots[r.subject]
	if r.generation != s.generation {
		return false, false
	}
	s.isRunning = false
	readAgain = s.mustRepeat
	s.mustRepeat = false
	return true, readAgain
}

// runAction runs an action. Its result is always applied.
func (l *loader) runAction(act func(context.Context) change) tea.Cmd {
	return func() tea.Msg { return actionResult{act(l.ctx)} }
}

// An actionResult is the result of an action; apply updates the model.
type actionResult struct{ apply change }
