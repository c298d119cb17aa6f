// Package ask asks outside of the loop that draws, and tells old answers from new ones. An answer
// acts on a model M.
package ask

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// A Subject is what is asked for; of each, one question is open at a time.
type Subject int

// most is how many subjects there can be.
const most = 16

// An Asker asks outside of the loop that draws, until Ctx is done.
type Asker[M any] struct {
	Ctx   context.Context
	slots [most]slot
}

type slot struct {
	generation uint64
	busy       bool
	again      bool
	cancel     context.CancelFunc
}

// An Answer is what a question gave: Apply changes the model.
type Answer[M any] struct {
	About      Subject
	generation uint64
	Apply      func(M) tea.Cmd
}

// Anew asks, and forgets a question about the same that is still open.
func (a *Asker[M]) Anew(about Subject, question func(context.Context) func(M) tea.Cmd) tea.Cmd {
	s := &a.slots[about]
	if s.busy {
		s.cancel()
	}
	ctx, cancel := context.WithCancel(a.Ctx)
	s.generation++
	s.busy, s.again, s.cancel = true, false, cancel
	generation := s.generation
	return func() tea.Msg {
		defer cancel()
		return Answer[M]{about, generation, question(ctx)}
	}
}

// Refresh asks unless a question about the same is open; then it is asked again after it.
func (a *Asker[M]) Refresh(about Subject, question func(context.Context) func(M) tea.Cmd) tea.Cmd {
	if a.slots[about].busy {
		a.slots[about].again = true
		return nil
	}
	return a.Anew(about, question)
}

// Taken reports whether an answer is the newest, and whether to ask again.
func (a *Asker[M]) Taken(r Answer[M]) (current, again bool) {
	s := &a.slots[r.About]
	if r.generation != s.generation {
		return false, false
	}
	s.busy = false
	again, s.again = s.again, false
	return true, again
}

// Apart runs an action: its answer always counts.
func (a *Asker[M]) Apart(act func(context.Context) func(M) tea.Cmd) tea.Cmd {
	return func() tea.Msg { return Acted[M]{act(a.Ctx)} }
}

// An Acted is the end of an action.
type Acted[M any] struct{ Apply func(M) tea.Cmd }
