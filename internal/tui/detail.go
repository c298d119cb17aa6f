package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"

	"mcpc/internal/tui/sheet"
)

// A detail is one exchange, and where the user is in it.
type detail struct {
	sheet.Detail
	err   error
	sel   int
	top   int
	lines []sheet.Fact // of the tab, as it was drawn last
}

// detailHead is how many lines are above those of a tab: the title and the names of the tabs.
const detailHead = 2

// openDetail opens an exchange, at its summary.
func openDetail(m *model, key string) tea.Cmd {
	if key == "" {
		return m.say("there is no exchange to show here")
	}
	m.focus = paneDetail
	return showDetail(m, key, sheet.TabSummary)
}

// showDetail shows a tab of an exchange. One that is open stays as it is.
func showDetail(m *model, key string, tab int) tea.Cmd {
	if m.detail.Key != key {
		m.detail = detail{Detail: sheet.Detail{Key: key, Tab: tab, Raw: m.detail.Raw, Folds: map[string]bool{}}}
		m.bar.hits = hits{}
	}
	return m.askDetail(true)
}

// askDetail asks for the exchange that is shown; anew is set where it is another one.
func (m *model) askDetail(anew bool) tea.Cmd {
	key, r := m.detail.Key, m.opt.Reader
	if key == "" || !anew && m.detail.Doc != nil && m.detail.Doc.Row.State == "done" {
		return nil
	}
	ask := m.ask.Refresh
	if anew {
		ask = m.ask.Anew
	}
	marked := m.act.marked
	return ask(askDetail, func(ctx context.Context) func(*model) tea.Cmd {
		doc, err := r.Detail(ctx, key)
		var d sheet.Diff
		if d.With = other(key, marked, &doc); err == nil && d.With != "" {
			d.Request, d.Response, d.Err = r.Diff(ctx, d.With, key)
		}
		return func(m *model) tea.Cmd {
			if m.detail.Key == key {
				m.detail.Doc, m.detail.err, m.detail.Diff = &doc, err, d
			}
			return nil
		}
	})
}

// other is the exchange to compare with: the original of what was sent again, the one that the
// user marked last, or the previous call of the same.
func other(key, marked string, doc *view.Detail) string {
	switch {
	case doc.Row.Again != "":
		return doc.Row.Again
	case marked != "" && marked != key:
		return marked
	}
	return doc.Before
}

// drawDetail draws the title, the tabs and the lines of the one that is open.
func drawDetail(m *model, w, h int) (lines []drawn) {
	d := &m.detail
	lines = append(lines, drawn{Line: d.Title(m.clock())}, drawn{Line: d.Tabs(w, m.focus == paneDetail)})
	switch {
	case d.err != nil:
		d.lines = sheet.Facts(cells.Wrap(cells.Bad, d.err.Error(), w-2))
	case d.Doc == nil:
		d.lines = []sheet.Fact{{Line: cells.Of(cells.Faint, "reading…")}}
	default:
		d.lines = d.Lines(m.clock(), w)
	}
	if len(d.lines) == 0 {
		d.lines = []sheet.Fact{{Line: cells.Of(cells.Faint, sheet.EmptyTab[d.Tab])}}
	}
	h -= len(lines)
	d.sel = max(0, min(d.sel, len(d.lines)-1))
	d.top = max(0, min(d.top, d.sel, len(d.lines)-h))
	if d.sel >= d.top+h {
		d.top = d.sel - h + 1
	}
	for i := d.top; i < min(d.top+h, len(d.lines)); i++ {
		line := append(cells.Line{cells.Blank(1)}, d.lines[i].Line...)
		lines = append(lines, drawn{Line: line, Selected: m.focus == paneDetail && i == d.sel})
	}
	return lines
}

// detailKey takes a key that only the detail knows, and reports whether it was one.
func detailKey(m *model, name string) bool {
	d := &m.detail
	switch name {
	case "right", "l", "]":
		d.Tab, d.sel, d.top = (d.Tab+1)%sheet.TabCount, 0, 0
	case "left", "h", "[":
		d.Tab, d.sel, d.top = (d.Tab+sheet.TabCount-1)%sheet.TabCount, 0, 0
	case "space", "enter":
		if d.sel < len(d.lines) && d.lines[d.sel].Fold {
			at := d.lines[d.sel].Pointer
			d.Folds[at] = !d.Folds[at]
		}
	case "v":
		d.Raw = !d.Raw
	default:
		return false
	}
	return true
}

// hits are the lines of a tab that have a text: a search as in less.
type hits struct{ text string }

// find selects the next line that has the text.
func find(m *model, step int) tea.Cmd {
	d := &m.detail
	if m.focus != paneDetail || m.bar.hits.text == "" {
		return m.say("search in a detail first: /")
	}
	want := strings.ToLower(m.bar.hits.text)
	for i := 1; i <= len(d.lines); i++ {
		n := (d.sel + step*i + len(d.lines)*2) % len(d.lines)
		if strings.Contains(strings.ToLower(d.lines[n].Line.String()), want) {
			d.sel = n
			return nil
		}
	}
	return m.say("not found: " + m.bar.hits.text)
}
