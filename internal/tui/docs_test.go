package tui

import (
	"testing"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// The columns are too narrow for the whole texts.
func TestColumnsOfDocuments(t *testing.T) {
	call := view.Stream{What: "response to tools/call a", IsResponse: true, Method: "tools/call", Name: "a"}
	list := view.Stream{What: "response to tools/list", IsResponse: true, Method: "tools/list"}
	for _, c := range []struct {
		doc        any
		head, want string
	}{
		{&view.Tool{Page: "1 of 2"}, "page", "1 of 2"},
		{&view.Tool{Page: "1 of 2 or more", ShortPage: "1 of 2+"}, "page", "1 of 2+"},
		{&call, "stream", "call a"},
		{&list, "stream", "tools/list"},
		{&view.Stream{What: "GET"}, "stream", "GET"},
	} {
		if got := (cells.Line{docCell(screenClock{}, c.doc, c.head)}).String(); got != c.want {
			t.Errorf("%s of %+v: got %q, want %q", c.head, c.doc, got, c.want)
		}
	}
}
