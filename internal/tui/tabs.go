package tui

import (
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/tui/cells"
)

// tabLines returns the lines of the open tab.
func (d *detail) tabLines(clock screenClock, w int) []tabLine {
	doc := d.doc
	switch d.tab {
	case tabSummary:
		return summaryLines(doc, w-2)
	case tabRequest:
		lines := bodyLines(d, doc.Request, w-2)
		for _, wrong := range doc.Wrong {
			lines = append(lines, plainLines(cells.Wrap(cells.Bad, "! "+wrong.Text, w-2))...)
		}
		return append(lines, schemaLines(d, "inputSchema", doc.InputSchema, w-2)...)
	case tabResponse:
		return append(bodyLines(d, doc.Response, w-2), schemaLines(d, "outputSchema", doc.OutputSchema, w-2)...)
	case tabEvents:
		return eventLines(clock, doc, w-2)
	case tabWire:
		return wireLines(clock, doc, w-2)
	case tabTime:
		return timeLines(clock, doc, w-2)
	case tabFindings:
		return findingLines(doc, w-2)
	}
	return diffLines(d, w-2)
}

func heading(text string) []tabLine { return []tabLine{{}, {line: cells.TextLine(cells.Strong, text)}} }

func wrapped(r cells.Role, text string, w int) []tabLine { return plainLines(cells.Wrap(r, text, w)) }

// summaryLines describes the exchange, the most important facts first.
func summaryLines(doc *view.Detail, w int) []tabLine {
	r := &doc.Row
	role, _ := stateMark(r)
	var lines []tabLine
	if r.Text != "" {
		lines = append(lines, wrapped(role, r.Text, w)...)
	}
	if doc.Cut != "" {
		lines = append(lines, wrapped(cells.Plain, doc.Cut, w)...)
	}
	for _, f := range doc.Findings[:min(len(doc.Findings), maxSummaryFindings)] {
		lines = append(lines, wrapped(findingRole(f), f.Rule+" "+f.Text, w)...)
		if f.Got != "" {
			lines = append(lines, wrapped(findingRole(f), "got: "+f.Got, w)...)
		}
	}
	if r.Note != "" {
		lines = append(lines, wrapped(cells.Accent, "★ "+r.Note, w)...)
	}
	if len(lines) > 0 {
		lines = append(lines, tabLine{})
	}
	facts := messageSummary(doc, w-w/4)
	if timing := strings.TrimSpace(doc.Why + "\n" + doc.Group); timing != "" {
		facts = append(facts, summaryFact{name: "timing", text: timing})
	}
	for _, f := range doc.Facts {
		isShown := slices.ContainsFunc(facts, func(shown summaryFact) bool { return shown.name == f[0] })
		if !isShown { // as a part of the messages, which has more lines
			facts = append(facts, summaryFact{name: f[0], text: f[1]})
		}
	}
	nameWidth := 0
	for _, f := range facts {
		nameWidth = max(nameWidth, term.Width(f.name))
	}
	nameWidth = min(nameWidth, w/3)
	for _, f := range facts {
		lines = append(lines, f.draw(w, nameWidth)...)
	}
	if len(doc.Stderr) > 0 {
		lines = append(lines, heading("stderr of the server meanwhile")...)
		for _, text := range doc.Stderr {
			lines = append(lines, wrapped(cells.Plain, text, w)...)
		}
	}
	return lines
}

// maxSummaryFindings limits the findings that the summary begins with.
const maxSummaryFindings = 3

// findingRole returns the role of a finding by its severity.
func findingRole(f view.Finding) cells.Role {
	if f.Severity == "error" {
		return cells.Bad
	}
	return cells.Warn
}

// eventLines returns the arrows of the exchange, each with its time since the request.
func eventLines(clock screenClock, doc *view.Detail, w int) []tabLine {
	var lines []tabLine
	for _, l := range doc.Lines {
		delay := "" // since the request
		if !l.Time.IsZero() {
			delay = "+" + term.Duration(max(l.Time.Sub(doc.Row.Time), 0))
		}
		direction := map[string]string{"sent": "▶ ", "received": "◀ "}[l.Dir]
		text := direction + l.Text
		if l.Times > 1 {
			text += " ×" + strconv.Itoa(l.Times)
		}
		for i, part := range cells.Wrap(levelRole(l.Level, l.Kind), text, w-11) {
			if i > 0 {
				delay = ""
			}
			line := append(cells.Line{cells.Right(cells.Faint, delay, 9), cells.Blank(2)}, part...)
			lines = append(lines, tabLine{line: line, value: l.Text})
		}
	}
	return lines
}

// wireLines returns the frames in recorded order.
func wireLines(clock screenClock, doc *view.Detail, w int) []tabLine {
	var lines []tabLine
	for i := range doc.Frames {
		f := &doc.Frames[i]
		direction := map[string]string{"sent": "▶", "received": "◀"}[f.Dir]
		head := cells.Line{
			cells.Text(cells.Strong, direction+" "+strings.TrimSpace(f.Kind+" "+f.Line)),
			cells.Text(cells.Faint, "  "+clock.formatExactTime(f.Time)),
		}
		for _, sseField := range []struct{ name, value string }{{"event", f.Event}, {"id", f.ID}} {
			if sseField.value != "" {
				head = append(head, cells.Text(cells.Faint, "  "+sseField.name+": "+sseField.value))
			}
		}
		lines = append(lines, tabLine{line: head})
		for _, headerField := range f.Head {
			name, value := headerField[0], headerField[1]
			for _, part := range cells.Wrap(cells.Plain, value, w-4-len(name)) {
				line := append(cells.Line{cells.Text(cells.Accent, "  "+name+": ")}, part...)
				lines = append(lines, tabLine{line: line, value: value})
			}
		}
		if f.Note != "" {
			lines = append(lines, wrapped(cells.Warn, "  "+f.Note, w)...)
		}
		lines = append(lines, rawLines(f.Body, w)...)
		if f.Was != nil {
			lines = append(lines, tabLine{line: cells.TextLine(cells.Warn, "before it was edited:")})
			lines = append(lines, rawLines(f.Was, w)...)
		}
		lines = append(lines, tabLine{})
	}
	return lines
}

// rawLines returns the bytes of a body as text.
func rawLines(b *view.Body, w int) []tabLine {
	if b == nil || b.Text == "" {
		return nil
	}
	var lines []tabLine
	for _, l := range cells.Wrap(cells.Plain, b.Text, w-2) {
		lines = append(lines, tabLine{line: append(cells.Line{cells.Blank(2)}, l...), value: b.Text})
	}
	if b.Cut {
		lines = append(lines, tabLine{line: cells.TextLine(cells.Faint, "  … "+term.Bytes(int64(b.Bytes))+" in all")})
	}
	return lines
}

// timeLines returns the phases as a bar and as numbers.
func timeLines(clock screenClock, doc *view.Detail, w int) []tabLine {
	r := &doc.Row
	whole := clock.elapsedSeconds(r)
	parts := barParts(r, whole)
	lines := []tabLine{{line: cells.Bar(parts, whole, min(w, 72))}, {}}
	for _, p := range parts {
		lines = append(lines, tabLine{line: cells.Line{
			cells.PhaseMark(p.Name), cells.Fit(cells.Plain, " "+p.Name, 12),
			cells.Right(cells.Strong, formatSeconds(p.Size), 10), cells.Text(cells.Faint, "  "+phaseText[p.Name]),
		}})
	}
	for _, text := range []string{doc.Why, doc.Group, doc.Cut} {
		if text != "" {
			lines = append(append(lines, tabLine{}), wrapped(cells.Plain, text, w)...)
		}
	}
	return lines
}

var phaseText = map[string]string{
	"connect": "until the connection was open",
	"tls":     "until TLS was agreed",
	"wait":    "from the request to the first byte",
	"first":   "from the first byte to the first event",
	"events":  "events until the response",
	"person":  "the server waited for an answer of the client",
	"held":    "held by the view",
	"read":    "reading the body",
}

// findingLines returns the broken rules of the exchange.
func findingLines(doc *view.Detail, w int) []tabLine {
	var lines []tabLine
	for _, f := range doc.Findings {
		role := findingRole(f)
		head := cells.Line{
			cells.Text(role, f.Severity),
			cells.Text(cells.Strong, "  "+f.Rule),
			cells.Text(cells.Faint, "  "+f.Pointer),
		}
		lines = append(lines, tabLine{line: head, value: f.Rule})
		lines = append(lines, wrapped(cells.Plain, f.Text, w)...)
		if f.Got != "" {
			lines = append(lines, wrapped(role, "got: "+f.Got, w)...)
		}
		if f.Fix != "" {
			lines = append(lines, wrapped(cells.Good, "fix: "+f.Fix, w)...)
		}
		lines = append(lines, tabLine{})
	}
	return lines
}

// diffLines returns the differences from another exchange.
func diffLines(d *detail, w int) []tabLine {
	if d.diff.otherKey == "" {
		return nil
	}
	if d.diff.err != nil {
		return wrapped(cells.Bad, d.diff.err.Error(), w)
	}
	sides := "- " + d.diff.otherKey + ", " + d.diff.otherName + "   + " + d.key + ", this exchange"
	lines := []tabLine{{line: cells.TextLine(cells.Faint, sides)}}
	for _, side := range []struct {
		name    string
		changes []view.Change
	}{{"request", d.diff.request}, {"response", d.diff.response}} {
		lines = append(lines, heading(side.name)...)
		if len(side.changes) == 0 {
			lines = append(lines, tabLine{line: cells.TextLine(cells.Faint, "the same")})
		}
		for _, c := range side.changes {
			lines = append(lines, tabLine{line: cells.TextLine(cells.Accent, c.Pointer), pointer: c.Pointer})
			if c.Was != nil {
				lines = append(lines, signedLines(cells.Bad, "- ", string(c.Was), w)...)
			}
			if c.Is != nil {
				lines = append(lines, signedLines(cells.Good, "+ ", string(c.Is), w)...)
			}
		}
	}
	return lines
}

// signedLines wraps a text and puts a sign before its first line.
func signedLines(r cells.Role, sign, text string, w int) []tabLine {
	var lines []tabLine
	for _, part := range cells.Wrap(r, text, w-len(sign)) {
		lines = append(lines, tabLine{line: append(cells.TextLine(r, sign), part...), value: text})
		sign = "  "
	}
	return lines
}

// plainLines returns lines without a value.
func plainLines(lines []cells.Line) []tabLine {
	var out []tabLine
	for _, l := range lines {
		out = append(out, tabLine{line: l})
	}
	return out
}

// The tabs of a Detail.
const (
	tabSummary = iota
	tabRequest
	tabResponse
	tabEvents
	tabWire
	tabTime
	tabFindings
	tabDiff
	tabCount
)

// tabNames are the names of the tabs.
var tabNames = [tabCount]string{"Summary", "Request", "Answer", "Events", "Wire", "Time", "Findings", "Compare"}

// shortTabNames are the names of the tabs that are not open, if the whole names do not fit.
var shortTabNames = [tabCount]string{"Sum", "Req", "Ans", "Ev", "Wire", "Time", "Find", "Comp"}

// emptyTabText has the text of each tab without lines.
var emptyTabText = [tabCount]string{
	"nothing is known",
	"the request was not recorded",
	"no response yet",
	"no events",
	"no frames",
	"no times",
	"no findings: no rule of mcpc check is broken here",
	"there is no earlier call of the same to compare with; mark one with m",
}

// drawTitle returns the title of the exchange with its outcome.
func (d *detail) drawTitle(clock screenClock) cells.Line {
	key := cells.Text(cells.Faint, d.key)
	if d.doc == nil {
		return cells.Line{cells.Blank(1), key}
	}
	r := &d.doc.Row
	role, mark := stateMark(r)
	return cells.Line{
		cells.Text(role, " "+strings.TrimSpace(mark+" "+strings.ReplaceAll(r.Channel, "_", " "))),
		cells.Blank(2),
		cells.Text(cells.Strong, rowTitle(r)),
		cells.Blank(2),
		key,
		cells.Blank(2),
		clock.drawDuration(r),
	}
}

// drawTabs draws the names of the tabs in w columns: short names except of the open tab if the whole names
// do not fit. It begins with the tab first, so that the open tab fits.
func (d *detail) drawTabs(w int, active bool) (line cells.Line, first int) {
	line, first = d.drawTabNames(w, active, withWords)
	if line.Width() <= w {
		return line, first
	}
	return d.drawTabNames(w, active, withoutWords)
}

// drawTabNames draws the tabs as drawTabs does. isShort is withWords or withoutWords.
func (d *detail) drawTabNames(w int, active, isShort bool) (line cells.Line, first int) {
	label := func(i int) string {
		if isShort && i != d.tab {
			return " " + shortTabNames[i]
		}
		text := tabNames[i]
		if i == tabFindings && d.doc != nil && len(d.doc.Findings) > 0 {
			text += " " + english.Thousands(len(d.doc.Findings))
		}
		if isShort {
			return " " + text
		}
		return " " + text + " "
	}
	used := 0
	for i := range d.tab + 1 {
		used += len(label(i))
	}
	for ; used > w-2 && first < d.tab; first++ {
		used -= len(label(first))
	}
	for i := first; i < tabCount; i++ {
		role := cells.Faint
		if i == d.tab {
			role = cells.Strong
			if active {
				role = cells.Cursor
			}
		}
		line = append(line, cells.Text(role, label(i)))
	}
	return line, first
}

// clickTab opens the tab that is drawn at column x of w columns.
func (d *detail) clickTab(x, w int) {
	const active = true
	line, first := d.drawTabs(w, active)
	end := 0
	for i, span := range line {
		end += (cells.Line{span}).Width()
		if x < end {
			d.openTab(first + i)
			return
		}
	}
}

// openTab opens a tab at its first line.
func (d *detail) openTab(tab int) {
	d.tab = tab
	d.sel = 0
	d.top = 0
}

// A diff has the differences between two exchanges.
type diff struct {
	otherKey          string
	otherName         string // says which exchange otherKey is
	request, response []view.Change
	err               error
}

// A tabLine is a line of a tab, and what actions can take from it.
type tabLine struct {
	line    cells.Line
	pointer string // the JSON pointer of the value in the line, or ""
	value   string // the whole text or JSON if the line shows only a part of it, or ""
	fold    bool   // space folds or unfolds the value
}
