package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"mcpc/internal/question"
	"mcpc/internal/wire"
)

// typed returns a Dialog with a person who types lines and then Ctrl-D, and what the person sees.
func typed(lines ...string) (*Dialog, *bytes.Buffer) {
	var out bytes.Buffer
	next := func() (string, error) {
		if len(lines) == 0 {
			return "", io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		out.WriteString(line + "\n")
		return line, nil
	}
	return &Dialog{Out: &out, Line: func(text string) string { return text }, Next: next}, &out
}

const params = `{"message":"Who?","requestedSchema":{"type":"object","required":["name"],"properties":{
	"name":{"type":"string","title":"Your name","description":"as in a passport"},
	"age":{"type":"integer","minimum":1,"default":30},
	"news":{"type":"boolean","default":true},
	"color":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"b","title":"Blue"}]},
	"tags":{"type":"array","items":{"type":"string","enum":["x","y"]},"default":["x","y"]},
	"place":{"type":"object","properties":{"at":{"type":"integer"}},"required":["at"]}}}}`

func form(t *testing.T, d *Dialog, params string) *Form {
	t.Helper()
	parsed, err := question.ParseForm(json.RawMessage(params))
	if err != nil {
		t.Fatal(err)
	}
	return &Form{Dialog: d, Form: parsed, Asker: "srv", Broken: func(json.RawMessage,
		json.RawMessage,
	) []wire.Finding {
		return nil
	}}
}

// The input in a form determines the answer.
func TestAnswersOfForms(t *testing.T) {
	const cancelled, declined = `{"action":"cancel"}`, `{"action":"decline"}`
	accepted := func(content string) string { return `{"action":"accept","content":` + content + `}` }
	for _, c := range []struct{ name, typed, want string }{
		{"defaults", "Ann|||||||", accepted(`{"name":"Ann","age":30,"news":true,"tags":["x","y"]}`)},
		{
			"values", "Ann|7|no|2|y|{\"at\":1}|send",
			accepted(`{"name":"Ann","age":7,"news":false,"color":"b","tags":["y"],"place":{"at":1}}`),
		},
		{"values left out", "Ann|-|-|-|-|-|s", accepted(`{"name":"Ann"}`)},
		{"a required name", "|-|Ann|||||||", accepted(`{"name":"-","age":30,"news":true,"tags":["x","y"]}`)},
		{"a wrong number", "Ann|seven|7|||||", accepted(`{"name":"Ann","age":7,"news":true,"tags":["x","y"]}`)},
		{"edited", "Ann||||||e|Bea|1|||||", accepted(`{"name":"Bea","age":1,"news":true,"tags":["x","y"]}`)},
		{"declined in a field", "Ann|/decline", declined},
		{"declined at the end", "Ann||||||d", declined},
		{"cancelled at the end", "Ann||||||cancel", cancelled},
		{"an unknown word", "Ann||||||maybe|CANCEL", cancelled},
		{"Ctrl-D in a field", "Ann|", cancelled},
		{"Ctrl-D at the end", "Ann|||||", cancelled},
	} {
		d, out := typed(strings.Split(c.typed, "|")...)
		if got := string(form(t, d, params).Run()); got != c.want {
			t.Errorf("%s: got %s after\n%s", c.name, got, out)
		}
	}
}

// A form names the server, what each field takes, and what will be sent.
func TestWhatAFormShows(t *testing.T) {
	d, out := typed("Ann", "", "", "", "", "", "s")
	form(t, d, params).Run()
	for _, line := range []string{
		"srv asks: Who?",
		"Your name (required): as in a passport",
		"integer, at least 1 [30]> ",
		"yes or no [yes]> ",
		"  1  Red (r)",
		"  2  Blue (b)",
		"several, separated by commas [x, y]> ",
		`JSON, such as {"at":1}> `,
		"This will be sent to srv:",
		"  name  Ann",
		`  tags  ["x","y"]`,
		"[s]end (Enter), [e]dit, [d]ecline, [c]ancel> ",
	} {
		if !strings.Contains(strings.ReplaceAll(out.String(), `"Ann"`, "Ann"), line) {
			t.Errorf("%q is missing in\n%s", line, out)
		}
	}
	d, out = typed("hunter2")
	form(t, d, `{"message":"?","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}}`).Run()
	if !strings.Contains(out.String(), "warning: this looks like a secret; servers must not request secrets in a form") {
		t.Errorf("no warning of a secret in\n%s", out)
	}
	d, out = typed("")
	got := form(t, d, `{"message":"?","requestedSchema":{"type":"object","properties":{}}}`).Run()
	if string(got) != `{"action":"accept","content":{}}` || !strings.Contains(out.String(), "(no fields)") {
		t.Errorf("without fields: %s after\n%s", got, out)
	}
}

// An answer that the schema rejects cannot be sent: Enter edits, and then it is checked again.
func TestFormsThatCannotBeSent(t *testing.T) {
	d, out := typed("bad", "", "good", "")
	f := form(t, d, `{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`)
	f.Broken = func(schema, value json.RawMessage) []wire.Finding {
		if strings.Contains(string(schema), "properties") && strings.Contains(string(value), "bad") {
			return []wire.Finding{{Pointer: "/a", Text: "is bad"}}
		}
		return nil
	}
	if got := string(f.Run()); got != `{"action":"accept","content":{"a":"good"}}` {
		t.Errorf("got %s after\n%s", got, out)
	}
	if text := out.String(); !strings.Contains(text, "  /a is bad\n[e]dit (Enter), [d]ecline, [c]ancel> ") {
		t.Errorf("no finding in\n%s", text)
	}
	d, out = typed("bad", "good", "")
	f = form(t, d, `{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`)
	f.Broken = func(schema, value json.RawMessage) []wire.Finding {
		if string(value) == `"bad"` {
			return []wire.Finding{{Text: "is bad"}}
		}
		return nil
	}
	if got := string(f.Run()); got != `{"action":"accept","content":{"a":"good"}}` ||
		!strings.Contains(out.String(), "  is bad\n") {
		t.Errorf("a field: got %s after\n%s", got, out)
	}
}

// Arguments of a tool are asked for by mcpc: there is no server to decline.
func TestArgumentsThatAreAskedFor(t *testing.T) {
	const tool = `{"message":"","requestedSchema":{"type":"object","required":["password"],"properties":{"password":{"type":"string"}}}}`
	d, out := typed("", "/decline")
	values := form(t, d, tool).Arguments()
	if string(values["password"]) != `"/decline"` {
		t.Errorf("got %s after\n%s", values, out)
	}
	if text := out.String(); !strings.Contains(text, "required by the tool") || strings.Contains(text, "(required)") ||
		strings.Contains(text, "secret") || !strings.HasPrefix(text,
		"srv needs more arguments. Ctrl-D cancels; nothing is sent.\n") {
		t.Errorf("got\n%s", text)
	}
	d, _ = typed()
	if values := form(t, d, tool).Arguments(); values != nil {
		t.Errorf("Ctrl-D gives %s", values)
	}
}

func TestChoicesAreWordsOrLetters(t *testing.T) {
	for _, c := range []struct{ typed, enter, want string }{
		{"yes", "", "yes"}, {" Y ", "", "yes"}, {"n", "", "no"}, {"|no", "", "no"}, {"|", "yes", "yes"}, {
			"ye|never|NO",
			"yes", "no",
		}, {"", "", ""},
	} {
		lines := strings.Split(c.typed, "|")
		if c.typed == "" {
			lines = nil
		}
		d, out := typed(lines...)
		got, err := d.Choose("Sure?", c.enter, "yes", "no")
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q: got %q, %v after\n%s", c.typed, got, err, out)
		}
		again := strings.Count(out.String(), "type yes or no, or the first letter")
		if rounds := strings.Count(out.String(), "Sure?> "); c.want != "" && again != rounds-1 {
			t.Errorf("%q: asked %d times with %d explanations", c.typed, rounds, again)
		}
	}
}

func TestMessagesForAModel(t *testing.T) {
	d, out := typed()
	d.ShowMessages(json.RawMessage(`{"systemPrompt":"Be brief.","maxTokens":12,"messages":[
		{"role":"user","content":{"type":"text","text":"Hello"}},
		{"role":"assistant","content":[{"type":"text","text":"Hi"},{"type":"image","data":"x"}]}]}`))
	want := "  system: Be brief.\n  user: Hello\n  assistant: Hi\n  assistant: (image)\n  at most 12 tokens\n"
	if out.String() != want {
		t.Errorf("got\n%s", out)
	}
}

// An example satisfies its schema, or there is no example.
func TestExamplesAreValid(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"type":"object","properties":{"a":{"type":"integer","minimum":3}},"required":["a"]}`, `{"a":3}`},
		{`{"type":"string","enum":["x","y"]}`, `"x"`},
		{`{"type":"string","pattern":"^[a-c]{40}$"}`, ""},
		{`{"type":"nothing"}`, ""},
		{`[]`, ""},
	} {
		if got := string(ValidExample(json.RawMessage(c.schema))); got != c.want {
			t.Errorf("%s: got %s", c.schema, got)
		}
	}
}

// Lines are broken at the width of the terminal, if there is one.
func TestSaidLinesAreWrapped(t *testing.T) {
	d, out := typed()
	d.Wrap = func(text string) string { return strings.ReplaceAll(text, " ", "\n") }
	if d.Say("a %s", "b"); out.String() != "a\nb\n" {
		t.Errorf("got %q", out)
	}
}

// A line is read when it is wanted, and a line that comes after the waiting has ended is for the next reader.
func TestTypistReadsOneLineAtATime(t *testing.T) {
	r, w := io.Pipe()
	typist := &Typist{In: r}
	if typist.Busy() {
		t.Error("read before a line is wanted")
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := typist.Line(ctx); !errors.Is(err, stopped) || !typist.Busy() {
		t.Errorf("got %v, busy %v", err, typist.Busy())
	}
	go func() {
		_, _ = io.WriteString(w, "first\r\nsecond")
		w.Close()
	}()
	for _, want := range []string{"first", "second"} {
		got, err := typist.Line(t.Context())
		if got != want || err != nil && (want == "first" || err != io.EOF) {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if got, err := typist.Line(t.Context()); got != "" || err != io.EOF || typist.Busy() {
		t.Errorf("at the end: %q, %v, busy %v", got, err, typist.Busy())
	}
}
