// Package codegen writes typed wrappers of a server's tools: a Go package or a
// TypeScript module that needs nothing but mcpc on the path. It makes types of
// schemas and names of names; it connects to no server and starts no process.
//
// Everything that it writes from a server's list is hostile: names stand between
// quotes or become identifiers of ASCII letters, texts stand in comments on lines of
// their own. The same list gives the same bytes.
//
// It is a package of its own, because the command has only the flags and the files: a program that has the
// list of a server's tools can write its wrappers.
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

// A Source is what is written from.
type Source struct {
	// Server is how the server calls itself.
	Server string
	// Target are the words behind -s, and Command those behind --, that name it; both
	// are nil where the code is to leave that open.
	Target  string
	Command []string
	Tools   []mcp.Tool
	// OnlyTypes leaves out what calls the tools.
	OnlyTypes bool
}

// A LeftOut is a tool that got no wrapper, and why.
type LeftOut struct{ Name, Why string }

// A wrapper is a tool as both languages need it.
type wrapper struct {
	tool  mcp.Tool
	ident string // in capitals: GetSum
	// input is nil where the tool takes no arguments, output where it declares none.
	input, output *typ
	// args and out name input and output where they are not objects, and only types are written.
	args, out string
}

// A sort of type.
type sort int

const (
	anything sort = iota
	text
	integer
	number
	boolean
	object // with members
	dict   // of items by name
	list
)

// A typ is a type of both languages.
type typ struct {
	sort
	name     string // of an object
	about    string
	fields   []field
	item     *typ
	nullable bool
	// choices are the literals of an enum, nil where there is none.
	choices []json.RawMessage
}

type field struct {
	name, ident, about string
	required           bool
	typ                *typ
}

// wrappers takes the tools apart. Names of types and functions are different from
// each other and from reserved.
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

// names hands out each name once.
type names map[string]bool

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

// identOf makes an identifier of a name, each word of it with a capital; fallback
// stands before what begins with a digit or has no letters at all.
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

// A reader makes types of one schema. What it cannot express is anything.
type reader struct {
	doc   *schema.Document
	names names
	// within are the references that are being followed, count the types so far.
	within map[string]bool
	count  int
}

// deepest is how far types are looked for; schemas may refer to themselves.
const (
	deepest   = 12
	mostTypes = 2000
)

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

// alternatives reads what is one type or null, or an enum; nil where it is neither.
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

// isClosed reports whether a schema takes no members at all.
func isClosed(raw json.RawMessage) bool {
	members, _ := jsonraw.Object(raw)
	properties, _ := jsonraw.Object(members.Value("properties"))
	more, there := members.Get("additionalProperties")
	return len(properties) == 0 && (!there || string(more) == "false")
}

// oneLine is a server's text as it may stand in a comment: on one line, not too long,
// and with nothing in it that hides or ends a comment.
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
	// gofmt and go vet look for marks of the compiler in comments, too.
	return strings.NewReplacer("*/", "* /", "+build", "+ build").Replace(b.String())
}

// wrapped parts a text into lines.
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
