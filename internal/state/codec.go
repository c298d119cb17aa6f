package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
)

// formatVersion is the version of state.json that this mcpc reads and writes. New members do not
// need a new version, because older versions keep them.
const formatVersion = 1

// A document is state.json. Sessions are decoded all at once and encoded one by one, so that each
// can keep its unknown members.
type document[S any] struct {
	Version    int          `json:"version"`
	Generation int64        `json:"generation"`
	Current    string       `json:"current,omitempty"`
	Sessions   map[string]S `json:"sessions,omitempty"`
	Tasks      []Task       `json:"tasks,omitempty"`
}

// members are the JSON members of an object, not decoded.
type members map[string]json.RawMessage

// decode parses state.json. The error says in a few words what is wrong and contains no text of the
// file.
func decode(raw []byte) (State, error) {
	var doc document[Session]
	err := json.Unmarshal(raw, &doc)
	// In a newer file a member may have another type. The readable rest is used, and the file is not written.
	var typeErr *json.UnmarshalTypeError
	isOtherType := doc.Version > formatVersion && errors.As(err, &typeErr)
	if err != nil && !isOtherType {
		return State{}, describe(raw, err)
	}
	if doc.Version < 1 {
		return State{}, errors.New("it has no version")
	}
	for name, s := range doc.Sessions {
		if !validKey(s.Key) {
			return State{}, errors.New("a session in it has an invalid key")
		}
		s.Name = name
		doc.Sessions[name] = s
	}
	return State{
		Version: doc.Version, Generation: doc.Generation, current: doc.Current,
		sessions: doc.Sessions, tasks: doc.Tasks,
	}, nil
}

// describe returns a decoder's error without text of the file, because the file contains session
// ids.
func describe(raw []byte, err error) error {
	var syntax *json.SyntaxError
	var typeErr *json.UnmarshalTypeError
	if len(raw) == 0 {
		return errors.New("it is empty")
	}
	if errors.As(err, &syntax) {
		return fmt.Errorf("it is not JSON at byte %d of %d", syntax.Offset, len(raw))
	}
	if errors.As(err, &typeErr) {
		return fmt.Errorf("it has the wrong shape at byte %d", typeErr.Offset)
	}
	return errors.New("a value in it cannot be read")
}

// validKey reports whether a key is safe as the name of a file.
func validKey(key string) bool {
	return len(key) >= 16 && len(key) <= 64 &&
		strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// setExtras sets the members of st and its sessions that this mcpc does not know, from raw, which
// decode accepted. Writers need them, to write them again.
func setExtras(raw []byte, st *State) error {
	var top members
	if err := json.Unmarshal(raw, &top); err != nil {
		return err
	}
	var sessions map[string]members
	if s, ok := top["sessions"]; ok {
		if err := json.Unmarshal(s, &sessions); err != nil {
			return err
		}
	}
	st.extra = unknownMembers(top, reflect.TypeFor[document[Session]]())
	for name, s := range st.sessions {
		s.extra = unknownMembers(sessions[name], reflect.TypeFor[Session]())
		st.sessions[name] = s
	}
	return nil
}

// unknownMembers returns the members of m that t has no fields for, or nil. It changes m.
func unknownMembers(m members, t reflect.Type) members {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		delete(m, name)
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

// encode returns st as state.json, with the unknown members at the end.
func encode(st *State) ([]byte, error) {
	doc := document[json.RawMessage]{
		Version: formatVersion, Generation: st.Generation, Current: st.current, Tasks: st.tasks,
		Sessions: make(map[string]json.RawMessage, len(st.sessions)),
	}
	for name, s := range st.sessions {
		raw, err := encodeWith(s, s.extra)
		if err != nil {
			return nil, fmt.Errorf("encoding session %q: %w", name, err)
		}
		doc.Sessions[name] = raw
	}
	raw, err := encodeWith(doc, st.extra)
	if err != nil {
		return nil, fmt.Errorf("encoding state: %w", err)
	}
	return append(raw, '\n'), nil
}

// encodeWith encodes a struct and appends extra members.
func encodeWith(v any, extra members) ([]byte, error) {
	raw, err := jsonraw.Marshal(v)
	if err != nil || len(extra) == 0 {
		return raw, err
	}
	raw = bytes.TrimSuffix(raw, []byte("}"))
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		quotedName, err := jsonraw.Marshal(name)
		if err != nil {
			return nil, err
		}
		if len(raw) > 1 { // not only the "{"
			raw = append(raw, ',')
		}
		raw = append(append(append(raw, quotedName...), ':'), extra[name]...)
	}
	return append(raw, '}'), nil
}
