package cells

import (
	"strings"
)

// phaseMarks maps the phases of a waterfall to their patterns, which differ even without colours.
var phaseMarks = map[string]struct {
	mark string
	role Role
}{
	"connect": {"·", Faint}, "tls": {"·", Faint}, "wait": {"▒", Accent}, "first": {"▓", Accent},
	"events": {"█", Accent}, "read": {"█", Accent}, "person": {"?", Warn}, "held": {"‖", Bad},
}

// A BarPart is a piece of a bar: a phase and its size.
type BarPart struct {
	Name string
	Size float64
}

// PhaseMark returns the pattern of a phase.
func PhaseMark(phase string) Span {
	m, ok := phaseMarks[phase]
	if !ok {
		return Span{"█", Accent}
	}
	return Span{m.mark, m.role}
}

// Bar draws parts in width columns. A full bar represents whole units. Parts that are too small for
// a column are drawn together as a thin line.
func Bar(parts []BarPart, whole float64, width int) Line {
	if whole <= 0 || width <= 0 {
		return Line{Blank(width)}
	}
	at := 0.0 // the end of the part, in units
	used := 0
	var line Line
	for _, p := range parts {
		at += p.Size
		to := min(int(at/whole*float64(width)+0.5), width)
		if n := to - used; n > 0 {
			m := PhaseMark(p.Name)
			line = append(line, Span{strings.Repeat(m.text, n), m.role})
			used = to
		}
	}
	if used == 0 {
		line = append(line, Span{"▏", Accent})
		used = 1
	}
	return append(line, Blank(width-used))
}
