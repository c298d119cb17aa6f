package tui

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"mcpc/internal/live/view"
)

// nested has each shape of a field.
const nested = `{"type":"object","required":["name","address"],"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},
	"next":{"$ref":"#/$defs/node"}}}},"properties":{
	"name":{"type":"string"},
	"address":{"type":"object","required":["street"],"properties":{"street":{"type":"string"},"zip":{"type":["string","null"]}}},
	"tags":{"type":"array","items":{"type":"string"}},
	"people":{"type":"array","items":{"type":"object","required":["age"],"properties":{"age":{"type":"integer"}}}},
	"level":{"enum":[1,"two",null]},
	"limit":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null},
	"by":{"oneOf":[{"title":"by id","type":"object","properties":{"id":{"type":"integer"}},"required":["id"]},{"type":"string"}]},
	"tree":{"$ref":"#/$defs/node"},
	"free":{"type":"object"}}}`

// names returns the names of the fields that a form shows.
func names(f *form) string {
	var all []string
	for _, q := range f.fields() {
		all = append(all, strings.TrimSpace(q.name()))
	}
	return strings.Join(all, " ")
}

// focus moves the focus to the field with a name.
func focus(t *testing.T, f *form, name string) *field {
	t.Helper()
	for i, q := range f.fields() {
		if strings.TrimRight(strings.TrimSpace(q.name()), " *") == name {
			f.focused = i
			return q
		}
	}
	t.Fatalf("no field %s in %s", name, names(f))
	return nil
}

// press types keys; a word of several letters that names no key is typed as text.
func press(f *form, words ...string) {
	for _, word := range words {
		switch word {
		case "space":
			f.Key(word, " ")
		case "left", "right", "tab", "enter", "backspace", "ctrl+d":
			f.Key(word, "")
		default:
			f.Paste(word)
		}
	}
}

func TestFormFillsNestedValues(t *testing.T) {
	f := newForm(json.RawMessage(nested), nil, "Call")
	if want := "name * address * street * zip tags people level limit by tree free"; names(f) != want {
		t.Errorf("the fields are %s, want %s", names(f), want)
	}
	if _, ok := f.Content(); ok {
		t.Error("a form without required values is valid")
	}
	focus(t, f, "name")
	press(f, "Ada")
	focus(t, f, "street")
	press(f, "Main 1")
	if got, ok := f.Content(); !ok || string(got) != `{"name":"Ada","address":{"street":"Main 1"}}` {
		t.Errorf("only what is required: %s, %t", got, ok)
	}
	focus(t, f, "tags")
	press(f, "space", "a")
	focus(t, f, "tags")
	press(f, "space", "b")
	focus(t, f, "tags")
	press(f, "space", "c")
	focus(t, f, "tags 2")
	press(f, "ctrl+d")
	focus(t, f, "people")
	press(f, "space")
	focus(t, f, "age")
	press(f, "7")
	focus(t, f, "level")
	press(f, "right", "right")
	focus(t, f, "limit")
	press(f, "9")
	focus(t, f, "by")
	press(f, "right")
	focus(t, f, "id")
	press(f, "4")
	focus(t, f, "tree")
	press(f, "space")
	focus(t, f, "next")
	press(f, "space")
	focus(t, f, "free")
	press(f, `{"k":[1]}`)
	want := `{"name":"Ada","address":{"street":"Main 1"},"tags":["a","c"],"people":[{"age":7}],"level":"two","limit":9,"by":{"id":4},` +
		`"tree":{"next":{}},"free":{"k":[1]}}`
	got, ok := f.Content()
	if !ok || string(got) != want {
		t.Errorf("all: %s, %t, want %s", got, ok, want)
	}
	again := newForm(json.RawMessage(nested), got, "Call")
	if back, ok := again.Content(); !ok || string(back) != want {
		t.Errorf("filled with its own content: %s, %t", back, ok)
	}
	focus(t, again, "by")
	press(again, "right")
	focus(t, again, "value")
	press(again, "x")
	focus(t, again, "tree")
	press(again, "space")
	if back, _ := again.Content(); !strings.Contains(string(back), `"by":"x"`) || strings.Contains(string(back), `"tree"`) {
		t.Errorf("another alternative, and an object removed: %s", back)
	}
}

// The text of a field that the focus moves to is replaced by what is typed, but not if a key moves the cursor first.
func TestTypingReplacesTheTextOfAField(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"integer","default":3},"b":{"type":"integer","default":4}}}`
	for _, test := range []struct {
		keys []string
		want string
	}{
		{[]string{"40"}, `{"a":40,"b":4}`},
		{[]string{"tab", "40"}, `{"a":3,"b":40}`},
		{[]string{"right", "40"}, `{"a":340,"b":4}`},
		{[]string{"backspace"}, `{"b":4}`},
		{[]string{"1", "0"}, `{"a":10,"b":4}`},
	} {
		f := newForm(json.RawMessage(schema), nil, "Call")
		press(f, test.keys...)
		if got, ok := f.Content(); !ok || string(got) != test.want {
			t.Errorf("%v: %s, %t, want %s", test.keys, got, ok, test.want)
		}
	}
}

// The first letter of an option chooses it, the same letter again the next such option.
func TestLetterChoosesOption(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"enum":["low","medium","high","hard"]},"b":{"type":"boolean"},
		"c":{"type":"array","items":{"enum":["red","green"]},"uniqueItems":true},"d":{"oneOf":[{"title":"Text","type":"string"},{"title":"Count","type":"integer"}]}}}`
	for _, test := range []struct {
		field string
		keys  []string
		want  string
	}{
		{"a", []string{"h"}, `{"a":"high"}`},
		{"a", []string{"H", "h"}, `{"a":"hard"}`},
		{"a", []string{"h", "h", "h"}, `{"a":"high"}`},
		{"a", []string{"h", "a"}, `{"a":"hard"}`},
		{"a", []string{"m", "e", "d", "i", "u", "m"}, `{"a":"medium"}`},
		{"a", []string{"h", "tab", "m"}, `{"a":"high"}`},
		{"a", []string{"x"}, `{}`},
		{"a", []string{"left"}, `{"a":"hard"}`},
		{"b", []string{"space"}, `{"b":true}`},
		{"b", []string{"space", "space"}, `{"b":false}`},
		{"b", []string{"n"}, `{"b":false}`},
		{"c", []string{"g", "space"}, `{"c":["green"]}`},
		{"d", []string{"c", "tab", "7"}, `{"d":7}`},
	} {
		f := newForm(json.RawMessage(schema), nil, "Call")
		focus(t, f, test.field)
		press(f, test.keys...)
		if got, ok := f.Content(); !ok || string(got) != test.want {
			t.Errorf("%s %v: %s, %t, want %s", test.field, test.keys, got, ok, test.want)
		}
	}
}

// Text that is typed at a list or an optional object adds an item or the object, and is typed there.
func TestTypingAtHeadingAddsIt(t *testing.T) {
	f := newForm(json.RawMessage(nested), json.RawMessage(`{"name":"A","address":{"street":"S"}}`), "Call")
	for _, step := range []struct{ field, text string }{{"tags", "work"}, {"people", "7"}, {"tree", "5"}} {
		focus(t, f, step.field)
		press(f, step.text)
	}
	focus(t, f, "tags")
	press(f, "more")
	want := `{"name":"A","address":{"street":"S"},"tags":["work","more"],"people":[{"age":7}],"tree":{"v":5}}`
	if got, ok := f.Content(); !ok || string(got) != want {
		t.Errorf("%s, %t, want %s", got, ok, want)
	}
}

// A choice that is wider than the screen shows the option under the cursor.
func TestWideChoiceShowsTheCursor(t *testing.T) {
	var titles []string
	for i := range 30 {
		titles = append(titles, strings.Repeat(string(rune('a'+i%26)), 8))
	}
	raw, _ := json.Marshal(map[string]any{"properties": map[string]any{"pick": map[string]any{"enum": titles}}})
	f := newForm(raw, nil, "Call")
	press(f, "k")
	if text := f.Lines(60, 10, true)[1].String(); !strings.Contains(text, "(•) kkkkkkkk") {
		t.Errorf("the line is %q", text)
	}
}

// The mouse focuses a field, chooses an option, adds to a list and presses a button.
func TestClicksInForm(t *testing.T) {
	const schema = `{"type":"object","properties":{"name":{"type":"string"},"size":{"enum":["small","large"]},
		"marks":{"type":"array","items":{"enum":["red","green"]},"uniqueItems":true},"tags":{"type":"array","items":{"type":"string"}}}}`
	f := newForm(json.RawMessage(schema), nil, "Call", "Close")
	// click clicks on a text of the drawn form.
	click := func(text string) string {
		t.Helper()
		for y, line := range f.Lines(80, 20, true) {
			before, _, found := strings.Cut(line.String(), text)
			if found {
				return f.Click(len([]rune(before))+1, y)
			}
		}
		t.Fatalf("the form does not show %q", text)
		return ""
	}
	click("large")
	click("green")
	click("red")
	click("green")
	click("tags")
	press(f, "work")
	click("name")
	press(f, "Ada")
	if got, ok := f.Content(); !ok || string(got) != `{"name":"Ada","size":"large","marks":["red"],"tags":["work"]}` {
		t.Errorf("%s, %t", got, ok)
	}
	if got := click("Close"); got != "Close" {
		t.Errorf("the click presses %q", got)
	}
}

// All errors are marked at once, and a text that is not of its field's type is kept.
func TestAllErrorsAreMarkedAndTextsKept(t *testing.T) {
	const schema = `{"type":"object","required":["a","b","c"],"properties":{"a":{"type":"string"},"b":{"type":"integer","maximum":30},
		"c":{"type":"integer"}}}`
	f := newForm(json.RawMessage(schema), nil, "Call")
	focus(t, f, "b")
	press(f, "99")
	focus(t, f, "c")
	press(f, "5x")
	got, ok := f.Content()
	if ok || string(got) != `{"b":99,"c":"5x"}` {
		t.Errorf("%s, %t", got, ok)
	}
	for _, q := range f.fields() {
		if q.err == "" {
			t.Errorf("%s is not marked", q.Name)
		}
	}
	if f.focused != 0 {
		t.Errorf("the field %d has the focus", f.focused)
	}
	again := newForm(json.RawMessage(schema), got, "Call")
	if q := focus(t, again, "c"); q.input.Text() != "5x" {
		t.Errorf("the text is %q", q.input.Text())
	}
}

func TestFormKeepsValuesWithoutField(t *testing.T) {
	const given = `{"name":"Ada","address":{"street":"S","other":[1]},"more":{"a":1},"level":{"odd":true}}`
	f := newForm(json.RawMessage(nested), json.RawMessage(given), "Call")
	got, ok := f.Content()
	want := `{"name":"Ada","address":{"street":"S","other":[1]},"level":{"odd":true},"more":{"a":1}}`
	if q := focus(t, f, othersName); q.input.Text() != `{"other":[1]}` {
		t.Errorf("other members: %s", q.input.Text())
	}
	if ok || string(got) != want {
		t.Errorf("%s, %t: the level is no value of the enum", got, ok)
	}
	if q := focus(t, f, "level"); q.err == "" {
		t.Error("the level is not marked")
	}
	deep := newForm(json.RawMessage(nested), json.RawMessage(`{"name":"A","address":{"street":"S"},"people":[{"age":1},{"age":"x"}]}`), "Call")
	if _, ok := deep.Content(); ok {
		t.Error("an age that is a text is valid")
	}
	if q := deep.current(); q == nil || q.pointer() != "/people/1/age" || q.err == "" {
		t.Errorf("the error is at %+v", q)
	}
}

// A member that the schema does not have is shown, marked if it is not allowed, and can be removed.
func TestMembersWithoutFieldCanBeRemoved(t *testing.T) {
	const schema = `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer"}}}`
	f := newForm(json.RawMessage(schema), json.RawMessage(`{"a":1,"c":3}`), "Call")
	if _, ok := f.Content(); ok {
		t.Error("an unknown member is valid")
	}
	if q := f.current(); !q.isOthers || q.err == "" {
		t.Errorf("%q has the focus and the error %q", q.Name, q.err)
	}
	press(f, "backspace", "backspace", "backspace", "backspace", "backspace", "backspace", "backspace")
	if got, ok := f.Content(); !ok || string(got) != `{"a":1}` {
		t.Errorf("%s, %t", got, ok)
	}
	press(f, "[1]")
	if got, ok := f.Content(); ok || string(got) != `{"a":1}` {
		t.Errorf("a list in place of members: %s, %t", got, ok)
	}
}

// A value that is not of the type that the schema has after a change gives way to the input of that type.
func TestMisfitsGetTheInputOfTheirType(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"string"},"c":{"enum":["mm","m"]},"d":{}}}`
	f := newForm(json.RawMessage(schema), json.RawMessage(`{"a":[1],"b":3,"c":"cm","d":[2]}`), "Call")
	if got := strings.Join(f.root.resetMisfits(), " "); got != "b c" {
		t.Errorf("reset: %s", got)
	}
	focus(t, f, "a")
	press(f, "backspace", "backspace", "backspace", "7")
	focus(t, f, "c")
	press(f, "mm")
	if got, ok := f.Content(); !ok || string(got) != `{"a":7,"b":"3","c":"mm","d":[2]}` {
		t.Errorf("%s, %t", got, ok)
	}
}

func TestFormOfHostileSchemaIsBounded(t *testing.T) {
	many := `{"type":"object","properties":{`
	for i := range 5000 {
		many += `"p` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26) + `":{"type":"string"},`
	}
	many += `"z":{}}}`
	deep := strings.Repeat(`{"type":"object","required":["a"],"properties":{"a":`, 200) + `{"type":"string"}` + strings.Repeat(`}}`, 200)
	for _, raw := range []string{
		many, deep, `true`, `false`, `[]`, ``, `{"$ref":"#"}`, `{"$ref":"http://x/y"}`, `{"oneOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}`, `{"properties":{"a":{"type":7,"enum":"x"}}}`,
		`{"properties":{"\u001b[31m":{"title":"\u001b]0;x\u0007","enum":["\u001b[2J"]}}}`,
	} {
		f := newForm(json.RawMessage(raw), nil, "Call")
		if n := len(f.fields()); n > maxFormMembers*2 {
			t.Errorf("%.60s has %d fields", raw, n)
		}
		for _, l := range f.Lines(60, 20, true) {
			if strings.ContainsAny(l.String(), "\x1b\x07") {
				t.Errorf("%.60s is drawn with control characters", raw)
			}
		}
		f.Content()
	}
}

func TestSpacePressesAButton(t *testing.T) {
	f := newForm(json.RawMessage(`{"properties":{"a":{"type":"string"}}}`), nil, "Call")
	f.Key("space", " ")
	f.Key("tab", "")
	if got := f.Key("space", " "); got != "Call" {
		t.Errorf("Space on the button presses %q", got)
	}
}

func TestModelIsAnsweredForWithText(t *testing.T) {
	q := asks()
	q.Method = "sampling/createMessage"
	q.Schema = nil
	f := questionForm(&q)
	if _, ok := f.Content(); ok {
		t.Error("an empty answer is valid")
	}
	press(f, "hello")
	if got, ok := f.Content(); !ok || string(got) != `{"result":"hello"}` {
		t.Errorf("%s, %t", got, ok)
	}
	q.Method = "roots/list"
	if got, ok := questionForm(&q).Content(); !ok || string(got) != `{"result":{"roots":[]}}` {
		t.Errorf("roots: %s, %t", got, ok)
	}
}

func TestRefusedAnswerIsKept(t *testing.T) {
	a := newActor()
	q := asks()
	q.Method = "sampling/createMessage"
	q.Schema = nil
	a.questions = []view.Question{q}
	a.refusal = errors.New("it needs a role")
	play(t, 120, 30, nil, a, func(p *player) {
		p.keys("a").types("hello").keys("ctrl+s")
		p.shows("it needs a role", "hello", "[ Accept ]")
	})
}
