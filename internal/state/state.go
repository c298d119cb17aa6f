package state

import (
	"crypto/rand"
	"maps"
	"slices"
	"strings"
)

// A State is the contents of state.json. The zero State is empty and ready to use. It is a copy: a
// change is stored only inside [Store.Update].
type State struct {
	// Version is the version of the file's format, 0 if there is no file.
	Version int
	// Generation increases by one with each change. Inside [Store.Update] it is the generation of the
	// state to be written.
	Generation int64

	current  string
	sessions map[string]Session
	tasks    []Task
	extra    members
}

// Session returns the session with that name.
func (st *State) Session(name string) (Session, bool) {
	s, ok := st.sessions[name]
	return s, ok
}

// Names returns the names of the sessions in alphabetical order.
func (st *State) Names() []string {
	return slices.Sorted(maps.Keys(st.sessions))
}

// Put stores s under its name and returns it with its Key. It replaces a session of that name. See
// [Session] for when to keep a Key. To change a session, look it up inside the same Update: another
// process may have closed it.
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

// Remove deletes a session with its tool list, request ids and tasks. If it was the current session,
// there is no current one afterwards. It reports whether the session existed.
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

// Current returns the name of the session that commands use by default, or "".
func (st *State) Current() string { return st.current }

// SetCurrent makes a session the current one; "" means no session. It reports false if the session
// does not exist.
func (st *State) SetCurrent(name string) bool {
	if _, ok := st.sessions[name]; !ok && name != "" {
		return false
	}
	st.current = name
	return true
}

// keys returns the keys of all sessions, with the first request id of each.
func (st *State) keys() map[string]int64 {
	set := make(map[string]int64, len(st.sessions))
	for _, s := range st.sessions {
		set[s.Key] = s.NextID
	}
	return set
}
