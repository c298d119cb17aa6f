package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/tui/cells"
)

// A dialog covers the panes and gets all keys.
type dialog interface {
	// key handles a key by its name, or typed text. It returns the change to run, or nil, and whether
	// the dialog closes.
	key(name, text string) (run change, closes bool)
	// draw draws w columns and at most h lines.
	draw(w, h int) []drawn
	// hints returns the keys of the dialog, each with its effect.
	hints() []string
}

// A choice is an entry of a menu.
type choice struct {
	key  string // the letter
	text string
	note string
	run  change
}

// A menu lets the user choose an entry by letter, or with arrows and Enter. If search is set, the
// user filters the entries by typing words.
type menu struct {
	title   string
	head    []cells.Line // above the entries
	choices []choice
	sel     int    // the index of the selected entry among the matching ones
	top     int    // the index of the first entry on the screen
	search  *input // nil if the entries have letters instead
	loading bool   // the entries cannot be chosen yet
}

// matchingChoices returns the entries that match the search.
func (d *menu) matchingChoices() []choice {
	if d.search == nil || d.search.Text() == "" {
		return d.choices
	}
	var all []choice
	for _, c := range d.choices {
		if containsAllWords(c.key+" "+c.text+" "+c.note, d.search.Text()) {
			all = append(all, c)
		}
	}
	return all
}

// key handles a key: a letter chooses its entry, unless the user types words to search.
// An entry without an effect cannot be chosen.
func (d *menu) key(name, text string) (change, bool) {
	all := d.matchingChoices()
	if d.search == nil {
		hasLetter := func(c choice) bool { return c.key == name && c.run != nil }
		if i := slices.IndexFunc(all, hasLetter); i >= 0 && !d.loading {
			d.sel = i
			return all[i].run, true
		}
		name = letterMeaning(name)
	}
	if name == "esc" {
		return nil, true
	}
	if d.loading {
		return nil, false // no choice before the entries are loaded
	}
	switch name {
	case "down":
		d.sel = min(d.sel+1, len(all)-1)
	case "up":
		d.sel = max(d.sel-1, 0)
	case "pgdown":
		d.sel = min(d.sel+10, len(all)-1)
	case "pgup":
		d.sel = max(d.sel-10, 0)
	case "enter":
		if d.sel >= 0 && d.sel < len(all) && all[d.sel].run != nil {
			return all[d.sel].run, true
		}
	default:
		if d.search != nil {
			d.search.Key(name, text)
			d.sel = 0
		}
	}
	return nil, false
}

// letterMeaning returns the key that a letter stands for in a menu without a search: j, k and q.
func letterMeaning(name string) string {
	switch name {
	case "j":
		return "down"
	case "k":
		return "up"
	case "q":
		return "esc"
	}
	return name
}

// hints returns the keys for the footer.
func (d *menu) hints() []string {
	if d.loading {
		return []string{"Esc close"}
	}
	return []string{"Esc close", "↑↓ select", "Enter choose"}
}

// draw draws w columns and at most h lines.
func (d *menu) draw(w, h int) []drawn {
	lines := []drawn{{Line: cells.TextLine(cells.Strong, " "+d.title)}}
	for _, l := range d.head {
		lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(1)}, l...)})
	}
	if d.search != nil {
		lines = append(lines, drawn{Line: append(cells.TextLine(cells.Faint, " / "), d.search.Line(w-4, true, noError)...)})
	}
	lines = append(lines, drawn{})
	all := d.matchingChoices()
	// The columns are as wide as the widest of all entries, also of entries that do not match.
	textWidth := 0
	keyWidth := 1
	for _, c := range d.choices {
		textWidth = max(textWidth, cells.TextLine(cells.Plain, c.text).Width())
		keyWidth = max(keyWidth, cells.TextLine(cells.Plain, c.key).Width())
	}
	textWidth = min(textWidth, w*3/5)
	room := max(1, h-len(lines))
	d.top = max(0, min(d.top, d.sel))
	if d.sel >= d.top+room {
		d.top = d.sel - room + 1
	}
	for i := d.top; i < min(d.top+room, len(all)); i++ {
		c := all[i]
		line := cells.Line{
			cells.Blank(1), cells.Fit(cells.Strong, c.key, keyWidth), cells.Blank(2),
			cells.Fit(cells.Plain, c.text, textWidth), cells.Blank(2), cells.Text(cells.Faint, c.note),
		}
		lines = append(lines, drawn{Line: line, Selected: i == d.sel})
	}
	return lines
}

// paste types text.
func (d *menu) paste(text string) {
	if d.search != nil {
		d.search.Type(text)
	}
}

// A prompt reads one line.
type prompt struct {
	title string
	line  input
	run   func(*model, string) tea.Cmd
}

// key handles a key: Enter accepts the line, Esc leaves it, and others edit it.
func (d *prompt) key(name, text string) (change, bool) {
	switch name {
	case "esc":
		return nil, true
	case "enter":
		return func(m *model) tea.Cmd { return d.run(m, d.line.Text()) }, true
	default:
		d.line.Key(name, text)
	}
	return nil, false
}

// paste types text.
func (d *prompt) paste(text string) { d.line.Type(text) }

// hints returns the keys for the footer.
func (d *prompt) hints() []string { return []string{"Esc leave", "Enter accept"} }

// draw draws w columns and at most h lines.
func (d *prompt) draw(w, h int) []drawn {
	return []drawn{
		{Line: cells.TextLine(cells.Strong, " "+d.title)},
		{},
		{Line: append(cells.TextLine(cells.Accent, " › "), d.line.Line(w-4, true, noError)...)},
	}
}

// An editor edits a text of several lines. check returns an error text; the user can send the text
// anyway after seeing the error once.
type editor struct {
	title      string
	area       area
	check      func(text string) string // returns an error text, or ""
	shownError string                   // the error that the user has seen
	run        func(*model, string) tea.Cmd
}

// key handles a key: Ctrl-S accepts the text, Esc leaves it, and others edit it. A text with an
// error is accepted after the user has seen the error.
func (d *editor) key(name, text string) (change, bool) {
	switch name {
	case "esc":
		return nil, true
	case "ctrl+s":
		text := d.area.Text()
		if wrong := d.check(text); wrong != "" && wrong != d.shownError {
			d.shownError = wrong
			return nil, false
		}
		return func(m *model) tea.Cmd { return d.run(m, text) }, true
	}
	d.area.Key(name, text)
	return nil, false
}

// paste types text.
func (d *editor) paste(text string) { d.area.Type(text) }

// hints returns the keys for the footer.
func (d *editor) hints() []string {
	return []string{"Ctrl-S send", "Esc leave", "Enter new line", "Ctrl-←→ word", "Ctrl-K cut to the end of the line"}
}

// draw draws w columns and at most h lines.
func (d *editor) draw(w, h int) []drawn {
	lines := []drawn{{Line: cells.TextLine(cells.Strong, " "+d.title)}}
	if d.shownError != "" {
		lines = append(lines, drawn{Line: cells.TextLine(cells.Warn, " "+d.shownError+": Ctrl-S again sends it as it is")})
	}
	lines = append(lines, drawn{Line: cells.Line{cells.Rule(w)}})
	for _, l := range d.area.Lines(w-2, h-len(lines)) {
		lines = append(lines, drawn{Line: append(cells.Line{cells.Blank(1)}, l...)})
	}
	return lines
}

// A page shows lines to read.
type page struct {
	title string
	lines []drawn
	top   int
}

// key handles a key: Esc, q and Enter close the page, and others scroll it.
func (d *page) key(name, text string) (change, bool) {
	step := map[string]int{
		"j":      1,
		"down":   1,
		"k":      -1,
		"up":     -1,
		"pgdown": 10,
		"pgup":   -10,
		"space":  10,
		"g":      -farStep,
		"G":      farStep,
	}
	switch name {
	case "esc", "q", "enter":
		return nil, true
	default:
		d.top = max(0, min(d.top+step[name], len(d.lines)-1))
	}
	return nil, false
}

// hints returns the keys for the footer.
func (d *page) hints() []string { return []string{"Esc close", "↑↓ scroll"} }

// draw draws w columns and at most h lines.
func (d *page) draw(w, h int) []drawn {
	lines := []drawn{{Line: cells.TextLine(cells.Strong, " "+d.title)}, {}}
	d.top = max(0, min(d.top, len(d.lines)-h+len(lines))) // no empty lines at the end
	return append(lines, d.lines[d.top:]...)
}

// containsAllWords reports whether a text has all words, ignoring case.
func containsAllWords(text, words string) bool {
	text = strings.ToLower(text)
	for _, w := range strings.Fields(strings.ToLower(words)) {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
