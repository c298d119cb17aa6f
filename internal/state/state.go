package state

import (
	"crypto/rand"
	"maps"
	"slices"
	"strings"
)

// A State is one reading of state.json. The zero State is empty and ready for
// use. It is a copy: changing it changes nothing on disk unless that happens
// inside [Store.Update].
type State struct {
	// Version is the version of the file's format, 0 if there is no file.
	Version int
	// Generation goes up by one with each change; inside [Store.Update] it is
	// that of the state to be written.
	Generation int64

	current  string
	sessions map[string]Session
	tasks    []Task
	extra    members
}

// Session returns the session of that name.
func (st *State) Session(name string) (Session, bool) {
	s, ok := st.sessions[name]
	return s, ok
}

// Names lists the sessions' names in alphabetical order.
func (st *State) Names() []string {
	return slices.Sorted(maps.Keys(st.sessions))
}

// Put stores s under its name, in place of what stood there, and returns it
// with its Key. See [Session] for when to keep a Key. To change a session, look
// it up inside the same Update: it may have been closed since it was loaded.
func (st *State) Put(s Session) Session {
	if s.Key == "" {
		s.Key = strings.ToLower(rand.Text())
	}
	if st.sessions == nil {
		st.sessions = map[string]Session{}
	}
	st.sessions[s.Name] = s
	return s
}

// Remove forgets a session, with its tool list, request ids and tasks; if it was the
// current one, there is none afterwards. It reports whether there was one.
func (st *State) Remove(name string) bool {
	if _, ok := st.sessions[name]; !ok {
		return false
	}
	key := st.sessions[name].Key
	st.tasks = slices.DeleteFunc(st.tasks, func(t Task) bool { return t.Key == key })
	delete(st.sessions, name)
	if st.current == name {
		st.current = ""
	}
	return true
}

// Current is the name of the session that is meant when none is named, or "".
func (st *State) Current() string { return st.current }

// SetCurrent makes a stored session the current one, or with "" none. It
// reports whether there is such a session.
func (st *State) SetCurrent(name string) bool {
	if _, ok := st.sessions[name]; !ok && name != "" {
		return false
	}
	st.current = name
	return true
}

// keys is the set of the sessions' keys, with the first request id of each.
func (st *State) keys() map[string]int64 {
	set := make(map[string]int64, len(st.sessions))
	for _, s := range st.sessions {
		set[s.Key] = s.NextID
	}
	return set
}
