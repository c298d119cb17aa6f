package call

import (
	"fmt"
	"slices"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/state"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// findTask returns the task that the arguments name: by its id, by "last", or the only remembered
// one. An id that is not remembered belongs to the server of -s or of the current session.
func findTask(f *cmdutil.Factory, args []string) (state.Task, error) {
	if len(args) > 1 {
		return state.Task{}, usage.New("pass one task", wire.Run("tasks list")+" lists them")
	}
	_, st, err := f.Env.LoadState()
	if err != nil {
		if len(args) == 1 && f.ServerGiven {
			return state.Task{ID: args[0]}, nil
		}
		return state.Task{}, err
	}
	known := st.Tasks(f.Now()) // the newest last
	open := slices.DeleteFunc(slices.Clone(known), func(t state.Task) bool { return t.Ended })
	wantsLast := len(args) == 0 || args[0] == "last"
	if len(args) == 0 && len(open) > 1 {
		return state.Task{}, usage.New(
			fmt.Sprintf("there are %d tasks: which one?", len(open)),
			`pass its id or "last"; see `+wire.Run("tasks list"),
		)
	}
	if wantsLast && len(open) == 0 {
		return state.Task{}, usage.New("there are no tasks", wire.Run("call --task")+" starts one")
	}
	if wantsLast {
		last := open[len(open)-1]
		return last, selectServer(f, last, st)
	}
	for _, remembered := range known {
		if remembered.ID == args[0] {
			return remembered, selectServer(f, remembered, st)
		}
	}
	return state.Task{ID: args[0]}, nil
}

// selectServer sets the command's server to the server of a task, unless -s is given. It returns an
// error if the task's session has ended.
func selectServer(f *cmdutil.Factory, remembered state.Task, st state.State) error {
	if f.ServerGiven {
		return nil
	}
	session, ok := st.Session(remembered.Session)
	belongsToSession := remembered.Key != "" && !client.Stateless(remembered.Revision)
	switch {
	case ok && session.Key == remembered.Key: // another session may have the name by now
		f.Server = remembered.Session
	case !belongsToSession: // any connection to the server can use the task
		f.Server = remembered.Endpoint
	default:
		return usage.New(
			fmt.Sprintf("the session of task %s has ended, and the task with it", remembered.ID),
			wire.Run("tasks list")+" lists the others",
		)
	}
	f.ServerGiven = true
	return nil
}
