package match

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func proposed(t *testing.T, c Comparison, values ...string) string {
	t.Helper()
	var raws []json.RawMessage
	for _, v := range values {
		raws = append(raws, json.RawMessage(v))
	}
	rules, err := Propose(raws, c)
	if err != nil {
		t.Fatal(err)
	}
	c.Rules = &Rules{Sections: append(sectionsOf(c.Rules), Section{Method: c.Method, Rules: rules})}
	for _, raw := range raws {
		if r := Compare(raws[0], raw, c); !r.Same() {
			t.Errorf("%s\n%s\nwith %v: %s", raws[0], raw, rules, show(r))
		}
	}
	var all []string
	for _, r := range rules {
		all = append(all, fmt.Sprintf("%s: %s", r.Path, r.Matcher))
	}
	return strings.Join(all, "; ")
}

func TestPropose(t *testing.T) {
	const id3 = `"ffffffff-ffff-ffff-ffff-ffffffffffff"`
	for _, c := range []struct {
		values []string
		want   string
	}{
		{[]string{`{"a":1}`}, ""},
		{[]string{`{"a":1,"b":2}`, `{"b":2.0,"a":1}`}, ""},
		{[]string{`{"a":` + id1 + `,"b":1}`, `{"a":` + id2 + `,"b":1}`, `{"a":` + id3 + `,"b":1}`}, ".a: uuid"},
		{[]string{`{"a":` + id1 + `}`, `{"a":` + id1 + `}`, `{"a":"x"}`}, ".a: type"},
		{[]string{`{"a":"2026-01-01T00:00:00Z"}`, `{"a":"2026-01-01T00:00:01.5Z"}`}, ".a: time"},
		{[]string{`{"a":"2026-01-01T00:00:00Z"}`, `{"a":"2026-01-01"}`}, ".a: type"},
		{[]string{`{"a":1700000000}`, `{"a":1700000009}`}, ".a: time"},
		{[]string{`{"a":10}`, `{"a":12.5}`, `{"a":9}`}, ".a: number +-2.5"},
		{[]string{`{"a":9007199254740993}`, `{"a":9007199254740992}`}, ".a: number +-1"},
		{[]string{`{"a":1000}`, `{"a":2000}`}, ".a: number +-1000"},
		{[]string{`{"a":1e-900}`, `{"a":1e900}`}, ".a: number"},
		{[]string{`{"a":1}`, `{"a":1e99999999}`}, ".a: number"},
		{[]string{`{"a":"x"}`, `{"a":"y"}`}, ".a: type"},
		{[]string{`{"a":true}`, `{"a":false}`}, ".a: type"},
		{[]string{`{"a":"1"}`, `{"a":1}`}, ".a: ignore"},
		{[]string{`{"a":null}`, `{"a":1}`}, ".a: ignore"},
		{[]string{`{"a":1}`, `{}`, `{"a":1}`}, ".a: ignore"},
		{[]string{`{}`, `{"a b":{"c":1}}`}, `.["a b"]: ignore`},
		{[]string{`{"a":[1,2]}`, `{"a":[1]}`}, ".a: type"},
		{[]string{`[1]`, `{}`}, ".: ignore"},
		{[]string{`"a"`, `"b"`}, ".: type"},
		// items
		{[]string{`{"a":[1,5]}`, `{"a":[1,6]}`}, ".a[1]: number +-1"},
		{[]string{`{"a":[1,5]}`, `{"a":[3,6]}`}, ".a[]: number +-2"},
		{[]string{`{"a":[{"id":` + id1 + `,"n":1},{"id":` + id2 + `,"n":1}]}`, `{"a":[{"id":` + id2 + `,"n":1},{"id":` + id3 + `,"n":2}]}`}, ".a[].id: uuid; .a[1].n: number +-1"},
		{[]string{`{"a":[[1],[1]]}`, `{"a":[[2],[5]]}`}, ".a[][0]: number +-4"},
		{[]string{`{"a":["x",1]}`, `{"a":["y",2]}`}, ".a[0]: type; .a[1]: number +-1"},
		// order
		{[]string{`{"a":[1,2,3]}`, `{"a":[3,1,2]}`}, ".a: unordered"},
		{[]string{`{"a":[{"id":1,"n":"x"},{"id":2,"n":"x"}]}`, `{"a":[{"id":2,"n":"x"},{"id":1,"n":"x"}]}`}, ".a: unordered by /id"},
		{[]string{`{"a":[{"id":1,"t":"2026-01-01"},{"id":2,"t":"2026-01-02"}]}`, `{"a":[{"id":2,"t":"2026-02-01"},{"id":1,"t":"2026-02-02"}]}`}, ".a: unordered by /id; .a[].t: time"},
		{[]string{`{"a":[{"id":1,"v":1},{"id":2,"v":2}]}`, `{"a":[{"id":1,"v":2},{"id":2,"v":1}]}`}, ".a[].v: number +-1"}, // nothing moved
		{[]string{`{"a":[{"id":1,"v":1},{"id":2,"v":"x"}]}`, `{"a":[{"id":2,"v":"y"},{"id":1,"v":2}]}`}, ".a: unordered by /id; .a[].v: type"},
		{[]string{`{"a":[{"id":1},{"id":1},{"id":2}]}`, `{"a":[{"id":2},{"id":1},{"id":1}]}`}, ".a[0].id: number +-1; .a[2].id: number +-1"}, // no key
		// already accepted
		{[]string{`{"_meta":{}}`, `{}`}, ""},
		{[]string{`{"taskId":"a","createdAt":"2026-01-02T03:04:05Z"}`, `{"taskId":"b","createdAt":"2026-01-02T03:04:06Z"}`}, ""},
		{[]string{`{"a":"••••(len 5, sha256:2cf2)"}`, `{"a":"hello"}`}, ""},
		{[]string{`{"a":"••••(len 5, sha256:2cf2)"}`, `{"a":"hullo"}`}, ".a: type"},
	} {
		if got := proposed(t, Comparison{Part: Result, Method: "tools/call"}, c.values...); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.values, got, c.want)
		}
	}
	if _, err := Propose([]json.RawMessage{json.RawMessage(`{`), json.RawMessage(`{}`)}, Comparison{}); err == nil {
		t.Error("no error for what is no JSON")
	}
}

func TestProposeOnlyMissingRules(t *testing.T) {
	rules := &Rules{Sections: []Section{section(t, "*", "", Result, ".a", "number +-1"), section(t, "*", "", Result, ".b", "ignore"), section(t, "*", "", Result, ".c", "unordered")}}
	c := Comparison{Part: Result, Method: "tools/call", Rules: rules}
	if got := proposed(t, c, `{"a":1,"b":1,"c":[1,2]}`, `{"a":2,"c":[2,1]}`); got != "" {
		t.Errorf("got %s", got)
	}
	if got := proposed(t, c, `{"a":1,"b":1,"c":[1,2]}`, `{"a":7,"c":[2,1]}`); got != ".a: number +-6" {
		t.Errorf("got %s", got)
	}
	if got := proposed(t, c, `{"a":1,"b":1,"c":[1,2]}`, `{"a":7,"c":[2,3]}`); got != ".a: number +-6; .c[]: number +-1" && got != ".a: number +-6; .c: type" {
		t.Errorf("got %s", got)
	}
}

// Proposed rules accept the values that they were made from, and a change anywhere else is still
// reported.
func TestProposedRulesAllowOnlySeenChanges(t *testing.T) {
	narrow := 0
	for seed := range uint64(runs) {
		m := newMaker(seed)
		first := m.object(4)
		values := []string{string(first)}
		leaves := leavesOf(first, "")
		touched := map[string]bool{}
		for range 2 {
			at := leaves[m.IntN(len(leaves))]
			touched[at.pointer] = true
			values = append(values, string(changed(first, at.pointer, m.value(1))))
		}
		c := Comparison{Part: Result, Method: "x/y"}
		rules, err := Propose([]json.RawMessage{first, json.RawMessage(values[1]), json.RawMessage(values[2])}, c)
		if err != nil {
			t.Fatal(err)
		}
		c.Rules = &Rules{Sections: []Section{{Method: "*", Rules: rules}}}
		for _, v := range values {
			if r := Compare(first, json.RawMessage(v), c); !r.Same() {
				t.Fatalf("%s\n%s\n%v: %s", first, v, rules, show(r))
			}
		}
		for _, at := range leaves {
			if r := Compare(first, changed(first, at.pointer, `"elsewhere"`), c); r.Same() && !touched[at.pointer] && !within(at.pointer, touched) && string(at.raw) != `"elsewhere"` {
				t.Fatalf("%s\nwith %v lets another %s pass", values, rules, at.pointer)
			}
			narrow++
		}
	}
	if narrow < runs {
		t.Errorf("only %d changes", narrow)
	}
}

// within reports whether a pointer leads into a list with a touched item: the order of such a list
// may be ignored.
func within(pointer string, touched map[string]bool) bool {
	for other := range touched {
		list := other[:max(strings.LastIndexByte(other, '/'), 0)]
		if strings.HasPrefix(pointer, list+"/") {
			return true
		}
	}
	return false
}

func FuzzPropose(f *testing.F) {
	f.Add([]byte(`{"a":[{"id":1,"v":1},{"id":2}],"n":1}`), []byte(`{"a":[{"id":2},{"id":1,"v":3}],"n":1.5}`), []byte(`{"a":[],"n":"x"}`))
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		comparison := Comparison{Part: Result, Method: "tools/call"}
		rules, err := Propose([]json.RawMessage{a, b, c}, comparison)
		if err != nil || len(rules) == maxProposed {
			return
		}
		comparison.Rules = &Rules{Sections: []Section{{Method: "*", Rules: rules}}}
		for _, other := range [][]byte{b, c} {
			if r := Compare(a, other, comparison); a != nil && other != nil && !r.Same() {
				t.Fatalf("%q\n%q\n%v: %s", a, other, rules, show(r))
			}
		}
	})
}

func TestMerge(t *testing.T) {
	rules := func(text string) (all []Rule) {
		for line := range strings.SplitSeq(text, "; ") {
			if path, matcher, ok := strings.Cut(line, ": "); ok {
				all = append(all, section(t, "tools/call", "", Result, path, matcher).Rules...)
			}
		}
		return all
	}
	for _, c := range []struct{ a, b, want string }{
		{".a: uuid", ".b: time", ".a: uuid; .b: time"},
		{".a: uuid", ".a: uuid", ".a: uuid"},
		{".a: uuid", ".a: time", ".a: type"},
		{".a: ignore", ".a: time", ".a: ignore"},
		{".a: number +-1", ".a: number +-2", ".a: number +-2"},
		{".a: number +-3", ".a: number +-2", ".a: number +-3"},
		{".a: number", ".a: number +-2", ".a: number"},
		{".a: unordered by /id", ".a: unordered by /id", ".a: unordered by /id"},
		{".a: unordered by /id", ".a: unordered by /name", ".a: type"},
		{".a[0]: uuid", ".a[]: time", ".a[0]: type; .a[]: time"},
		{".a[0][]: uuid", ".a[][1]: time", ".a[0][]: type; .a[][1]: type"},
		{".a: number +-1", ".a.b: uuid", ".a: type; .a.b: uuid"},
		{".a: ignore", ".a.b: uuid", ".a: ignore; .a.b: uuid"},
		{".a: unordered by /id", ".a.b: uuid", ".a: type; .a.b: uuid"},
		{".a[0]: uuid", ".a[1]: time", ".a[0]: uuid; .a[1]: time"},
		{".a: unordered by /id", ".a[1].v: uuid; .a[2].v: time; .b[1]: type", ".a: unordered by /id; .a[].v: type; .b[1]: type"},
		{".a: unordered by /v", ".a[1].v: uuid", ".a: type; .a[1].v: uuid"},
		{".a: unordered by /v/w", ".a[1].v: type", ".a: type; .a[1].v: type"},
		{".a: unordered by /va", ".a[1].v: type", ".a: unordered by /va; .a[].v: type"},
		{".a: unordered by /v", ".a[1]: type", ".a: type; .a[1]: type"},
		{".a: unordered", ".a[1].v: uuid", ".a: type; .a[1].v: uuid"},
		{".a: unordered by /v", ".a: unordered by /v; .a[].w: time", ".a: unordered by /v; .a[].w: time"},
		{".l[]: unordered by /id", ".l[1][2].v: uuid", ".l[]: unordered by /id; .l[1][].v: uuid"},
		{".l[1]: unordered by /id", ".l[][2].v: uuid", ".l[1]: unordered by /id; .l[][].v: uuid"},
		{"", "", ""},
	} {
		for _, merged := range [][]Rule{Merge(rules(c.a), rules(c.b)), Merge(Merge(rules(c.a)), rules(c.b))} {
			var got []string
			for _, r := range merged {
				got = append(got, fmt.Sprintf("%s: %s", r.Path, r.Matcher))
			}
			if strings.Join(got, "; ") != c.want {
				t.Errorf("%s and %s: got %s, want %s", c.a, c.b, strings.Join(got, "; "), c.want)
			}
		}
	}
	params := rules(".a: uuid")
	params[0].Part = Params
	if got := Merge(params, rules(".a: time")); len(got) != 2 || got[0].Matcher.Kind != UUID {
		t.Errorf("parts are apart: %v", got)
	}
}

// Merged rules let pass what each set was made for.
func TestMergedRulesAreWideEnough(t *testing.T) {
	merged := 0
	for seed := range uint64(runs) {
		m := newMaker(seed)
		var pairs [][2]json.RawMessage
		var all [][]Rule
		first := m.object(4)
		c := Comparison{Part: Result, Method: "x/y"}
		for range 3 {
			if seed%2 == 0 {
				first = m.object(4)
			}
			leaves := leavesOf(first, "")
			second := changed(first, leaves[m.IntN(len(leaves))].pointer, m.value(2))
			if m.IntN(2) == 0 {
				second = m.reordered(second)
			}
			rules, err := Propose([]json.RawMessage{first, second}, c)
			if err != nil {
				t.Fatal(err)
			}
			pairs, all = append(pairs, [2]json.RawMessage{first, second}), append(all, rules)
		}
		rules := Merge(all...)
		merged += len(rules)
		c.Rules = &Rules{Sections: []Section{{Method: "*", Rules: rules}}}
		for i, p := range pairs {
			if r := Compare(p[0], p[1], c); !r.Same() {
				t.Fatalf("%s\n%s\nfor %v of %v: %s", p[0], p[1], rules, all[i], show(r))
			}
		}
	}
	if merged < runs {
		t.Errorf("only %d rules", merged)
	}
}

func TestProposalsAreBounded(t *testing.T) {
	members := func(n int, value string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"m%d":%s`, i, value))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	propose := func(was, is string) []Rule {
		rules, err := Propose([]json.RawMessage{json.RawMessage(was), json.RawMessage(is)}, Comparison{Part: Result})
		if err != nil {
			t.Fatal(err)
		}
		return rules
	}
	if rules := propose(members(maxProposed, "1"), members(maxProposed, `"x"`)); len(rules) != maxProposed {
		t.Errorf("%d rules", len(rules))
	}
	if rules := propose(members(maxProposed+1, "1"), members(maxProposed+1, `"x"`)); len(rules) != 1 || rules[0].Path.String() != "." || rules[0].Matcher.Kind != Type {
		t.Errorf("%d rules", len(rules))
	}
	nested := func(depth int, value string) string {
		return strings.Repeat(`{"a":[`, depth/2) + value + strings.Repeat("]}", depth/2)
	}
	for depth, kind := range map[int]Kind{62: Number, 64: Number, 66: Type, 800: Type} {
		rules := propose(nested(depth, "1"), nested(depth, "2"))
		if len(rules) != 1 || len(rules[0].Path) != min(depth, 64) || rules[0].Matcher.Kind != kind {
			t.Errorf("%d deep: %v", depth, rules)
		}
	}
}
