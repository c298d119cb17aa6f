package tui

import (
	tea "charm.land/bubbletea/v2"

	"mcpc/internal/tui/cells"
)

// A serverOutput shows the last lines that the view's own server wrote to standard error. It follows new lines
// until the user scrolls up.
type serverOutput struct {
	page
	read func() []string
}

// showOutput opens the output of the view's own server.
func (m *model) showOutput() tea.Cmd {
	if m.opt.Actor == nil || !m.status.Output {
		return m.showMessage("no server of this view has written to standard error")
	}
	m.dialog = &serverOutput{page{title: "what the server wrote to standard error"}, m.opt.Actor.ServerOutput}
	return nil
}

// draw draws w columns and at most h lines.
func (d *serverOutput) draw(w, h int) []drawn {
	const titleLines = 2
	isAtEnd := d.top+h-titleLines >= len(d.lines)
	d.lines = nil
	for _, text := range d.read() {
		for _, line := range cells.Wrap(cells.Plain, text, w-2) {
			d.lines = append(d.lines, drawn{Line: append(cells.Line{cells.Blank(1)}, line...)})
		}
	}
	if isAtEnd {
		d.top = len(d.lines)
	}
	return d.page.draw(w, h)
}
