package tui

import (
	"encoding/json"
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
	isGiven  bool // of an object: it is a part of the value
	isOthers bool // it has the members of an object that have no field, as one JSON object

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
	others := json.RawMessage("{}")
	members, _ := jsonraw.Object(value)
	properties := q.schema.Properties()
	hasField := map[string]bool{}
	for _, p := range properties[:min(len(properties), maxFormMembers)] {
		hasField[p.Name] = true
		q.children = append(q.children, newField(p, members.Value(p.Name), q))
	}
	for _, m := range members {
		if !hasField[m.Name] {
			others = jsonraw.Append(others, m)
		}
	}
	if string(others) != "{}" {
		q.addOthers(others)
	}
}

// addOthers adds a field with the members of an object that have no field.
func (q *field) addOthers(members json.RawMessage) {
	p := schema.Property{Name: othersName, Schema: schema.New(nil).Schema()}
	others := newField(p, members, q)
	others.isOthers = true
	others.Description = "not in the schema"
	q.children = append(q.children, others)
}

// othersName is the name of the field with the members of an object that have no field.
const othersName = "other members"

// dropFormer removes the members that have no field, but had one in a former form, as after a change of the
// schema. It returns their names.
func (q *field) dropFormer(former *field) []string {
	var dropped []string
	for _, child := range q.children {
		had := slices.IndexFunc(former.children, func(c *field) bool { return c.Name == child.Name })
		if had >= 0 && !child.isOthers && child.shape == objectShape {
			dropped = append(dropped, child.dropFormer(former.children[had])...)
		}
	}
	last := len(q.children) - 1
	if last < 0 || !q.children[last].isOthers {
		return dropped
	}
	kept := json.RawMessage("{}")
	others, _ := q.children[last].value()
	members, _ := jsonraw.Object(others)
	for _, m := range members {
		if slices.ContainsFunc(former.children, func(c *field) bool { return c.Name == m.Name && !c.isOthers }) {
			dropped = append(dropped, m.Name)
		} else {
			kept = jsonraw.Append(kept, m)
		}
	}
	q.children = q.children[:last]
	if string(kept) != "{}" {
		q.addOthers(kept)
	}
	return dropped
}

// resetMisfits gives fields whose value is not of the type of their schema the input of that type, without the
// value unless it is a text. It returns their names.
func (q *field) resetMisfits() []string {
	var names []string
	for i, child := range q.children {
		names = append(names, child.resetMisfits()...)
		if child.shape != singleShape || child.Kind != question.Other || child.isOthers {
			continue
		}
		fresh := newField(schema.Property{Name: child.Name, Schema: child.schema, Required: child.Required}, nil, q)
		if fresh.Kind == question.Other && fresh.shape == singleShape {
			continue // its schema has no type
		}
		if fresh.Kind == question.Text {
			fresh.input = newInput(jsonraw.TextOrRaw(json.RawMessage(child.input.Text())))
		}
		q.children[i] = fresh
		names = append(names, child.Name)
	}
	return names
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
