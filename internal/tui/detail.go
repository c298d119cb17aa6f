package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
	"mcpc/internal/wire"
)

// A detail is one exchange, and the position of the user in it.
type detail struct {
	key      string
	doc      *view.Detail // nil until the exchange was read
	loadedAt time.Time    // when doc was read
	tab      int
	raw      bool            // the tabs show bytes instead of a tree of JSON
	folds    map[string]bool // by JSON pointer: the value is folded
	diff     diff
	err      error     // of reading the exchange
	sel      int       // the index of the selected line
	top      int       // the index of the first line on the screen
	lines    []tabLine // the lines of the tab when it was last drawn
}

// detailHead is the number of lines above a tab: the title and the names of the tabs.
const detailHead = 2

// openDetail opens an exchange at its summary.
func (m *model) openDetail(key string) tea.Cmd {
	if key == "" {
		return m.showMessage("there is no exchange to show here")
	}
	m.focus = paneDetail
	return m.showDetail(key, tabSummary)
}

// showDetail shows a tab of an exchange. It does not change the tab of an exchange that is already
// open.
func (m *model) showDetail(key string, tab int) tea.Cmd {
	if m.detail.key != key {
		m.detail = detail{key: key, tab: tab, raw: m.detail.raw, folds: map[string]bool{}}
		m.statusLine.search = ""
	}
	return m.loadDetail(newKey)
}

// The values of the parameter of loadDetail.
const (
	newKey  = true
	sameKey = false
)

// loadDetail reads the shown exchange. keyChanged is set for a different exchange than before: then
// a running read is cancelled. Without it, an exchange that is done is not read again, and
// loadDetail returns nil.
func (m *model) loadDetail(keyChanged bool) tea.Cmd {
	key := m.detail.key
	reader := m.opt.Reader
	// A request that the server answered with questions continues with the answers.
	mayContinue := m.detail.doc != nil && m.detail.doc.Row.Channel == string(wire.InputRequired)
	cannotChange := m.detail.doc != nil && m.detail.doc.Row.State == "done" && !mayContinue
	needsNoRead := !keyChanged && cannotChange
	if key == "" || needsNoRead {
		return nil
	}
	start := m.loader.refresh
	if keyChanged {
		start = m.loader.restart
	}
	marked := m.act.marked
	return start(subjectDetail, func(ctx context.Context) change {
		doc, err := reader.Detail(ctx, key)
		var d diff
		d.otherKey, d.otherName = comparisonOf(key, marked, &doc)
		if err == nil && d.otherKey != "" {
			d.request, d.response, d.err = reader.Diff(ctx, d.otherKey, key)
		}
		return func(m *model) tea.Cmd {
			if m.detail.key == key { // the user may have opened another one meanwhile
				m.detail.doc = &doc
				m.detail.loadedAt = m.opt.Now()
				m.detail.err = err
				m.detail.diff = d
			}
			return nil
		}
	})
}

// comparisonOf returns the key and a description of the exchange to compare with: the original of a resent
// request, or else the last marked exchange, or else the last good one with the same request if several
// failed, or else the previous one.
func comparisonOf(key, marked string, doc *view.Detail) (otherKey, name string) {
	switch {
	case doc.Row.Again != "":
		return doc.Row.Again, "the recorded original"
	case marked != "" && marked != key:
		return marked, "the marked exchange"
	case doc.LastGood != "":
		return doc.LastGood, "the last good call"
	}
	return doc.Before, "the previous call"
}

// drawDetail draws the title, the names of the tabs and the lines of the open tab, in w columns and
// h lines. It scrolls so that the selected line is visible.
func (m *model) drawDetail(w, h int) []drawn {
	d := &m.detail
	clock := m.screenClock()
	clock.loadedAt = d.loadedAt // the lists may have been read long before
	tabs, _ := d.drawTabs(w, m.focus == paneDetail)
	title := d.drawTitle(clock)
	if isBefore := d.doc != nil && m.try.running != nil && d.doc.Row.Time.Before(m.try.sentAt); isBefore {
		title = append(cells.TextLine(cells.Warn, " before:"), title...)
	}
	lines := []drawn{{Line: title}, {Line: tabs}}
	if d.err != nil {
		d.lines = plainLines(cells.Wrap(cells.Bad, d.err.Error(), w-2))
	} else if d.doc == nil {
		d.lines = []tabLine{{line: cells.TextLine(cells.Faint, "reading…")}}
	} else {
		d.lines = d.tabLines(clock, w)
	}
	if len(d.lines) == 0 {
		d.lines = []tabLine{{line: cells.TextLine(cells.Faint, emptyTabText[d.tab])}}
	}
	h -= len(lines)
	d.sel = max(0, min(d.sel, len(d.lines)-1))
	d.top = max(0, min(d.top, d.sel, len(d.lines)-h))
	if d.sel >= d.top+h {
		d.top = d.sel - h + 1
	}
	for i := d.top; i < min(d.top+h, len(d.lines)); i++ {
		line := append(cells.Line{cells.Blank(1)}, d.lines[i].line...)
		lines = append(lines, drawn{Line: line, Selected: m.focus == paneDetail && i == d.sel})
	}
	return lines
}

// detailKey handles a key of the detail, and reports whether it used the key.
func (m *model) detailKey(name string) bool {
	d := &m.detail
	switch name {
	case "right", "l", "]":
		d.openTab((d.tab + 1) % tabCount)
	case "left", "h", "[":
		d.openTab((d.tab + tabCount - 1) % tabCount)
	case "space", "enter":
		if d.sel < len(d.lines) && d.lines[d.sel].fold {
			pointer := d.lines[d.sel].pointer
			d.folds[pointer] = !d.folds[pointer]
		}
	case "v":
		d.raw = !d.raw
	default:
		return false
	}
	return true
}

// findNext selects the next line that contains the search text, or the previous one if step is -1.
// The search continues at the other end of the lines.
func (m *model) findNext(step int) tea.Cmd {
	d := &m.detail
	if m.focus != paneDetail || m.statusLine.search == "" {
		return m.showMessage("search in a detail first: /")
	}
	wanted := strings.ToLower(m.statusLine.search)
	for distance := 1; distance <= len(d.lines); distance++ {
		index := (d.sel + step*distance + len(d.lines)*2) % len(d.lines) // not negative
		if strings.Contains(strings.ToLower(d.lines[index].line.String()), wanted) {
			d.sel = index
			return nil
		}
	}
	return m.showMessage("not found: " + m.statusLine.search)
}
