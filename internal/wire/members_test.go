package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/jsonraw"
)

func TestObject(t *testing.T) {
	long := strings.Repeat("9", 1<<20)
	for _, c := range []struct {
		raw  string
		want []string // names and values, one after the other
	}{
		{`{}`, nil},
		{" {\t} \n", nil},
		{`{"a":1}`, []string{"a", "1"}},
		{"{ \"a\" \r\n:\t 1 \n, \"b\" : \"x y\" \n} ", []string{"a", "1", "b", `"x y"`}},
		{`{"a":{"a":[1, 2 ]},"b":[ ],"c":{ }}`, []string{"a", `{"a":[1, 2 ]}`, "b", `[ ]`, "c", `{ }`}},
		{`{"a":"}\",:{","b":null,"c":true,"d":false}`, []string{"a", `"}\",:{"`, "b", "null", "c", "true", "d", "false"}},
		{`{"a":1,"A":2,"a":3}`, []string{"a", "1", "A", "2", "a", "3"}},
		{`{"":0,"\u0061\/":1,"é":2,"a.b":3,"\u0000":4}`, []string{"", "0", "a/", "1", "é", "2", "a.b", "3", "\x00", "4"}},
		{`{"\ud83d\ude00":1,"\ud83d":2,"x":"\ude00"}`, []string{"😀", "1", "\uFFFD", "2", "x", `"\ude00"`}},
		{`{"n":-0.10e+400,"m":9007199254740993}`, []string{"n", "-0.10e+400", "m", "9007199254740993"}},
		{`{"n":` + long + `}`, []string{"n", long}},
	} {
		raw := []byte(c.raw)
		members, err := jsonraw.Object(raw)
		if err != nil {
			t.Errorf("%s: %v", jsonraw.Excerpt(raw, 80), err)
			continue
		}
		var got []string
		for i, m := range members {
			got = append(got, m.Name, string(m.Value))
			assertView(t, raw, fmt.Sprintf("member %d", i), m.Value)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", jsonraw.Excerpt(raw, 80), diff)
		}
	}
}

func TestArray(t *testing.T) {
	for raw, want := range map[string][]string{
		`[]`:                              nil,
		" [ \n ] ":                        nil,
		"[ 1 ,\t\"]\" , [ ] , {\"a\":1}]": {"1", `"]"`, "[ ]", `{"a":1}`},
		`["\ud800",null]`:                 {`"\ud800"`, "null"},
	} {
		items, err := jsonraw.Array([]byte(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		var got []string
		for _, item := range items {
			got = append(got, string(item))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}

func TestMembers(t *testing.T) {
	members, err := jsonraw.Object([]byte(`{"a":"first","A":1,"b":"x\ny","a":"second","c":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if raw, ok := members.Get("a"); string(raw) != `"first"` || !ok {
		t.Errorf("a is %s", raw)
	}
	if raw, ok := members.Get("c"); string(raw) != "null" || !ok {
		t.Errorf("c is %s", raw)
	}
	if raw, ok := members.Get("C"); raw != nil || ok {
		t.Errorf("C is %s", raw)
	}
	if got := members.Text("b") + members.Text("A") + members.Text("none"); got != "x\ny" {
		t.Errorf("texts are %q", got)
	}
	if got, twice := members.Duplicate(); got != "a" || !twice {
		t.Errorf("%q stands twice: %v", got, twice)
	}
	for _, single := range []jsonraw.Members{members[1:3], nil} {
		if got, twice := single.Duplicate(); twice {
			t.Errorf("%q stands twice", got)
		}
	}
	// A name without a character is one as well.
	nameless, _ := jsonraw.Object([]byte(`{"":1,"":2}`))
	if _, twice := nameless.Duplicate(); !twice {
		t.Error("the empty name does not stand twice")
	}
}

func TestSyntaxErrors(t *testing.T) {
	deep := strings.Repeat(`{"a":`, jsonraw.MaxDepth) + "[]" + strings.Repeat("}", jsonraw.MaxDepth)
	for _, c := range []struct{ raw, object, array, valid string }{
		{``, "syntax 0", "syntax 0", "syntax 0"},
		{" \n ", "syntax 0", "syntax 0", "syntax 0"},
		{`{}`, "", "not_array 0", ""},
		{`[]`, "not_object 0", "", ""},
		{`"a`, "syntax 2", "syntax 2", "syntax 2"},
		{`nil`, "syntax 1", "syntax 1", "syntax 1"},
		{`1 2`, "trailing 2", "trailing 2", "trailing 2"},
		{`{"a":1`, "syntax 6", "syntax 6", "syntax 6"},
		{`{"a" 1}`, "syntax 5", "syntax 5", "syntax 5"},
		{`{"a":1,}`, "syntax 6", "syntax 6", "syntax 6"},
		{`{"a":1]`, "syntax 6", "syntax 6", "syntax 6"},
		{`{1:2}`, "syntax 1", "syntax 1", "syntax 1"},
		{`{"a":1}}`, "trailing 7", "trailing 7", "trailing 7"},
		{"{}\n\n{}", "trailing 4", "trailing 4", "trailing 4"},
		{"{}\x00", "trailing 2", "trailing 2", "trailing 2"},
		{"{}\xff", "trailing 2", "trailing 2", "trailing 2"},
		{"\xEF\xBB\xBF{}", "syntax 0", "syntax 0", "syntax 0"},
		{`[1,]`, "syntax 2", "syntax 2", "syntax 2"},
		{`[1 2]`, "syntax 3", "syntax 3", "syntax 3"},
		{`{"a":[1,2}`, "syntax 9", "syntax 9", "syntax 9"},
		{"{\"a\":\"\x01\"}", "syntax 6", "syntax 6", "syntax 6"},
		{`{"a":"\x"}`, "syntax 6", "syntax 6", "syntax 6"},
		{"{\"a\":\"é\xc3\"}", "utf8 8", "utf8 8", "utf8 8"},
		{`{"a":"\ud800",}`, "syntax 13", "syntax 13", "syntax 13"},
		{"{\"a\":\"\\ud800\xff\"}", "utf8 12", "utf8 12", "utf8 12"},
		{deep, "depth 5000", "depth 5000", "depth 5000"},
		{strings.Repeat("]", jsonraw.MaxDepth+1) + strings.Repeat("[", jsonraw.MaxDepth+1), "syntax 0", "syntax 0", "syntax 0"},
		{`["` + strings.Repeat(`[\"`, 2*jsonraw.MaxDepth) + `"]`, "not_object 0", "", ""},
		{`["` + strings.Repeat("[", 2*jsonraw.MaxDepth), "syntax 2002", "syntax 2002", "syntax 2002"},
		{`["\\",` + strings.Repeat("[", jsonraw.MaxDepth), "depth 1005", "depth 1005", "depth 1005"},
	} {
		_, object := jsonraw.Object([]byte(c.raw))
		_, array := jsonraw.Array([]byte(c.raw))
		got := []string{rule(object), rule(array), rule(jsonraw.Valid([]byte(c.raw)))}
		if diff := cmp.Diff([]string{c.object, c.array, c.valid}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", jsonraw.Excerpt([]byte(c.raw), 80), diff)
		}
	}
}

func rule(err *jsonraw.SyntaxError) string {
	if err == nil {
		return ""
	}
	return fmt.Sprint(err.Rule, " ", err.Offset)
}

// The members before an error can be shown.
func TestObjectUpToAnError(t *testing.T) {
	for raw, want := range map[string]int{
		`{"a":1,"b":[2],"c":`: 2, `{"a":1 "b":2}`: 1, `{"a":1}x`: 1, `{`: 0, `{"a":"\ud800","b":2,"c"}`: 2, `[1]`: 0,
	} {
		if members, err := jsonraw.Object([]byte(raw)); len(members) != want || err == nil {
			t.Errorf("%s: %d members, error %v", raw, len(members), err)
		}
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		raw, want string
		ok        bool
	}{
		{`""`, "", true},
		{` "a" `, "a", true},
		{`"\"\\\/\b\f\n\r\t\u00e9"`, "\"\\/\b\f\n\r\té", true},
		{`"\ud83d\ude00"`, "😀", true},
		{`"a\ud83db"`, "a\uFFFDb", true},
		{`"\ude00\ud83d"`, "\uFFFD\uFFFD", true},
		{`"\u0000"`, "\x00", true},
		{`"'"`, "'", true},
		{"\"\u2028\x7f\"", "\u2028\x7f", true},
		{``, "", false},
		{`"`, "", false},
		{`"\"`, "", false},
		{`"a`, "", false},
		{`a"`, "", false},
		{`"a"b"`, "", false},
		{`"a" "b"`, "", false},
		{`1`, "", false},
		{`null`, "", false},
		{`["a"]`, "", false},
		{"\"a\nb\"", "", false},
		{"\"\xff\"", "", false},
		{"\u00a0\"a\"", "", false},
		{`"\x"`, "", false},
		{`"\ud83`, "", false},
	} {
		if got, ok := jsonraw.Text([]byte(c.raw)); got != c.want || ok != c.ok {
			t.Errorf("Text(%q) = %q, %v", c.raw, got, ok)
		}
	}
}

func TestQuote(t *testing.T) {
	for s, want := range map[string]string{
		"": `""`, "<b>&é😀\u2028/'": "\"<b>&é😀\u2028/'\"", "a\"\\\n\x00\x1f": `"a\"\\\n\u0000\u001f"`, "\xffa\xc3": "\"\uFFFDa\uFFFD\"",
		"\x7f": "\"\x7f\"",
	} {
		if got := string(jsonraw.Quote(s)); got != want {
			t.Errorf("Quote(%q) = %s, want %s", s, got, want)
		}
	}
}

func TestCompact(t *testing.T) {
	for raw, want := range map[string]string{
		" { \"a b\" : [ 1.10 , -0, 1e400 ]\n} ": `{"a b":[1.10,-0,1e400]}`,
		`{"a":"<b>&","a":"\u003c"}`:             `{"a":"<b>&","a":"\u003c"}`,
		"\"\u2028\"":                            "\"\u2028\"",
		"not JSON \n":                           "not JSON \n",
	} {
		if got := jsonraw.Compact([]byte(raw)); string(got) != want {
			t.Errorf("Compact(%q) = %q, want %q", raw, got, want)
		}
	}
}

// Reading must not be a way to write.
func TestMembersCannotOverwriteMessage(t *testing.T) {
	raw := []byte(`{"a":[1],"b":{"c":2}}`)
	before := bytes.Clone(raw)
	members, _ := jsonraw.Object(raw)
	items, _ := jsonraw.Array(members[0].Value)
	for _, view := range [][]byte{members[0].Value, members[1].Value, items[0]} {
		_ = append(view, "overwritten"...)
	}
	if !bytes.Equal(raw, before) {
		t.Errorf("became %s", raw)
	}
}
