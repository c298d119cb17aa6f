package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/jsonraw"
	"mcpc/internal/usage"
	"mcpc/internal/validate"
)

// argumentRow is what a user types after `mcpc call TOOL`, and the JSON that
// goes out: "2" or "3" and a part of the error where nothing does. The tools
// are those that the real servers of peers_words_test.go have too.
type argumentRow struct {
	tool  string
	words []string
	want  string
}

// argumentFiles are in the directory in which the rows are typed.
var argumentFiles = map[string]string{
	"args.json": `{"value": 7}` + "\n", "bom.json": "\xEF\xBB\xBF" + `{"message":"marked"}`, "note.txt": "two\nlines\n",
	"list.json": `[1, 2.50]`, "broken.json": `[1,`, "latin1.txt": "\xe9",
}

var argumentSchemas = map[string]string{
	"echo":                   `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"],"additionalProperties":false}`,
	"get-sum":                `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`,
	"get-structured-content": `{"type":"object","properties":{"location":{"type":"string","enum":["New York","Chicago","Los Angeles"]}},"required":["location"]}`,
	"region-query":           `{"type":"object","properties":{"region":{"type":"string"},"query":{"type":"string"}},"required":["region"]}`,
	"repeat-integer":         `{"type":"object","properties":{"value":{"type":"integer"}},"required":["value"]}`,
}

var argumentRows = []argumentRow{
	// Where a text is wanted every text is one.
	{"echo", words("message=hi"), `{"message":"hi"}`},
	{"echo", words("message=01234"), `{"message":"01234"}`},
	{"echo", words("message=1e3"), `{"message":"1e3"}`},
	{"echo", words("message=true"), `{"message":"true"}`},
	{"echo", words("message=null"), `{"message":"null"}`},
	{"echo", words(`message="x"`), `{"message":"\"x\""}`},
	{"echo", words("message="), `{"message":""}`},
	{"echo", words("message==="), `{"message":"=="}`},
	{"echo", words(`message={"a":1}`), `{"message":"{\"a\":1}"}`},
	{"echo", words("message= a b "), `{"message":" a b "}`},
	{"echo", words("message=a\r\nb"), `{"message":"a\r\nb"}`},
	{"echo", words("message=世界 👩‍👩‍👧"), `{"message":"世界 👩‍👩‍👧"}`},
	{"echo", words(`message=C:\new.txt`), `{"message":"C:\\new.txt"}`},
	{"echo", words("message=a:=b"), `{"message":"a:=b"}`},
	{"echo", words("message=@note.txt"), `{"message":"two\nlines\n"}`},
	{"echo", words(`message:="@note.txt"`), `{"message":"@note.txt"}`},
	{"echo", words("@bom.json"), `{"message":"marked"}`},
	{"echo", words("message=@latin1.txt"), "2 latin1.txt is not UTF-8"},
	{"echo", words("message=@nothing"), "2 no such file"},
	{"echo", words("message:=7"), "3 must be string, got number"},
	{"echo", words("mesage=hi"), `3 unknown member "mesage", did you mean "message"?`},
	{"echo", words("message"), "2 not NAME=VALUE"},
	{"echo", words("=hi"), "2 a name is missing"},
	{"echo", words("message=a", "message=b"), "2 give the same argument twice"},
	// Numbers keep their digits.
	{"repeat-integer", words("value=42"), `{"value":42}`},
	{"repeat-integer", words("value=-0"), `{"value":-0}`},
	{"repeat-integer", words("value=9007199254740993"), `{"value":9007199254740993}`},
	{"repeat-integer", words("value=123456789012345678901234567890"), `{"value":123456789012345678901234567890}`},
	{"repeat-integer", words("value=012"), "3 /value must be a whole number, such as value=42, got value=012"},
	{"repeat-integer", words("value=abc"), "3 must be a whole number"},
	{"repeat-integer", words("value="), "3 must be a whole number"},
	{"repeat-integer", words("value=null"), "3 must be a whole number"},
	{"repeat-integer", words(`value="7"`), "3 must be a whole number"},
	{"repeat-integer", words("value=1.5"), "3 must be integer"},
	{"repeat-integer", words("@args.json"), `{"value": 7}`},
	{"repeat-integer", words("@args.json", "value=8"), `{"value": 8}`},
	{"get-sum", words("b=1.10", "a=1e3"), `{"b":1.10,"a":1e3}`},
	{"get-sum", words(`{"a": 1, "b": 2}`, "b=3"), `{"a": 1, "b": 3}`},
	{"get-sum", words("a=0x10", "b=NaN"), "3 /b must be a number"},
	{"get-sum", words("a=true", "b=1"), "3 must be a number"},
	{"get-sum", words("a=1", `{"b":2}`), "2 the JSON object goes first"},
	// One of several.
	{"get-structured-content", words("location=New York"), `{"location":"New York"}`},
	{"get-structured-content", words("location=new york"), "3 must be New York, Chicago or Los Angeles (did you mean New York?)"},
	// What the schema does not speak of is a text, and := says what else it is.
	{"region-query", words("region=eu", "n=1"), `{"region":"eu","n":"1"}`},
	{"region-query", words("region=eu", "n:=1", "t:=true", "z:=null"), `{"region":"eu","n":1,"t":true,"z":null}`},
	{"region-query", words("region=eu", "to.zip=1", "to.x.y:=2", "to.zap=3"), `{"region":"eu","to":{"zip":"1","x":{"y":2},"zap":"3"}}`},
	{"region-query", words("region=eu", "tags[]=a", "tags[]=b", "n[0]:=1", "n[1]:=2"), `{"region":"eu","tags":["a","b"],"n":[1,2]}`},
	{"region-query", words("region=eu", "all[].x=1", "all[].y=2", "m[0][0]=z"), `{"region":"eu","all":[{"x":"1"},{"y":"2"}],"m":[["z"]]}`},
	{"region-query", words("region=eu", `a\.b=1`, `c\[d\]=2`, `e\=f=3`, `g\:=4`, `\-h=5`), `{"region":"eu","a.b":"1","c[d]":"2","e=f":"3","g:":"4","-h":"5"}`},
	{"region-query", words("region=eu", "list:=@list.json", "to.text=@note.txt"), `{"region":"eu","list":[1, 2.50],"to":{"text":"two\nlines\n"}}`},
	{"region-query", words(`{"region":"eu","a":{"x":[1]}}`, "a.x[]:=2", "a.y=3"), `{"region":"eu","a":{"x":[1,2],"y":"3"}}`},
	{"region-query", words("region=eu", "n:=@broken.json"), "2 broken.json is not JSON"},
	{"region-query", words("region=eu", "a[1]=x"), "3 would leave a gap"},
	{"region-query", words("region=eu", "a[]=x", "a[0]=y"), "2 not both"},
	{"region-query", words("region=eu", "region.x=1"), "3 is not an object"},
	{"region-query", words(`{"region":[]}`, "region.x=1"), "3 is not an object"},
	{"region-query", words("region=eu", "a..b=1"), "2 a name is missing"},
	{"region-query", words("region=eu", "a[x]=1"), "2 [ ] takes a number"},
	{"region-query", words("region=eu", "a:=1", "a.b=2"), "3 is not an object"},
	{"region-query", words("region=eu", "a.b=2", "a:=1"), "2 give the same argument twice"},
}

func words(all ...string) []string { return all }

func TestArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range argumentFiles {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := cmdutil.New(nil, nil, nil)
	f.Getenv = func(string) string { return "" }
	for _, row := range argumentRows {
		schema, _, err := validate.Compile([]byte(argumentSchemas[row.tool]))
		if err != nil {
			t.Fatal(err)
		}
		if got := readWords(t, f, schema, row.words); got != row.want && !said(got, row.want) {
			t.Errorf("%s %q\ngot  %s\nwant %s", row.tool, row.words, got, row.want)
		}
	}
}

// said: an error is what its code and a part of its text say.
func said(got, want string) bool {
	return strings.Contains("23", want[:1]) && got[:2] == want[:2] && strings.Contains(got, want[2:])
}

// readWords gives the arguments, or the exit code and the error.
func readWords(t *testing.T, f *cmdutil.Factory, schema *validate.Schema, typed []string) string {
	t.Helper()
	g, err := arguments.Parse(&f.Env, typed, "", false)
	if err != nil {
		return "2 " + err.Error() + " " + usage.Outcome(err).Hint.String()
	}
	r := g.Read(schema, false)
	if len(r.Findings) == 0 {
		if r.Findings, err = schema.Check(r.Arguments); err != nil {
			return "3 " + err.Error()
		}
	}
	if len(r.Findings) == 0 {
		return string(r.Arguments)
	}
	text := "3"
	for _, f := range r.Findings {
		text += " " + f.Where + " " + f.Text
	}
	return text
}

// What the types of a place come from: references, alternatives, conditions.
func TestArgumentsOfOddSchemas(t *testing.T) {
	f := cmdutil.New(nil, nil, nil)
	f.Getenv = func(string) string { return "" }
	for _, row := range []struct{ schema, word, want string }{
		{`{"properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"integer"}}}`, "n=1", `{"n":1}`},
		{`{"properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, "n=null", `{"n":null}`},
		{`{"properties":{"n":{"anyOf":[{"type":"integer"},{"type":"string"}]}}}`, "n=1", `{"n":"1"}`},
		{`{"properties":{"n":{"type":["boolean","number"]}}}`, "n=true", `{"n":true}`},
		{`{"allOf":[{"properties":{"n":{"type":"number"}}},{"properties":{"n":{"minimum":0}}}]}`, "n=1.0", `{"n":1.0}`},
		{`{"oneOf":[{"required":["x"],"properties":{"n":{"type":"number"}}},{"properties":{"m":{"type":"boolean"}}}]}`, "m=false", `{"m":false}`},
		{`{"properties":{"n":{"const":1}}}`, "n=1", `{"n":1}`},
		{`{"properties":{"n":{"enum":[1,"1"]}}}`, "n=1", `{"n":"1"}`},
		{`{"properties":{"n":{"enum":[1.10,true,null]}}}`, "n=null", `{"n":null}`},
		{`{"properties":{"n":{"anyOf":[{"enum":["a"]},{"type":"null"}]}}}`, "n=null", `{"n":null}`},
		{`{"additionalProperties":{"type":"integer"}}`, "x=5", `{"x":5}`},
		{`{"patternProperties":{"^n":{"type":"integer"}}}`, "nn=5", `{"nn":5}`},
		{`{"properties":{"l":{"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"string"}}}}`, "l[0]=5", `{"l":[5]}`},
		{`{"properties":{"l":{"type":"array","items":{"type":"integer"}}}}`, "l[]=5", `{"l":[5]}`},
		{`{"properties":{"l":{"type":"array"}}}`, "l=[5]", `{"l":[5]}`},
		{`{"properties":{"o":{"type":"object"}}}`, `o={"a":1}`, `{"o":{"a":1}}`},
		{`{"properties":{"t":{"$ref":"#"},"n":{"type":"integer"}}}`, "t.t.t.n=1", `{"t":{"t":{"t":{"n":1}}}}`},
		{`{"anyOf":[{"properties":{"t":{"$ref":"#"}}},{"properties":{"t":{"$ref":"#"}}}]}`, strings.Repeat("t.", 40) + "t=1",
			strings.Repeat(`{"t":`, 41) + `"1"` + strings.Repeat("}", 41)}, // the first alternative fits everywhere
		{`{"oneOf":[{"properties":{"t":{"$ref":"#"}}},{"properties":{"t":{"$ref":"#"}}}]}`, strings.Repeat("t.", 40) + "t=1", "3 too complex"},
		{`{"properties":{"n":false}}`, "n=1", "3 "},
		{`true`, "n=1", `{"n":"1"}`},
	} {
		schema, _, err := validate.Compile([]byte(row.schema))
		if err != nil {
			t.Fatalf("%s: %v", row.schema, err)
		}
		if got := readWords(t, f, schema, []string{row.word}); got != row.want && !said(got, row.want) {
			t.Errorf("%s in %s\ngot  %s\nwant %s", row.word, row.schema, got, row.want)
		}
	}
}

// FuzzWords checks that whatever is typed gives one JSON object whose members are
// in the order in which they were typed, or an error that has a text; and a word
// that is read is found again in the object, as the text that it is.
func FuzzWords(f *testing.F) {
	for _, row := range argumentRows {
		f.Add(strings.Join(row.words, "\x00"))
	}
	schema, _, err := validate.Compile([]byte(`{"properties":{"n":{"type":"integer"},"l":{"items":{"type":"number"}},"b":{"type":["boolean","null"]},"e":{"enum":[1,"x"]}}}`))
	if err != nil {
		f.Fatal(err)
	}
	a := cmdutil.New(nil, nil, nil)
	a.Getenv = func(string) string { return "" }
	f.Fuzz(func(t *testing.T, typed string) {
		if strings.Contains(typed, "@") || strings.HasPrefix(typed, "-") {
			return // files
		}
		words := strings.Split(typed, "\x00")
		g, err := arguments.Parse(&a.Env, words, "", false)
		if err != nil {
			if err.Error() == "" {
				t.Errorf("%q is refused without a word", words)
			}
			return
		}
		for _, s := range []*validate.Schema{nil, schema} {
			checkReading(t, g, g.Read(s, false), s == nil)
			checkReading(t, g, g.Read(s, true), s == nil)
		}
	})
}

func checkReading(t *testing.T, g arguments.Given, r arguments.Reading, untyped bool) {
	t.Helper()
	if len(r.Findings) > 0 {
		return
	}
	var decoded map[string]any
	if jsonraw.Valid(r.Arguments) != nil || json.Unmarshal(r.Arguments, &decoded) != nil || decoded == nil {
		t.Fatalf("%v become %s", g, r.Arguments)
	}
	if len(g.Words) == 1 && len(g.Words[0].Path) == 1 && untyped && g.Words[0].Raw == nil {
		w := g.Words[0]
		if decoded[w.Path[0].Name] != w.Text {
			t.Errorf("%q becomes %s", w.Typed, r.Arguments)
		}
		if again, err := arguments.ReadPath(arguments.EscapedName(w.Path[0].Name), false); err != nil || len(again) != 1 || again[0] != w.Path[0] {
			t.Errorf("the name %q is written %q, which is read as %v (%v)", w.Path[0].Name, arguments.EscapedName(w.Path[0].Name), again, err)
		}
	}
}

func TestStandardInputIsReadOnce(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("typed"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f := cmdutil.New(file, nil, nil)
	f.Getenv = func(string) string { return "" }
	g, err := arguments.Parse(&f.Env, []string{"a=@-"}, "", false)
	if err != nil || string(g.Words[0].Raw) != `"typed"` {
		t.Errorf("%v, %v", g, err)
	}
	for _, typed := range [][]string{{"-", "a=@-"}, {"a=@-", "b:=@-"}} {
		if _, err := arguments.Parse(&f.Env, typed, "", false); err == nil {
			t.Errorf("%q reads standard input twice", typed)
		}
	}
}
