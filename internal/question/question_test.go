package question

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const everyField = `{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{
	"t":{"type":"string","title":"Text","minLength":1,"maxLength":5},
	"e":{"type":"string","format":"email"},
	"n":{"type":"number","minimum":0.5},
	"i":{"type":"integer","maximum":9,"default":4},
	"b":{"type":"boolean","default":false},
	"c":{"type":"string","enum":["a","b"],"enumNames":["Ada","Bob"],"default":"b"},
	"o":{"type":"string","oneOf":[{"const":"1","title":"One"},{"const":"2"}]},
	"m":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["x","y"]}},
	"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"Ex"}]}},
	"z":{"type":"object"}
},"required":["t","z"]}}`

func form(t *testing.T) Form {
	t.Helper()
	f, err := ParseForm(json.RawMessage(everyField))
	if err != nil || f.Message != "Who?" || len(f.Fields) != 10 {
		t.Fatalf("%v %+v", err, f)
	}
	return f
}

func TestParseForm(t *testing.T) {
	var got []string
	for _, f := range form(t).Fields {
		line := f.Name + " " + f.Label() + " " + [...]string{"text", "number", "integer", "boolean", "choice", "choices", "other"}[f.Kind]
		if f.Required {
			line += " required"
		}
		for _, o := range f.Options {
			line += " " + o.Value + "=" + o.Title
		}
		got = append(got, strings.TrimSpace(line+" "+string(f.Default)+" "+f.Limits()))
	}
	want := []string{
		"t Text text required  1 to 5 characters",
		"e e text  email",
		"n n number  at least 0.5",
		"i i integer 4 at most 9",
		"b b boolean false",
		`c c choice a=Ada b=Bob "b"`,
		"o o choice 1=One 2=2",
		"m m choices x=x y=y  1 to 2",
		"a a choices x=Ex",
		"z z other required",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, params := range []string{``, `{}`, `{"requestedSchema":null}`, `{"requestedSchema":[1]}`} {
		if _, err := ParseForm(json.RawMessage(params)); err == nil {
			t.Errorf("%s was taken for a form", params)
		}
	}
}

func TestRead(t *testing.T) {
	f := form(t)
	for _, c := range []struct{ field, text, want string }{
		{"t", " a\"b ", `" a\"b "`},
		{"t", "", `""`},
		{"e", "ada@example.com", `"ada@example.com"`},
		{"e", "Ada <ada@example.com>", "!"},
		{"e", "ada", "!"},
		{"n", "1.50", "1.50"},
		{"n", "-2e3", "-2e3"},
		{"n", "9007199254740993", "9007199254740993"},
		{"n", ".5", "!"},
		{"n", "0x1", "!"},
		{"n", "NaN", "!"},
		{"i", " 42 ", "42"},
		{"i", "1.0", "!"},
		{"i", "007", "!"},
		{"i", "", "!"},
		{"b", "Yes", "true"},
		{"b", "off", "false"},
		{"b", "1", "!"},
		{"c", "a", `"a"`},
		{"c", "bob", `"b"`},
		{"c", "2", `"b"`},
		{"c", "3", "!"},
		{"o", "2", `"2"`},
		{"o", "one", `"1"`},
		{"m", "y, x", `["y","x"]`},
		{"m", "2", `["y"]`},
		{"m", `["x"]`, `["x"]`},
		{"m", "x,q", "!"},
		{"m", "", "[]"},
		{"z", `{"k":1}`, `{"k":1}`},
		{"z", "word", `"word"`},
	} {
		field, _ := f.Field(c.field)
		value, err := field.ParseTyped(c.text, true)
		got := string(value)
		if err != nil {
			got = "!"
		}
		if got != c.want {
			t.Errorf("%s %q reads as %s, want %s", c.field, c.text, got, c.want)
		}
	}
	choice, _ := f.Field("c")
	if _, err := choice.ParseTyped("2", false); err == nil {
		t.Error("a place in the list was taken where none was meant")
	}
}

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		format, text string
		good         bool
	}{
		{"uri", "https://example.com/a", true},
		{"uri", "example.com", false},
		{"date", "2024-02-29", true},
		{"date", "2023-02-29", false},
		{"date-time", "2024-02-29T12:00:00+01:00", true},
		{"date-time", "2024-02-29 12:00", false},
		{"hostname", "anything at all", true},
	} {
		if err := checkFormat(c.format, c.text); (err == nil) != c.good {
			t.Errorf("%s %q: %v", c.format, c.text, err)
		}
	}
}

func TestContent(t *testing.T) {
	f := form(t)
	got := f.Content(map[string]json.RawMessage{"t": json.RawMessage(`"x"`), "b": nil, "e": json.RawMessage(`"no"`), "n": json.RawMessage("1.0")})
	if want := `{"t":"x","e":"no","n":1.0,"i":4,"c":"b"}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if missing := f.Missing(got); len(missing) != 1 || missing[0] != "z" {
		t.Errorf("missing %v", missing)
	}
	if findings := f.Check(json.RawMessage(`{"e":"no","q":1}`)); len(findings) != 2 {
		t.Errorf("%+v", findings)
	}
}

func TestSecretFields(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "apiKey": true, "API key": true, "access_token": true, "card number": true, "PIN": true,
		"name": false, "spinning": false, "passenger": false, "keyboard": false,
	} {
		if got := (Field{Name: name}).IsSecret(); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// rules 97
func TestPage(t *testing.T) {
	for _, c := range []struct {
		url, domain string
		odd         []string
	}{
		{"https://login.example.co.uk/a?b=c", "example.co.uk", nil},
		{"http://localhost:3001/x", "localhost", nil},
		{"http://LOCALHOST/x", "LOCALHOST", nil},
		{"http://127.0.0.1/x", "127.0.0.1", nil},
		{"http://example.com", "example.com", []string{"not encrypted"}},
		{"https://google.com@evil.example/", "evil.example", []string{"before the @"}},
		{"https://xn--80ak6aa92e.com/", "xn--80ak6aa92e.com", []string{"Punycode"}},
		{"https://аpple.com/", "аpple.com", []string{"non-ASCII letters"}},
		{"https://192.0.2.1/", "192.0.2.1", []string{"IP address"}},
		{"https://a.github.io/", "a.github.io", nil},
	} {
		p, err := ParsePage(json.RawMessage(`{"message":"m","url":"` + c.url + `"}`))
		if err != nil || p.URL != c.url || p.Domain != c.domain || len(p.Warnings) != len(c.odd) {
			t.Errorf("%s: %v %+v", c.url, err, p)
			continue
		}
		for i, word := range c.odd {
			if !strings.Contains(p.Warnings[i], word) {
				t.Errorf("%s: %q does not speak of %q", c.url, p.Warnings[i], word)
			}
		}
	}
	for _, bad := range []string{"", "example.com", "file:///etc/passwd", "javascript:alert(1)", "https://", "https:// evil", `https:\\\\evil`, "HTTPS:opaque"} {
		if p, err := ParsePage(json.RawMessage(`{"url":"` + bad + `"}`)); err == nil {
			t.Errorf("%q would be opened: %+v", bad, p)
		}
	}
}

func TestMessage(t *testing.T) {
	for _, c := range []struct{ params, wrote, want string }{
		{`{"maxTokens":9}`, "hi <there>\n", `{"role":"assistant","content":{"type":"text","text":"hi <there>"},"model":"mcpc","stopReason":"endTurn"}`},
		{`{"maxTokens":2}`, "one  two\nthree", `{"role":"assistant","content":{"type":"text","text":"one  two"},"model":"mcpc","stopReason":"maxTokens"}`},
		{`{}`, "", `{"role":"assistant","content":{"type":"text","text":""},"model":"mcpc","stopReason":"endTurn"}`},
		{`{"maxTokens":1}`, ` {"model":"m","role":"assistant","content":[],"x":1.0} `, `{"model":"m","role":"assistant","content":[],"x":1.0}`},
		{`{}`, `{"text":"hi"}`, "!"},
	} {
		message, err := Message(json.RawMessage(c.params), []byte(c.wrote))
		got := string(message)
		if err != nil {
			got = "!"
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.wrote, got, c.want)
		}
	}
}
