package shape

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// schemas is the folder of the official schemas, beside the repository. It need not be there:
// shape_test.go has other cases.
var schemas = filepath.Join("..", "..", "..", "shared", "spec", "schema")

// An oracle is the schema of a revision.
type oracle struct {
	t           *testing.T
	revision    string
	raw         json.RawMessage
	definitions json.RawMessage
	key         string
}

func newOracle(t *testing.T, revision string) *oracle {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(schemas, revision, "schema.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no official schemas at " + schemas)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{t, revision, raw, jsonraw.First(raw, "definitions"), "definitions"}
	if o.definitions == nil {
		o.definitions, o.key = jsonraw.First(raw, "$defs"), "$defs"
	}
	return o
}

func (o *oracle) compile(schema json.RawMessage) *validate.Schema {
	for _, m := range members(schema) {
		o.raw = jsonraw.With(o.raw, m.Name, m.Value)
	}
	s, _, err := validate.Compile(o.raw)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, m := range members(schema) {
		o.raw = jsonraw.Without(o.raw, m.Name)
	}
	return s
}

func members(raw json.RawMessage) jsonraw.Members {
	all, _ := jsonraw.Object(raw)
	return all
}

func items(raw json.RawMessage) []json.RawMessage {
	all, _ := jsonraw.Array(raw)
	return all
}

// samples are values that a schema allows: with all members, and one for each
// alternative anywhere.
func (o *oracle) samples(schema json.RawMessage, depth int) (all []json.RawMessage) {
	if depth > 9 {
		return []json.RawMessage{json.RawMessage("{}")}
	}
	if ref, ok := jsonraw.Text(jsonraw.First(schema, "$ref")); ok {
		return o.samples(jsonraw.First(o.definitions, ref[strings.LastIndex(ref, "/")+1:]), depth+1)
	}
	if parts := items(jsonraw.First(schema, "allOf")); parts != nil {
		whole := json.RawMessage("{}")
		for _, part := range parts {
			for _, m := range members(o.samples(part, depth+1)[0]) {
				whole = jsonraw.With(whole, m.Name, m.Value)
			}
		}
		return []json.RawMessage{whole}
	}
	for _, one := range items(jsonraw.First(schema, "anyOf")) {
		all = append(all, o.samples(one, depth+1)...)
	}
	if all != nil {
		return all
	}
	if fixed := jsonraw.First(schema, "const"); fixed != nil {
		return []json.RawMessage{fixed}
	}
	if values := items(jsonraw.First(schema, "enum")); values != nil {
		return values[:1]
	}
	return o.plain(schema, depth)
}

func (o *oracle) plain(schema json.RawMessage, depth int) (all []json.RawMessage) {
	types := items(jsonraw.First(schema, "type"))
	if types == nil {
		types = []json.RawMessage{jsonraw.First(schema, "type")}
	}
	switch kind, _ := jsonraw.Text(types[0]); kind {
	case "string":
		return []json.RawMessage{json.RawMessage(`"x"`)}
	case "integer", "number":
		return []json.RawMessage{json.RawMessage("1")}
	case "boolean":
		return []json.RawMessage{json.RawMessage("true")}
	case "array":
		for _, one := range o.samples(jsonraw.First(schema, "items"), depth+1) {
			all = append(all, json.RawMessage("["+string(one)+"]"))
		}
		return all
	}
	properties := members(jsonraw.First(schema, "properties"))
	if more := jsonraw.First(schema, "additionalProperties"); properties == nil && len(members(more)) > 0 {
		for _, one := range o.samples(more, depth+1) {
			all = append(all, jsonraw.With(nil, "any", one))
		}
		return all
	}
	first := json.RawMessage("{}")
	var others []json.RawMessage
	for _, p := range properties {
		values := o.samples(p.Value, depth+1)
		first = jsonraw.With(first, p.Name, values[0])
		for _, value := range values[1:] {
			others = append(others, jsonraw.With(jsonraw.With(nil, "\x00", jsonraw.Quote(p.Name)), "value", value))
		}
	}
	all = append(all, first)
	for _, other := range others {
		name, _ := jsonraw.Text(jsonraw.First(other, "\x00"))
		all = append(all, jsonraw.With(first, name, jsonraw.First(other, "value")))
	}
	return all
}

// own are members that came with some revision, or that only some values have.
var own = []string{"_meta", "title", "icons", "annotations", "size", "structuredContent", "execution", "task", "nextCursor", "ttl", "lastModified"}

// changed are the value with one thing changed in it, in each place.
func changed(raw json.RawMessage) (all []json.RawMessage) {
	for _, other := range []string{"null", "-1.5", `"y"`, "[null]", `{"any":null}`} {
		all = append(all, json.RawMessage(other))
	}
	for _, m := range members(raw) {
		all = append(all, jsonraw.Without(raw, m.Name))
		for _, inner := range changed(m.Value) {
			all = append(all, jsonraw.With(raw, m.Name, inner))
		}
	}
	for _, name := range own {
		if raw[0] == '{' && jsonraw.First(raw, name) == nil {
			all = append(all, jsonraw.With(raw, name, json.RawMessage("[5]")))
		}
	}
	if list := items(raw); len(list) > 0 {
		for _, inner := range changed(list[0]) {
			all = append(all, json.RawMessage("["+string(inner)+"]"))
		}
	}
	return all
}

// named is the definition of the schema that a message is about, and its member to compare; "" if
// the schema has no such definition.
func (o *oracle) named(m message) (schema, sample json.RawMessage) {
	for _, d := range members(o.definitions) {
		name := d.Name
		switch {
		case m.kind == "result" && name == m.shape.name:
			return jsonraw.With(nil, "$ref", jsonraw.Quote("#/"+o.key+"/"+name)), d.Value
		case m.kind != "result" && constMethod(d.Value) == m.method:
			params := jsonraw.First(jsonraw.First(d.Value, "properties"), "params")
			return params, params
		}
	}
	return nil, nil
}

func constMethod(definition json.RawMessage) string {
	method := jsonraw.First(jsonraw.First(definition, "properties"), "method")
	for _, keyword := range []string{"const", "enum"} {
		if text, ok := jsonraw.Text(jsonraw.First(method, keyword)); ok {
			return text
		}
	}
	return ""
}

// lenient are places where the table requires less than the schema, because the packages that know
// their meaning check them: the schemas of forms, and JSON Schema itself. The last revision has a
// JSON value that may be no fraction and no null, which is a mistake.
var lenient = []string{
	"/requestedSchema/properties/", "/experimental/any", "/extensions/any", "/logging/any", "/completions/any",
	"/metadata/any", "/_meta/any", "/inputSchema/properties/any/any",
}

// The table agrees with the official schemas, about everything that they allow and about the same
// with any one change.
func TestTableAgreesWithOfficialSchemas(t *testing.T) {
	compared := map[string]bool{}
	for at, revision := range table().revisions {
		o := newOracle(t, revision)
		for _, m := range table().messages {
			schema, sample := o.named(m)
			if !m.contains(at+1) || schema == nil {
				continue
			}
			judge := o.compile(schema)
			for _, value := range o.samples(sample, 0) {
				for _, raw := range slices.Concat([]json.RawMessage{value}, changed(value)) {
					if key := revision + m.kind + m.method + string(raw); !compared[key] {
						compared[key] = true
						o.compare(m, judge, raw)
					}
				}
			}
		}
	}
	t.Log(len(compared), "values compared")
}

func (o *oracle) compare(m message, judge *validate.Schema, raw json.RawMessage) {
	theirs, err := judge.Check(raw)
	if err != nil {
		o.t.Fatal(err)
	}
	message := `{"jsonrpc":"2.0","id":1,"result":` + string(raw) + "}"
	switch m.kind {
	case "notification":
		message = `{"jsonrpc":"2.0","method":` + strconv.Quote(m.method) + `,"params":` + string(raw) + "}"
	case "request":
		message = `{"jsonrpc":"2.0","id":1,"method":` + strconv.Quote(m.method) + `,"params":` + string(raw) + "}"
	}
	ours := Check(o.revision, m.method, wire.ParseMessage([]byte(message)))
	if (len(theirs) > 0) == (len(ours) > 0) {
		return
	}
	for _, f := range theirs {
		if len(ours) == 0 && slices.ContainsFunc(lenient, func(place string) bool { return strings.Contains(f.Pointer, place) }) {
			return
		}
	}
	o.t.Errorf("%s %s %s\n%s\nours   %v\ntheirs %v", o.revision, m.kind, m.method, raw, ours, theirs)
}
