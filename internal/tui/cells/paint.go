// Package paint holds the styles of the terminal view: roles of text, each with its SGR
// parameters. Only the terminal's own sixteen colours are used, so that the user's palette
// decides; no state is shown by colour alone.
package cells

// A Role says what a text is, and so how it is drawn.
type Role int

// The roles. Alarm is the bar of what waits for the user.
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

// A Palette gives the SGR parameters of roles. The zero Palette has no colours.
type Palette struct {
	Color bool
	// Shade is the background of the selected line as SGR parameters, where the background
	// of the terminal is known; "" is reverse video.
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

// For returns the palette for a terminal with a dark or light background.
func (p Palette) For(dark bool) Palette {
	if p.Color {
		p.Shade = "48;5;253"
		if dark {
			p.Shade = "48;5;237"
		}
	}
	return p
}

// SGR returns the parameters of a role, "" for none; selected is set in the selected line.
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
