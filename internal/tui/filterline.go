package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/capture/filter"
	"mcpc/internal/english"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// A query is the state of the filter line.
type query struct {
	line      input
	filter    string // the filter that was applied last, which may be invalid
	lastValid string // its result stays on the screen while filter is invalid
	err       *filter.Error
	pending   int      // the number of rows that are not searched yet
	onlyKeys  []string // show only these exchanges; nil means all

	suggestions []view.Suggestion
	picked      int // the number of the picked suggestion, from 1; 0 means no suggestion
}

// reloadLists reads the lists for a changed query.
func (m *model) reloadLists() tea.Cmd {
	for i := range m.lists {
		l := &m.lists[i]
		isByTime := i < viewTime && (l.sort == "" || l.sort == "time") // the newest item is the last
		l.reset(isByTime)
		l.zoomed = timeWindow{}
	}
	return m.loadList(newQuery)
}

// setFilter puts a text into the filter line and applies it.
func (m *model) setFilter(text string) tea.Cmd {
	m.query.line.Set(text)
	return m.applyFilter()
}

// applyFilter applies the text of the filter line: it reads the lists, and suggestions while the
// user types.
func (m *model) applyFilter() tea.Cmd {
	m.query.filter = strings.TrimSpace(m.query.line.Text())
	m.query.suggestions = nil
	m.query.picked = 0
	if m.focus != paneFilter {
		return m.reloadLists()
	}
	return tea.Batch(m.reloadLists(), m.loadSuggestions())
}

// loadSuggestions reads suggestions for the filter line.
func (m *model) loadSuggestions() tea.Cmd {
	text := m.query.line.Text()
	r := m.opt.Reader
	return m.loader.restart(subjectSuggestions, func(context.Context) change {
		words := r.Suggest(text)
		return func(m *model) tea.Cmd { m.query.suggestions = words; return nil }
	})
}

// openFilter focuses the filter line, at the start of a new word.
func (m *model) openFilter() tea.Cmd {
	m.focus = paneFilter
	if m.view == viewTry {
		m.setSearch("")
		return nil
	}
	if text := strings.TrimSpace(m.query.line.Text()); text != "" {
		m.query.line.Set(text + " ")
	}
	return m.loadSuggestions()
}

// filterKey handles a key in the filter line. Esc goes back to the last valid filter, Enter keeps
// the text or completes the picked word.
func (m *model) filterKey(k tea.KeyPressMsg) tea.Cmd {
	q := &m.query
	switch k.String() {
	case "esc":
		m.focus = paneMain
		if q.line.Text() == "" || q.err == nil {
			return nil
		}
		return m.setFilter(q.lastValid)
	case "enter":
		// The error may be that the last word is incomplete.
		if q.err != nil && q.picked == 0 && q.canCompleteWord() {
			q.picked = 1
		}
		if q.picked > 0 {
			return m.complete()
		}
		m.focus = paneMain
		return nil
	case "down", "ctrl+n":
		q.picked = min(q.picked+1, len(q.suggestions))
		return nil
	case "up", "ctrl+p":
		q.picked = max(q.picked-1, 0)
		return nil
	case "tab":
		q.picked = max(q.picked, 1)
		return m.complete()
	}
	before := q.line.Text()
	q.line.Key(k.String(), k.Text)
	if q.line.Text() == before {
		return nil
	}
	return m.applyFilter()
}

// canCompleteWord reports whether the first suggestion begins with the last word of the line.
func (q *query) canCompleteWord() bool {
	text := q.line.Text()
	word := text[lastWordStart(text):]
	return word != "" && len(q.suggestions) > 0 && strings.HasPrefix(q.suggestions[0].Text, word)
}

// lastWordStart returns the offset of the last word of a filter, which may follow a parenthesis.
func lastWordStart(text string) int { return strings.LastIndexAny(text, " (") + 1 }

// complete replaces the last word by the picked suggestion.
func (m *model) complete() tea.Cmd {
	q := &m.query
	if q.picked < 1 || q.picked > len(q.suggestions) {
		return nil
	}
	text := q.line.Text()
	return m.setFilter(text[:lastWordStart(text)] + q.suggestions[q.picked-1].Text)
}

// drawFilter draws the filter line with its text, and its error or the number of rows.
func (m *model) drawFilter(w int) cells.Line {
	if m.view == viewTry {
		return m.drawSearch(w)
	}
	q := &m.query
	right := cells.TextLine(cells.Faint, countNoun(m.list().total, "exchange", "exchanges")+" ")
	errorStart := noError
	switch {
	case q.err != nil:
		errorStart = q.err.Column() - 1
		right = cells.TextLine(cells.Bad, q.err.Text+" ")
	case q.pending > 0:
		right = cells.TextLine(cells.Warn, "searching, "+countNoun(q.pending, "exchange", "exchanges")+" left ")
	case m.view >= viewTime: // its items are not rows
		right = nil
	}
	if q.onlyKeys != nil {
		right = append(cells.TextLine(cells.Warn, "only "+strings.Join(q.onlyKeys, " ")+" (o: all)  "), right...)
	}
	if right.Width() > w*2/3 {
		right = right.FitTo(w * 2 / 3)
	}
	room := w - right.Width() - 4 // the sign in front has three columns, a blank follows
	line := cells.Line{cells.Text(cells.Faint, " / ")}
	if q.line.Text() == "" && m.focus != paneFilter {
		hint := `type / to filter: all of some words, "a phrase", is:error, a or b`
		line = append(line, cells.Fit(cells.Faint, hint, room))
	} else {
		line = append(line, q.line.Line(room, m.focus == paneFilter, errorStart)...)
	}
	return cells.Justify(line, right, w)
}

// drawSuggestions draws at most eight suggestions over the top of the list, with the picked one
// among them. It draws nothing unless the filter line has the focus.
func (m *model) drawSuggestions(w, h int) []drawn {
	q := &m.query
	if m.focus != paneFilter || m.view == viewTry {
		return nil
	}
	room := min(len(q.suggestions), max(h/2, 1), 8)
	from := max(0, min(q.picked-room, len(q.suggestions)-room))
	var lines []drawn
	for i := from; i < from+room; i++ {
		word := q.suggestions[i]
		count := ""
		if word.Count > 0 {
			count = english.Thousands(word.Count)
		}
		width := min(w-4, 44)
		line := cells.Line{cells.Blank(3), cells.Fit(cells.Plain, word.Text, width-8), cells.Right(cells.Faint, count, 8)}
		lines = append(lines, drawn{Line: line, Selected: i+1 == q.picked})
	}
	if len(lines) > 0 {
		lines = append(lines, drawn{Line: cells.Line{cells.Rule(w)}})
	}
	return lines
}
