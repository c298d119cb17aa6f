// Package dialog has what takes all keys while it is open: menus, a line, a text, a page. A
// dialog acts on a model M by what it returns.
package dialog

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/tui/cells"

	"mcpc/internal/tui/panel"
)

// A Dialog takes keys by their name, or the text that they type. It returns what to run, and
// whether it is over.
type Dialog[M any] interface {
	Key(name, text string) (run func(M) tea.Cmd, over bool)
	Draw(w, h int) []cells.Drawn
	// Hints are the keys that it takes, each with what it does.
	Hints() []string
}

// A Choice is an entry of a menu.
type Choice[M any] struct {
	Key  string // the letter
	Text string
	Note string
	Run  func(M) tea.Cmd
}

// A Menu lets the user choose by letter, or by arrows and Enter. With search it takes words
// that its entries must have.
type Menu[M any] struct {
	Title   string
	Head    []cells.Line
	Choices []Choice[M]
	sel     int
	top     int
	Search  *panel.Input
	Loading bool
}

func (d *Menu[M]) shown() (all []Choice[M]) {
	if d.Search == nil || d.Search.Text() == "" {
		return d.Choices
	}
	for _, c := range d.Choices {
		if hasWords(c.Key+" "+c.Text+" "+c.Note, d.Search.Text()) {
			all = append(all, c)
		}
	}
	return all
}

// Key takes a key.
func (d *Menu[M]) Key(name, text string) (func(M) tea.Cmd, bool) {
	all := d.shown()
	if i := slices.IndexFunc(all, func(c Choice[M]) bool { return c.Key == name && c.Run != nil }); i >= 0 && d.Search == nil && !d.Loading {
		d.sel, name = i, "enter"
	}
	switch {
	case name == "esc" || name == "q" && d.Search == nil:
		return nil, true
	case d.Loading:
		return nil, false // keys wait for what they are about
	case name == "down" || name == "j" && d.Search == nil:
		d.sel = min(d.sel+1, len(all)-1)
	case name == "up" || name == "k" && d.Search == nil:
		d.sel = max(d.sel-1, 0)
	case name == "pgdown":
		d.sel = min(d.sel+10, len(all)-1)
	case name == "pgup":
		d.sel = max(d.sel-10, 0)
	case name == "enter":
		if d.sel >= 0 && d.sel < len(all) && all[d.sel].Run != nil {
			return all[d.sel].Run, true
		}
	case d.Search != nil:
		d.Search.Key(name, text)
		d.sel = 0
	}
	return nil, false
}

// Hints are the keys for the footer.
func (d *Menu[M]) Hints() []string {
	if d.Loading {
		return []string{"Esc close"}
	}
	return []string{"Esc close", "↑↓ select", "Enter choose"}
}

// Draw draws w columns and at most h lines.
func (d *Menu[M]) Draw(w, h int) (lines []cells.Drawn) {
	lines = append(lines, cells.Drawn{Line: cells.Of(cells.Strong, " "+d.Title)})
	for _, l := range d.Head {
		lines = append(lines, cells.Drawn{Line: append(cells.Line{cells.Blank(1)}, l...)})
	}
	if d.Search != nil {
		lines = append(lines, cells.Drawn{Line: append(cells.Of(cells.Faint, " / "), d.Search.Line(w-4, true, -1)...)})
	}
	lines = append(lines, cells.Drawn{})
	all := d.shown()
	wide, keys := 0, 1
	for _, c := range d.Choices {
		wide = max(wide, cells.Of(cells.Plain, c.Text).Width())
		keys = max(keys, cells.Of(cells.Plain, c.Key).Width())
	}
	wide = min(wide, w*3/5)
	room := max(1, h-len(lines))
	d.top = max(0, min(d.top, d.sel))
	if d.sel >= d.top+room {
		d.top = d.sel - room + 1
	}
	for i := d.top; i < min(d.top+room, len(all)); i++ {
		c := all[i]
		line := cells.Line{cells.Blank(1), cells.Fit(cells.Strong, c.Key, keys), cells.Blank(2),
			cells.Fit(cells.Plain, c.Text, wide), cells.Blank(2), cells.Text(cells.Faint, c.Note)}
		lines = append(lines, cells.Drawn{Line: line, Selected: i == d.sel})
	}
	return lines
}

// Paste types text.
func (d *Menu[M]) Paste(text string) {
	if d.Search != nil {
		d.Search.Type(text)
	}
}

// A Prompt takes one line.
type Prompt[M any] struct {
	Title string
	Line  panel.Input
	Run   func(M, string) tea.Cmd
}

// Key takes a key.
func (d *Prompt[M]) Key(name, text string) (func(M) tea.Cmd, bool) {
	switch name {
	case "esc":
		return nil, true
	case "enter":
		return func(m M) tea.Cmd { return d.Run(m, d.Line.Text()) }, true
	default:
		d.Line.Key(name, text)
	}
	return nil, false
}

// Paste types text.
func (d *Prompt[M]) Paste(text string) { d.Line.Type(text) }

// Hints are the keys for the footer.
func (d *Prompt[M]) Hints() []string { return []string{"Esc leave", "Enter accept"} }

// Draw draws w columns and at most h lines.
func (d *Prompt[M]) Draw(w, h int) []cells.Drawn {
	return []cells.Drawn{{Line: cells.Of(cells.Strong, " "+d.Title)}, {}, {Line: append(cells.Of(cells.Accent, " › "), d.Line.Line(w-4, true, -1)...)}}
}

// An Editor edits a text of several lines; Check returns what is wrong with it, which the user
// may send after having seen it once.
type Editor[M any] struct {
	Title string
	Area  panel.Area
	Check func(text string) string
	wrong string
	Run   func(M, string) tea.Cmd
}

// Key takes a key.
func (d *Editor[M]) Key(name, text string) (func(M) tea.Cmd, bool) {
	switch name {
	case "esc":
		return nil, true
	case "ctrl+s":
		text := d.Area.Text()
		if wrong := d.Check(text); wrong != "" && wrong != d.wrong {
			d.wrong = wrong
			return nil, false
		}
		return func(m M) tea.Cmd { return d.Run(m, text) }, true
	}
	d.Area.Key(name, text)
	return nil, false
}

// Paste types text.
func (d *Editor[M]) Paste(text string) { d.Area.Type(text) }

// Hints are the keys for the footer.
func (d *Editor[M]) Hints() []string {
	return []string{"Ctrl-S send", "Esc leave", "Enter new line", "Ctrl-K cut to the end of the line"}
}

// Draw draws w columns and at most h lines.
func (d *Editor[M]) Draw(w, h int) (lines []cells.Drawn) {
	lines = append(lines, cells.Drawn{Line: cells.Of(cells.Strong, " "+d.Title)})
	if d.wrong != "" {
		lines = append(lines, cells.Drawn{Line: cells.Of(cells.Warn, " "+d.wrong+": Ctrl-S again sends it as it is")})
	}
	lines = append(lines, cells.Drawn{Line: cells.Line{cells.Rule(w)}})
	for _, l := range d.Area.Lines(w-2, h-len(lines)) {
		lines = append(lines, cells.Drawn{Line: append(cells.Line{cells.Blank(1)}, l...)})
	}
	return lines
}

// A Page shows lines to read.
type Page[M any] struct {
	Title string
	Lines []cells.Drawn
	top   int
}

// Key takes a key.
func (d *Page[M]) Key(name, text string) (func(M) tea.Cmd, bool) {
	step := map[string]int{"j": 1, "down": 1, "k": -1, "up": -1, "pgdown": 10, "pgup": -10, "space": 10, "g": -1 << 20, "G": 1 << 20}
	switch name {
	case "esc", "q", "enter":
		return nil, true
	default:
		d.top = max(0, min(d.top+step[name], len(d.Lines)-1))
	}
	return nil, false
}

// Hints are the keys for the footer.
func (d *Page[M]) Hints() []string { return []string{"Esc close", "↑↓ scroll"} }

// Draw draws w columns and at most h lines.
func (d *Page[M]) Draw(w, h int) (lines []cells.Drawn) {
	lines = append(lines, cells.Drawn{Line: cells.Of(cells.Strong, " "+d.Title)}, cells.Drawn{})
	d.top = max(0, min(d.top, len(d.Lines)-h+2))
	return append(lines, d.Lines[d.top:]...)
}

// hasWords reports whether a text has all words, in any case.
func hasWords(text, words string) bool {
	text = strings.ToLower(text)
	for _, w := range strings.Fields(strings.ToLower(words)) {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
