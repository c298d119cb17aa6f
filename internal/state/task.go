package state

import (
	"slices"
	"time"
)

// maxTasks limits the stored tasks. Ended tasks are deleted before others, and older ones before
// newer ones.
const maxTasks = 100

// A Task is work that a server continues while no mcpc runs.
type Task struct {
	ID string `json:"id"`
	// Session and Key identify the session that the task began in. Both are empty if the session
	// was not stored.
	Session string `json:"session,omitempty"`
	Key     string `json:"key,omitempty"`
	// Endpoint is the server's URL.
	Endpoint string `json:"endpoint,omitempty"`
	// Revision is the protocol revision that the task began in, Tool the tool that was called.
	Revision string    `json:"revision,omitempty"`
	Tool     string    `json:"tool,omitempty"`
	BegunAt  time.Time `json:"begun_at"`
	// TTLms is how long the server keeps the task, in milliseconds, or 0, which means no limit.
	TTLms int64 `json:"ttl_ms,omitempty"`
	// Answered are the names of the task's input requests that were answered.
	Answered []string `json:"answered,omitempty"`
	// Ended is set if mcpc will not resume the task, although its server may still list it.
	Ended bool `json:"ended,omitempty"`
}

// Ends returns when the server may delete the task, or the zero time for no limit.
func (t Task) Ends() time.Time {
	if t.TTLms <= 0 {
		return time.Time{}
	}
	return t.BegunAt.Add(time.Duration(t.TTLms) * time.Millisecond)
}

// Over reports whether the server may have deleted the task.
func (t Task) Over(now time.Time) bool { return !t.Ends().IsZero() && now.After(t.Ends()) }

// same reports whether two tasks are the same. An id is unique only at its server.
func (t Task) same(other Task) bool {
	return t.ID == other.ID && t.Key == other.Key && t.Endpoint == other.Endpoint
}

// Tasks returns the tasks that their servers still keep, the newest last.
func (st *State) Tasks(now time.Time) []Task {
	return slices.DeleteFunc(slices.Clone(st.tasks), func(t Task) bool { return t.Over(now) })
}

// PutTask stores a task, replacing an earlier version of it, and deletes expired tasks. If there
// are more than maxTasks, it deletes the oldest ended ones, else the oldest.
func (st *State) PutTask(task Task, now time.Time) {
	if i := slices.IndexFunc(st.tasks, task.same); i >= 0 {
		st.tasks[i] = task
	} else {
		st.tasks = append(st.tasks, task)
	}
	st.tasks = st.Tasks(now)
	for len(st.tasks) > maxTasks {
		victim := max(0, slices.IndexFunc(st.tasks, func(t Task) bool { return t.Ended }))
		st.tasks = slices.Delete(st.tasks, victim, victim+1)
	}
}

// DropTask deletes a task.
func (st *State) DropTask(task Task) { st.tasks = slices.DeleteFunc(st.tasks, task.same) }
