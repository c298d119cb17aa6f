package diff

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
)

// compareDefinition compares two definitions of one subject, member by member.
func (c *comparison) compareDefinition(s Subject, a, b entry) {
	a.raw = withoutNulls(a.raw)
	b.raw = withoutNulls(b.raw)
	if isSameJSON(a.raw, b.raw) {
		return
	}
	c.eachChangedMember(a.raw, b.raw, func(name string, was, is json.RawMessage) {
		pointer := jsonraw.Pointer("", name)
		list := s.Kind == Resource || s.Kind == Template
		switch {
		case name == identifyingMember(s.Kind) && a.name != b.name: // a rename says it
		case name == "description":
			c.compareText(s, "description", pointer, was, is, "")
		case name == "title" || name == "name" && list:
			c.add(s, "title-changed", pointer, was, is, detail{})
		case name == "icons":
			c.add(s, "icons-changed", pointer, was, is, detail{})
		case name == "_meta":
			c.add(s, "meta-changed", pointer, was, is, detail{})
		case name == "mimeType" && list:
			c.add(s, "mime-type-changed", pointer, was, is, detail{})
		case (name == "size" || name == "annotations") && list:
			c.add(s, "resource-note-changed", pointer, was, is, detail{note: name})
		case name == "inputSchema" && s.Kind == Tool:
			c.compareInputSchema(s, was, is)
		case name == "outputSchema" && s.Kind == Tool:
			c.compareOutputSchema(s, was, is)
		case name == "annotations" && s.Kind == Tool:
			c.compareAnnotations(s, was, is)
		case name == "execution" && s.Kind == Tool:
			c.compareExecution(s, was, is)
		case name == "arguments" && s.Kind == Prompt:
			c.compareArguments(s, was, is)
		default:
			c.add(s, "definition-changed", pointer, was, is, detail{note: displayText(name)})
		}
	})
	c.addPoison(s, a.raw, b.raw)
}

// withoutNulls returns a definition without the members that are null, which servers write for absent. In schemas and
// _meta null is a value and stays.
func withoutNulls(definition json.RawMessage) json.RawMessage {
	const levels = 4 // an argument of a prompt is an object of the third
	return dropNulls(definition, levels)
}

func dropNulls(raw json.RawMessage, levels int) json.RawMessage {
	if levels == 0 || !bytes.Contains(raw, []byte("null")) {
		return raw
	}
	below := func(value json.RawMessage) json.RawMessage { return dropNulls(value, levels-1) }
	if items, err := jsonraw.Array(raw); err == nil {
		return jsonraw.ListOf(items, below)
	}
	members, err := jsonraw.Object(raw)
	if err != nil {
		return raw
	}
	var kept jsonraw.Members
	for _, m := range members {
		if m.Name != "inputSchema" && m.Name != "outputSchema" && m.Name != "_meta" {
			m.Value = below(m.Value)
		}
		if string(m.Value) != "null" {
			kept = append(kept, m)
		}
	}
	return jsonraw.Append(json.RawMessage("{}"), kept...)
}

const wholeInput = "the object of arguments"

func (c *comparison) compareInputSchema(s Subject, a, b json.RawMessage) {
	if a == nil || b == nil {
		c.add(s, "input-undecided", "/inputSchema", a, b, detail{place: wholeInput})
		return
	}
	for _, d := range schema.Compare(a, b, schema.Options{Compile: c.options.Compile, Budget: &c.budget}) {
		place := wholeInput
		if d.Name != "" {
			place = "argument " + displayText(d.Name)
		}
		c.addDifference(s, in, "/inputSchema", place, d)
	}
}

func (c *comparison) compareOutputSchema(s Subject, a, b json.RawMessage) {
	switch {
	case a == nil:
		c.add(s, "output-schema-added", "/outputSchema", nil, b, detail{})
		return
	case b == nil:
		c.add(s, "output-schema-removed", "/outputSchema", a, nil, detail{})
		return
	}
	for _, d := range schema.Compare(a, b, schema.Options{Compile: c.options.Compile, Budget: &c.budget}) {
		place := "the result"
		if strings.HasPrefix(d.Name, "[") {
			place = "result" + displayText(d.Name)
		} else if d.Name != "" {
			place = "output member " + displayText(d.Name)
		}
		c.addDifference(s, out, "/outputSchema", place, d)
	}
}

// undirectedRules are the kinds of differences whose rule does not depend on the direction.
var undirectedRules = map[string]string{"equivalent-form": "equivalent-form", "note-changed": "schema-note-changed"}

// inputOnlyKinds are kinds of differences that mean something for arguments only; in an outputSchema
// they are notes.
var inputOnlyKinds = []string{"default-added", "default-removed", "default-changed", "header-added", "header-removed", "header-changed"}

// memberRules are the rules for what was added to an object and removed from it.
var memberRules = map[string]string{
	in + "member-added": "argument-added", in + "member-added-closed": "argument-added",
	in + "member-required-added": "argument-required-added", in + "member-required-added-closed": "argument-required-added",
	in + "member-removed": "argument-removed", in + "member-removed-closed": "argument-removed-closed",
	in + "member-required": "argument-required", in + "member-optional": "argument-optional",
	out + "member-added": "output-member-added", out + "member-added-closed": "output-member-added-closed",
	out + "member-required-added": "output-member-added", out + "member-required-added-closed": "output-member-added-closed",
	out + "member-removed": "output-member-removed", out + "member-removed-closed": "output-member-removed",
	out + "member-required": "output-member-required", out + "member-optional": "output-member-optional",
}

// addDifference adds the change that a difference between two schemas is in one direction.
func (c *comparison) addDifference(s Subject, direction, at, place string, d schema.Difference) {
	pointer := at + d.Pointer
	rule := direction + "-" + d.Kind
	switch {
	case d.Kind == "description-changed":
		c.compareText(s, "description", pointer, d.Was, d.Is, " of "+place)
		return
	case d.Kind == "dialect-changed":
		rule = "dialect-changed"
		if word, _ := jsonraw.Text(d.Is); d.Is == nil || strings.HasSuffix(strings.TrimSuffix(word, "#"), "/2020-12/schema") {
			rule = "dialect-standard"
		}
	case undirectedRules[d.Kind] != "":
		rule = undirectedRules[d.Kind]
	case slices.Contains(inputOnlyKinds, d.Kind):
		rule = d.Kind
		if direction == out {
			rule = "schema-note-changed"
		}
	case memberRules[direction+d.Kind] != "":
		rule = memberRules[direction+d.Kind]
	}
	note := displayText(d.Note)
	if d.Kind == "undecided" && note != "" {
		note = "; " + note
	}
	was, is := d.Was, d.Is
	if strings.HasPrefix(d.Kind, "type-") {
		was, is = typeOrAny(was), typeOrAny(is)
	}
	c.add(s, rule, pointer, was, is, detail{place: place, note: note})
}

// typeOrAny is the keyword type, or "any" where all types are right.
func typeOrAny(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage(`"any"`)
	}
	return raw
}

// annotationHints are a tool's annotations: their defaults, the value that promises less, and whether a
// tool that only reads has no use for them (server/tools, "ToolAnnotations").
var annotationHints = map[string]struct{ byDefault, safe, unlessReadOnly bool }{
	"readOnlyHint":    {false, true, false},
	"destructiveHint": {true, false, true},
	"idempotentHint":  {false, true, true},
	"openWorldHint":   {true, false, false},
}

func hintValue(annotations json.RawMessage, name string) bool {
	switch string(jsonraw.First(annotations, name)) {
	case "true":
		return true
	case "false":
		return false
	}
	return annotationHints[name].byDefault
}

func (c *comparison) compareAnnotations(s Subject, a, b json.RawMessage) {
	reads := hintValue(a, "readOnlyHint") || hintValue(b, "readOnlyHint")
	before := len(c.changes)
	c.eachChangedMember(a, b, func(name string, was, is json.RawMessage) {
		pointer := jsonraw.Pointer("/annotations", name)
		h, known := annotationHints[name]
		yesWas, yesIs := hintValue(a, name), hintValue(b, name)
		d := detail{note: displayText(name)}
		switch {
		case name == "title":
			c.add(s, "title-changed", pointer, was, is, d)
		case !known || yesWas == yesIs || h.unlessReadOnly && reads:
			c.add(s, "annotation-changed", pointer, was, is, d)
		case yesIs == h.safe:
			c.add(s, "annotation-safer", pointer, json.RawMessage(strconv.FormatBool(yesWas)), json.RawMessage(strconv.FormatBool(yesIs)), d)
		default:
			c.add(s, "annotation-riskier", pointer, json.RawMessage(strconv.FormatBool(yesWas)), json.RawMessage(strconv.FormatBool(yesIs)), d)
		}
	})
	if len(c.changes) == before { // {} in place of none
		c.add(s, "annotation-changed", "/annotations", a, b, detail{note: "annotations"})
	}
}

// compareExecution compares taskSupport, which is "forbidden" where it is not declared (2025-11-25
// basic/utilities/tasks).
func (c *comparison) compareExecution(s Subject, a, b json.RawMessage) {
	support := func(execution json.RawMessage) json.RawMessage {
		if value := jsonraw.First(execution, "taskSupport"); value != nil {
			return value
		}
		return json.RawMessage(`"forbidden"`)
	}
	was, is := support(a), support(b)
	before := len(c.changes)
	c.eachChangedMember(a, b, func(name string, from, to json.RawMessage) {
		pointer := jsonraw.Pointer("/execution", name)
		switch {
		case name != "taskSupport":
			c.add(s, "definition-changed", pointer, from, to, detail{note: displayText("execution." + name)})
		case isSameJSON(was, is):
		case string(is) == `"required"`:
			c.add(s, "task-support-required", pointer, was, is, detail{})
		default:
			c.add(s, "task-support-changed", pointer, was, is, detail{})
		}
	})
	if len(c.changes) == before {
		c.add(s, "meta-changed", "/execution", a, b, detail{})
	}
}

// compareArguments compares those of a prompt, by their names. The pointer has the index that an
// compareArgument has now, or had if it is gone.
func (c *comparison) compareArguments(s Subject, a, b json.RawMessage) {
	itemsA, _ := jsonraw.Array(a)
	itemsB, _ := jsonraw.Array(b)
	was, unnamedWas := parseEntries(Prompt, itemsA)
	is, unnamedIs := parseEntries(Prompt, itemsB)
	before := len(c.changes)
	byKey := func(all []entry) map[string]entry {
		keys := map[string]entry{}
		for _, e := range all {
			keys[e.key] = e
		}
		return keys
	}
	old, now := byKey(was), byKey(is)
	at := func(e entry) (string, detail) {
		return "/arguments/" + strconv.Itoa(e.index), detail{place: "argument " + displayText(e.name), key: "/arguments/" + e.key}
	}
	for _, e := range was {
		if other, there := now[e.key]; there {
			pointer, d := at(other)
			c.compareArgument(s, pointer, d, e, other)
		} else {
			pointer, d := at(e)
			c.add(s, "argument-removed", pointer, e.raw, nil, d)
		}
	}
	for _, e := range is {
		if _, there := old[e.key]; there {
			continue
		}
		pointer, d := at(e)
		if isRequired(e) {
			c.add(s, "argument-required-added", pointer, nil, e.raw, d)
		} else {
			c.add(s, "argument-added", pointer, nil, e.raw, d)
		}
	}
	switch {
	case !slices.EqualFunc(unnamedWas, unnamedIs, isSameJSON):
		c.add(s, "definition-changed", "/arguments", a, b, detail{note: "arguments"})
	case len(c.changes) == before && string(jsonraw.Canonical(a)) != string(jsonraw.Canonical(b)):
		c.add(s, "order-changed", "/arguments", a, b, detail{})
	}
}

func isRequired(e entry) bool { return string(e.members.Value("required")) == "true" }

// compareArgument compares one argument of a prompt.
func (c *comparison) compareArgument(s Subject, pointer string, d detail, a, b entry) {
	if isRequired(a) != isRequired(b) {
		rule := map[bool]string{true: "argument-required", false: "argument-optional"}[isRequired(b)]
		c.add(s, rule, pointer, a.members.Value("required"), b.members.Value("required"), d)
	}
	c.eachChangedMember(a.raw, b.raw, func(name string, was, is json.RawMessage) {
		key := detail{place: d.place, key: d.key + "/" + name}
		switch name {
		case "name":
		case "required":
			if isRequired(a) == isRequired(b) {
				c.add(s, "meta-changed", pointer+"/required", was, is, key)
			}
		case "description":
			c.compareText(s, "description", pointer+"/description", was, is, " of "+d.place)
		case "title":
			c.add(s, "title-changed", pointer+"/title", was, is, key)
		default:
			key.note = displayText(name)
			c.add(s, "definition-changed", jsonraw.Pointer(pointer, name), was, is, key)
		}
	})
}
