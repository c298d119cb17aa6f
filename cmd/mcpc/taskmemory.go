package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"mcpc/internal/client"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// placeTask notes where a task of this conversation lives.
func (c *conversation) placeTask(kept *state.Task) {
	if c.origin != nil { // what stands in a file may be a secret; -s knows the name
		defer func() { kept.Endpoint = c.origin.ID() }()
	}
	if c.saved != nil && !c.passing {
		kept.Session, kept.Key, kept.Endpoint = c.saved.Name, c.saved.Key, c.saved.Endpoint
		return
	}
	kept.Endpoint = cmp.Or(c.saved, c.oneOff).Endpoint
}

// isHere reports whether a remembered task lives where this conversation goes.
func (c *conversation) isHere(kept state.Task) bool {
	here := state.Task{ID: kept.ID}
	c.placeTask(&here)
	return here.Key == kept.Key && here.Endpoint == kept.Endpoint
}

// keepTask remembers a task that can be come back to. That it could not be
// remembered is worth a word: its id is what stands between it and oblivion.
func (c *conversation) keepTask(ctx context.Context, kept state.Task) {
	if why, _ := c.mortal(); why != "" {
		return
	}
	err := c.updateTasks(ctx, func(st *state.State) { st.PutTask(kept, c.a.now()) })
	if err != nil {
		c.a.ui.warn("the task " + kept.ID + " could not be cached: " + err.Error())
	}
}

// endTask forgets a task to which nobody will come back, or remembers for the list of a
// server that has one that it is such a task.
func (c *conversation) endTask(ctx context.Context, kept state.Task) {
	if !c.TaskOffer("").Lists {
		c.dropTask(ctx, kept)
		return
	}
	kept.Ended = true
	c.keepTask(ctx, kept)
}

// dropTask forgets a task. One that stays by mistake is forgotten with its time.
func (c *conversation) dropTask(ctx context.Context, kept state.Task) {
	_ = c.updateTasks(ctx, func(st *state.State) { st.DropTask(kept) })
}

func (c *conversation) updateTasks(ctx context.Context, change func(*state.State)) error {
	if c.store == nil {
		return nil
	}
	return c.store.Update(context.WithoutCancel(ctx), func(st *state.State) error {
		change(st)
		return nil
	})
}

// meantTask finds the task that a command means: by its id, by "last", or the
// only one that is remembered. An id that is not remembered is one of the server
// that -s or the current session names.
func (a *app) meantTask(args []string) (state.Task, error) {
	if len(args) > 1 {
		return state.Task{}, hinted("pass one task", wire.Run("tasks list")+" lists them")
	}
	_, st, err := a.loadState()
	if err != nil {
		if len(args) == 1 && a.serverGiven {
			return state.Task{ID: args[0]}, nil
		}
		return state.Task{}, err
	}
	known := st.Tasks(a.now())
	all := slices.DeleteFunc(slices.Clone(known), func(t state.Task) bool { return t.Ended })
	switch {
	case len(args) == 0 && len(all) > 1:
		return state.Task{}, hinted(fmt.Sprintf("there are %d tasks: which one?", len(all)), `pass its id or "last"; see `+wire.Run("tasks list"))
	case len(all) == 0 && (len(args) == 0 || args[0] == "last"):
		return state.Task{}, hinted("there are no tasks", wire.Run("call --task")+" starts one")
	case len(args) == 0 || args[0] == "last":
		return all[len(all)-1], a.aimAt(all[len(all)-1], st)
	}
	for _, kept := range known {
		if kept.ID == args[0] {
			return kept, a.aimAt(kept, st)
		}
	}
	return state.Task{ID: args[0]}, nil
}

// aimAt goes to where a task lives, unless -s says where.
func (a *app) aimAt(kept state.Task, st state.State) error {
	if a.serverGiven {
		return nil
	}
	session, ok := st.Session(kept.Session)
	switch {
	case ok && session.Key == kept.Key:
		a.server = kept.Session
	case kept.Key == "" || client.Stateless(kept.Revision):
		a.server = kept.Endpoint
	default:
		return hinted(fmt.Sprintf("the session of task %s has ended, and the task with it", kept.ID), wire.Run("tasks list")+" lists the others")
	}
	a.serverGiven = true
	return nil
}

// stale says of an answer about a task what the code alone does not.
func (c *conversation) stale(ctx context.Context, out wire.Outcome, kept state.Task) wire.Outcome {
	if !client.NoSuchTask(out) {
		return out
	}
	c.dropTask(ctx, kept)
	out.Hint = "the server does not know this task: it may have expired, or its session may have ended; see " + wire.Run("tasks list")
	return out
}
