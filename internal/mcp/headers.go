package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
	"mcpc/internal/wire"
)

// The sentinel that marks an encoded header value (2026-07-28
// basic/transports/streamable-http, "Value encoding").
const (
	sentinelStart = "=?base64?"
	sentinelEnd   = "?="
)

// EncodeHeader returns a text as the value of a header field: unchanged if IsPlainHeader reports
// true, else in base64 between sentinels. It also encodes plain text that looks encoded, so that
// decoding always returns the text.
func EncodeHeader(value string) string {
	if IsPlainHeader(value) {
		return value
	}
	return sentinelStart + base64.StdEncoding.EncodeToString([]byte(value)) + sentinelEnd
}

// IsPlainHeader reports whether a header field can carry the text unchanged: printable ASCII
// without white space at its ends, which does not look encoded.
func IsPlainHeader(value string) bool {
	if value != strings.Trim(value, " \t") {
		return false
	}
	for i := range len(value) {
		if value[i] < 0x20 || value[i] > 0x7E {
			return false
		}
	}
	return !strings.HasPrefix(value, sentinelStart) || !strings.HasSuffix(value, sentinelEnd)
}

// headerArgument is an argument that a header field repeats: the path of property names to it, the name
// in its x-mcp-header, and the type of its property.
type headerArgument struct {
	path []string
	name string
	kind string
}

// HeaderFields returns the header fields for the arguments with x-mcp-header in the schema. A
// missing or null argument has no field; an empty string has an empty field. Returns nil if an
// annotation is invalid.
func HeaderFields(schema, arguments json.RawMessage) []wire.Field {
	annotated, problem := headerParams(schema)
	if problem != "" {
		return nil
	}
	var fields []wire.Field
	for _, a := range annotated {
		if value, ok := argumentText(arguments, a); ok {
			fields = append(fields, wire.Field{Name: "Mcp-Param-" + a.name, Value: EncodeHeader(value)})
		}
	}
	return fields
}

// argumentText returns the text of an argument for its header field; false if it is missing or
// null.
func argumentText(arguments json.RawMessage, a headerArgument) (string, bool) {
	value := arguments
	for _, name := range a.path {
		value = jsonraw.First(value, name)
	}
	if len(value) == 0 || string(value) == "null" {
		return "", false
	}
	if text, isText := jsonraw.Text(value); isText {
		return text, true
	}
	if a.kind == "integer" {
		return integerText(string(value)), true
	}
	return string(value), true
}

// integerText returns a JSON number in decimal if it is an integer, as 1000 for 1e3. It returns
// fractions and very large numbers unchanged.
func integerText(number string) string {
	if len(number) > 64 {
		return number
	}
	if r, ok := new(big.Rat).SetString(number); ok && r.IsInt() && r.Num().BitLen() < 256 {
		return r.Num().String()
	}
	return number
}

// UnsafeHeaders returns a finding for each argument that a header field cannot carry: integers
// beyond ±(2^53-1), which many programs cannot represent exactly (2026-07-28 server/tools,
// "x-mcp-header").
func UnsafeHeaders(schema, arguments json.RawMessage) []wire.Finding {
	annotated, _ := headerParams(schema)
	var found []wire.Finding
	for _, a := range annotated {
		text, ok := argumentText(arguments, a)
		if !ok || a.kind != "integer" {
			continue
		}
		if n, _ := strconv.ParseFloat(text, 64); math.Abs(n) > 1<<53-1 { // n is infinite for larger numbers
			found = append(found, wire.Finding{
				Rule: "x-mcp-header", Severity: wire.Error, Pointer: "/" + strings.Join(a.path, "/"),
				Text: "is sent in the header field Mcp-Param-" + a.name + ", which allows integers up to 9007199254740991",
			})
		}
	}
	return found
}

// HeaderProblem returns why the x-mcp-header annotations of an inputSchema make the tool unusable
// over HTTP; "" if they are valid. One invalid annotation makes the whole tool unusable (2026-07-28
// server/tools, "x-mcp-header").
func HeaderProblem(schema json.RawMessage) string {
	_, problem := headerParams(schema)
	return problem
}

// headerParams returns the annotated properties of an inputSchema, and what is wrong with the first
// invalid annotation.
func headerParams(input json.RawMessage) ([]headerArgument, string) {
	if !bytes.Contains(input, []byte(headerKeyword)) && !bytes.Contains(input, []byte(`\u`)) {
		return nil, ""
	}
	w := &headerWalk{names: map[string]bool{}}
	w.visitSchema(input, nil, true)
	return w.found, w.problem
}

const (
	headerKeyword = "x-mcp-header"
	// maxSchemaDepth bounds the work for a hostile schema: each level is parsed once more than the
	// level above it.
	maxSchemaDepth = 64
)

// headerWalk visits the schemas in a schema. It does not visit default, const, enum and examples,
// where x-mcp-header is data, and distinguishes the keyword from a property with this name.
type headerWalk struct {
	found []headerArgument
	names map[string]bool // of the annotations so far, in lower case
	// problem is the first problem, or "". It ends the walk.
	problem string
	depth   int
}

// unreachable is the argument isReachable of visitSchema for schemas that are not under "properties" only.
const unreachable = false

// visitSchema visits one schema and the schemas in it. isReachable is set if only "properties" lead from
// the root to the schema. It stops at the first problem.
func (w *headerWalk) visitSchema(raw json.RawMessage, path []string, isReachable bool) {
	members, err := jsonraw.Object(raw)
	if err != nil || w.problem != "" {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	if w.depth > maxSchemaDepth {
		if bytes.Contains(raw, []byte(headerKeyword)) {
			w.problem = "x-mcp-header is nested too deep in the inputSchema"
		}
		return
	}
	if name, ok := members.Get(headerKeyword); ok {
		w.addAnnotation(name, members, path, isReachable)
	}
	if properties, ok := members.Get("properties"); ok {
		inner, _ := jsonraw.Object(properties)
		for _, p := range inner {
			propertyPath := append(path[:len(path):len(path)], p.Name) // a copy: addAnnotation keeps it
			w.visitSchema(p.Value, propertyPath, isReachable)
		}
	}
	w.visitOtherSubschemas(members, path)
}

// visitOtherSubschemas visits the subschemas that are not under "properties". No argument can be read there.
func (w *headerWalk) visitOtherSubschemas(members jsonraw.Members, path []string) {
	for _, keyword := range schema.HoldMap {
		if keyword == "properties" {
			continue
		}
		raw, _ := members.Get(keyword)
		inner, _ := jsonraw.Object(raw)
		for _, p := range inner {
			w.visitSchema(p.Value, path, unreachable)
		}
	}
	for _, keyword := range schema.HoldList {
		raw, _ := members.Get(keyword)
		items, _ := jsonraw.Array(raw)
		for _, item := range items {
			w.visitSchema(item, path, unreachable)
		}
	}
	for _, keyword := range schema.HoldOne {
		if raw, ok := members.Get(keyword); ok {
			w.visitSchema(raw, path, unreachable)
		}
	}
}

// addAnnotation records the annotation of a schema with these members, or what is wrong with it.
func (w *headerWalk) addAnnotation(raw json.RawMessage, members jsonraw.Members, path []string, isReachable bool) {
	where := "/" + strings.Join(path, "/")
	name, _ := jsonraw.Text(raw)
	kind := members.Text("type")
	switch JudgeHeaderName(raw, kind, isReachable && len(path) > 0, w.names) {
	case HeaderValid:
		w.found = append(w.found, headerArgument{path: path, name: name, kind: kind})
	case HeaderNoToken:
		w.problem = "x-mcp-header at " + where + " is not a header name: " + jsonraw.Excerpt(raw, 40)
	case HeaderRepeated:
		w.problem = "x-mcp-header " + name + " is duplicated"
	case HeaderUnreachable:
		w.problem = "x-mcp-header at " + where + " is in a place where no argument can be read"
	case HeaderWrongType:
		w.problem = "x-mcp-header at " + where + " is on a property that is not a string, integer or boolean"
	}
}

// A HeaderFault is a reason why an x-mcp-header annotation is invalid.
type HeaderFault int

const (
	HeaderValid       HeaderFault = iota
	HeaderNoToken                 // the value is not a string that can name a header field
	HeaderRepeated                // another property has the name
	HeaderUnreachable             // not only "properties" lead from the root to the annotated schema
	HeaderWrongType               // the property is not a string, integer or boolean
)

// JudgeHeaderName returns the first fault of the x-mcp-header annotation raw on a property of a
// type (2026-07-28 server/tools, "x-mcp-header"). reachable is set if only "properties" lead to the
// property. used has the names of the earlier annotations of the tool in lower case;
// JudgeHeaderName adds this one.
func JudgeHeaderName(raw json.RawMessage, kind string, reachable bool, used map[string]bool) HeaderFault {
	name, ok := jsonraw.Text(raw)
	if !ok || !wire.IsToken(name) {
		return HeaderNoToken
	}
	name = strings.ToLower(name)
	if used[name] {
		return HeaderRepeated
	}
	used[name] = true
	if !reachable {
		return HeaderUnreachable
	}
	if kind != "string" && kind != "integer" && kind != "boolean" {
		return HeaderWrongType
	}
	return HeaderValid
}
