package tui

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/live/view"
	"mcpc/internal/question"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
	"mcpc/internal/schema"
	"mcpc/internal/tui/cells"
	"mcpc/internal/validate"
)

// A form has fields to fill in, and buttons below them.
type form struct {
	Title   string
	Text    string // the server's description
	Buttons []string
	schema  json.RawMessage
	root    *field // of all fields
	focused int    // the index of a visible field, or after all of these of a button
	top     int    // the first line on the screen
	targets []target
}

// A target is a place of the drawn form that the mouse can click on, in lines and columns of the whole form.
type target struct {
	line, from, to int
	element        int // the index of a field or of a button, as in form.focused
	option         int // the index of an option of the field, or noChoice
}

// A shape is how a field is filled in.
type shape int

const (
	singleShape shape = iota // one value
	objectShape              // members, each a field below it
	listShape                // items, each a field below it
	choiceShape              // one of several schemas, whose field is below it
)

// A field is the state of one value of a form. Which members it uses depends on its shape and its Kind.
type field struct {
	question.Field
	shape    shape
	schema   schema.Schema
	parent   *field // nil for the root
	depth    int
	children []*field
	isGiven  bool            // of an object: it is a part of the value
	extra    jsonraw.Members // members of an object that have no field

	input   input             // the typed text of a Text, Number, Integer or Other
	choice  int               // the index of the chosen option, or noChoice; in Choices, of the option under the cursor
	typed   string            // the letters typed to choose an option
	values  []json.RawMessage // by option
	checked []bool            // by option, of Choices
	err     string            // why the value is invalid; "" if it is not known to be
}

// noChoice is the value of field.choice if no option is chosen.
const noChoice = -1

const (
	// maxFormDepth limits the depth of fields. A deeper value is typed as JSON.
	maxFormDepth = 12
	// maxFormMembers limits the fields of one object. Further members keep the values that they have.
	maxFormMembers = 300
)

// newForm returns a form for a schema. Its fields have the given values, or else the defaults. Without a
// schema the form has no fields.
func newForm(raw, given json.RawMessage, buttons ...string) *form {
	f := &form{schema: raw, Buttons: buttons}
	const required = true
	f.root = newField(schema.Property{Schema: schema.New(raw).Schema(), Required: required}, given, nil)
	if f.root.shape == singleShape || f.root.shape == listShape { // arguments are an object in any case
		f.root.shape = objectShape
		f.root.setMembers(given)
	}
	f.focusFirst()
	return f
}

// newField returns the field of a property with the value given, or else its default, and the fields
// below it.
func newField(p schema.Property, given json.RawMessage, parent *field) *field {
	s := withoutNull(p.Schema)
	q := &field{Field: question.ParseField(p.Name, s.Raw), schema: s, parent: parent, choice: noChoice}
	q.Required = p.Required
	q.Title = firstText(p.Schema.Text("title"), q.Title)
	q.Description = firstText(p.Schema.Text("description"), q.Description)
	value := given
	if value == nil {
		q.Default = p.Schema.First("default")
		if string(q.Default) == "null" { // the same as no value
			q.Default = nil
		}
		value = q.Default
	}
	if parent != nil {
		q.depth = parent.depth + 1
	}
	q.setShape()
	switch q.shape {
	case objectShape:
		q.isGiven = value != nil || q.Required && !s.IsCircular()
		if q.isGiven {
			q.setMembers(value)
		}
	case listShape:
		items, _ := jsonraw.Array(value)
		for _, item := range items {
			q.addItem(item)
		}
	case choiceShape:
		q.chooseAlternative(value)
	default:
		q.setValue(value, given != nil)
	}
	return q
}

// firstText returns the first text that is not "", or "".
func firstText(texts ...string) string {
	i := slices.IndexFunc(texts, func(text string) bool { return text != "" })
	if i < 0 {
		return ""
	}
	return texts[i]
}

// withoutNull returns the alternative of a schema with two alternatives of which the other one is null, as
// generators write for an optional value. It returns any other schema unchanged.
func withoutNull(s schema.Schema) schema.Schema {
	isNull := func(s schema.Schema) bool { return slices.Equal(s.Types(), []string{"null"}) }
	alternatives := s.Alternatives()
	others := slices.DeleteFunc(slices.Clone(alternatives), isNull)
	if len(others) == 1 && len(alternatives) == 2 {
		return others[0]
	}
	return s
}

// setShape sets the shape and the Kind of a field from its schema.
func (q *field) setShape() {
	if q.depth > maxFormDepth {
		q.Kind = question.Other
		q.Options = nil
		return
	}
	if values := q.schema.List("enum"); values != nil && q.Kind != question.Choice {
		q.setOptions(values, nil)
		return
	}
	if value := q.schema.First("const"); value != nil {
		q.setOptions([]json.RawMessage{value}, nil)
		return
	}
	for _, o := range q.Options {
		q.values = append(q.values, jsonraw.Quote(o.Value))
	}
	if q.Options != nil {
		return // a choice of texts
	}
	types := slices.DeleteFunc(slices.Clone(q.schema.Types()), func(t string) bool { return t == "null" })
	alternatives := q.schema.Alternatives()
	isObject := len(q.schema.Properties()) > 0
	if len(types) == 1 && types[0] != "object" {
		isObject = false
	}
	if isObject {
		q.shape = objectShape
		return
	}
	if len(alternatives) > 1 {
		q.setAlternatives(alternatives)
		return
	}
	if len(types) != 1 {
		return
	}
	switch types[0] {
	case "string":
		q.Kind = question.Text
	case "number":
		q.Kind = question.Number
	case "integer":
		q.Kind = question.Integer
	case "boolean":
		q.Kind = question.Boolean
		q.Options = []question.Option{{Value: "true", Title: "yes"}, {Value: "false", Title: "no"}}
		q.values = []json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}
	case "array":
		if _, isUniform := q.schema.Item(); isUniform {
			q.shape = listShape
		}
	}
}

// setOptions makes a field a choice of values. titles may be nil.
func (q *field) setOptions(values []json.RawMessage, titles []string) {
	q.Kind = question.Choice
	q.Options = nil
	q.values = values
	for i, value := range values {
		o := question.Option{Value: jsonraw.TextOrRaw(value)}
		o.Title = o.Value
		if titles != nil {
			o.Title = firstText(titles[i], o.Value)
		}
		q.Options = append(q.Options, o)
	}
}

// setAlternatives makes a field a choice of constants if all alternatives are, else a choice of schemas.
func (q *field) setAlternatives(alternatives []schema.Schema) {
	var constants []json.RawMessage
	var titles []string
	for i, s := range alternatives {
		if value := s.First("const"); value != nil {
			constants = append(constants, value)
		}
		title := firstText(s.Text("title"), strings.Join(s.Types(), " or "), "form "+strconv.Itoa(i+1))
		titles = append(titles, title)
		q.Options = append(q.Options, question.Option{Title: title})
	}
	if len(constants) == len(alternatives) {
		q.setOptions(constants, titles)
		return
	}
	q.shape = choiceShape
}

// setMembers makes the fields of an object's members with the members of value.
func (q *field) setMembers(value json.RawMessage) {
	q.isGiven = true
	q.children = nil
	q.extra = nil
	members, _ := jsonraw.Object(value)
	properties := q.schema.Properties()
	hasField := map[string]bool{}
	for _, p := range properties[:min(len(properties), maxFormMembers)] {
		hasField[p.Name] = true
		q.children = append(q.children, newField(p, members.Value(p.Name), q))
	}
	for _, m := range members {
		if !hasField[m.Name] {
			q.extra = append(q.extra, m)
		}
	}
}

// addItem adds an item to a list.
func (q *field) addItem(value json.RawMessage) {
	item, _ := q.schema.Item()
	const required = true
	q.children = append(q.children, newField(schema.Property{Schema: item, Required: required}, value, q))
}

// chooseAlternative chooses the alternative that value seems to be of. Without a value it chooses the first
// one if the field is required, else none.
func (q *field) chooseAlternative(value json.RawMessage) {
	alternatives := q.schema.Alternatives()
	best := 0
	bestScore := -1
	for i, s := range alternatives {
		if score := likeness(s, value); score > bestScore {
			best = i
			bestScore = score
		}
	}
	if value != nil || q.Required {
		q.setAlternative(best, value)
	}
}

// setAlternative chooses an alternative by its index, or none if it is noChoice.
func (q *field) setAlternative(index int, value json.RawMessage) {
	q.choice = index
	q.children = nil
	if index == noChoice {
		return
	}
	const required = true
	p := schema.Property{Schema: q.schema.Alternatives()[index], Required: required}
	q.children = []*field{newField(p, value, q)}
}

// likeness returns how much of a value a schema declares: -1 if the type differs.
func likeness(s schema.Schema, value json.RawMessage) int {
	members, err := jsonraw.Object(value)
	if err != nil {
		_, isText := jsonraw.Text(value)
		_, notList := jsonraw.Array(value)
		kind := map[bool]string{true: "string"}[isText]
		if value != nil && notList == nil {
			kind = "array"
		}
		if value == nil || kind == "" || slices.Contains(s.Types(), kind) {
			return 0
		}
		return -1
	}
	score := 0
	for _, p := range s.Properties() {
		constant := p.Schema.First("const")
		given := members.Value(p.Name)
		if constant != nil && given != nil && string(jsonraw.Compact(constant)) != string(jsonraw.Compact(given)) {
			return -1
		}
		if given != nil {
			score++
		}
	}
	return score
}

// setValue sets the value of a single field. A given value that the field cannot show is typed as JSON.
func (q *field) setValue(value json.RawMessage, isGiven bool) {
	index := func(v json.RawMessage) int {
		v = jsonraw.Compact(v)
		return slices.IndexFunc(q.values, func(o json.RawMessage) bool { return string(jsonraw.Compact(o)) == string(v) })
	}
	fits := true
	text, isText := jsonraw.Text(value)
	switch q.Kind {
	case question.Boolean, question.Choice:
		q.choice = index(value)
		fits = q.choice >= 0
	case question.Choices:
		q.checked = make([]bool, len(q.Options))
		values, err := jsonraw.Array(value)
		fits = err == nil
		for _, v := range values {
			if i := index(v); i >= 0 {
				q.checked[i] = true
			} else {
				fits = false
			}
		}
	case question.Text:
		fits = isText
		q.input = newInput(text)
	default:
		q.input = newInput(jsonraw.TextOrRaw(value))
	}
	if isGiven && !fits {
		q.Kind = question.Other
	}
	if q.Kind == question.Other {
		q.input = newInput(string(value))
	}
}

// fields returns the fields to show, in order.
func (f *form) fields() []*field {
	if f.root.shape == choiceShape {
		return f.root.appendVisible(nil)
	}
	return f.root.appendVisibleBelow(nil)
}

// appendVisible appends a field and the visible fields below it.
func (q *field) appendVisible(all []*field) []*field { return q.appendVisibleBelow(append(all, q)) }

// appendVisibleBelow appends the visible fields below a field. The members of the object that is the
// alternative of a field are directly below that field.
func (q *field) appendVisibleBelow(all []*field) []*field {
	for _, child := range q.children {
		if q.shape == choiceShape && child.shape == objectShape {
			all = child.appendVisibleBelow(all)
		} else if q.shape != objectShape || q.isGiven {
			all = child.appendVisible(all)
		}
	}
	return all
}

// current returns the focused field, or nil if a button has the focus.
func (f *form) current() *field {
	if all := f.fields(); f.focused < len(all) {
		return all[f.focused]
	}
	return nil
}

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
	case q.input.isSelected:
		return "←→ edit the text, typing replaces it"
	}
	return ""
}

// Content returns the values of the fields. It reports false if a value is missing or invalid, and
// marks these fields. It then selects the last of them.
func (f *form) Content() (content json.RawMessage, ok bool) {
	content, ok = f.root.value()
	if content == nil {
		content = json.RawMessage("{}")
	}
	if !ok {
		f.focused = max(0, slices.IndexFunc(f.fields(), func(q *field) bool { return q.err != "" }))
		return content, false
	}
	// The schema may have more rules than a form knows. A schema that does not compile adds no
	// rules.
	schema, _, err := validate.Compile(f.schema)
	if err != nil {
		return content, true
	}
	findings, _ := schema.Check(content)
	for _, finding := range findings {
		f.markError(finding.Pointer, finding.Text)
		ok = false
	}
	return content, ok
}

// pointer returns the JSON pointer of a field's value.
func (q *field) pointer() string {
	switch {
	case q.parent == nil:
		return ""
	case q.parent.shape == choiceShape:
		return q.parent.pointer()
	case q.parent.shape == listShape:
		return q.parent.pointer() + "/" + strconv.Itoa(slices.Index(q.parent.children, q))
	}
	return jsonraw.Pointer(q.parent.pointer(), q.Name)
}

// markError marks the field of an error and selects it: the field at the pointer or the nearest field
// above it, else the first one.
func (f *form) markError(pointer, text string) {
	all := f.fields()
	if len(all) == 0 {
		return
	}
	index := 0
	length := -1
	for i, q := range all {
		own := q.pointer()
		if len(own) > length && (pointer == own || strings.HasPrefix(pointer, own+"/")) {
			index = i
			length = len(own)
		}
	}
	if all[index].err == "" {
		all[index].err = text
		f.focused = index
	}
}

// givenValues returns the values of the fields that have a valid one, and marks no field.
func (f *form) givenValues() json.RawMessage {
	values := json.RawMessage("{}")
	for _, q := range f.root.children {
		if value, err := q.jsonValue(); err == nil && value != nil && q.shape == singleShape {
			values = jsonraw.With(values, q.Name, value)
		}
	}
	return values
}

// Values returns the values of the fields, valid or not.
func (f *form) Values() json.RawMessage { content, _ := f.Content(); return content }

// value returns the JSON value of a field with the fields below it, or nil if it is empty. It reports
// false if a value is missing or invalid, and marks these fields.
func (q *field) value() (value json.RawMessage, ok bool) {
	q.err = ""
	ok = true
	switch q.shape {
	case objectShape:
		if !q.isGiven {
			return nil, true
		}
		value = json.RawMessage("{}")
		for _, child := range q.children {
			member, isValid := child.value()
			if member != nil {
				value = jsonraw.With(value, child.Name, member)
			} else if child.Required && child.err == "" {
				child.err = "is required"
				isValid = false
			}
			ok = ok && isValid
		}
		return jsonraw.Append(value, q.extra...), ok
	case listShape:
		items := []json.RawMessage{}
		for _, child := range q.children {
			item, isValid := child.value()
			if item == nil && child.Kind == question.Text {
				item = json.RawMessage(`""`)
			}
			if item != nil {
				items = append(items, item)
			}
			ok = ok && isValid
		}
		if len(items) == 0 && !q.Required {
			return nil, ok
		}
		return jsonraw.ListOf(items, func(item json.RawMessage) json.RawMessage { return item }), ok
	case choiceShape:
		if q.choice == noChoice {
			return nil, true
		}
		return q.children[0].value()
	}
	value, err := q.jsonValue()
	if err != nil {
		q.err = err.Error()
		return nil, false
	}
	return value, true
}

// jsonValue returns the JSON value of a single field, or nil if it is empty. It returns an error for a
// typed text that is not of the field's kind.
func (q *field) jsonValue() (json.RawMessage, error) {
	switch q.Kind {
	case question.Boolean, question.Choice:
		if q.choice < 0 {
			return nil, nil
		}
		return q.values[q.choice], nil
	case question.Choices:
		var chosen []json.RawMessage
		for i := range q.Options {
			if q.checked[i] {
				chosen = append(chosen, q.values[i])
			}
		}
		if chosen == nil && !q.Required { // else nothing is an answer, too: the empty list
			return nil, nil
		}
		return jsonraw.ListOf(chosen, func(v json.RawMessage) json.RawMessage { return v }), nil
	}
	text := q.input.Text()
	if text == "" {
		return nil, nil
	}
	if q.Kind == question.Other && jsonraw.Valid([]byte(text)) != nil {
		return nil, errors.New("is not JSON")
	}
	return q.ParseTyped(text, false) // options are not numbered here
}

// Lines draws the form in w columns and at most h lines, and keeps the focused field or button
// visible. hasFocus is set if the form has the keys.
func (f *form) Lines(w, h int, hasFocus bool) []cells.Line {
	lines := []cells.Line{cells.TextLine(cells.Strong, f.Title)}
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
		last := len(shown) - 1
		shown[last] = cells.Justify(shown[last], cells.TextLine(cells.Faint, "↓ "+strconv.Itoa(below)+" more"), w)
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
		value = cells.Line{q.drawHeading(active, q.describeMembers())}
	case q.shape == listShape:
		value = cells.Line{q.drawHeading(active, countNoun(len(q.children), "item", "items")+"; type to add one")}
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
func (q *field) describeMembers() string {
	if !q.isGiven {
		return "not given; type to add it"
	}
	if q.Required {
		return ""
	}
	return "space removes it"
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

// questionForm returns the form for a question. For a page it only shows the address and never
// opens it. A request without a form gets one field: for the text of a model, or for the JSON of the result.
func questionForm(q *view.Question) *form {
	schema := q.Schema
	text := q.Message
	var given json.RawMessage
	if q.URL != "" {
		schema = nil
		host := q.URL
		if u, err := url.Parse(q.URL); err == nil && u.Host != "" {
			host = u.Host
		}
		text += "\nasks to open a page of " + host + ", which mcpc does not open:\n" + q.URL
	} else if len(schema) == 0 && q.Method != "elicitation/create" {
		text += "\n" + string(q.Params)
		schema = json.RawMessage(`{"type":"object","required":["result"],"properties":{"result":` +
			`{"type":"object","title":"result","description":"the result to send"}}}`)
		given = json.RawMessage(`{"result":{"roots":[]}}`)
		if q.Method == "sampling/createMessage" {
			schema = json.RawMessage(`{"type":"object","required":["result"],"properties":{"result":{"type":"string",` +
				`"title":"answer","minLength":1,"description":"the text of the model, or the JSON of the whole result"}}}`)
			given = nil
		}
	}
	f := newForm(schema, given, acceptButton, declineButton, cancelButton)
	f.Title = q.Server + " asks: " + q.Method
	f.Text = text
	return f
}

// indented returns JSON with one member per line in about w columns. Other text is returned
// unchanged.
func indented(text string, w int) string {
	if checkJSON(text) != "" {
		return text
	}
	return strings.TrimSpace(string(render.IndentJSON(term.Style{Width: w}, []byte(text))))
}

// checkJSON returns an error text if text is not JSON, or else "".
func checkJSON(text string) string {
	if err := jsonraw.Valid([]byte(text)); err != nil {
		return "not JSON: " + err.Error()
	}
	return ""
}
