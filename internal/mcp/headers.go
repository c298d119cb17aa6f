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

// EncodeHeader makes any text fit for a header field: as it is where it is
// plain, else as base64 between markers. Plain text that looks encoded is
// encoded too, so that decoding always gives back what went in.
func EncodeHeader(value string) string {
	if IsPlainHeader(value) {
		return value
	}
	return sentinelStart + base64.StdEncoding.EncodeToString([]byte(value)) + sentinelEnd
}

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

// A mirrored argument: the path of property names to it, and the header name
// that its property asks for.
type mirrored struct {
	path []string
	name string
	kind string
}

// HeaderFields mirrors the arguments whose properties carry x-mcp-header. An
// argument that is absent or null has no field; an empty string has an empty
// one.
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

func argumentText(arguments json.RawMessage, a mirrored) (string, bool) {
	value := arguments
	for _, name := range a.path {
		value = jsonraw.First(value, name)
	}
	text, isText := jsonraw.Text(value)
	if len(value) == 0 || string(value) == "null" {
		return "", false
	}
	if isText {
		return text, true
	}
	if a.kind == "integer" {
		return integerText(string(value)), true
	}
	return string(value), true
}

// integerText writes a JSON number that is an integer in decimal: 1e3 is 1000.
func integerText(number string) string {
	if len(number) > 64 {
		return number
	}
	if r, ok := new(big.Rat).SetString(number); ok && r.IsInt() && r.Num().BitLen() < 256 {
		return r.Num().String()
	}
	return number
}

// UnsafeHeaders names the arguments that a header field cannot carry: integers beyond
// ±(2^53-1), which many readers of the field take for another number (2026-07-28
// server/tools, "x-mcp-header").
func UnsafeHeaders(schema, arguments json.RawMessage) (found []wire.Finding) {
	annotated, _ := headerParams(schema)
	for _, a := range annotated {
		text, ok := argumentText(arguments, a)
		if !ok || a.kind != "integer" {
			continue
		}
		if n, _ := strconv.ParseFloat(text, 64); math.Abs(n) > 1<<53-1 { // beyond its range n is infinite
			found = append(found, wire.Finding{Rule: "x-mcp-header", Level: wire.Error, Where: "/" + strings.Join(a.path, "/"),
				Text: "is sent in the header field Mcp-Param-" + a.name + ", which allows integers up to 9007199254740991"})
		}
	}
	return found
}

// HeaderProblem says why a tool's x-mcp-header annotations make the tool
// unusable by HTTP, or is "". One broken annotation spoils the whole tool
// (2026-07-28 server/tools, "x-mcp-header").
func HeaderProblem(schema json.RawMessage) string {
	_, problem := headerParams(schema)
	return problem
}

// headerParams returns the annotated properties of an inputSchema, and what is wrong with the first invalid annotation.
func headerParams(input json.RawMessage) ([]mirrored, string) {
	if !bytes.Contains(input, []byte(headerKeyword)) && !bytes.Contains(input, []byte(`\u`)) {
		return nil, ""
	}
	w := &headerWalk{names: map[string]bool{}}
	w.schema(input, nil, true)
	return w.found, w.problem
}

const (
	headerKeyword = "x-mcp-header"
	// maxSchemaDepth bounds what a hostile schema can cost; each level is read
	// once more than the one above it.
	maxSchemaDepth = 64
)

// headerWalk visits schema positions only: the same key inside default, const,
// enum or examples is data, and a property may be called x-mcp-header.
type headerWalk struct {
	found   []mirrored
	names   map[string]bool
	problem string
	depth   int
}

// schema visits one schema. reachable is set while only "properties" were
// passed on the way.
func (w *headerWalk) schema(raw json.RawMessage, path []string, reachable bool) {
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
		w.annotation(name, members, path, reachable)
	}
	if properties, ok := members.Get("properties"); ok {
		inner, _ := jsonraw.Object(properties)
		for _, p := range inner {
			w.schema(p.Value, append(path[:len(path):len(path)], p.Name), reachable)
		}
	}
	w.elsewhere(members, path)
}

// elsewhere visits the subschemas that are not under "properties". No argument can be read there.
func (w *headerWalk) elsewhere(members jsonraw.Members, path []string) {
	for _, keyword := range schema.HoldMap {
		if keyword == "properties" {
			continue
		}
		raw, _ := members.Get(keyword)
		inner, _ := jsonraw.Object(raw)
		for _, p := range inner {
			w.schema(p.Value, path, false)
		}
	}
	for _, keyword := range schema.HoldList {
		raw, _ := members.Get(keyword)
		items, _ := jsonraw.Array(raw)
		for _, item := range items {
			w.schema(item, path, false)
		}
	}
	for _, keyword := range schema.HoldOne {
		if raw, ok := members.Get(keyword); ok {
			w.schema(raw, path, false)
		}
	}
}

// annotation records the annotation of a schema with these members, or what is wrong with it.
func (w *headerWalk) annotation(raw json.RawMessage, members jsonraw.Members, path []string, reachable bool) {
	where := "/" + strings.Join(path, "/")
	name, _ := jsonraw.Text(raw)
	kind := members.Text("type")
	switch JudgeHeaderName(raw, kind, reachable && len(path) > 0, w.names) {
	case HeaderValid:
		w.found = append(w.found, mirrored{path: path, name: name, kind: kind})
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

// JudgeHeaderName returns the first fault of the x-mcp-header annotation raw on a property of a type (2026-07-28
// server/tools, "x-mcp-header"). reachable is set if only "properties" lead to the property. used has the names of the
// earlier annotations of the tool in lower case; JudgeHeaderName adds this one.
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
