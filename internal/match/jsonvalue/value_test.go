package jsonvalue

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDecimalIsTheExactValue(t *testing.T) {
	for _, same := range [][]string{
		{"1", "1.0", "10e-1", "0.1e1", "1E+0", "1e00000000000000"},
		{"0", "-0", "0.0", "0e9", "-0e99999999999999", "0e" + strings.Repeat("9", 2000)},
		{"9007199254740993", "9007199254740993.0", "9.007199254740993e15"},
		{"-1.5", "-15e-1"},
		{"1e99999999999", "10e99999999998", "0.1e100000000000", "1.0e+99999999999"},
		{"1e-99999999999", "10e-100000000000"},
		{"1e2147483648", "10e2147483647"},
	} {
		for _, other := range same {
			if Decimal(other) != Decimal(same[0]) {
				t.Errorf("%s is %s, and %s is %s", same[0], Decimal(same[0]), other, Decimal(other))
			}
		}
	}
	for _, pair := range [][2]string{
		{"9007199254740992", "9007199254740993"},
		{"1", "-1"},
		{"1", "1.0000000000000000000001"},
		{"1e400", "1e401"},
		{"1e99999999999", "1e-99999999999"},
		{"1e99999999999", "1e99999999998"},
		{"0.1", "1"},
		{"1e" + strings.Repeat("9", 1001), "1e" + strings.Repeat("9", 1002)},
		{"1e" + strings.Repeat("9", 1001), "1e-" + strings.Repeat("9", 1001)},
	} {
		if Decimal(pair[0]) == Decimal(pair[1]) {
			t.Errorf("%s and %s are both %s", pair[0], pair[1], Decimal(pair[0]))
		}
	}
}

func TestDistanceOfNumbers(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"1", "3", "2"},
		{"3", "1", "2"},
		{"0.1", "0.3", "1/5"},
		{"-1", "1", "2"},
		{"5", "5.0", "0"},
		{"9007199254740993", "9007199254740992", "1"},
		{"1e999", "1", strings.Repeat("9", 999)},
		{"1e99999999999", "1", ""},
		{"1e-99999", "1", ""},
	} {
		got := ""
		if r := Apart(Decimal(c.a), Decimal(c.b)); r != nil {
			got = r.RatString()
		}
		if got != c.want {
			t.Errorf("%s and %s are apart by %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

// The numbers come from RFC 8785, appendix B, where a double has no more digits than shown.
func TestCanonical(t *testing.T) {
	for raw, want := range map[string]string{
		`{ "b" : 1 , "a" : [ true , null , "x" ] }`:                                   `{"a":[true,null,"x"],"b":1}`,
		`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`: "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}", // RFC 8785, section 3.2.3
		`"\u0041\/\u000a\u001f\u2028"`:                                                "\"A/\\n\\u001f\u2028\"",
		`[1E30,4.50,2e-3,1e-27,-0,0.000001,1e-7]`:                                     `[1e+30,4.5,0.002,1e-27,0,0.000001,1e-7]`,
		`[333333333.33333329,9007199254740993]`:                                       `[333333333.33333329,9007199254740993]`, // not rounded
		`[0.5,0.25,-0.1,12.5]`:                                                        `[0.5,0.25,-0.1,12.5]`,
		`[123456789012345678901.5,1234567890123456789012.5]`:                          `[123456789012345678901.5,1.2345678901234567890125e+21]`,
		`[1e20,1e21,123456789e13,1.5e21,-1.5e-10]`:                                    `[100000000000000000000,1e+21,1.23456789e+21,1.5e+21,-1.5e-10]`,
		`1e99999999999999999999`:                                                      `1e99999999999999999999`,
		`{"a":2,"a":1}`:                                                               `{"a":2,"a":1}`,
		`"\ud800"`:                                                                    `"\ud800"`,
		` {} `:                                                                        `{}`,
	} {
		got, err := Canonical(json.RawMessage(raw))
		if err != nil || string(got) != want {
			t.Errorf("%s\ngot  %s %v\nwant %s", raw, got, err, want)
		}
	}
	for _, raw := range []string{``, `{`, `[1,]`, `nul`, "\"\xff\"", strings.Repeat("[", 1001) + strings.Repeat("]", 1001)} {
		if got, err := Canonical(json.RawMessage(raw)); err == nil {
			t.Errorf("%.20q is %s", raw, got)
		}
	}
}

// Names are in the order of their UTF-16 code units, and no two are equal.
func TestCompareNames(t *testing.T) {
	names := []string{"", "A", "a", "aa", "\u007f", "\u0080", "\u07ff", "\u0800", "\ud7ff", "\U00010000", "\U0001f600", "\U0010ffff", "\ue000", "\uffff"}
	for i, a := range names {
		for j, b := range names {
			if got := CompareNames(a, b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%q and %q: %d", a, b, got)
			}
		}
	}
}

func TestLargeValuesAreRefused(t *testing.T) {
	list := func(n int) json.RawMessage { return json.RawMessage("[" + strings.Repeat("0,", n-2) + "0]") }
	if _, err := Parse(list(maxNodes)); err != nil {
		t.Error(err)
	}
	for _, raw := range []json.RawMessage{list(maxNodes + 1), json.RawMessage(`{"a":` + string(list(maxNodes)) + `,"b":{"c":1}}`)} {
		if _, err := Parse(raw); !errors.Is(err, ErrTooLarge) {
			t.Errorf("got %v", err)
		}
	}
}

func TestParsedNodes(t *testing.T) {
	n, err := Parse(json.RawMessage(` {"b":[1, 2.0, {}], "a":"x••••(len 5, sha256:2cf2)", "a":7, "~/":{"c":null}}`))
	if err != nil {
		t.Fatal(err)
	}
	if n.Leaves != 6 || !n.Hidden || n.Member("b").Hidden || string(n.Member("a").Raw) != `"x••••(len 5, sha256:2cf2)"` {
		t.Errorf("got %+v", n)
	}
	for pointer, want := range map[string]string{"/b/1": "2.0", "/b/3": "", "/b/-1": "", "/b/x": "", "/~0~1/c": "null", "/a/b": "", "/x": "", "": string(n.Raw)} {
		if got := n.Find(pointer); got == nil && want != "" || got != nil && string(got.Raw) != want {
			t.Errorf("%s: got %v, want %s", pointer, got, want)
		}
	}
	if raw := json.RawMessage(` {"b":[1, 2.0`); n.Find("/b/1").At != len(raw)-3 {
		t.Errorf("at %d", n.Find("/b/1").At)
	}
}

func TestEqualValuesHaveOneHash(t *testing.T) {
	for _, same := range [][]string{
		{`{"a":1,"b":[2]}`, `{"b":[2.0],"a":10e-1}`, ` { "\u0061" : 1 , "b" : [ 2 ] } `},
		{`"/"`, `"\/"`, `"\u002f"`},
	} {
		for _, other := range same {
			if !parsed(t, same[0]).Is(parsed(t, other)) {
				t.Errorf("%s and %s differ", same[0], other)
			}
		}
	}
	different := []string{
		`{}`, `[]`, `""`, `0`, `null`, `false`, `true`, `"0"`, `"null"`, `[[]]`, `[{}]`, `[[],[]]`, `{"a":{}}`, `{"":{}}`, `{"a":0,"b":1}`,
		`{"a":1,"b":0}`, `{"a":0}`, `{"a":0,"a":0}`, `{"a":0,"a":1}`, `{"a":1,"a":0}`, `["a","b"]`, `["ab",""]`, `"\ud800"`, `"\ud801"`, `"\ufffd"`, `9007199254740992`, `9007199254740993`,
	}
	for i, a := range different {
		for _, b := range different[:i] {
			if parsed(t, a).Is(parsed(t, b)) {
				t.Errorf("%s is %s", a, b)
			}
		}
	}
}

func parsed(t *testing.T, raw string) *Node {
	t.Helper()
	n, err := Parse(json.RawMessage(raw))
	if err != nil {
		t.Fatal(raw, err)
	}
	return n
}

func TestPaths(t *testing.T) {
	const doc = `{"a":{"b":[{"c":1},{"c":2},3]},"x-y":{"":4},"list":[[5,6],[7]],"_1":8}`
	for text, want := range map[string]string{
		".":              `[""]`,
		".a.b":           `["/a/b"]`,
		".a.b[0].c":      `["/a/b/0/c"]`,
		".a.b[].c":       `["/a/b/0/c" "/a/b/1/c"]`,
		".a.b.[1]":       `["/a/b/1"]`,
		`.["x-y"][""]`:   `["/x-y/"]`,
		`."x-y".[""]`:    `["/x-y/"]`,
		`.["\u0061"].b`:  `["/a/b"]`,
		".list[][0]":     `["/list/0/0" "/list/1/0"]`,
		".list[][]":      `["/list/0/0" "/list/0/1" "/list/1/0"]`,
		"._1":            `["/_1"]`,
		".missing.a":     `[]`,
		".a[0]":          `[]`,
		".a.b.c":         `[]`,
		".list[9]":       `[]`,
		".[0]":           `[]`,
		`.["a\\(1)"][0]`: `[]`,
	} {
		path, err := ParsePath(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := fmt.Sprintf("%q", path.Select(json.RawMessage(doc))); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		if again, err := ParsePath(path.String()); err != nil || !slices.Equal(path, again) {
			t.Errorf("%s is written %s: %v", text, path, err)
		}
	}
	if got := (Path{}).Select(json.RawMessage("{")); got != nil {
		t.Errorf("got %q in no JSON", got)
	}
}

func TestPathErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                       `a path begins with`,
		"a":                      `a path begins with ".", as in .a.b[0].c at byte 0`,
		".a.":                    "a name is missing",
		"..a":                    "a name is missing; one with other characters than letters, digits and _ is quoted, as in .[\"a-b\"] at byte 1",
		".a-b":                   `only paths as .a.b[0].c and .a[].b are understood at byte 2`,
		".a | .b":                "at byte 2",
		".1":                     "a name is missing",
		".a[":                    `"]" is missing at byte 2`,
		".a[-1]":                 "an index from 0 on",
		".a[+1]":                 "an index from 0 on",
		".a[-0]":                 "an index from 0 on",
		".a[x]":                  "at byte 2",
		".a[1:2]":                "an index from 0 on",
		`.a["b]`:                 "an index from 0 on",
		`.a["b"`:                 `"]" is missing`,
		`."a`:                    "no closing quote",
		`."\x"`:                  "not a JSON string",
		".a[1e3]":                "an index from 0 on",
		".[1000001]":             "larger than 1000000",
		strings.Repeat(".a", 65): "more than 64 steps at byte 128",
	} {
		_, err := ParsePath(text)
		if e, ok := errors.AsType[*SyntaxError](err); !ok || !strings.Contains(err.Error(), want) || e.Offset > len(text) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if _, err := ParsePath(strings.Repeat(".a", 64)); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0.0,1e400,"\ud800",{"b":null}],"a":true}`, `[[[]]]`, `"x"`, `1e99999999999`, ` [ 1 , 2 ] `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		n, err := Parse(raw)
		if err != nil || raw == nil {
			return
		}
		canonical, err := Canonical(raw)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		again, err := Parse(canonical)
		if err != nil || !again.Is(n) {
			t.Fatalf("%q is another value than %q: %v", canonical, raw, err)
		}
		if twice, _ := Canonical(canonical); string(twice) != string(canonical) {
			t.Fatalf("%q becomes %q", canonical, twice)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{".", ".a.b[0].c", `.["x-y"][]`, `."a"`, ".a[", ".a[-1]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := ParsePath(text)
		if e, ok := errors.AsType[*SyntaxError](err); ok && (e.Offset < 0 || e.Offset > len(text)) {
			t.Fatalf("%q: offset %d", text, e.Offset)
		}
		if err != nil {
			return
		}
		if again, err := ParsePath(path.String()); err != nil || !slices.Equal(path, again) {
			t.Fatalf("%q is written %q: %v", text, path, err)
		}
		path.Select(json.RawMessage(`{"a":{"b":[{"c":1}]},"x-y":[[]]}`))
	})
}
