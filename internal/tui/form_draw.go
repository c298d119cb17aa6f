package tui

import (
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/question"
	"mcpc/internal/render/term"
	"mcpc/internal/tui/cells"
)

// A target is a place of the drawn form that the mouse can click on, in lines and columns of the whole form.
type target struct {
	line, from, to int
	element        int // the index of a field or of a button, as in form.focused
	option         int // the index of an option of the field, or noChoice
}

// Lines draws the form in w columns and at most h lines, and keeps the focused field or button
// visible. hasFocus is set if the form has the keys.
func (f *form) Lines(w, h int, hasFocus bool) []cells.Line {
	lines := cells.Wrap(cells.Strong, f.Title, w)
	if f.Text != "" {
		lines = append(lines, cells.Wrap(cells.Plain, f.Text, w)...)
	}
	all := f.fields()
	labelWidth := 6 // of all names, so that the values are below each other
	for _, q := range all {
		labelWidth = min(max(labelWidth, cells.TextLine(cells.Plain, q.name()).Width()+2), w/3)
	}
	f.targets = nil
	focusedLine := 0
	for i, q := range all {
		if i == f.focused {
			focusedLine = len(lines)
		}
		f.targets = append(f.targets, target{line: len(lines), to: w, element: i, option: noChoice})
		if q.hasOptions() {
			room := max(w-labelWidth-1, minValueWidth)
			f.addOptionTargets(q, len(lines), labelWidth+1, room, i)
		}
		lines = append(lines, q.draw(w, labelWidth, hasFocus && i == f.focused)...)
	}
	buttons := cells.Line{cells.Blank(labelWidth + 1)}
	for i, b := range f.Buttons {
		button := cells.Text(cells.Strong, "[ "+b+" ]")
		if hasFocus && f.focused == len(all)+i {
			button = cells.Text(cells.Cursor, "[ "+b+" ]")
		}
		width := (cells.Line{button}).Width()
		if i > 0 && buttons.Width()+width > w {
			lines = append(lines, buttons)
			buttons = cells.Line{cells.Blank(labelWidth + 1)}
		}
		if f.focused == len(all)+i {
			focusedLine = len(lines)
		}
		from := buttons.Width()
		place := target{line: len(lines), from: from, to: from + width, element: len(all) + i, option: noChoice}
		f.targets = append(f.targets, place)
		buttons = append(buttons, button, cells.Blank(2))
	}
	lines = append(lines, buttons)
	f.top = max(0, min(f.top, focusedLine, len(lines)-h))
	if focusedLine >= f.top+h-1 { // one line for the error or the hint of the field
		f.top = max(0, min(focusedLine-h+2, len(lines)-h))
	}
	shown := slices.Clone(lines[f.top:min(f.top+h, len(lines))])
	if below := len(lines) - f.top - len(shown); below > 0 && len(shown) > 1 {
		sign := cells.TextLine(cells.Strong, " ↓ "+strconv.Itoa(below)+" more")
		last := len(shown) - 1
		shown[last] = append(shown[last].FitTo(w-sign.Width()), sign...)
	}
	return shown
}

// addOptionTargets adds the options of a field that are drawn in a line from a column on.
func (f *form) addOptionTargets(q *field, line, column, room, element int) {
	first, options := q.visibleOptions(room)
	if first > 0 {
		column += optionsCut.Width()
	}
	for i, o := range options {
		width := q.optionWidth(o)
		place := target{line: line, from: column, to: column + width, element: element, option: first + i}
		f.targets = append(f.targets, place)
		column += width + optionGap
	}
}

// Click handles a click at a position of the drawn form. It focuses a field, chooses an option, adds to a
// list, or returns the pressed button.
func (f *form) Click(x, y int) string {
	line := f.top + y
	for _, t := range slices.Backward(f.targets) { // the options of a field are after the field
		if t.line != line || x < t.from || x >= t.to {
			continue
		}
		all := f.fields()
		if t.element >= len(all) {
			f.focused = t.element
			return f.Buttons[t.element-len(all)]
		}
		q := all[t.element]
		if q.shape == objectShape && q.Required {
			return ""
		}
		f.focused = t.element - 1
		f.moveFocus(1)
		switch {
		case q.shape == listShape || q.shape == objectShape && !q.isGiven:
			f.typeKey("space", " ")
		case t.option != noChoice:
			q.clickOption(t.option)
		}
		return ""
	}
	return ""
}

// name returns the name of a field as drawn, indented by its depth.
func (q *field) name() string {
	name := q.Label()
	if q.parent == nil {
		name = "arguments"
	} else if q.parent.shape == listShape {
		name = strings.TrimSpace(q.parent.Label() + " " + strconv.Itoa(slices.Index(q.parent.children, q)+1))
	} else if q.parent.shape == choiceShape {
		name = "value"
	}
	if q.Required && q.shape != choiceShape {
		name += " *"
	}
	return strings.Repeat("  ", max(q.depth-1, 0)) + name
}

// draw draws a field: its name in labelWidth columns, its value, and its error or hint.
func (q *field) draw(w, labelWidth int, active bool) []cells.Line {
	label := cells.Right(cells.Accent, q.name(), labelWidth)
	if q.root().isNested() { // a right margin would hide the depth
		label = cells.Fit(cells.Accent, q.name(), labelWidth)
	}
	room := max(w-labelWidth-1, minValueWidth)
	hint := strings.TrimSpace(strings.Join([]string{q.Limits(), q.Description}, "  "))
	if q.shape == singleShape && q.Kind == question.Other {
		hint = strings.TrimSpace("JSON  " + hint)
	}
	if q.IsSecret() {
		hint = "looks like a secret: servers must not ask for these in a form  " + hint
	}
	var value cells.Line
	isText := false
	switch {
	case q.shape == objectShape:
		value = cells.Line{q.drawHeading(active, q.describeMembers(active))}
	case q.shape == listShape:
		value = cells.Line{q.drawHeading(active, countNoun(len(q.children), "item", "items")+"; type or space to add one")}
	case q.hasOptions():
		value = q.drawOptions(active, room)
	default:
		isText = true
		value = q.input.Line(room, active, noError)
	}
	line := append(cells.Line{label, cells.Blank(1)}, value...)
	if isFocused := active || q.err != ""; !isFocused && hint != "" { // after the value, in the room that is left
		if isText {
			value = cells.TextLine(cells.Plain, q.input.Text())
			line = append(cells.Line{label, cells.Blank(1)}, value...)
		}
		line = append(line, cells.Text(cells.Faint, "  "+hint)).FitTo(w)
	}
	lines := []cells.Line{line}
	if q.err != "" {
		lines = append(lines, cells.Line{cells.Blank(labelWidth + 1), cells.Fit(cells.Bad, "! "+q.err, room)})
	} else if active && hint != "" {
		lines = append(lines, cells.Line{cells.Blank(labelWidth + 1), cells.Fit(cells.Faint, hint, room)})
	}
	return lines
}

// root returns the field that has all fields of the form below it.
func (q *field) root() *field {
	for q.parent != nil {
		q = q.parent
	}
	return q
}

// isNested reports whether a field has fields below the fields below it.
func (q *field) isNested() bool {
	return slices.ContainsFunc(q.children, func(child *field) bool { return child.shape != singleShape })
}

// describeMembers returns what the heading of an object says.
func (q *field) describeMembers(active bool) string {
	if !q.isGiven {
		var names []string
		for _, p := range q.schema.Properties() {
			names = append(names, p.Name)
		}
		return "not given (" + term.Shorten(strings.Join(names, ", "), maxMemberNames) + "); space adds it"
	}
	if active && !q.Required {
		return "space removes it"
	}
	return ""
}

// drawHeading draws the text of a field that has fields below it.
func (q *field) drawHeading(active bool, text string) cells.Span {
	if active {
		return cells.Text(cells.Cursor, firstText(text, " "))
	}
	return cells.Text(cells.Faint, text)
}

// minValueWidth is the smallest width of a value.
const minValueWidth = 8

// maxMemberNames is the length of the names of members in the heading of an object that is not given.
const maxMemberNames = 24

// optionGap is the number of columns between options.
const optionGap = 2

// optionsCut is the sign for options that are left out.
var optionsCut = cells.TextLine(cells.Faint, "‹ ")

// hasOptions reports whether the field is drawn as options.
func (q *field) hasOptions() bool {
	isChoice := q.Kind == question.Boolean || q.Kind == question.Choice || q.Kind == question.Choices
	return q.shape == choiceShape || q.shape == singleShape && isChoice
}

// optionWidth returns the width of an option as drawn.
func (q *field) optionWidth(o question.Option) int {
	return cells.TextLine(cells.Plain, "( ) "+o.Title).Width()
}

// visibleOptions returns the options that are drawn in room columns, and the index of the first one. If not
// all fit, it leaves out the first ones, so that the option under the cursor is visible.
func (q *field) visibleOptions(room int) (first int, options []question.Option) {
	first = max(q.choice, 0)
	if len(q.Options) == 0 {
		return 0, nil
	}
	for used := optionsCut.Width() + q.optionWidth(q.Options[first]); first > 0; first-- {
		used += q.optionWidth(q.Options[first-1]) + optionGap
		if used > room {
			break
		}
	}
	return first, q.Options[first:]
}

// drawOptions draws the choices of the field in room columns.
func (q *field) drawOptions(active bool, room int) cells.Line {
	first, options := q.visibleOptions(room)
	var line cells.Line
	if first > 0 {
		line = append(line, optionsCut...)
	}
	for n, o := range options {
		i := first + n
		box := "( ) "
		if q.shape == singleShape && q.Kind == question.Choices {
			box = "[ ] "
			if q.checked[i] {
				box = "[x] "
			}
		} else if i == q.choice {
			box = "(•) "
		}
		role := cells.Plain
		if active && i == max(q.choice, 0) {
			role = cells.Cursor
		}
		line = append(line, cells.Text(role, box+o.Title), cells.Blank(optionGap))
	}
	return line
}

// clickOption chooses an option, or in Choices checks it or takes it back.
func (q *field) clickOption(index int) {
	switch {
	case q.shape == choiceShape:
		q.setAlternative(index, nil)
	case q.Kind == question.Choices:
		q.checked[index] = !q.checked[index]
		q.choice = index
	default:
		q.choice = index
	}
}
