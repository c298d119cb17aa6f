package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
)

// note remembers the id of a request and of a task of the client's own.
func (s *stage) note(message []byte) {
	var m struct {
		ID     json.RawMessage
		Result struct{ Task struct{ TaskID string } }
	}
	if json.Unmarshal(message, &m) != nil {
		return
	}
	if m.ID != nil {
		s.id = m.ID
	}
	if m.Result.Task.TaskID != "" {
		s.task = []byte(m.Result.Task.TaskID)
	}
}

// members checks that got has the members of want: "<absent>" means a missing member, "<any>" any
// value. If want is not JSON, the two must be equal; an empty want is not checked.
func (s *stage) members(want, got []byte) {
	if want = bytes.TrimSpace(want); len(want) == 0 {
		return
	}
	want = bytes.ReplaceAll(want, []byte("$task"), s.task)
	var w, g any
	if json.Unmarshal(want, &w) != nil {
		if string(want) != string(got) {
			s.t.Errorf("got %s, want %s", got, want)
		}
		return
	}
	if err := json.Unmarshal(got, &g); err != nil {
		s.t.Errorf("got %s, want %s", got, want)
		return
	}
	if where := missing(w, g, ""); where != "" {
		s.t.Errorf("%s: got %s, want %s", where, got, want)
	}
}

// missing returns the place where got lacks a member of want, or "".
func missing(want, got any, at string) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return at + " is no object"
		}
		for name, value := range w {
			there, ok := g[name]
			if (value == "<absent>") == ok {
				return at + "/" + name
			}
			if value == "<any>" || value == "<absent>" {
				continue
			}
			if where := missing(value, there, at+"/"+name); where != "" {
				return where
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return at + " is another array"
		}
		for i := range w {
			if where := missing(w[i], g[i], fmt.Sprintf("%s/%d", at, i)); where != "" {
				return where
			}
		}
		return ""
	}
	if want != got {
		return fmt.Sprintf("%s is %v, want %v", at, got, want)
	}
	return ""
}

var headerLine = regexp.MustCompile(`^[A-Z][A-Za-z-]*: `)

// split parts a section's header lines from its body.
func split(data []byte) (header []string, body []byte) {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if !headerLine.Match(line) {
			break
		}
		header = append(header, string(line))
		data = rest
	}
	if len(header) > 0 {
		data = bytes.TrimPrefix(data, []byte("\n"))
	}
	return header, data
}
