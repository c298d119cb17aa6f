package arguments_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/jsonraw"
	"mcpc/internal/tests/samples"
	"mcpc/internal/usage"
	"mcpc/internal/validate"
)

func TestArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range samples.ArgumentFiles {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := cmdutil.New(nil, nil, nil)
	f.Getenv = func(string) string { return "" }
	for _, row := range samples.ArgumentRows {
		schema, _, err := validate.Compile([]byte(samples.ArgumentSchemas[row.Tool]))
		if err != nil {
			t.Fatal(err)
		}
		if got := readWords(t, f, schema, row.Words); got != row.Want && !said(got, row.Want) {
			t.Errorf("%s %q\ngot  %s\nwant %s", row.Tool, row.Words, got, row.Want)
		}
	}
}

// said reports whether an error has the code and a part of the text.
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
		text += " " + f.Pointer + " " + f.Text
	}
	return text
}

// The sources of a place's types: references, alternatives, conditions.
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
		{
			`{"anyOf":[{"properties":{"t":{"$ref":"#"}}},{"properties":{"t":{"$ref":"#"}}}]}`, strings.Repeat("t.", 40) + "t=1",
			strings.Repeat(`{"t":`, 41) + `"1"` + strings.Repeat("}", 41),
		}, // the first alternative fits everywhere
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

// FuzzWords checks that any typed words give one JSON object with members in the typed order, or an
// error with a text; and that a word that was read is in the object as that text.
func FuzzWords(f *testing.F) {
	for _, row := range samples.ArgumentRows {
		f.Add(strings.Join(row.Words, "\x00"))
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
