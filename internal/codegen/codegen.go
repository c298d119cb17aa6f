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

// A LeftOut is a tool without a wrapper, and the reason.
type LeftOut struct{ Name, Why string }

// A wrapper is a tool with its types, in a form that all languages share.
type wrapper struct {
	tool  mcp.Tool
	ident string // with capitals, as GetSum
	// input is nil if the tool takes no arguments, output if the tool declares no outputSchema.
	input, output *typ
	// args and out are the names of input and output if these are not objects and OnlyTypes is set;
	// otherwise "".
	args, out string
}

// A sort is a kind of type.
type sort int

const (
	anything sort = iota
	text
	integer
	number
	boolean
	object // with declared members
	dict   // an object whose members all have the type item
	list
)

// A typ is a type that each language writes in its own syntax.
type typ struct {
	sort
	name     string // of an object; otherwise ""
	about    string
	fields   []field
	item     *typ
	nullable bool
	// choices are the values of an enum; nil if the type is not an enum.
	choices []json.RawMessage
}

// A field is a member of an object. about is its description.
type field struct {
	name, ident, about string
	required           bool
	typ                *typ
}

// wrappers returns a wrapper for each tool, and the tools that are left out. The names of types and
// functions differ from each other and from reserved.
func (s Source) wrappers(reserved ...string) (all []wrapper, left []LeftOut) {
	names := names{}
	for _, name := range reserved {
		names.take(name)
	}
	for _, tool := range s.Tools {
		if strings.HasPrefix(tool.Name, "-") {
			left = append(left, LeftOut{tool.Name, "mcpc call would take its name for a flag"})
			continue
		}
		w := wrapper{tool: tool, ident: names.take(identOf(tool.Name, "Tool"))}
		in := &reader{doc: schema.New(tool.InputSchema), names: names}
		w.input = in.read(tool.InputSchema, w.ident+"Args", 0)
		if w.input.sort == dict && isClosed(tool.InputSchema) {
			w.input = nil
		}
		if tool.OutputSchema != nil {
			out := &reader{doc: schema.New(tool.OutputSchema), names: names}
			w.output = out.read(tool.OutputSchema, w.ident+"Output", 0)
		}
		if s.OnlyTypes && w.input != nil && w.input.sort != object {
			w.args = names.take(w.ident + "Args")
		}
		if s.OnlyTypes && w.output != nil && w.output.sort != object {
			w.out = names.take(w.ident + "Output")
		}
		all = append(all, w)
	}
	return all, left
}

// names has the names that are in use.
type names map[string]bool

// take returns name, with a number after it if name is in use, and marks the result as in use.
func (n names) take(name string) string {
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

// identOf returns an identifier of ASCII letters and digits for a name: each word begins with a
// capital. It puts fallback before the result if the result is empty or begins with a digit.
func identOf(name, fallback string) string {
	var b strings.Builder
	upper := true
	for _, r := range name {
		switch {
		case r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			upper = true
		case upper:
			b.WriteRune(unicode.ToUpper(r))
			upper = false
		default:
			b.WriteRune(r)
		}
		if b.Len() >= 80 {
			break
		}
	}
	ident := b.String()
	if ident == "" || ident[0] >= '0' && ident[0] <= '9' {
		return fallback + ident
	}
	return ident
}

// A reader derives types from one schema. A schema that it cannot express becomes anything.
type reader struct {
	doc   *schema.Document
	names names
	// within has the references on the current path, count is the number of types so far.
	within map[string]bool
	count  int
}

// deepest bounds the depth of types, mostTypes their number: schemas may refer to themselves.
const (
	deepest   = 12
	mostTypes = 2000
)

// read returns the type of a schema. name is the name of the type if it is an object. The type is
// anything if the schema is not an object, refers to itself, or exceeds a limit.
func (r *reader) read(raw json.RawMessage, name string, depth int) *typ {
	members, err := jsonraw.Object(raw)
	r.count++
	if err != nil || depth > deepest || r.count > mostTypes {
		return &typ{}
	}
	if ref, ok := members.Get("$ref"); ok {
		target, _ := jsonraw.Text(ref)
		to, ok := r.doc.Resolve(target)
		if !ok || r.within[target] {
			return &typ{}
		}
		if r.within == nil {
			r.within = map[string]bool{}
		}
		r.within[target] = true
		defer delete(r.within, target)
		return r.read(to.Raw, name, depth+1)
	}
	t := r.alternatives(members, name, depth)
	if t == nil {
		t = r.plain(members, name, depth)
	}
	t.about = members.Text("description")
	return t
}

// alternatives returns the type of a schema with anyOf, oneOf, allOf, enum or const; nil for other
// schemas. Alternatives of one type and null are nullable; other alternatives are anything.
func (r *reader) alternatives(members jsonraw.Members, name string, depth int) *typ {
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		raw, there := members.Get(key)
		if !there {
			continue
		}
		all, _ := jsonraw.Array(raw)
		var rest []json.RawMessage
		for _, one := range all {
			if kind, _ := jsonraw.Text(jsonraw.First(one, "type")); kind != "null" {
				rest = append(rest, one)
			}
		}
		if len(rest) != 1 {
			return &typ{}
		}
		t := r.read(rest[0], name, depth+1)
		t.nullable = t.nullable || len(rest) < len(all)
		return t
	}
	choices, enum := members.Get("enum")
	values, _ := jsonraw.Array(choices)
	if one, ok := members.Get("const"); ok && !enum {
		values = []json.RawMessage{one}
	}
	if len(values) == 0 {
		return nil
	}
	t := &typ{sort: text, choices: values}
	for _, v := range values {
		if _, ok := jsonraw.Text(v); !ok {
			t.sort = anything
		}
	}
	return t
}

// plain returns the type that the keyword type declares.
func (r *reader) plain(members jsonraw.Members, name string, depth int) *typ {
	raw, declared := members.Get("type")
	kinds := schema.AllTypes
	if declared {
		kinds, _ = schema.ParseTypes(raw)
	} else if members.Value("properties") != nil {
		kinds = schema.Object
	}
	t := &typ{nullable: kinds&schema.Null != 0}
	switch kinds &^ schema.Null {
	case schema.String:
		t.sort = text
	case schema.Whole:
		t.sort = integer
	case schema.Number:
		t.sort = number
	case schema.Boolean:
		t.sort = boolean
	case schema.Array:
		t.sort = list
		t.item = r.read(members.Value("items"), name+"Item", depth+1)
	case schema.Object:
		r.object(t, members, name, depth)
	default:
		t.nullable = false
	}
	return t
}

// object completes t as the type of an object: a dict if the schema declares no properties or
// declares one twice.
func (r *reader) object(t *typ, members jsonraw.Members, name string, depth int) {
	properties, _ := jsonraw.Object(members.Value("properties"))
	if _, twice := properties.Duplicate(); twice || len(properties) == 0 {
		t.sort = dict
		t.item = &typ{}
		if more, _ := members.Get("additionalProperties"); len(more) > 0 && more[0] == '{' {
			t.item = r.read(more, name+"Value", depth+1)
		}
		return
	}
	t.sort, t.name = object, r.names.take(name)
	required := members.Words("required")
	idents := names{}
	for _, p := range properties {
		f := field{name: p.Name, ident: idents.take(identOf(p.Name, "Field")), required: required[p.Name]}
		f.typ = r.read(p.Value, t.name+f.ident, depth+1)
		f.about = f.typ.about
		t.fields = append(t.fields, f)
	}
}

// isClosed reports whether a schema allows no members: no properties, and additionalProperties
// missing or false.
func isClosed(raw json.RawMessage) bool {
	members, _ := jsonraw.Object(raw)
	properties, _ := jsonraw.Object(members.Value("properties"))
	more, there := members.Get("additionalProperties")
	return len(properties) == 0 && (!there || string(more) == "false")
}

// oneLine returns a server's text for a comment: on one line, of about 600 bytes at most, with
// invisible characters as <U+XXXX>, and without a sequence that ends a comment.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	var b strings.Builder
	for i, r := range s {
		if i > 600 {
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

// wrapped splits a text into lines of at most width bytes; a longer word has its own line. It
// returns one empty line for an empty text.
func wrapped(s string, width int) (lines []string) {
	line := ""
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
