package arguments_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/host"
	"mcpc/internal/tests/connecttest"
	"mcpc/internal/usage"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// schemaOf compiles a schema; "" gives nil, which allows everything.
func schemaOf(t *testing.T, text string) *validate.Schema {
	t.Helper()
	if text == "" {
		return nil
	}
	schema, _, err := validate.Compile([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func env(t *testing.T) *host.Env {
	t.Helper()
	e, _ := connecttest.Env(t, "")
	return e
}

const properties = `{"type":"object","properties":{
	"s":{"type":"string"},"n":{"type":"number"},"i":{"type":"integer"},"b":{"type":"boolean"},"z":{"type":"null"},
	"l":{"type":"array","items":{"type":"integer"}},"o":{"type":"object","properties":{"in":{"type":"integer"}}},
	"sn":{"type":["string","number"]},"nn":{"type":["string","null"]},"e":{"enum":["red","green",3,"3",true]},
	"d.e":{"type":"integer"},"any":{}}}`

const tuple = `{"properties":{
	"t":{"type":"array","prefixItems":[
		{"type":["string","array"]},{"type":["integer","array"]},{"type":"boolean"}],"items":{"type":"number"}},
	"u":{"items":{"properties":{"v":{"prefixItems":[{"type":"string"}]}}}}}}`

// union has alternatives that members distinguish: of the whole, of a member, of items.
const union = `{"oneOf":[
	{"properties":{"kind":{"const":"circle"},"r":{"type":"number"}}},
	{"properties":{"kind":{"enum":["text","word"]},"r":{"type":"string"}}}],
	"properties":{
	"in":{"anyOf":[
		{"properties":{"v":{"const":1},"n":{"type":"integer"}}},
		{"properties":{"v":{"const":2},"n":{"type":"string"}}}]},
	"l":{"items":{"oneOf":[
		{"properties":{"k":{"const":"a"},"n":{"type":"integer"}}},
		{"properties":{"k":{"const":"b"},"n":{"type":"string"}}}]}}}}`

// Words become JSON: with the types of the schema, else as texts; paths reach into objects and lists.
func TestReadWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, words, want string }{
		{"", "a=1", `{"a":"1"}`},
		{"", "a:=1", `{"a":1}`},
		{"", `a:=[1,{"b":null}]`, `{"a":[1,{"b":null}]}`},
		{"", "a=", `{"a":""}`},
		{"", "a=b=c", `{"a":"b=c"}`},
		{"", "a=x b=y", `{"a":"x","b":"y"}`},
		{"", `{"a":1} b:=2`, `{"a":1,"b":2}`},
		{"", `{"a":1} a:=2`, `{"a":2}`},
		{"", "a.b=x a.c=y", `{"a":{"b":"x","c":"y"}}`},
		{"", "a[]=x a[]=y", `{"a":["x","y"]}`},
		{"", "a[0]=x a[1]=y", `{"a":["x","y"]}`},
		{"", "a[0].b=x a[0].c=y", `{"a":[{"b":"x","c":"y"}]}`},
		{"", "a[][]=x", `{"a":[["x"]]}`},
		{"", `a\.b=x`, `{"a.b":"x"}`},
		{"", `a\[0]=x`, `{"a[0]":"x"}`},
		{"", `a\=b=x`, `{"a=b":"x"}`},
		{"", `a\:=x`, `{"a:":"x"}`},
		{"", `a\\=x`, `{"a\\":"x"}`},
		{properties, "s=1", `{"s":"1"}`},
		{properties, "s=null", `{"s":"null"}`},
		{properties, "n=1.50", `{"n":1.50}`},
		{properties, "n=9007199254740993", `{"n":9007199254740993}`},
		{properties, "i=42", `{"i":42}`},
		{properties, "b=true", `{"b":true}`},
		{properties, "z=null", `{"z":null}`},
		{properties, "l[]=1 l[]=2", `{"l":[1,2]}`},
		{properties, "l=[1]", `{"l":[1]}`},
		{properties, `o={"in":1}`, `{"o":{"in":1}}`},
		{properties, "o.in=7", `{"o":{"in":7}}`},
		{properties, "sn=1", `{"sn":"1"}`},
		{properties, "nn=null", `{"nn":"null"}`},
		{properties, "e=red", `{"e":"red"}`},
		{properties, "e=3", `{"e":"3"}`},
		{properties, "e=true", `{"e":true}`},
		{properties, "any=1", `{"any":"1"}`},
		{properties, `d\.e=1`, `{"d.e":1}`},
		{tuple, "t[]=a t[]=5 t[]=true t[]=6", `{"t":["a",5,true,6]}`},
		{tuple, "t[0]=1 t[1]=5", `{"t":["1",5]}`},
		{tuple, `{"t":["a"]} t[]=5`, `{"t":["a",5]}`},
		{tuple, "t[][]=1 t[][]=2", `{"t":[["1"],["2"]]}`},
		{tuple, "u[].v[]=1 u[].v[]=2", `{"u":[{"v":["1"]},{"v":["2"]}]}`},
		{union, "kind=circle r=2", `{"kind":"circle","r":2}`},
		{union, "r=2 kind=circle", `{"r":2,"kind":"circle"}`},
		{union, "kind=text r=2", `{"kind":"text","r":"2"}`},
		{union, `{"kind":"circle"} r=2`, `{"kind":"circle","r":2}`},
		{union, "in.v=1 in.n=2", `{"in":{"v":1,"n":2}}`},
		{union, "in.n=2 in.v=2", `{"in":{"n":"2","v":2}}`},
		{union, "l[0].k=a l[0].n=1 l[1].n=1 l[1].k=b", `{"l":[{"k":"a","n":1},{"n":"1","k":"b"}]}`},
		{properties, "i:=1.5", `{"i":1.5}`}, // the later check rejects it
	} {
		g, err := arguments.Parse(env(t), strings.Fields(c.words), "", false)
		if err != nil {
			t.Errorf("%s: %v", c.words, err)
			continue
		}
		r := g.Read(schemaOf(t, c.schema), false)
		if string(r.Arguments) != c.want || len(r.Findings) > 0 {
			t.Errorf("%s: got %s %v, want %s", c.words, r.Arguments, r.Findings, c.want)
		}
	}
}

// A value that the schema does not allow is a finding with the allowed values; leniently it is sent
// as a text.
func TestReadFindings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ words, where, says, lenient string }{
		{"n=x", "/n", "must be a number, such as n=1, got n=x", `{"n":"x"}`},
		{"i=true", "/i", "must be a whole number, such as i=42", `{"i":"true"}`},
		{"i=5.5", "/i", "must be a whole number, such as i=42, got i=5.5", `{"i":5.5}`},
		{"i=080", "/i", "must be a number without leading zeros: i=80, got i=080", `{"i":"080"}`},
		{"n=-007.5", "/n", "must be a number without leading zeros: n=-7.5", `{"n":"-007.5"}`},
		{"n=00", "/n", "must be a number, such as n=1, got n=00", `{"n":"00"}`},
		{"b=yes", "/b", "must be true or false", `{"b":"yes"}`},
		{"z=0", "/z", "must be null", `{"z":"0"}`},
		{"l=1", "/l", "must be a list, as l[]=… for each item", `{"l":"1"}`},
		{"o=1", "/o", "must be an object, as o.NAME=…", `{"o":"1"}`},
		{"o.in=x", "/o/in", "must be a whole number, such as o.in=42", `{"o":{"in":"x"}}`},
		{"l[]=x", "/l/-", "must be a whole number", `{"l":["x"]}`},
		{"e=rde", "/e", "must be red, green, 3, 3 or true (did you mean red?)", `{"e":"rde"}`},
		{"e=purple", "/e", "must be red, green, 3, 3 or true, got", `{"e":"purple"}`},
	} {
		g, err := arguments.Parse(env(t), strings.Fields(c.words), "", false)
		if err != nil {
			t.Errorf("%s: %v", c.words, err)
			continue
		}
		schema := schemaOf(t, properties)
		r := g.Read(schema, false)
		if len(r.Findings) != 1 || r.Findings[0].Pointer != c.where || !strings.Contains(r.Findings[0].Text, c.says) {
			t.Errorf("%s: got %+v, want %s %s", c.words, r.Findings, c.where, c.says)
		}
		if r := g.Read(schema, true); string(r.Arguments) != c.lenient || len(r.Findings) > 0 {
			t.Errorf("%s leniently: got %s %+v", c.words, r.Arguments, r.Findings)
		}
	}
}

// A path cannot lead into a value of another kind, nor leave a gap in a list.
func TestReadIntoDocument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ document, word, want, says string }{
		{`{"a":{"b":1}}`, "a.c:=2", `{"a":{"b":1,"c":2}}`, ""},
		{`{"a":[1,2]}`, "a[]:=3", `{"a":[1,2,3]}`, ""},
		{`{"a":[1,2]}`, "a[0]:=3", `{"a":[3,2]}`, ""},
		{`{"a":[1,2]}`, "a[2]:=3", `{"a":[1,2,3]}`, ""},
		{`{"a":[1,2]}`, "a[3]:=3", "", "item [3] would leave a gap after 2 items"},
		{`{"a":1}`, "a.b:=2", "", `1 is not an object, so it cannot have the member "b"`},
		{`{"a":1}`, "a[]:=2", "", "1 is not an array"},
		{`{"a":"x"}`, "a.b=y", "", `"x" is not an object`},
		{`{"a":[{}]}`, "a[0].b:=2", `{"a":[{"b":2}]}`, ""},
	} {
		g, err := arguments.Parse(env(t), []string{c.document, c.word}, "", false)
		if err != nil {
			t.Fatal(err)
		}
		r := g.Read(nil, false)
		switch {
		case c.says == "" && (string(r.Arguments) != c.want || len(r.Findings) > 0):
			t.Errorf("%s %s: got %s %+v, want %s", c.document, c.word, r.Arguments, r.Findings, c.want)
		case c.says != "" && (len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Text, c.says)):
			t.Errorf("%s %s: got %+v, want %s", c.document, c.word, r.Findings, c.says)
		}
	}
}

// A text that is JSON too is sent as a text, with a note of how to send the other; the hint for a
// word that then does not fit has the same note.
func TestReadNotesOtherMeaningOfText(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{
		"free":{},"both":{"type":["string","integer"]},"text":{"type":"string"}}}`
	for word, want := range map[string]string{
		"free=7":       `free=7 is sent as the text "7"; free:=7 sends the number`,
		"free=true":    `free:=true sends the boolean`,
		"free=[1]":     `free:=[1] sends the array`,
		`free={"a":1}`: `free:={"a":1} sends the object`,
		"free=null":    `free:=null sends the null`,
		`free="x"`:     "",
		"free=x":       "",
		"both=7":       `both:=7 sends the number`,
		"both=true":    "",
		"text=7":       "",
	} {
		e, user := connecttest.Env(t, "")
		g, err := arguments.Parse(e, []string{word}, "", false)
		if err != nil {
			t.Fatal(err)
		}
		r := g.Read(schemaOf(t, schema), false)
		arguments.Tell(e, r)
		name, _, _ := strings.Cut(word, "=")
		hint := r.Otherwise([]wire.Finding{{Pointer: "/other"}, {Pointer: "/" + name}})
		shown := user.Shown()
		switch {
		case want == "" && (len(shown) > 0 || hint != ""):
			t.Errorf("%s: shown %q, hint %q", word, shown, hint)
		case want == "":
		case len(shown) != 1 || !strings.HasPrefix(shown[0], "note: ") || !strings.Contains(shown[0], want):
			t.Errorf("%s: shown %q, want %q", word, shown, want)
		case !strings.HasPrefix(hint, word+" is sent as a string; ") || r.Otherwise(nil) != "":
			t.Errorf("%s: hint %q", word, hint)
		}
	}
}

// A name that the schema does not list is a warning with the name that was perhaps meant, unless the schema forbids it.
func TestReadWarnsOfUnknownNames(t *testing.T) {
	t.Parallel()
	const open = `{"type":"object","properties":{"colour":{},"a.b":{},"o":{"type":"object","properties":{"inner":{}}}}}`
	const closed = `{"type":"object","properties":{"colour":{}},"additionalProperties":false}`
	for _, c := range []struct {
		schema, word, says string
		unlisted           bool
	}{
		{open, "colour=x", "", false},
		{open, "color=x", `the inputSchema has no argument "color"; did you mean colour?`, true},
		{open, "zzzzzzz=x", `the inputSchema has no argument "zzzzzzz"`, true},
		{open, "a.b=x", `no argument "a"; did you mean a\.b?`, true},
		{open, "o.iner=x", `no argument "o.iner"; did you mean inner?`, true},
		{open, "o.inner=x", "", false},
		{closed, "color=x", "", true},
		{`{"type":"object"}`, "color=x", "", false},
		{"", "color=x", "", false},
	} {
		g, err := arguments.Parse(env(t), []string{c.word}, "", false)
		if err != nil {
			t.Fatal(err)
		}
		r := g.Read(schemaOf(t, c.schema), false)
		if r.Unlisted != c.unlisted {
			t.Errorf("%s: unlisted is %t", c.word, r.Unlisted)
		}
		if got := strings.Join(r.Warnings, "\n"); c.says == "" && got != "" || !strings.Contains(got, c.says) {
			t.Errorf("%s: warnings %q, want %q", c.word, r.Warnings, c.says)
		}
	}
}

// Parse refuses what is no argument before anything is sent, all of it at once.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ words, says, hint string }{
		{"x", `not NAME=VALUE: "x"`, "arguments are NAME=VALUE"},
		{"x y", `not NAME=VALUE: "x", "y"`, "arguments are NAME=VALUE"},
		{"1", `not NAME=VALUE: "1"`, "arguments are NAME=VALUE"},
		{"=x", "a name is missing before the =", "help arguments"},
		{".a=x", "a name is missing before the dot", "help arguments"},
		{"a.=x", "a name is missing after the dot", "help arguments"},
		{"a..b=x", "a name is missing before the dot", "help arguments"},
		{"a.[0]=x", "a name is missing before the [", "help arguments"},
		{"a[x]=1", "[ ] takes a number", "help arguments"},
		{"a[-1]=1", "[ ] takes a number", "help arguments"},
		{"a[1=1", "[ ] takes a number", "help arguments"},
		{"a[0]b=1", "only a dot or a [ can follow ]", "help arguments"},
		{"a:=x", "the value of a is not JSON", "a=… sends a string unchanged"},
		{"a=1 a=2", `"a=1" and "a=2" give the same argument twice`, "a[]=… for each value makes a list"},
		{"a.b=1 a=2", `give the same argument twice`, ""},
		{"a[]=1 a[0]=2", "use [] or numbers, not both", "help arguments"},
		{"a[0]=1 a[]=2", "use [] or numbers, not both", "help arguments"},
		{"b=1 {}", `not NAME=VALUE: "{}"`, "the JSON object goes first"},
		{"- @-", "stdin can be read only once", "@FILE"},
		{"a=@- b=@-", "stdin can be read only once", "@FILE"},
		{"[1]", "must be a JSON object, got [1]", "arguments are NAME=VALUE"},
		{"{a:{b:1}}", "the argument is not JSON", `quote it for the shell`},
		{"{a:1}", "the argument is not JSON", `words need none: a=1`},
		{"{'a':1}", "the argument is not JSON", `JSON needs double quotes`},
		{`{"a":1,"a":2}`, `the argument has the member "a" twice`, ""},
		{"x a:=x b=1", "2 problems with the arguments", "a=… sends a string unchanged"},
	} {
		_, err := arguments.Parse(env(t), strings.Fields(c.words), "", false)
		if err == nil {
			t.Errorf("%s: no error", c.words)
			continue
		}
		out := usage.Outcome(err)
		if !strings.Contains(out.Text, c.says) || !strings.Contains(out.Hint.String(), c.hint) || out.Kind != wire.Usage {
			t.Errorf("%s: got %s %q, hint %q; want %q, hint %q", c.words, out.Kind, out.Text, out.Hint, c.says, c.hint)
		}
	}
}

// Several problems are one error with a finding for each.
func TestParseReportsAllProblems(t *testing.T) {
	t.Parallel()
	_, err := arguments.Parse(env(t), []string{"x", "a:=x", "=1"}, "", false)
	all, ok := errors.AsType[*usage.Errors](err)
	if !ok || len(all.Findings) != 3 {
		t.Fatalf("got %v", err)
	}
}

// --args is the document, and words are put into it; -, @FILE and NAME=@FILE are read.
func TestParseReadsInputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	document, text, binary := filepath.Join(dir, "a.json"), filepath.Join(dir, "a.txt"), filepath.Join(dir, "a.bin")
	for name, content := range map[string]string{document: " {\"f\":1}\n", text: "line\n", binary: "\xff"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		flag  string
		words []string
		want  string // or the text of the error
	}{
		{`{"a":1}`, nil, `{"a":1}`},
		{`{"a":1}`, []string{"b=2"}, `{"a":1,"b":"2"}`},
		{"@" + document, nil, `{"f":1}`},
		{"-", nil, `{"stdin":1}`},
		{"", []string{"@" + document, "b=2"}, `{"f":1,"b":"2"}`},
		{"", []string{"-", "b=2"}, `{"stdin":1,"b":"2"}`},
		{"", []string{"t=@" + text}, `{"t":"line\n"}`},
		{"", []string{"t:=@" + document}, `{"t":{"f":1}}`},
		{"", []string{"t=@-"}, `{"t":"{\"stdin\":1}"}`},
		{"", []string{"t=@" + binary}, "is not UTF-8"},
		{"", []string{"t=\xff"}, "is not UTF-8"},
		{"", []string{"t:=@" + text}, text + " is not JSON"},
		{"@" + filepath.Join(dir, "none"), nil, "no such file"},
		{`{"a":1}`, []string{`{"b":1}`}, "the JSON object goes first"},
	} {
		e, user := connecttest.Env(t, "")
		user.Stdin = `{"stdin":1}`
		g, err := arguments.Parse(e, c.words, c.flag, false)
		got := ""
		if err != nil {
			got = usage.Outcome(err).Text + " " + usage.Outcome(err).Hint.String()
		} else {
			got = string(g.Read(nil, false).Arguments)
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%s %q: got %s, want %s", c.flag, c.words, got, c.want)
		}
	}
}

// The limit for messages is one for arguments, too.
func TestArgumentsLimit(t *testing.T) {
	t.Parallel()
	e := env(t)
	for limit, ok := range map[int64]bool{8: true, 7: false} {
		e.Limits.Message = limit
		_, err := arguments.Arguments(e, `{"a":10}`)
		if ok != (err == nil) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// Flat words have names in the place of paths, and all values are texts.
func TestFlatWordsAreTexts(t *testing.T) {
	t.Parallel()
	g, err := arguments.Parse(env(t), []string{`{"z":"0"}`, "a.b=1", "c[0]=null", "d:=2"}, "", true)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(g.Texts()), `{"z":"0","a.b":"1","c[0]":"null","d":2}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, err = arguments.Parse(env(t), []string{"a=1", "a=2"}, "", true)
	if out := usage.Outcome(err); err == nil || out.Hint.String() != "use only one of them" {
		t.Errorf("got %v", err)
	}
}

// The distinction of words, documents and scalars.
func TestWordsAndDocuments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text              string
		at                int
		unnamed, isScalar bool
	}{
		{"a=b", 1, false, false},
		{"a:=b", 1, false, false},
		{`a\=b=c`, 4, false, false},
		{"a", -1, true, false},
		{"12", -1, true, true},
		{"true", -1, true, true},
		{"null", -1, true, true},
		{"{}", -1, false, false},
		{"@file", -1, false, false},
		{"-", -1, false, false},
		{`"x"`, -1, false, false},
		{"", -1, false, false},
		{"a:b", -1, true, false},
	} {
		at, _ := arguments.Operator(c.text)
		unnamed, isScalar := arguments.IsUnnamed(c.text), arguments.IsScalar(c.text)
		if at != c.at || unnamed != c.unnamed || isScalar != c.isScalar {
			t.Errorf("%q: operator at %d, unnamed %t, scalar %t", c.text, at, unnamed, isScalar)
		}
	}
}

// A path is written as it would be typed, so that reading it again gives the same path.
func TestWrittenPathsParseToSamePath(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a", "a.b", "a[].b", "a[12][0]", `a\.b`, `a\[b`, `a\=b`, `a\\b`} {
		path, err := arguments.ReadPath(text, false)
		if err != nil || arguments.Written(path) != text {
			t.Errorf("%s: written as %s, %v", text, arguments.Written(path), err)
		}
	}
	if _, err := arguments.ReadPath(`a\`, false); err == nil {
		t.Error("a backslash at the end is no path")
	}
}

// Assigned values are texts, and lists if a name is repeated.
func TestAssignedValuesAreTextsOrLists(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"":              `{}`,
		"a=1":           `{"a":"1"}`,
		"a=1 a=2":       `{"a":["1","2"]}`,
		"a=1 a=2 a=3":   `{"a":["1","2","3"]}`,
		"a=1 b=x=y a=2": `{"a":["1","2"],"b":"x=y"}`,
		`{"a":1}`:       `{"a":1}`,
		"-":             `{"stdin":1}`,
		"a":             "not NAME=VALUE",
		"=a":            "not NAME=VALUE",
		`b=1 {"a":1}`:   "not NAME=VALUE",
	} {
		e, user := connecttest.Env(t, "")
		user.Stdin = `{"stdin":1}`
		raw, err := arguments.Assigned(e, strings.Fields(words))
		if err == nil && string(raw) != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %s %v, want %s", words, raw, err, want)
		}
	}
}

// Findings that a word with a wrong type causes are not reported besides the finding of that word.
func TestFindingsOfMistypedWordAreNotRepeated(t *testing.T) {
	t.Parallel()
	said := []wire.Finding{{Pointer: "/a/b"}, {Pointer: "/l/-"}}
	for _, c := range []struct {
		finding wire.Finding
		stays   bool
	}{
		{wire.Finding{Rule: "type", Pointer: "/a/b"}, false},
		{wire.Finding{Rule: "type", Pointer: "/a/b/c"}, false},
		{wire.Finding{Rule: "anyOf", Pointer: "/a"}, false},
		{wire.Finding{Rule: "type", Pointer: "/a/bc"}, true},
		{wire.Finding{Rule: "type", Pointer: "/l"}, false},
		{wire.Finding{Rule: "type", Pointer: "/c"}, true},
		{wire.Finding{Rule: "required", Pointer: "/a", Want: `"b"`}, false},
		{wire.Finding{Rule: "required", Pointer: "", Want: `"a"`}, false},
		{wire.Finding{Rule: "required", Pointer: "", Want: `"c"`}, true},
		{wire.Finding{Rule: "additionalProperties", Pointer: "/a"}, true},
		{wire.Finding{Rule: "additionalProperties", Pointer: "/a/b"}, false},
	} {
		if got := arguments.Unreported([]wire.Finding{c.finding}, said); (len(got) == 1) != c.stays {
			t.Errorf("%+v: stays is %t", c.finding, !c.stays)
		}
	}
}

// An error lists at most 20 values of an enum.
func TestLongEnumIsShortened(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		1: "must be v1, got", 2: "must be v1 or v2, got", 20: " or v20, got", 21: "v20 or one of 1 more",
	} {
		var values []string
		for i := range n {
			values = append(values, "v"+strconv.Itoa(i+1))
		}
		list, _ := json.Marshal(values)
		g, err := arguments.Parse(env(t), []string{"e=zzzzzzzzzz"}, "", false)
		if err != nil {
			t.Fatal(err)
		}
		r := g.Read(schemaOf(t, `{"properties":{"e":{"enum":`+string(list)+`}}}`), false)
		if !slices.ContainsFunc(r.Findings, func(f wire.Finding) bool { return strings.Contains(f.Text, want) }) {
			t.Errorf("%d: got %+v, want %q", n, r.Findings, want)
		}
	}
}

// A word with several arguments, and words that make an item each, are named if they do not fit.
func TestHintsForWordsThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words         []string
		where         string
		joined, split string
	}{
		{[]string{"a=1 b=2"}, "/a", "each argument is a separate word: a=1 b=2", ""},
		{[]string{"a=1,b=2"}, "/a", "each argument is a separate word: a=1 b=2", ""},
		{[]string{"a=1,", "b=2"}, "/a", "each argument is a separate word: a=1", ""},
		{[]string{"a=1 b=2"}, "/b", "", ""},
		{[]string{"a=one, two"}, "/a", "", ""},
		{[]string{"a=1"}, "/a", "", ""},
		{[]string{"l[].a=1", "l[].b=2"}, "/l", "", "each [] adds an item: use l[0].a= and l[0].b= for members of one item"},
		{[]string{"l[].a=1", "l[].a=2"}, "/l", "", ""},
		{[]string{"l[].a=1", "m[].b=2"}, "/l", "", ""},
	} {
		g, err := arguments.Parse(env(t), c.words, "", false)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Joined([]wire.Finding{{Pointer: c.where}}); got != c.joined {
			t.Errorf("%q: got %q, want %q", c.words, got, c.joined)
		}
		if got := g.Split(); got != c.split {
			t.Errorf("%q: got %q, want %q", c.words, got, c.split)
		}
	}
}
