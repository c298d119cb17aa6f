package cells

// The styles use only the sixteen colours of the terminal, so that the user's palette applies. No
// state is shown by colour alone.

// A Role is the meaning of a text, which determines its style.
type Role int

// The roles. Alarm is for the bar of questions and held messages.
const (
	Plain Role = iota
	Strong
	Faint
	Good
	Warn
	Bad
	Accent
	Cursor
	Alarm
)

// A Palette maps roles to SGR parameters. The zero Palette has no colours.
type Palette struct {
	Color bool
	// Shade is the background of the selected line as SGR parameters. It is empty, for reverse
	// video, if the background of the terminal is unknown.
	Shade string
}

var coloured = [...]string{
	Strong: "1",
	Faint:  "2",
	Good:   "32",
	Warn:   "33",
	Bad:    "31",
	Accent: "36",
	Cursor: "7",
	Alarm:  "1;7;31",
}

var plain = [...]string{Strong: "1", Warn: "1", Bad: "1", Cursor: "7", Alarm: "1;7"}

// ForBackground returns the palette for a terminal with a dark or light background.
func (p Palette) ForBackground(dark bool) Palette {
	if p.Color {
		p.Shade = "48;5;253"
		if dark {
			p.Shade = "48;5;237"
		}
	}
	return p
}

// SGR returns the SGR parameters of a role, possibly "". selected is true for text in the selected
// line.
func (p Palette) SGR(r Role, selected bool) string {
	table := plain[:]
	if p.Color {
		table = coloured[:]
	}
	code := ""
	if int(r) < len(table) {
		code = table[r]
	}
	if !selected {
		return code
	}
	mark := p.Shade
	if mark == "" {
		mark = "7"
		if r == Faint || r == Good || r == Warn || r == Bad || r == Accent {
			code = "" // colours in reverse video are hard to read
		}
		if r == Cursor {
			return "" // the cursor shows as the opposite of its line
		}
	}
	if code == "" {
		return mark
	}
	return mark + ";" + code
}
