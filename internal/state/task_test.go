package state

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestTasksAreRemembered(t *testing.T) {
	s, now := newStore(t), time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	short := Task{ID: "short", Endpoint: "http://127.0.0.1/mcp", Tool: "t", BegunAt: now, TTLms: 1000, Answered: []string{"who"}}
	long := Task{ID: "long", Session: "box", Key: "k", Revision: "r", BegunAt: now}
	var box Session
	update(t, s, func(st *State) error {
		box = st.Put(Session{Name: "box"})
		long.Key = box.Key
		st.PutTask(short, now)
		st.PutTask(long, now)
		st.PutTask(short, now)
		return nil
	})
	st := load(t, s)
	if got := st.Tasks(now.Add(time.Second)); !reflect.DeepEqual(got, []Task{short, long}) {
		t.Errorf("got %+v", got)
	}
	if got := st.Tasks(now.Add(time.Second + 1)); !reflect.DeepEqual(got, []Task{long}) {
		t.Errorf("got %+v, and the time of one is up", got)
	}
	update(t, s, func(st *State) error {
		st.DropTask(Task{ID: "short"}) // another server's
		return nil
	})
	if got := load(t, s).Tasks(now); len(got) != 2 {
		t.Errorf("got %+v", got)
	}
	update(t, s, func(st *State) error {
		st.DropTask(short)
		st.Remove("box")
		return nil
	})
	if got := load(t, s).Tasks(now); len(got) != 0 {
		t.Errorf("got %+v after the session was closed", got)
	}
}

func TestTasksAreBounded(t *testing.T) {
	var st State
	now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	st.PutTask(Task{ID: "over", BegunAt: now, TTLms: 1}, now)
	for i := range maxTasks + 5 {
		st.PutTask(Task{ID: fmt.Sprint(i), BegunAt: now}, now.Add(time.Minute))
	}
	got := st.Tasks(now)
	if len(got) != maxTasks || got[0].ID != "5" {
		t.Errorf("%d tasks, the first is %s", len(got), got[0].ID)
	}
	st.PutTask(Task{ID: "50", BegunAt: now, Ended: true}, now)
	st.PutTask(Task{ID: "new", BegunAt: now}, now)
	got = st.Tasks(now)
	if len(got) != maxTasks || got[0].ID != "5" || slices.ContainsFunc(got, func(t Task) bool { return t.Ended }) {
		t.Errorf("%d tasks, the first is %s, and one of them has ended", len(got), got[0].ID)
	}
}
