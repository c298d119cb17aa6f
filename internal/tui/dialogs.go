package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"mcpc/internal/tui/cells"
	"mcpc/internal/tui/paint"
	"mcpc/internal/tui/panel"
)

// A choice is an entry of a menu.
type choice struct {
	key  string // the letter
	text string
	note string
	run  func(*model) tea.Cmd
}

// A menu lets the user choose by letter, or by arrows and Enter. With search it takes words
// that its entries must have.
type menu struct {
	title   string
	head    []cells.Line
	choices []choice
	sel     int
	top     int
	search  *panel.Input
	loading bool
}

func (d *menu) shown() (all []choice) {
	if d.search == nil || d.search.Text() == "" {
		return d.choices
	}
	for _, c := range d.choices {
		if hasWords(c.key+" "+c.text+" "+c.note, d.search.Text()) {
			all = append(all, c)
		}
	}
	return all
}

func (d *menu) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	all := d.shown()
	if i := slices.IndexFunc(all, func(c choice) bool { return c.key == name && c.run != nil }); i >= 0 && d.search == nil && !d.loading {
		d.sel, name = i, "enter"
	}
	switch {
	case name == "esc" || name == "q" && d.search == nil:
		m.dialog = nil
		return nil
	case d.loading:
		return nil // keys wait for what they are about
	case name == "down" || name == "j" && d.search == nil:
		d.sel = min(d.sel+1, len(all)-1)
	case name == "up" || name == "k" && d.search == nil:
		d.sel = max(d.sel-1, 0)
	case name == "pgdown":
		d.sel = min(d.sel+10, len(all)-1)
	case name == "pgup":
		d.sel = max(d.sel-10, 0)
	case name == "enter":
		if d.sel >= 0 && d.sel < len(all) && all[d.sel].run != nil {
			m.dialog = nil
			return all[d.sel].run(m)
		}
	case d.search != nil:
		d.search.Key(name, k.Text)
		d.sel = 0
	}
	return nil
}

func (d *menu) draw(m *model, w, h int) (lines []drawn) {
	lines = append(lines, drawn{line: cells.Of(paint.Strong, " "+d.title)})
	for _, l := range d.head {
		lines = append(lines, drawn{line: append(cells.Line{cells.Blank(1)}, l...)})
	}
	if d.search != nil {
		lines = append(lines, drawn{line: append(cells.Of(paint.Faint, " / "), d.search.Line(w-4, true, -1)...)})
	}
	lines = append(lines, drawn{})
	all := d.shown()
	wide, keys := 0, 1
	for _, c := range d.choices {
		wide = max(wide, cells.Of(paint.Plain, c.text).Width())
		keys = max(keys, cells.Of(paint.Plain, c.key).Width())
	}
	wide = min(wide, w*3/5)
	room := max(1, h-len(lines))
	d.top = max(0, min(d.top, d.sel))
	if d.sel >= d.top+room {
		d.top = d.sel - room + 1
	}
	for i := d.top; i < min(d.top+room, len(all)); i++ {
		c := all[i]
		line := cells.Line{cells.Blank(1), cells.Fit(paint.Strong, c.key, keys), cells.Blank(2),
			cells.Fit(paint.Plain, c.text, wide), cells.Blank(2), cells.Text(paint.Faint, c.note)}
		lines = append(lines, drawn{line: line, selected: i == d.sel})
	}
	return lines
}

func (d *menu) paste(text string) {
	if d.search != nil {
		d.search.Type(text)
	}
}

// A prompt takes one line.
type prompt struct {
	title string
	line  panel.Input
	run   func(*model, string) tea.Cmd
}

// askLine opens a prompt.
func askLine(m *model, title, text string, run func(*model, string) tea.Cmd) tea.Cmd {
	m.dialog = &prompt{title, panel.NewInput(text), run}
	return nil
}

func (d *prompt) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		m.dialog = nil
	case "enter":
		m.dialog = nil
		return d.run(m, d.line.Text())
	default:
		d.line.Key(k.String(), k.Text)
	}
	return nil
}

func (d *prompt) paste(text string) { d.line.Type(text) }

func (d *prompt) draw(m *model, w, h int) []drawn {
	return []drawn{{line: cells.Of(paint.Strong, " "+d.title)}, {}, {line: append(cells.Of(paint.Accent, " › "), d.line.Line(w-4, true, -1)...)}}
}

// An editor edits a text of several lines; check returns what is wrong with it, which the user
// may send after having seen it once.
type editor struct {
	title string
	area  panel.Area
	check func(text string) string
	wrong string
	run   func(*model, string) tea.Cmd
}

func (d *editor) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		m.dialog = nil
		return m.say("nothing was sent")
	case "ctrl+s":
		text := d.area.Text()
		if wrong := d.check(text); wrong != "" && wrong != d.wrong {
			d.wrong = wrong
			return nil
		}
		m.dialog = nil
		return d.run(m, text)
	}
	d.area.Key(k.String(), k.Text)
	return nil
}

func (d *editor) paste(text string) { d.area.Type(text) }

func (d *editor) draw(m *model, w, h int) (lines []drawn) {
	lines = append(lines, drawn{line: cells.Between(cells.Of(paint.Strong, " "+d.title), cells.Of(paint.Faint, "Ctrl-S send · Esc leave "), w)})
	if d.wrong != "" {
		lines = append(lines, drawn{line: cells.Of(paint.Warn, " "+d.wrong+": Ctrl-S again sends it as it is")})
	}
	lines = append(lines, drawn{line: cells.Line{cells.Rule(w)}})
	for _, l := range d.area.Lines(w-2, h-len(lines)) {
		lines = append(lines, drawn{line: append(cells.Line{cells.Blank(1)}, l...)})
	}
	return lines
}

// A page shows lines to read.
type page struct {
	title string
	lines []drawn
	top   int
}

func (d *page) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	step := map[string]int{"j": 1, "down": 1, "k": -1, "up": -1, "pgdown": 10, "pgup": -10, "space": 10, "g": -1 << 20, "G": 1 << 20}
	switch name := k.String(); name {
	case "esc", "q", "enter":
		m.dialog = nil
	default:
		d.top = max(0, min(d.top+step[name], len(d.lines)-1))
	}
	return nil
}

func (d *page) draw(m *model, w, h int) (lines []drawn) {
	lines = append(lines, drawn{line: cells.Of(paint.Strong, " "+d.title)}, drawn{})
	d.top = max(0, min(d.top, len(d.lines)-h+2))
	return append(lines, d.lines[d.top:]...)
}
