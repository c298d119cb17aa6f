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

// A query is the state of the filter line. good is the last valid filter; its result stays on the
// screen while wrong describes the error in the line.
type query struct {
	line    input
	good    string
	tried   string
	wrong   *filter.Error
	pending int
	only    []string
	words   []view.Suggestion
	pick    int // of words, from 1; 0 is none
}

// changeQuery reads the lists for a changed query.
func (m *model) changeQuery() tea.Cmd {
	for i := range m.lists {
		l := &m.lists[i]
		l.reset(i < viewTime && (l.sort == "" || l.sort == "time"))
		l.zoomed = timeWindow{}
	}
	return m.askList(true)
}

// setFilter puts a text into the filter line and applies it.
func (m *model) setFilter(text string) tea.Cmd {
	m.query.line.Set(text)
	return m.tryFilter()
}

func (m *model) tryFilter() tea.Cmd {
	m.query.tried = strings.TrimSpace(m.query.line.Text())
	m.query.words = nil
	m.query.pick = 0
	if m.focus != paneFilter {
		return m.changeQuery()
	}
	return tea.Batch(m.changeQuery(), m.askWords())
}

// askWords reads suggestions for the filter line.
func (m *model) askWords() tea.Cmd {
	text := m.query.line.Text()
	r := m.opt.Reader
	return m.ask.restart(askSuggest, func(context.Context) change {
		words := r.Suggest(text)
		return func(m *model) tea.Cmd { m.query.words = words; return nil }
	})
}

// openFilter focuses the filter line, at the start of a new word.
func (m *model) openFilter() tea.Cmd {
	m.focus = paneFilter
	if text := strings.TrimSpace(m.query.line.Text()); text != "" {
		m.query.line.Set(text + " ")
	}
	return m.askWords()
}

// filterKey handles a key in the filter line.
func (m *model) filterKey(k tea.KeyPressMsg) tea.Cmd {
	q := &m.query
	switch k.String() {
	case "esc":
		m.focus = paneMain
		if q.line.Text() == "" || q.wrong == nil {
			return nil
		}
		return m.setFilter(q.good)
	case "enter":
		text := q.line.Text()
		last := text[strings.LastIndexAny(text, " (")+1:]
		if q.wrong != nil && q.pick == 0 && last != "" && len(q.words) > 0 && strings.HasPrefix(q.words[0].Text, last) {
			q.pick = 1 // complete the unfinished last word
		}
		if q.pick > 0 {
			return m.complete()
		}
		m.focus = paneMain
		return nil
	case "down", "ctrl+n":
		q.pick = min(q.pick+1, len(q.words))
		return nil
	case "up", "ctrl+p":
		q.pick = max(q.pick-1, 0)
		return nil
	case "tab":
		q.pick = max(q.pick, 1)
		return m.complete()
	}
	before := q.line.Text()
	q.line.Key(k.String(), k.Text)
	if q.line.Text() == before {
		return nil
	}
	return m.tryFilter()
}

// complete replaces the last word by the picked suggestion.
func (m *model) complete() tea.Cmd {
	q := &m.query
	if q.pick < 1 || q.pick > len(q.words) {
		return nil
	}
	text := q.line.Text()
	head := text[:strings.LastIndexAny(text, " (")+1]
	return m.setFilter(head + q.words[q.pick-1].Text)
}

// drawFilter draws the filter line with its text, and its error or the number of rows.
func (m *model) drawFilter(w int) cells.Line {
	q := &m.query
	right := cells.Of(cells.Faint, counted(m.list().total, "row", "rows")+" ")
	mark := -1
	switch {
	case q.wrong != nil:
		mark = q.wrong.Column() - 1
		right = cells.Of(cells.Bad, q.wrong.Text+" ")
	case q.pending > 0:
		right = cells.Of(cells.Warn, "searching, "+counted(q.pending, "row", "rows")+" left ")
	case m.view >= viewTime:
		right = nil
	}
	if q.only != nil {
		right = append(cells.Of(cells.Warn, "only "+strings.Join(q.only, " ")+" (o: all)  "), right...)
	}
	if right.Width() > w*2/3 {
		right = right.To(w * 2 / 3)
	}
	room := w - right.Width() - 4
	left := cells.Line{cells.Text(cells.Faint, " / ")}
	if q.line.Text() == "" && m.focus != paneFilter {
		hint := "type / to filter: all of some words, is:error, name:search, a or b"
		left = append(left, cells.Fit(cells.Faint, hint, room))
	} else {
		left = append(left, q.line.Line(room, m.focus == paneFilter, mark)...)
	}
	return cells.Between(left, right, w)
}

// drawWords draws the suggestions over the top of the list.
func (m *model) drawWords(w, h int) (lines []drawn) {
	q := &m.query
	if m.focus != paneFilter {
		return nil
	}
	room := min(len(q.words), max(h/2, 1), 8)
	from := max(0, min(q.pick-room, len(q.words)-room))
	for i := from; i < from+room; i++ {
		word := q.words[i]
		count := ""
		if word.Count > 0 {
			count = english.Thousands(word.Count)
		}
		width := min(w-4, 44)
		line := cells.Line{cells.Blank(3), cells.Fit(cells.Plain, word.Text, width-8), cells.Right(cells.Faint, count, 8)}
		lines = append(lines, drawn{Line: line, Selected: i+1 == q.pick})
	}
	if len(lines) > 0 {
		lines = append(lines, drawn{Line: cells.Line{cells.Rule(w)}})
	}
	return lines
}
