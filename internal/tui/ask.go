package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// A subject is what is asked for; of each, one question is open at a time.
type subject int

// most is how many subjects there can be.
const most = 16

// A change changes the model, and returns what to do next.
type change func(*model) tea.Cmd

// An asker asks outside of the loop that draws, until Ctx is done.
type asker struct {
	ctx   context.Context
	slots [most]slot
}

type slot struct {
	generation uint64
	busy       bool
	again      bool
	cancel     context.CancelFunc
}

// An answer is what a question gave: Apply changes the model.
type answer struct {
	about      subject
	generation uint64
	apply      change
}

// anew asks, and forgets a question about the same that is still open.
func (a *asker) anew(about subject, question func(context.Context) change) tea.Cmd {
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

// refresh asks unless a question about the same is open; then it is asked again after it.
func (a *asker) refresh(about subject, question func(context.Context) change) tea.Cmd {
	if a.slots[about].busy {
		a.slots[about].again = true
		return nil
	}
	return a.anew(about, question)
}

// taken reports whether an answer is the newest, and whether to ask again.
func (a *asker) taken(r answer) (current, again bool) {
	s := &a.slots[r.about]
	if r.generation != s.generation {
		return false, false
	}
	s.busy = false
	again, s.again = s.again, false
	return true, again
}

// apart runs an action: its answer always counts.
func (a *asker) apart(act func(context.Context) change) tea.Cmd {
	return func() tea.Msg { return acted{act(a.ctx)} }
}

// An acted is the end of an action.
type acted struct{ apply change }
