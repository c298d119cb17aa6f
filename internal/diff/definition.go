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

// compareDefinition compares two definitions of one subject member by member. It adds nothing if
// they differ only in null members.
func (c *comparison) compareDefinition(s Subject, a, b entry) {
	a.raw = withoutNulls(a.raw)
	b.raw = withoutNulls(b.raw)
	if isSameJSON(a.raw, b.raw) {
		return
	}
	c.eachChangedMember(a.raw, b.raw, func(name string, was, is json.RawMessage) {
		pointer := jsonraw.Pointer("", name)
		isResource := s.Kind == Resource || s.Kind == Template
		switch {
		case name == identifyingMember(s.Kind) && a.name != b.name:
			// The change about the rename covers it.
		case name == "description":
			c.compareText(s, "description", pointer, was, is, "")
		case name == "title" || name == "name" && isResource: // of a resource the URI is the identifying member
			c.add(s, "title-changed", pointer, was, is, detail{})
		case name == "icons":
			c.add(s, "icons-changed", pointer, was, is, detail{})
		case name == "_meta":
			c.add(s, "meta-changed", pointer, was, is, detail{})
		case name == "mimeType" && isResource:
			c.add(s, "mime-type-changed", pointer, was, is, detail{})
		case (name == "size" || name == "annotations") && isResource:
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

// withoutNulls returns a definition without its null members, which servers write for absent
// values. Schemas and _meta keep their nulls.
func withoutNulls(definition json.RawMessage) json.RawMessage {
	const levels = 4 // deep enough for the arguments of a prompt, which are on the third level
	return dropNulls(definition, levels)
}

// dropNulls removes the null members of a value and of the values below it, for a number of
// levels.
func dropNulls(raw json.RawMessage, levels int) json.RawMessage {
	if levels == 0 || !bytes.Contains(raw, []byte("null")) {
		return raw
	}
	dropInner := func(value json.RawMessage) json.RawMessage { return dropNulls(value, levels-1) }
	if items, err := jsonraw.Array(raw); err == nil {
		return jsonraw.ListOf(items, dropInner)
	}
	members, err := jsonraw.Object(raw)
	if err != nil {
		return raw
	}
	var kept jsonraw.Members
	for _, m := range members {
		isOpaque := m.Name == "inputSchema" || m.Name == "outputSchema" || m.Name == "_meta" // null is a value in it
		if !isOpaque {
			m.Value = dropInner(m.Value)
		}
		if string(m.Value) != "null" {
			kept = append(kept, m)
		}
	}
	return jsonraw.Append(json.RawMessage("{}"), kept...)
}

// wholeInput names the root of an inputSchema in sentences.
const wholeInput = "the object of arguments"

// compareInputSchema compares the inputSchemas of a tool, which differ. A missing one is nil.
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
		c.addDifference(s, input, "/inputSchema", place, d)
	}
}

// compareOutputSchema compares two outputSchemas of a tool that differ. At most one is nil: it is
// missing then.
func (c *comparison) compareOutputSchema(s Subject, a, b json.RawMessage) {
	if a == nil {
		c.add(s, "output-schema-added", "/outputSchema", nil, b, detail{})
		return
	}
	if b == nil {
		c.add(s, "output-schema-removed", "/outputSchema", a, nil, detail{})
		return
	}
	for _, d := range schema.Compare(a, b, schema.Options{Compile: c.options.Compile, Budget: &c.budget}) {
		place := "the result"
		if strings.HasPrefix(d.Name, "[") { // the result is an array, and this is an item
			place = "result" + displayText(d.Name)
		} else if d.Name != "" {
			place = "output member " + displayText(d.Name)
		}
		c.addDifference(s, output, "/outputSchema", place, d)
	}
}

// undirectedRules maps the kinds of differences that have one rule for input and output.
var undirectedRules = map[string]string{
	"equivalent-form": "equivalent-form",
	"note-changed":    "schema-note-changed",
}

// inputOnlyKinds are the kinds of differences that have an effect in an inputSchema only. In an
// outputSchema they are notes.
var inputOnlyKinds = []string{
	"default-added", "default-removed", "default-changed",
	"header-added", "header-removed", "header-changed",
}

// memberRules maps a direction and a kind of difference to the rule about a member of an object.
var memberRules = map[string]string{
	input + "member-added":                  "argument-added",
	input + "member-added-closed":           "argument-added",
	input + "member-required-added":         "argument-required-added",
	input + "member-required-added-closed":  "argument-required-added",
	input + "member-removed":                "argument-removed",
	input + "member-removed-closed":         "argument-removed-closed",
	input + "member-required":               "argument-required",
	input + "member-optional":               "argument-optional",
	output + "member-added":                 "output-member-added",
	output + "member-added-closed":          "output-member-added-closed",
	output + "member-required-added":        "output-member-added",
	output + "member-required-added-closed": "output-member-added-closed",
	output + "member-removed":               "output-member-removed",
	output + "member-removed-closed":        "output-member-removed",
	output + "member-required":              "output-member-required",
	output + "member-optional":              "output-member-optional",
}

// addDifference adds the change for a difference between two schemas. direction is input or output, base
// is the pointer of the schema, and place completes the sentence.
func (c *comparison) addDifference(s Subject, direction, base, place string, d schema.Difference) {
	pointer := base + d.Pointer
	rule := direction + "-" + d.Kind
	switch {
	case d.Kind == "description-changed":
		c.compareText(s, "description", pointer, d.Was, d.Is, " of "+place)
		return
	case d.Kind == "dialect-changed":
		rule = "dialect-changed"
		uri, _ := jsonraw.Text(d.Is)
		isStandard := d.Is == nil || strings.HasSuffix(strings.TrimSuffix(uri, "#"), "/2020-12/schema")
		if isStandard {
			rule = "dialect-standard"
		}
	case undirectedRules[d.Kind] != "":
		rule = undirectedRules[d.Kind]
	case slices.Contains(inputOnlyKinds, d.Kind):
		rule = d.Kind
		if direction == output {
			rule = "schema-note-changed"
		}
	case memberRules[direction+d.Kind] != "":
		rule = memberRules[direction+d.Kind]
	}
	note := displayText(d.Note)
	if d.Kind == "undecided" && note != "" {
		note = "; " + note
	}
	was := d.Was
	is := d.Is
	if strings.HasPrefix(d.Kind, "type-") { // the sentence names both types
		was = typeOrAny(was)
		is = typeOrAny(is)
	}
	c.add(s, rule, pointer, was, is, detail{place: place, note: note})
}

// typeOrAny returns the value of the keyword type, or "any" if the schema has no such keyword.
func typeOrAny(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage(`"any"`)
	}
	return raw
}

// hintRules are the annotations of a tool ("ToolAnnotations" in the specification): the
// default, the value that promises less harm, and whether readOnlyHint makes it meaningless.
var hintRules = map[string]struct{ byDefault, safe, unlessReadOnly bool }{
	"readOnlyHint":    {false, true, false},
	"destructiveHint": {true, false, true},
	"idempotentHint":  {false, true, true},
	"openWorldHint":   {true, false, false},
}

// hintValue returns the value of an annotation, or its default.
func hintValue(annotations json.RawMessage, name string) bool {
	switch string(jsonraw.First(annotations, name)) {
	case "true":
		return true
	case "false":
		return false
	}
	return hintRules[name].byDefault
}

// compareAnnotations compares the annotations of a tool. Absent annotations have their defaults.
func (c *comparison) compareAnnotations(s Subject, a, b json.RawMessage) {
	isReadOnly := hintValue(a, "readOnlyHint") || hintValue(b, "readOnlyHint")
	before := len(c.changes)
	c.eachChangedMember(a, b, func(name string, was, is json.RawMessage) {
		pointer := jsonraw.Pointer("/annotations", name)
		hint, isHint := hintRules[name]
		hintWas := hintValue(a, name)
		hintIs := hintValue(b, name)
		d := detail{note: displayText(name)}
		if name == "title" {
			c.add(s, "title-changed", pointer, was, is, d)
			return
		}
		isMeaningless := hint.unlessReadOnly && isReadOnly
		if !isHint || hintWas == hintIs || isMeaningless {
			c.add(s, "annotation-changed", pointer, was, is, d)
			return
		}
		rule := "annotation-riskier"
		if hintIs == hint.safe {
			rule = "annotation-safer"
		}
		was = json.RawMessage(strconv.FormatBool(hintWas))
		is = json.RawMessage(strconv.FormatBool(hintIs))
		c.add(s, rule, pointer, was, is, d)
	})
	if len(c.changes) == before { // no member differs: {} replaced absent annotations, or the reverse
		c.add(s, "annotation-changed", "/annotations", a, b, detail{note: "annotations"})
	}
}

// compareExecution compares the members of execution. taskSupport is "forbidden" by default
// (2025-11-25 basic/utilities/tasks).
func (c *comparison) compareExecution(s Subject, a, b json.RawMessage) {
	taskSupport := func(execution json.RawMessage) json.RawMessage {
		if value := jsonraw.First(execution, "taskSupport"); value != nil {
			return value
		}
		return json.RawMessage(`"forbidden"`)
	}
	was := taskSupport(a)
	is := taskSupport(b)
	before := len(c.changes)
	c.eachChangedMember(a, b, func(name string, writtenWas, writtenIs json.RawMessage) {
		pointer := jsonraw.Pointer("/execution", name)
		if name != "taskSupport" {
			c.add(s, "definition-changed", pointer, writtenWas, writtenIs, detail{note: displayText("execution." + name)})
			return
		}
		if isSameJSON(was, is) {
			return
		}
		rule := "task-support-changed"
		if string(is) == `"required"` {
			rule = "task-support-required"
		}
		c.add(s, rule, pointer, was, is, detail{})
	})
	if len(c.changes) == before { // only the notation of a default differs
		c.add(s, "meta-changed", "/execution", a, b, detail{})
	}
}

// compareArguments compares the arguments of a prompt by their names. The pointer of a change has
// the current index of the argument, or the old index of a removed argument.
func (c *comparison) compareArguments(s Subject, a, b json.RawMessage) {
	itemsA, _ := jsonraw.Array(a)
	itemsB, _ := jsonraw.Array(b)
	was, unnamedWas := parseEntries(Prompt, itemsA)
	is, unnamedIs := parseEntries(Prompt, itemsB)
	before := len(c.changes)
	wasByKey := indexByKey(was)
	isByKey := indexByKey(is)
	locate := func(e entry) (pointer string, d detail) {
		pointer = "/arguments/" + strconv.Itoa(e.index)
		return pointer, detail{place: "argument " + displayText(e.name), key: "/arguments/" + e.key}
	}
	for _, e := range was {
		if current, found := isByKey[e.key]; found {
			pointer, d := locate(current)
			c.compareArgument(s, pointer, d, e, current)
		} else {
			pointer, d := locate(e)
			c.add(s, "argument-removed", pointer, e.raw, nil, d)
		}
	}
	for _, e := range is {
		if _, found := wasByKey[e.key]; found {
			continue
		}
		pointer, d := locate(e)
		if isRequired(e) {
			c.add(s, "argument-required-added", pointer, nil, e.raw, d)
		} else {
			c.add(s, "argument-added", pointer, nil, e.raw, d)
		}
	}
	if !slices.EqualFunc(unnamedWas, unnamedIs, isSameJSON) {
		c.add(s, "definition-changed", "/arguments", a, b, detail{note: "arguments"})
	} else if len(c.changes) == before && !isSameJSON(a, b) { // no argument differs
		c.add(s, "order-changed", "/arguments", a, b, detail{})
	}
}

// isRequired reports whether an argument of a prompt is required.
func isRequired(e entry) bool { return string(e.members.Value("required")) == "true" }

// indexByKey returns entries by their keys.
func indexByKey(entries []entry) map[string]entry {
	index := map[string]entry{}
	for _, e := range entries {
		index[e.key] = e
	}
	return index
}

// compareArgument compares one argument of a prompt. pointer and d locate the argument.
func (c *comparison) compareArgument(s Subject, pointer string, d detail, a, b entry) {
	if isRequired(a) != isRequired(b) {
		rule := "argument-optional"
		if isRequired(b) {
			rule = "argument-required"
		}
		c.add(s, rule, pointer, a.members.Value("required"), b.members.Value("required"), d)
	}
	c.eachChangedMember(a.raw, b.raw, func(name string, was, is json.RawMessage) {
		member := detail{place: d.place, key: d.key + "/" + name}
		switch name {
		case "name":
			// The arguments were paired by name.
		case "required":
			if isRequired(a) == isRequired(b) { // false replaced an absent value, or the reverse
				c.add(s, "meta-changed", pointer+"/required", was, is, member)
			}
		case "description":
			c.compareText(s, "description", pointer+"/description", was, is, " of "+d.place)
		case "title":
			c.add(s, "title-changed", pointer+"/title", was, is, member)
		default:
			member.note = displayText(name)
			c.add(s, "definition-changed", jsonraw.Pointer(pointer, name), was, is, member)
		}
	})
}
