package yaml

import (
	"encoding/json"
	"testing"
)

func TestAppendKeepsRestOfFile(t *testing.T) {
	item := json.RawMessage(`{"call":"x","args":{"t":"one\ntwo\n","n":1.50}}`)
	const root, deep = "- call: x\n  args:\n    t: |\n      one\n      two\n    n: 1.50\n", "  - call: x\n    args:\n      t: |\n        one\n        two\n      n: 1.50\n"
	for _, c := range []struct{ text, want string }{
		{"a: 1\nsteps:\n  - list: tools # all\n\n# the end\n", deep},
		{"steps:\n- list: tools\n- {list: prompts}", "\n" + root},
		{"steps:\n  - list: tools\n    expect: |\n      .a\n", deep},
		{"steps: [{list: tools}]\n", ""},
		{"steps: []\n", ""},
		{"a: 1\n", ""},
		{"steps:\n  - list: tools\nname: x\n", ""},
		{"steps:\n  -\n    list: tools\n", ""},
		{"steps:\n  - list: tools\n  - &x a\n--- \n", ""},
	} {
		got, err := Appended([]byte(c.text), "steps", item)
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: got %q %v, want %q", c.text, got, err, c.want)
		}
	}
}

func TestReplaceKeepsRestOfFile(t *testing.T) {
	const text = "steps:\n  - call: x # first\n    expect:\n      result:\n        t: |\n          one\n\n          two\n        n: 1\n"
	const want = "steps:\n  - call: x # first\n    expect:\n      result:\n        t: '...'\n        n: 1\n"
	old, value := json.RawMessage(`{"t":"one\n\ntwo\n","n":1}`), json.RawMessage(`{"t":"...","n":1}`)
	for _, c := range []struct {
		text string
		ok   bool
	}{{text, true}, {text + "# the end\n", false}, {text + "      within: 1s\n", false}} {
		doc, err := Parse([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := Replaced([]byte(c.text), doc.NamePlace("/steps/0/expect/result"), "result", old, value)
		if ok != c.ok || ok && string(got) != want {
			t.Errorf("%q: got %q %v", c.text, got, ok)
		}
	}
}
