package tui

import (
	"slices"
	"strings"

	"mcpc/internal/question"
)

// Key handles a key: it moves the focus among the fields and the buttons, or passes the key to the
// focused field. It returns the pressed button, or "".
func (f *form) Key(name, text string) string {
	all := f.fields()
	switch name {
	case "tab", "down":
		f.moveFocus(1)
	case "shift+tab", "up":
		f.moveFocus(-1)
	case "ctrl+s":
		return f.Buttons[0]
	case "ctrl+d":
		f.removeItem()
	case "ctrl+a":
		f.addAnotherItem(name, text)
	case "enter", "space":
		if f.focused >= len(all) {
			return f.Buttons[f.focused-len(all)]
		}
		if name == "space" {
			f.typeKey(name, text)
		} else {
			f.moveFocus(1)
		}
	default:
		if f.focused < len(all) {
			f.typeKey(name, text)
		} else if step := map[string]int{"left": -1, "right": 1}[name]; step != 0 { // between the buttons
			f.focused = max(len(all), min(f.focused+step, len(all)+len(f.Buttons)-1))
		}
	}
	return ""
}

// typeKey passes a key to the focused field. A text that is typed at the heading of a list or of an optional
// object adds an item or the object, and is typed there.
func (f *form) typeKey(name, text string) {
	q := f.current()
	isHeading := q.shape == listShape || q.shape == objectShape && !q.isGiven
	if isHeading && text != "" && name != "space" {
		f.typeKey("space", " ")
		if f.current() != q {
			f.typeKey(name, text)
		}
		return
	}
	n := len(q.children)
	wasGiven := q.isGiven
	q.key(name, text)
	isAdded := len(q.children) > n || q.isGiven && !wasGiven
	if name == "space" && isAdded && len(q.children) > 0 {
		f.followNewItem(q)
	}
}

// moveFocus moves the focus by step fields or buttons, after the last of which the first one follows, and
// selects the text of the field. It passes over required objects, whose heading takes no keys.
func (f *form) moveFocus(step int) {
	all := f.fields()
	n := len(all) + max(len(f.Buttons), 1)
	for range n {
		f.focused = (f.focused + step + n) % n
		if f.focused >= len(all) {
			return // a button
		}
		q := all[f.focused]
		if q.shape != objectShape || !q.Required {
			q.input.selectAll()
			q.typed = ""
			return
		}
	}
}

// focusFirst moves the focus to the first field, or the first button without fields.
func (f *form) focusFirst() {
	f.focused = -1
	f.moveFocus(1)
}

// focusPointer moves the focus to the field with a JSON pointer, if there is one.
func (f *form) focusPointer(pointer string) {
	i := slices.IndexFunc(f.fields(), func(q *field) bool { return q.pointer() == pointer })
	if i >= 0 {
		f.focused = i
	}
}

// hasButtonFocus reports whether a button has the focus.
func (f *form) hasButtonFocus() bool { return f.current() == nil }

// followNewItem moves the focus to the item that was added to a list, or to the first member of an object.
func (f *form) followNewItem(q *field) {
	added := q.children[0]
	if q.shape == listShape {
		added = q.children[len(q.children)-1]
	}
	f.focused = slices.Index(f.fields(), added) - 1
	f.moveFocus(1) // an object takes no keys, but its members do
}

// currentItem returns the list item that the focused field is in, or nil.
func (f *form) currentItem() *field {
	for q := f.current(); q != nil && q.parent != nil; q = q.parent {
		if q.parent.shape == listShape {
			return q
		}
	}
	return nil
}

// addAnotherItem adds an item to the list that the focused field is in. Outside of a list the key is
// passed to the field.
func (f *form) addAnotherItem(name, text string) {
	item := f.currentItem()
	if item == nil && f.current() != nil {
		f.typeKey(name, text)
	}
	if item != nil {
		item.parent.addItem(nil)
		f.followNewItem(item.parent)
	}
}

// removeItem removes the list item that the focused field is in.
func (f *form) removeItem() {
	item := f.currentItem()
	if item == nil {
		return
	}
	list := item.parent
	list.children = slices.DeleteFunc(list.children, func(other *field) bool { return other == item })
	f.focused = slices.Index(f.fields(), list)
}

// Paste types text into the current field.
func (f *form) Paste(text string) {
	if f.current() != nil {
		f.typeKey("", text)
	}
}

// key handles a key in the field, and removes its error. In a choice the arrows choose an option, and so
// does its first letter; in Choices they move, and space checks the option. Space also adds an object, or an
// item to a list.
func (q *field) key(name, text string) {
	q.err = ""
	step := map[string]int{"right": 1, "left": -1, "space": 1}[name]
	isRemoval := name == "backspace" || name == "delete"
	switch q.shape {
	case objectShape:
		if name == "space" && !q.isGiven {
			q.setMembers(q.Default)
		} else if isRemoval || name == "space" {
			q.isGiven = q.Required
		}
		return
	case listShape:
		if name == "space" {
			q.addItem(nil)
		}
		return
	case choiceShape:
		if i := q.optionFor(step, text); i != q.choice {
			q.setAlternative(i, nil)
		} else if isRemoval && !q.Required {
			q.setAlternative(noChoice, nil)
		}
		return
	}
	switch q.Kind {
	case question.Boolean, question.Choice:
		q.choice = q.optionFor(step, text)
		if isRemoval {
			q.choice = noChoice
		}
	case question.Choices:
		if len(q.Options) == 0 {
			return
		}
		q.choice = max(q.choice, 0)
		if name == "space" {
			q.checked[q.choice] = !q.checked[q.choice]
			return
		}
		q.choice = q.optionFor(step, text)
	default:
		q.input.Key(name, text)
	}
}

// optionFor returns the index of the option that is step options after the chosen one, or for step 0 the
// option that begins with the letters typed so far. If there is none, the typed letter begins a new word, and
// the next option with it is returned, or else q.choice.
func (q *field) optionFor(step int, typed string) int {
	n := len(q.Options)
	if n == 0 {
		return noChoice
	}
	if step != 0 {
		q.typed = ""
		if q.choice < 0 && step < 0 { // to the left of no choice is the last option
			return n - 1
		}
		return (q.choice + step + n) % n
	}
	if typed == "" {
		return q.choice
	}
	begins := func(i int) bool {
		return strings.HasPrefix(strings.ToLower(q.Options[i].Title), strings.ToLower(q.typed))
	}
	q.typed += typed
	for i := range n {
		if current := (max(q.choice, 0) + i) % n; begins(current) { // the chosen one if it still fits
			return current
		}
	}
	q.typed = typed
	for i := range n {
		if next := (q.choice + 1 + i) % n; begins(next) {
			return next
		}
	}
	return q.choice
}

// keyHint returns the keys of a field that are not those of a text, for the footer; "" for a text.
func (q *field) keyHint() string {
	switch {
	case q.shape == objectShape && q.isGiven:
		return "Space remove it"
	case q.shape == objectShape:
		return "Space add it, or type"
	case q.shape == listShape:
		return "Space add an item, or type"
	case q.shape == singleShape && q.Kind == question.Choices:
		return "←→ option, Space checks it"
	case q.shape == singleShape && q.Kind == question.Boolean:
		return "y yes, n no"
	case q.shape == choiceShape || q.Kind == question.Choice:
		return "←→ choose, or type its name"
	}
	return ""
}
