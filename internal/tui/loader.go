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
type asker struct {
	ctx   context.Context
	slots [maxSubjects]slot
}

type slot struct {
	generation uint64
	busy       bool
	again      bool
	cancel     context.CancelFunc
}

// An answer is the result of a read; apply updates the model.
type answer struct {
	about      subject
	generation uint64
	apply      change
}

// restart starts a read, and cancels a running read of the same subject.
func (a *asker) restart(about subject, question func(context.Context) change) tea.Cmd {
	s := &a.slots[about]
	if s.busy {
		s.cancel()
	}
	ctx, cancel := context.WithCancel(a.ctx)
	s.generation++
	s.busy = true
	s.again = false
	s.cancel = cancel
	generation := s.generation
	return func() tea.Msg {
		defer cancel()
		return answer{about, generation, question(ctx)}
	}
}

// refresh starts a read. If a read of the same subject is running, it runs again afterwards.
func (a *asker) refresh(about subject, question func(context.Context) change) tea.Cmd {
	if a.slots[about].busy {
		a.slots[about].again = true
		return nil
	}
	return a.restart(about, question)
}

// accept reports whether an answer is the newest, and whether to read again.
func (a *asker) accept(r answer) (current, again bool) {
	s := &a.slots[r.about]
	if r.generation != s.generation {
		return false, false
	}
	s.busy = false
	again = s.again
	s.again = false
	return true, again
}

// runAction runs an action. Its result is always applied.
func (a *asker) runAction(act func(context.Context) change) tea.Cmd {
	return func() tea.Msg { return acted{act(a.ctx)} }
}

// An acted is the result of an action.
type acted struct{ apply change }
