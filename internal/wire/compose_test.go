package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
)

func TestCompose(t *testing.T) {
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"request", ComposeRequest(raw(`7`), "tools/list", nil), `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`},
		{
			"request with params", ComposeRequest(raw(`"a"`), "a", raw(`{ "x" : 1.10 , "y":"<&>\u003c" }`)),
			`{"jsonrpc":"2.0","id":"a","method":"a","params":{ "x" : 1.10 , "y":"<&>\u003c" }}`,
		},
		{
			"request on several lines", ComposeRequest(raw(`7`), "a", raw("{\r\n  \"x\": \"a  b\"\n}")),
			`{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":"a  b"}}`,
		},
		{"a strange method", ComposeRequest(raw(`7`), "a\"\n<é>", nil), `{"jsonrpc":"2.0","id":7,"method":"a\"\n<é>"}`},
		{"no id", ComposeRequest(nil, "a", nil), `{"jsonrpc":"2.0","id":null,"method":"a"}`},
		{"empty params", ComposeRequest(raw(`7`), "a", raw(``)), `{"jsonrpc":"2.0","id":7,"method":"a","params":null}`},
		{"notification", ComposeNotification("n", nil), `{"jsonrpc":"2.0","method":"n"}`},
		{"notification with params", ComposeNotification("n", raw(`[]`)), `{"jsonrpc":"2.0","method":"n","params":[]}`},
		{"result", ComposeResult(raw(`0`), raw(`{}`)), `{"jsonrpc":"2.0","id":0,"result":{}}`},
		{"result on several lines", ComposeResult(raw(`0`), raw("{\n\"roots\": []\n}")), `{"jsonrpc":"2.0","id":0,"result":{"roots":[]}}`},
		{"no result", ComposeResult(raw(`0`), nil), `{"jsonrpc":"2.0","id":0,"result":null}`},
		{
			"error", ComposeError(raw(`"x"`), -32601, "no \"such\"\nmethod"),
			`{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no \"such\"\nmethod"}}`,
		},
		{"error without id", ComposeError(nil, 0, ""), `{"jsonrpc":"2.0","id":null,"error":{"code":0,"message":""}}`},
	} {
		if string(c.got) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, c.got, c.want)
		}
		if m := ParseMessage(c.got); m.Kind == Invalid {
			t.Errorf("%s is invalid: %s", c.name, m.Problem())
		}
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// A composed message must not be written into the capacity after the caller's bytes.
func TestComposeLeavesTheCallersBytes(t *testing.T) {
	room := []byte(`7,"untouched":true`)
	ComposeRequest(room[:1], "a", room[:1])
	ComposeResult(room[:1], room[:1])
	ComposeError(room[:1], 1, "a")
	jsonraw.With(room[:1], "a", room[:1])
	object := []byte(`{"a":1}...............`)
	jsonraw.With(object[:7], "b", room[:1])
	jsonraw.With(object[:7], "a", room[:1])
	if string(room)+string(object) != `7,"untouched":true{"a":1}...............` {
		t.Errorf("%s %s", room, object)
	}
}

func TestOneLine(t *testing.T) {
	for given, want := range map[string]string{
		``: ``, `{ "a" : 1 }`: `{ "a" : 1 }`, "{\n \"a\" : 1\r}": `{"a":1}`, `"\n"`: `"\n"`,
		"\"a\nb\"": `"a b"`, "not\r\nJSON": "not  JSON", "{}\n": "{}",
		strings.Repeat("[", 20_000) + "\n": strings.Repeat("[", 20_000) + " ",
	} {
		if got := jsonraw.OneLine([]byte(given)); string(got) != want {
			t.Errorf("OneLine(%q) = %q, want %q", given, got, want)
		}
	}
	same := []byte(`{ }`)
	if got := jsonraw.OneLine(same); &got[0] != &same[0] {
		t.Error("copied for nothing")
	}
}

func TestWith(t *testing.T) {
	for _, c := range []struct{ object, name, value, want string }{
		{``, "a", `1`, `{"a":1}`},
		{" \n", "a", `1`, `{"a":1}`},
		{`{}`, "a", `1`, `{"a":1}`},
		{" { } \n", "a", `1`, " { \"a\":1} \n"},
		{`{"a":1}`, "a", `2`, `{"a":2}`},
		{`{"a":1}`, "b", `2`, `{"a":1,"b":2}`},
		{`{"a":1}`, "A", `2`, `{"a":1,"A":2}`},
		{"{ \"a\" :\t1 , \"b\" : 2 } \r\n", "a", `"x"`, "{ \"a\" :\t\"x\" , \"b\" : 2 } \r\n"},
		{"{ \"a\" : 1 , \"b\" : 2 } \r\n", "b", `{"c":3}`, "{ \"a\" : 1 , \"b\" : {\"c\":3} } \r\n"},
		{"{ \"a\" : 1 } \r\n", "b", `2`, "{ \"a\" : 1 ,\"b\":2} \r\n"},
		{`{"x":"}","y":{"a":1},"z":["}"]}`, "a", `2`, `{"x":"}","y":{"a":1},"z":["}"],"a":2}`},
		{`{"y":{"a":1},"a":{"a":{"a":2}}}`, "a", `{}`, `{"y":{"a":1},"a":{}}`},
		{`{"a":1,"b":2,"a":3,"c":"a"}`, "a", `9`, `{"a":9,"b":2,"a":9,"c":"a"}`},
		{`{"\u0061":1}`, "a", `2`, `{"\u0061":2}`},
		{`{"a":1}`, "<\"&\n>", `2`, `{"a":1,"<\"&\n>":2}`},
		{`{"a":"\ud800","b":1}`, "b", `2`, `{"a":"\ud800","b":2}`},
		{`{"a":"\ud800","b":1}`, "c", `2`, `{"a":"\ud800","b":1,"c":2}`},
		{`{"b":1,"b":"\ud800"}`, "b", `2`, `{"b":2,"b":2}`},
		{`{"a":1.10e5}`, "b", `1.10`, `{"a":1.10e5,"b":1.10}`},
		{`{"a":1}`, "a", ``, `{"a":null}`},
		{`[1]`, "a", `2`, `[1]`},
		{`null`, "a", `2`, `null`},
		{`{"a":1`, "a", `2`, `{"a":1`},
		{`{"a":1}}`, "a", `2`, `{"a":1}}`},
	} {
		// The object may be a piece of something larger.
		around := []byte("}" + c.object + `}{"a":0}`)
		object := around[1 : 1+len(c.object)]
		if got := jsonraw.With(object, c.name, raw(c.value)); string(got) != c.want {
			t.Errorf("With(%q, %q, %s)\n got %q\nwant %q", c.object, c.name, c.value, got, c.want)
		}
		if !bytes.Equal(around, []byte("}"+c.object+`}{"a":0}`)) {
			t.Errorf("With(%q) wrote into what it was given: %s", c.object, around)
		}
	}
	if got := jsonraw.With(nil, "name", raw(`"x"`)); string(got) != `{"name":"x"}` {
		t.Errorf("With(nil) is %s", got)
	}
}

func TestWithout(t *testing.T) {
	for _, c := range []struct{ object, want string }{
		{`{"a":1,"_meta":{},"b":2}`, `{"a":1,"b":2}`},
		{`{"_meta":{},"b" : 2 }`, `{"b":2}`},
		{`{ "a":1 , "_meta":3 }`, `{"a":1}`},
		{`{"_meta":{}}`, `{}`},
		{`{"\u0061":1e0,"_meta":1,"_meta":2,"b":2}`, `{"a":1e0,"b":2}`},
		{`{"a":1}`, `{"a":1}`},
		{`{}`, `{}`},
		{`[1]`, `[1]`},
		{``, ``},
		{`{"_meta":`, `{"_meta":`},
	} {
		if got := string(jsonraw.Without(json.RawMessage(c.object), "_meta")); got != c.want {
			t.Errorf("Without(%s) = %s, want %s", c.object, got, c.want)
		}
	}
}
