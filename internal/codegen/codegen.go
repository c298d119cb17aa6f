// Package codegen generates typed wrappers of a server's tools: a Go package, a TypeScript module
// or a shell script that needs only mcpc on the path. It derives types from schemas and identifiers
// from names. It connects to no server and starts no process.
//
// All text in a server's list may be hostile: names are quoted or become identifiers of ASCII
// letters and digits, and other texts are only in comments, on one line each. The same list gives
// the same bytes.
package codegen

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/schema"
)

// A Source is the input of the generators.
type Source struct {
	// Server is the server's name, for comments.
	Server string
	// Target is the value of -s for the server, Command the words after --. If both are empty, the
	// caller of the generated code has to set the server.
	Target  string
	Command []string
	Tools   []mcp.Tool
	// OnlyTypes leaves out the functions that call the tools.
	OnlyTypes bool
}

// An Omitted is a tool without a wrapper, and the reason.
type Omitted struct{ Name, Reason string }

// A wrapper is a tool with its types, in a form that all languages share.
type wrapper struct {
	tool  mcp.Tool
	ident string // with capitals, as GetSum
	// input is nil if the tool takes no arguments, output if the tool declares no outputSchema.
	input, output *typeDef
	// argsAlias and outputAlias are the names of input and output if these are not objects and
	// OnlyTypes is set; otherwise "". An object has a name of its own, and a function shows other
	// types in its signature.
	argsAlias, outputAlias string
}

// A typeKind is a kind of type.
type typeKind int

const (
	anything typeKind = iota
	text
	integer
	number
	boolean
	object // with declared members
	dict   // an object whose members all have the type item
	list
)

// A typeDef is a type that each language writes in its own syntax. The zero value is anything.
type typeDef struct {
	typeKind
	name        string // of an object; otherwise ""
	description string
	fields      []field
	item        *typeDef
	isNullable  bool
	// choices are the values of an enum; nil if the type is not an enum.
	choices []json.RawMessage
}

// A field is a member of an object. description is the text of its schema.
type field struct {
	name, ident, description string
	isRequired               bool
	typ                      *typeDef
}

// buildWrappers returns a wrapper for each tool, and the tools that are left out. The names of types and
// functions differ from each other and from reserved.
func (s Source) buildWrappers(reserved ...string) (all []wrapper, left []Omitted) {
	names := nameSet{}
	for _, name := range reserved {
		names.claim(name)
	}
	for _, tool := range s.Tools {
		if strings.HasPrefix(tool.Name, "-") {
			left = append(left, Omitted{Name: tool.Name, Reason: "mcpc call would take its name for a flag"})
			continue
		}
		w := wrapper{tool: tool, ident: names.claim(makeIdent(tool.Name, "Tool"))}
		in := &reader{doc: schema.New(tool.InputSchema), names: names}
		w.input = in.readType(tool.InputSchema, w.ident+"Args", 0)
		if w.input.typeKind == dict && isClosed(tool.InputSchema) { // the only value is {}
			w.input = nil
		}
		if tool.OutputSchema != nil {
			out := &reader{doc: schema.New(tool.OutputSchema), names: names}
			w.output = out.readType(tool.OutputSchema, w.ident+"Output", 0)
		}
		if s.OnlyTypes && w.input != nil && w.input.typeKind != object {
			w.argsAlias = names.claim(w.ident + "Args")
		}
		if s.OnlyTypes && w.output != nil && w.output.typeKind != object {
			w.outputAlias = names.claim(w.ident + "Output")
		}
		all = append(all, w)
	}
	return all, left
}

// nameSet has the names that are in use.
type nameSet map[string]bool

// claim returns name, with a number after it if name is in use, and marks the result as in use.
func (n nameSet) claim(name string) string {
	for i := 1; ; i++ {
		try := name
		if i > 1 {
			try += "_" + strconv.Itoa(i)
		}
		if !n[try] {
			n[try] = true
			return try
		}
	}
}

// makeIdent returns an identifier of ASCII letters and digits for a name: each word begins with a
// capital. It puts fallback before the result if the result is empty or begins with a digit. Long
// names are cut, and different names may have the same identifier.
func makeIdent(name, fallback string) string {
	const maxLength = 80
	var b strings.Builder
	atWordStart := true
	for _, r := range name {
		if !isASCIIAlphanumeric(r) { // separates words
			atWordStart = true
		} else if atWordStart {
			b.WriteRune(unicode.ToUpper(r))
			atWordStart = false
		} else {
			b.WriteRune(r)
		}
		if b.Len() >= maxLength {
			break
		}
	}
	ident := b.String()
	if ident == "" || ident[0] >= '0' && ident[0] <= '9' {
		return fallback + ident
	}
	return ident
}

// isASCIIAlphanumeric reports whether r is an ASCII letter or digit.
func isASCIIAlphanumeric(r rune) bool {
	return r <= unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// A reader derives types from one schema. A schema that it cannot express becomes anything.
type reader struct {
	doc   *schema.Document
	names nameSet
	// onPath has the references on the current path, count is the number of types so far.
	onPath map[string]bool
	count  int
}

// maxDepth bounds the depth of types, maxTypes their number: schemas may refer to themselves.
const (
	maxDepth = 12
	maxTypes = 2000
)

// readType returns the type of a schema. name is the name of the type if it is an object. The type is
// anything if the schema is not an object, refers to itself, or exceeds a limit.
func (r *reader) readType(raw json.RawMessage, name string, depth int) *typeDef {
	members, err := jsonraw.Object(raw)
	r.count++
	if err != nil || depth > maxDepth || r.count > maxTypes {
		return &typeDef{}
	}
	if ref, ok := members.Get("$ref"); ok {
		target, _ := jsonraw.Text(ref)
		definition, ok := r.doc.Resolve(target)
		if !ok || r.onPath[target] {
			return &typeDef{}
		}
		if r.onPath == nil {
			r.onPath = map[string]bool{}
		}
		r.onPath[target] = true
		defer delete(r.onPath, target)
		return r.readType(definition.Raw, name, depth+1)
	}
	t := r.readAlternatives(members, name, depth)
	if t == nil {
		t = r.readDeclared(members, name, depth)
	}
	t.description = members.Text("description")
	return t
}

// readAlternatives returns the type of a schema with anyOf, oneOf, allOf, enum or const, or nil if
// the schema has no such keyword. Alternatives of one type and null are nullable; other
// alternatives are anything.
func (r *reader) readAlternatives(members jsonraw.Members, name string, depth int) *typeDef {
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		raw, hasKey := members.Get(key)
		if !hasKey {
			continue
		}
		all, _ := jsonraw.Array(raw)
		var nonNull []json.RawMessage
		for _, alternative := range all {
			if kind, _ := jsonraw.Text(jsonraw.First(alternative, "type")); kind != "null" {
				nonNull = append(nonNull, alternative)
			}
		}
		if len(nonNull) != 1 {
			return &typeDef{}
		}
		t := r.readType(nonNull[0], name, depth+1)
		t.isNullable = t.isNullable || len(nonNull) < len(all)
		return t
	}
	choices, hasEnum := members.Get("enum")
	values, _ := jsonraw.Array(choices)
	if value, hasConst := members.Get("const"); hasConst && !hasEnum { // an enum of one value
		values = []json.RawMessage{value}
	}
	if len(values) == 0 {
		return nil
	}
	t := &typeDef{typeKind: text, choices: values}
	for _, v := range values {
		if _, isText := jsonraw.Text(v); !isText {
			t.typeKind = anything
		}
	}
	return t
}

// readDeclared returns the type that the keyword type declares; a schema with properties and without
// type is an object. Several types, other than one and null, are anything.
func (r *reader) readDeclared(members jsonraw.Members, name string, depth int) *typeDef {
	raw, hasType := members.Get("type")
	kinds := schema.AllTypes
	if hasType {
		kinds, _ = schema.ParseTypes(raw)
	} else if members.Value("properties") != nil {
		kinds = schema.Object
	}
	t := &typeDef{isNullable: kinds&schema.Null != 0}
	switch kinds &^ schema.Null {
	case schema.String:
		t.typeKind = text
	case schema.Whole:
		t.typeKind = integer
	case schema.Number:
		t.typeKind = number
	case schema.Boolean:
		t.typeKind = boolean
	case schema.Array:
		t.typeKind = list
		t.item = r.readType(members.Value("items"), name+"Item", depth+1)
	case schema.Object:
		r.readObject(t, members, name, depth)
	default: // anything, which includes null
		t.isNullable = false
	}
	return t
}

// readObject completes t as the type of an object: a dict if the schema declares no properties or
// declares one twice.
func (r *reader) readObject(t *typeDef, members jsonraw.Members, name string, depth int) {
	properties, _ := jsonraw.Object(members.Value("properties"))
	if _, twice := properties.Duplicate(); twice || len(properties) == 0 {
		t.typeKind = dict
		t.item = &typeDef{}
		if additional, _ := members.Get("additionalProperties"); len(additional) > 0 && additional[0] == '{' {
			t.item = r.readType(additional, name+"Value", depth+1)
		}
		return
	}
	t.typeKind = object
	t.name = r.names.claim(name)
	required := members.Words("required")
	idents := nameSet{} // of this object's fields
	for _, p := range properties {
		f := field{name: p.Name, ident: idents.claim(makeIdent(p.Name, "Field")), isRequired: required[p.Name]}
		f.typ = r.readType(p.Value, t.name+f.ident, depth+1)
		f.description = f.typ.description
		t.fields = append(t.fields, f)
	}
}

// isClosed reports whether a schema allows no members: no properties, and additionalProperties
// missing or false.
func isClosed(raw json.RawMessage) bool {
	members, _ := jsonraw.Object(raw)
	properties, _ := jsonraw.Object(members.Value("properties"))
	additional, isSet := members.Get("additionalProperties")
	return len(properties) == 0 && (!isSet || string(additional) == "false")
}

// oneLine returns a server's text for a comment: on one line, of about 600 bytes at most, with
// invisible characters as <U+XXXX>, and without a sequence that ends a comment.
func oneLine(s string) string {
	const maxBytes = 600
	s = strings.Join(strings.Fields(s), " ")
	var b strings.Builder
	for i, r := range s {
		if i > maxBytes {
			b.WriteString("…")
			break
		}
		if !unicode.IsPrint(r) {
			fmt.Fprintf(&b, "<U+%04X>", r)
			continue
		}
		b.WriteRune(r)
	}
	// gofmt and go vet read build constraints in comments.
	return strings.NewReplacer("*/", "* /", "+build", "+ build").Replace(b.String())
}

// wrapWords splits a text into lines of at most width bytes; a longer word has its own line. It
// returns one empty line for an empty text.
func wrapWords(s string, width int) []string {
	line := ""
	var lines []string
	for _, word := range strings.Fields(s) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
