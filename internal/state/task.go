package state

import (
	"slices"
	"time"
)

// maxTasks bounds the remembered tasks; of those that have not ended, and of the others,
// the ones begun longest ago go first.
const maxTasks = 100

// A Task is work that a server goes on with while no mcpc runs.
type Task struct {
	ID string `json:"id"`
	// Session and Key are those of the conversation in which it was begun; both
	// are empty where that was none of the remembered ones.
	Session string `json:"session,omitempty"`
	Key     string `json:"key,omitempty"`
	// Endpoint is the URL spoken to.
	Endpoint string `json:"endpoint,omitempty"`
	// Revision is the protocol revision in which it was begun, Tool what was called.
	Revision string    `json:"revision,omitempty"`
	Tool     string    `json:"tool,omitempty"`
	BegunAt  time.Time `json:"begun_at"`
	// TTLms is how long the server keeps it, in milliseconds; 0 names no end.
	TTLms int64 `json:"ttl_ms,omitempty"`
	// Answered are the names of its questions that were answered.
	Answered []string `json:"answered,omitempty"`
	// Ended is set where mcpc will not resume it, but its server may list it.
	Ended bool `json:"ended,omitempty"`
}

// Ends is when the server may forget the task; the zero time where it named no
// end.
func (t Task) Ends() time.Time {
	if t.TTLms <= 0 {
		return time.Time{}
	}
	return t.BegunAt.Add(time.Duration(t.TTLms) * time.Millisecond)
}

// Over reports whether the server's time for the task is up.
func (t Task) Over(now time.Time) bool { return !t.Ends().IsZero() && now.After(t.Ends()) }

// same: an id is unique at its server only.
func (t Task) same(other Task) bool {
	return t.ID == other.ID && t.Key == other.Key && t.Endpoint == other.Endpoint
}

// Tasks are those whose time is not up, the newest last.
func (st *State) Tasks(now time.Time) []Task {
	return slices.DeleteFunc(slices.Clone(st.tasks), func(t Task) bool { return t.Over(now) })
}

// PutTask remembers a task, in the place of what was known of it before, and
// forgets those whose time is up.
func (st *State) PutTask(task Task, now time.Time) {
	if at := slices.IndexFunc(st.tasks, task.same); at >= 0 {
		st.tasks[at] = task
	} else {
		st.tasks = append(st.tasks, task)
	}
	st.tasks = st.Tasks(now)
	for len(st.tasks) > maxTasks {
		first := max(0, slices.IndexFunc(st.tasks, func(t Task) bool { return t.Ended }))
		st.tasks = slices.Delete(st.tasks, first, first+1)
	}
}

// DropTask forgets a task.
func (st *State) DropTask(task Task) { st.tasks = slices.DeleteFunc(st.tasks, task.same) }
