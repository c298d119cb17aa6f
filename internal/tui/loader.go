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

// An asker reads outside of the drawing loop until ctx ends.
type loader struct {
	ctx   context.Context
	slots [maxSubjects]slot
}

type slot struct {
	generation uint64
	isRunning  bool
	mustRepeat bool
	cancel     context.CancelFunc
}

// An answer is the result of a read; apply updates the model.
type readResult struct {
	subject    subject
	generation uint64
	apply      change
}

// restart starts a read, and cancels a running read of the same subject.
func (a *loader) restart(about subject, question func(context.Context) change) tea.Cmd {
	s := &a.slots[about]
	if s.isRunning {
		s.cancel()
	}
	ctx, cancel := context.WithCancel(a.ctx)
	s.generation++
	s.isRunning = true
	s.mustRepeat = false
	s.cancel = cancel
	generation := s.generation
	return func() tea.Msg {
		defer cancel()
		return readResult{about, generation, question(ctx)}
	}
}

// refresh starts a read. If a read of the same subject is running, it runs again afterwards.
func (a *loader) refresh(about subject, question func(context.Context) change) tea.Cmd {
	if a.slots[about].isRunning {
		a.slots[about].mustRepeat = true
		return nil
	}
	return a.restart(about, question)
}

// accept reports whether an answer is the newest, and whether to read again.
func (a *loader) accept(r readResult) (current, again bool) {
	s := &a.slots[r.subject]
	if r.generation != s.generation {
		return false, false
	}
	s.isRunning = false
	again = s.mustRepeat
	s.mustRepeat = false
	return true, again
}

// runAction runs an action. Its result is always applied.
func (a *loader) runAction(act func(context.Context) change) tea.Cmd {
	return func() tea.Msg { return actionResult{act(a.ctx)} }
}

// An acted is the result of an action.
type actionResult struct{ apply change }
