package match

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/redact"
)

const id1, id2 = `"123e4567-e89b-12d3-a456-426614174000"`, `"00000000-0000-0000-0000-00000000000A"`

func show(r Report) string {
	var b strings.Builder
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "%s %s", d.Path, d.How)
		if d.Was != nil {
			fmt.Fprintf(&b, " was %s", d.Was)
		}
		if d.Is != nil {
			fmt.Fprintf(&b, " is %s", d.Is)
		}
		if d.IsPointer != "" {
			fmt.Fprintf(&b, " at %s", d.IsPointer)
		}
		b.WriteString("; ")
	}
	return b.String() + r.Counts.String()
}

func compareResults(t *testing.T, rules, was, is string) Report {
	t.Helper()
	c := Comparison{Part: Result, Method: "tools/call", Name: "x"}
	for line := range strings.SplitSeq(rules, "; ") {
		if path, text, ok := strings.Cut(line, ": "); ok {
			c.Rules = &Rules{Sections: append(sectionsOf(c.Rules), section(t, "*", "", Result, path, text))}
		}
	}
	return Compare(json.RawMessage(was), json.RawMessage(is), c)
}

func sectionsOf(r *Rules) []Section {
	if r == nil {
		return nil
	}
	return r.Sections
}

func TestCompare(t *testing.T) {
	for _, c := range []struct{ rules, was, is, want string }{
		// equal values
		{"", `{"a":1,"b":"x"}`, `{"b":"\u0078","a":1}`, ""},
		{"", `{"a":[1,{"b":2}]}`, `{"a":[1.0,{"b":2}]}`, "1 value normalised"},
		{"", `[1,2]`, ` [ 1 , 2 ] `, ""},
		// differences
		{"", `{"colour":"red"}`, `{"colour":"green"}`, `.colour changed was "red" is "green"; `},
		{"", `9007199254740993`, `9007199254740992`, `. changed was 9007199254740993 is 9007199254740992; `},
		{"", `{"a":{"b":[0,1]}}`, `{"a":{"b":[0,2]}}`, `.a.b[1] changed was 1 is 2; `},
		{"", `{"a":1}`, `{"a":"1"}`, `.a type was 1 is "1"; `},
		{"", `{"a":null}`, `{}`, `.a removed was null; `},
		{"", `{}`, `{"a-b":{"c":1}}`, `.["a-b"] added is {"c":1}; `},
		{"", `true`, `false`, `. changed was true is false; `},
		{"", `{"a":1,"a":2}`, `{"a":1,"a":3}`, `.a changed was 2 is 3; `},
		{"", `{"a":1,"a":2}`, `{"a":1}`, `.a removed was 2; `},
		{"", `"\ud800"`, `"\ud801"`, `. changed was "\ud800" is "\ud801"; `},
		// lists
		{"", `[1,2,3]`, `[0,1,2,3]`, `.[0] added is 0; `},
		{"", `[1,2,3]`, `[1,2,3,4]`, `.[3] added is 4; `},
		{"", `[1,2,3]`, `[1,3]`, `.[1] removed was 2; `},
		{"", `[1,2,3]`, `[3,2,1]`, `.[0] changed was 1 is 3; .[2] changed was 3 is 1; `},
		{"", `[{"a":1},{"a":2}]`, `[{"a":0},{"a":1},{"a":2}]`, `.[0] added is {"a":0}; `},
		{"", `[1,9,5]`, `[1,8,7,5.0]`, `.[1] changed was 9 is 8; .[2] added is 7; 1 value normalised`},
		{"", `[[1],5]`, `[0,[2],5]`, `.[0] type was [1] is 0; .[1] added is [2]; `},
		// rules
		{".a: ignore", `{"a":1,"b":2}`, `{"a":{"c":3},"b":2}`, "1 value ignored"},
		{".a: ignore", `{"a":1}`, `{}`, "1 value ignored"},
		{".a: ignore", `{"a":1}`, `{"a":1}`, ""},
		{".a: ignore", `{"a":1,"b":1}`, `{"a":2,"b":2}`, ".b changed was 1 is 2; 1 value ignored"},
		{".: ignore", `{"a":1}`, `[]`, "1 value ignored"},
		{".a: type", `{"a":1}`, `{"a":2.5}`, "1 value matched by type"},
		{".a: type", `{"a":[1]}`, `{"a":[]}`, "1 value matched by type"},
		{".a: type", `{"a":1}`, `{"a":"1"}`, `.a type was 1 is "1"; `},
		{".a: type", `{"a":1}`, `{}`, `.a removed was 1; `},
		{".a: regex ^v[0-9]+$", `{"a":"v1"}`, `{"a":"v22"}`, "1 value matched by regex"},
		{".a: regex ^v[0-9]+$", `{"a":"v1"}`, `{"a":"w1"}`, `.a regex was "v1" is "w1"; `},
		{".a: regex ^v[0-9]+$", `{"a":"w1"}`, `{"a":"v1"}`, `.a regex was "w1" is "v1"; `},
		{".a: regex 1", `{"a":1}`, `{"a":11}`, `.a regex was 1 is 11; `},
		{".a: number", `{"a":1}`, `{"a":1e400}`, "1 value matched by number"},
		{".a: number", `{"a":"1"}`, `{"a":"2"}`, `.a number was "1" is "2"; `},
		{".a: number +-0.5", `{"a":1}`, `{"a":1.5}`, "1 value matched by number"},
		{".a: number +-0.5", `{"a":1}`, `{"a":0.5}`, "1 value matched by number"},
		{".a: number +-0.5", `{"a":1}`, `{"a":1.50000000000000000001}`, `.a number was 1 is 1.50000000000000000001; `},
		{".a: number +-1", `{"a":1e99999999999}`, `{"a":1e99999999998}`, `.a number was 1e99999999999 is 1e99999999998; `},
		{".a: time", `{"a":"2026-01-02T03:04:05Z"}`, `{"a":"2026-01-02T03:04:05.123+02:00"}`, "1 value matched as a time"},
		{".a: time", `{"a":"2026-01-02T03:04:05Z"}`, `{"a":"2026-01-02"}`, `.a time was "2026-01-02T03:04:05Z" is "2026-01-02"; `},
		{".a: time", `{"a":1700000000}`, `{"a":1700000001.5}`, "1 value matched as a time"},
		{".a: time", `{"a":1700000000}`, `{"a":1700000000000}`, `.a time was 1700000000 is 1700000000000; `},
		{".a: time", `{"a":17}`, `{"a":18}`, `.a time was 17 is 18; `},
		{".a: time", `{"a":"soon"}`, `{"a":"later"}`, `.a time was "soon" is "later"; `},
		{".a: uuid", `{"a":` + id1 + `}`, `{"a":` + id2 + `}`, "1 value matched as a uuid"},
		{".a: uuid", `{"a":` + id1 + `}`, `{"a":"123e4567-e89b-12d3-a456-42661417400g"}`, `.a uuid was ` + id1 + ` is "123e4567-e89b-12d3-a456-42661417400g"; `},
		{".a: uuid", `{"a":` + id1 + `}`, `{"a":"123e4567xe89b-12d3-a456-426614174000"}`, `.a uuid was ` + id1 + ` is "123e4567xe89b-12d3-a456-426614174000"; `},
		{".a[].b: uuid", `{"a":[{"b":` + id1 + `}]}`, `{"a":[{"b":` + id2 + `}]}`, "1 value matched as a uuid"},
		{".a[1]: ignore", `{"a":[1,1]}`, `{"a":[2,2]}`, `.a[0] changed was 1 is 2; 1 value ignored`},
		{".a[]: ignore; .a[0]: type", `{"a":[1,1]}`, `{"a":["",""]}`, `.a[0] type was 1 is ""; 1 value ignored`},
		{".a[]: type", `{"a":[1]}`, `{"a":[1,2]}`, `.a[1] added is 2; `},
		{
			".rows[].at: time", `{"rows":[{"id":1,"at":"2026-01-01"}]}`, `{"rows":[{"id":0,"at":"2026-01-01"},{"id":1,"at":"2026-02-02"}]}`,
			`.rows[0] added is {"id":0,"at":"2026-01-01"}; 1 value matched as a time`,
		},
		// lists in any order
		{".a: unordered by /id", `{"a":[{"id":1,"v":1},{"id":2,"v":2}]}`, `{"a":[{"id":2,"v":2},{"id":1,"v":1}]}`, "1 value in another order"},
		{
			".a: unordered by /id", `{"a":[{"id":1,"v":1},{"id":2,"v":2}]}`, `{"a":[{"id":2.0,"v":9},{"id":1,"v":1}]}`,
			`.a[1].v changed was 2 is 9 at /a/0/v; 1 value in another order, 1 normalised`,
		},
		{".a: unordered by /id", `{"a":[{"id":1},{"id":2}]}`, `{"a":[{"id":3},{"id":1}]}`, `.a[1] removed was {"id":2}; .a[0] added is {"id":3}; 1 value in another order`},
		{".a: unordered by /id; .a[].t: time", `{"a":[{"id":1,"t":"2026-01-01"},{"id":2}]}`, `{"a":[{"id":2},{"id":1,"t":"2026-01-03"}]}`, "1 value matched as a time, 1 in another order"},
		{".a: unordered by /id", `{"a":[{"id":1},{"id":1,"b":2},{}]}`, `{"a":[{},{"id":1},{"id":1,"b":3}]}`, `.a[1].b changed was 2 is 3 at /a/2/b; 1 value in another order`},
		{".a: unordered by /id", `{"a":[{"id":1,"v":1},{"id":2}]}`, `{"a":[{"id":1,"v":2},{"id":2}]}`, `.a[0].v changed was 1 is 2; `},
		{".a: unordered by /id", `{"a":[{"id":1,"v":1},{"id":2}]}`, `{"a":[{"id":2,"w":2},{"id":1}]}`, `.a[0].v removed was 1; .a[0].w added is 2; 1 value in another order`},
		{".a: unordered", `{"a":[1,2,2]}`, `{"a":[2,1,2]}`, "1 value in another order"},
		{".a: unordered", `{"a":[1,2,2]}`, `{"a":[2,1,1]}`, `.a[2] removed was 2; .a[2] added is 1; 1 value in another order`},
		{".a: unordered; .a[].t: ignore", `{"a":[{"t":1,"v":1},{"t":2,"v":2}]}`, `{"a":[{"t":3,"v":2},{"t":4,"v":1}]}`, "2 values ignored, 1 in another order"},
		{".a: unordered; .a[0]: ignore", `{"a":[1,2]}`, `{"a":[3,1]}`, `.a[1] removed was 2; .a[0] added is 3; 1 value in another order`},
		{".a: unordered", `{"a":[1]}`, `{"a":{}}`, `.a type was [1] is {}; `},
		// the protocol
		{"", `{"nextCursor":"abc"}`, `{"nextCursor":"xyz"}`, `.nextCursor changed was "abc" is "xyz"; `}, // of tools/call
		{"", `{"task":{"taskId":"a","createdAt":"2026-01-02T03:04:05Z"}}`, `{"task":{"taskId":"b","createdAt":"2026-01-02T03:04:06Z"}}`, "1 value matched as a time, 1 bound"},
		{"", `{"task":{"taskId":"a"}}`, `{"task":{}}`, `.task.taskId removed was "a"; `},
		{"", `{"task":{"taskId":"a"}}`, `{"task":{"taskId":{}}}`, `.task.taskId bound was "a" is {}; `},
		{".taskId: type", `{"taskId":"a"}`, `{"taskId":7}`, `.taskId type was "a" is 7; `},
		{"", `{"_meta":{}}`, `{}`, "1 value normalised"},
		{"", `{}`, `{"_meta":{"io.modelcontextprotocol/serverInfo":{}}}`, ""},
		{"", `{}`, `{"_meta":{"io.modelcontextprotocol/serverInfo":{},"x":1}}`, `._meta added is {"io.modelcontextprotocol/serverInfo":{},"x":1}; `},
		{"", `{}`, `{"_meta":7}`, `._meta added is 7; `},
		// not JSON
		{"", `{`, `{}`, `. incomparable was { is {}; `},
		{"", `{`, `{`, ``},
	} {
		if got := show(compareResults(t, c.rules, c.was, c.is)); got != c.want {
			t.Errorf("%s\n%s\n%s\ngot  %s\nwant %s", c.rules, c.was, c.is, got, c.want)
		}
	}
}

func TestCompareParts(t *testing.T) {
	raw := func(text string) json.RawMessage {
		if text == "" {
			return nil
		}
		return json.RawMessage(text)
	}
	for _, c := range []struct {
		was, is string
		c       Comparison
		want    string
	}{
		{"", `{}`, Comparison{Part: Params}, ""},
		{"", "", Comparison{Part: Params}, ""},
		{"", `{}`, Comparison{Part: Result}, ". added is {}; "},
		{`{}`, "", Comparison{Part: Error}, ". removed was {}; "},
		{"", "", Comparison{Part: Result}, ""},
		{`{"a":1}`, `{"a":1}`, Comparison{Part: Params, Bytes: true}, ""},
		{`{"a":1}`, `{"a":1.0}`, Comparison{Part: Params, Bytes: true}, `. bytes was {"a":1} is {"a":1.0}; `},
		{`{"a":1,"b":1}`, `{"a":1.0,"b":2}`, Comparison{Part: Params, Bytes: true}, `.b changed was 1 is 2; `},
		{`{"_meta":{"progressToken":1}}`, `{"_meta":{"progressToken":2}}`, Comparison{Part: Params, Bytes: true}, `._meta.progressToken changed was 1 is 2; `},
		{`{"_meta":{"progressToken":1}}`, `{}`, Comparison{Part: Params, Method: "tools/call"}, ""},
		{`{"_meta":{"progressToken":1,"a":1}}`, `{"_meta":{"a":1}}`, Comparison{Part: Params, Method: "tools/call"}, ""},
		{`{"arguments":{}}`, `{}`, Comparison{Part: Params, Method: "tools/call"}, "1 value normalised"},
		{`{"code":-32002}`, `{"code":-32602}`, Comparison{Part: Error, Method: "resources/read", RecordedRevision: "2025-11-25", CurrentRevision: "2026-07-28"}, ""},
		{`{"code":-32602}`, `{"code":-32002}`, Comparison{Part: Error, Method: "resources/read", RecordedRevision: "2026-07-28", CurrentRevision: "2024-11-05"}, ""},
		{`{"code":-32602}`, `{"code":-32603}`, Comparison{Part: Error, Method: "resources/read", RecordedRevision: "2026-07-28", CurrentRevision: "2024-11-05"}, `.code protocol was -32602 is -32603; `},
		{`{"code":-32002}`, `{"code":-32602}`, Comparison{Part: Error, Method: "resources/read", RecordedRevision: "2025-11-25", CurrentRevision: "2025-06-18"}, `.code changed was -32002 is -32602; `},
		{`{"code":-32002}`, `{"code":-32602}`, Comparison{Part: Error, Method: "tools/call", RecordedRevision: "2025-11-25", CurrentRevision: "2026-07-28"}, `.code changed was -32002 is -32602; `},
		{`{"arguments":{}}`, `{}`, Comparison{Part: Params, Method: "tools/list"}, ".arguments removed was {}; "},
		{`{"_meta":{"progressToken":1}}`, `{}`, Comparison{}, `._meta removed was {"progressToken":1}; `},
	} {
		if got := show(Compare(raw(c.was), raw(c.is), c.c)); got != c.want {
			t.Errorf("%s %s %+v\ngot  %s\nwant %s", c.was, c.is, c.c, got, c.want)
		}
	}
}

// The more specific section counts, and within it the part.
func TestSectionsApplyToTheirMessages(t *testing.T) {
	rules := &Rules{Sections: []Section{
		section(t, "tools/call", "x", Result, ".a", "uuid"),
		section(t, "tools/call", "", Result, ".a", "type"),
		section(t, "*", "", Result, ".a", "ignore"),
		section(t, "tools/call", "x", Params, ".arguments.a", "ignore"),
	}}
	for _, c := range []struct {
		part         Part
		method, name string
		was, is      string
		same         bool
	}{
		{Result, "tools/call", "x", `{"a":` + id1 + `}`, `{"a":` + id2 + `}`, true},
		{Result, "tools/call", "x", `{"a":"1"}`, `{"a":"2"}`, false},
		{Result, "tools/call", "y", `{"a":"1"}`, `{"a":"2"}`, true},
		{Result, "tools/call", "y", `{"a":"1"}`, `{"a":2}`, false},
		{Result, "tools/call", "", `{"a":"1"}`, `{"a":"2"}`, true},
		{Result, "tools/list", "", `{"a":"1"}`, `{"a":2}`, true},
		{Error, "tools/list", "", `{"a":"1"}`, `{"a":2}`, false},
		{Params, "tools/call", "", `{"name":"x","arguments":{"a":1}}`, `{"name":"x","arguments":{"a":2}}`, true},
		{Params, "tools/call", "", `{"name":"y","arguments":{"a":1}}`, `{"name":"y","arguments":{"a":2}}`, false},
	} {
		r := Compare(json.RawMessage(c.was), json.RawMessage(c.is), Comparison{Rules: rules, Part: c.part, Method: c.method, Name: c.name})
		if r.Same() != c.same {
			t.Errorf("%+v: %s", c, show(r))
		}
	}
}

func section(t *testing.T, method, name string, part Part, path, text string) Section {
	t.Helper()
	r, err := ParseRules([]byte(fmt.Sprintf("%q:\n  %s:\n    '%s': '%s'\n", strings.TrimSpace(method+" "+name), part, path, text)))
	if err != nil {
		t.Fatal(err)
	}
	return r.Sections[0]
}

func TestNotesNameTheRule(t *testing.T) {
	rules, err := ParseRules([]byte("'*':\n  .a: ignore\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := Compare(json.RawMessage(`{"a":1,"taskId":"x"}`), json.RawMessage(`{"a":2,"taskId":"y"}`), Comparison{Rules: rules, Part: Result, Method: "tools/call"})
	if len(r.Notes) != 2 || r.Notes[0].Pointer != "/a" || r.Notes[0].Kind != Ignore || r.Notes[0].Rule.Place.String() != "2:3" || r.Notes[0].Rule.Path.String() != ".a" ||
		r.Notes[1].Pointer != "/taskId" || r.Notes[1].Kind != Bound || r.Notes[1].Rule != nil {
		t.Errorf("got %+v", r.Notes)
	}
	if r.Counts.Matched() != 1 || r.HangsOnHidden() {
		t.Errorf("got %+v", r.Counts)
	}
	total := Counts{Ignore: 1}
	if total.Add(r.Counts); total.String() != "2 values ignored, 1 bound" {
		t.Errorf("got %s", total)
	}
}

func TestDistances(t *testing.T) {
	distance := func(was, is string) float64 {
		r := compareResults(t, "", was, is)
		return r.Distance
	}
	if d := distance(`{"a":1}`, `{"a":1}`); d != 0 {
		t.Errorf("equal: %v", d)
	}
	if d := distance(`{"a":1}`, `{"b":2}`); d != 1 {
		t.Errorf("nothing in common: %v", d)
	}
	if d := distance(`{"a":"1"}`, `{"a":1}`); d != 1 {
		t.Errorf("another type: %v", d)
	}
	near, far := distance(`{"a":"Paris","b":1}`, `{"a":"Pariss","b":1}`), distance(`{"a":"Paris","b":1}`, `{"a":"Oslo","b":1}`)
	if near >= far || far >= distance(`{"a":"Paris","b":1}`, `{"a":"Oslo","b":2}`) {
		t.Errorf("near %v, far %v", near, far)
	}
	if one, all := distance(`{"a":[1,2,3,4]}`, `{"a":[1,2,3,5]}`), distance(`{"a":[1,2,3,4]}`, `{"a":7}`); one != 0.25 || all != 1 {
		t.Errorf("one of four %v, a list for a number %v", one, all)
	}
}

// --- properties ---

const runs = 1000

func TestAValueIsTheSameAsItself(t *testing.T) {
	for seed := range uint64(runs) {
		m := newMaker(seed)
		raw := json.RawMessage(m.value(4))
		other := m.respelled(raw)
		for _, part := range []Part{Params, Result, Error, ""} {
			if r := Compare(raw, other, Comparison{Part: part, Method: "tools/call"}); !r.Same() || r.Distance != 0 {
				t.Fatalf("%s\n%s\n%s", raw, other, show(r))
			}
		}
		if r := Compare(raw, raw, Comparison{Bytes: true}); !r.Same() || len(r.Counts) > 0 {
			t.Fatalf("%s: %s", raw, show(r))
		}
	}
}

// One value is changed, and that one is reported with its pointer and both values.
func TestAChangedValueIsReported(t *testing.T) {
	n := 0
	for seed := range uint64(runs) {
		m := newMaker(seed)
		raw := json.RawMessage(m.value(4))
		leaves := leavesOf(raw, "")
		at := leaves[m.IntN(len(leaves))]
		value := []string{`"changed"`, `9007199254740992`, `[true,[]]`}[m.IntN(3)]
		if at.raw[0] == '[' {
			value = `"a list of none"`
		}
		r := Compare(raw, m.respelled(changed(raw, at.pointer, value)), Comparison{})
		if len(r.Differences) != 1 || r.Differences[0].Pointer != at.pointer || string(r.Differences[0].Was) != string(at.raw) || r.Distance == 0 {
			t.Fatalf("%s\n%s becomes %s\n%s", raw, at.pointer, value, show(r))
		}
		if is, _ := jsonvalue.Canonical(r.Differences[0].Is); string(is) != value {
			t.Fatalf("%s: is %s, want %s", at.pointer, is, value)
		}
		n++
	}
	if n != runs {
		t.Errorf("%d runs", n)
	}
}

// The differences from a to b are those from b to a, the other way round.
func TestDifferencesAreSymmetric(t *testing.T) {
	rules := &Rules{Sections: []Section{
		section(t, "*", "", Result, ".a", "unordered"), section(t, "*", "", Result, ".b", "unordered by /id"), section(t, "*", "", Result, ".b[].a", "type"),
		section(t, "*", "", Result, ".id", "number +-1"), section(t, "*", "", Result, ".name", "regex e"), section(t, "*", "", Result, ".uri", "time"),
		section(t, "*", "", Result, `.["~"]`, "uuid"), section(t, "*", "", Result, `.["x/y"][].a`, "ignore"), section(t, "*", "", Result, `.["é"][1]`, "ignore"),
	}}
	differ := 0
	for seed := range uint64(3 * runs) {
		m := newMaker(seed)
		a, b := m.object(4), m.object(4)
		for _, c := range []Comparison{{}, {Rules: rules, Part: Result, Method: "tools/call", LengthOnly: seed%2 == 0}} {
			there, back := Compare(a, b, c), Compare(b, a, c)
			if len(there.Differences) > 0 {
				differ++
			}
			x, y := facts(there, false), facts(back, true)
			if !slices.Equal(x, y) || there.Distance != back.Distance || there.Counts.String() != back.Counts.String() {
				t.Fatalf("%s\n%s\n%s %v\n%s %v", a, b, x, there.Distance, y, back.Distance)
			}
		}
	}
	if differ < runs {
		t.Errorf("only %d pairs differ", differ)
	}
}

func facts(r Report, swap bool) (all []string) {
	for _, d := range r.Differences {
		other := cmp.Or(d.IsPointer, d.Pointer)
		if swap {
			d.Was, d.Is, d.Pointer, other = d.Is, d.Was, other, d.Pointer
			d.How = cmp.Or(map[How]How{Added: Removed, Removed: Added}[d.How], d.How)
		}
		all = append(all, fmt.Sprintf("%s %s %s %s %s", d.Pointer, other, d.How, d.Was, d.Is))
	}
	slices.Sort(all)
	return all
}

// --- bounds ---

func TestReportsAreBounded(t *testing.T) {
	list := func(digit string, n int) json.RawMessage {
		return json.RawMessage("[" + strings.Repeat(digit+",", n-1) + digit + "]")
	}
	r := Compare(list("1", 5000), list("2", 5000), Comparison{})
	if len(r.Differences) != maxDifferences || r.More != 4000 || r.Distance != 1 {
		t.Errorf("%d listed, %d more, distance %v", len(r.Differences), r.More, r.Distance)
	}
	r = Compare(list("1", 5000), list("1.0", 5000), Comparison{})
	if !r.Same() || len(r.Notes) != maxNotes || r.Counts[Normalised] != 5000 {
		t.Errorf("%d notes, %v", len(r.Notes), r.Counts)
	}
	long := string(jsonraw.Quote(strings.Repeat("x", maxListedBytes/10)))
	r = Compare(json.RawMessage("{"+long+":"+string(list("1", 500))+"}"), json.RawMessage("{"+long+":"+string(list("2", 500))+"}"), Comparison{})
	if len(r.Differences) > 10 || len(r.Differences)+r.More != 500 {
		t.Errorf("%d listed with a long name, %d more", len(r.Differences), r.More)
	}
	deep := strings.Repeat(`{"a":[`, 500) + "1" + strings.Repeat("]}", 500)
	r = Compare(json.RawMessage(deep), json.RawMessage(strings.Replace(deep, "1", "2", 1)), Comparison{})
	if len(r.Differences) != 1 || strings.Count(r.Differences[0].Pointer, "/a/0") != 500 {
		t.Errorf("deep: %d differences", len(r.Differences))
	}
	if r = Compare(json.RawMessage("["+deep+"]"), json.RawMessage(deep), Comparison{}); r.Differences[0].How != Incomparable {
		t.Errorf("too deep: %s", r.Differences[0].How)
	}
	large := list("1", 600_000)
	if r = Compare(large, large, Comparison{}); !r.Same() {
		t.Error("equal bytes that are too large to compare are not the same")
	}
	if r = Compare(large, list("1", 600_001), Comparison{}); r.Differences[0].How != Incomparable {
		t.Errorf("too large: %s", r.Differences[0].How)
	}
}

// --- hidden secrets ---

func TestHiddenSecrets(t *testing.T) {
	hidden := redact.Redacted
	quote := func(text string) string { return string(jsonraw.Quote(text)) }
	inURL := strings.NewReplacer("•", "*", "len ", "len-", ", ", ",")
	const once = "%E2%80%A2%E2%80%A2%E2%80%A2%E2%80%A2%28len+6%2C+sha256%3A"
	six := hidden("secret")[len(hidden("secret"))-5:][:4]
	for _, c := range []struct{ was, is, want string }{
		{quote(hidden("secret")), quote("secret"), "1 value matched a redacted value"},
		{quote("secret"), quote(hidden("secret")), "1 value matched a redacted value"},
		{quote(hidden("secret")), quote("other!"), "length"},
		{quote(hidden("secret")), quote("others!"), "secret"},
		{quote(hidden("secret")), quote(hidden("secret")), ""},
		{quote(hidden("secret")), quote(hidden("other!")), "length"},
		{quote("Bearer " + hidden("secret")), quote("Bearer secret"), "1 value matched a redacted value"},
		{quote("Bearer " + hidden("secret")), quote("Basic secret"), "secret"},
		{quote(hidden("secret") + "."), quote("secret!"), "secret"},
		{quote("a=" + hidden("secret") + "&b=" + hidden("x&y")), quote("a=secret&b=x&y"), "1 value matched a redacted value"},
		{quote("a=" + hidden("x&y") + "&b=" + hidden("secret")), quote("a=x&y&b=secret"), "1 value matched a redacted value"},
		{quote("a=" + hidden("x&y") + "&b=" + hidden("secret")), quote("a=x&z&b=secret"), "length"},
		{quote(hidden("ab") + hidden("cd")), quote("abcd"), "1 value matched a redacted value"},
		{quote(hidden("ab") + hidden("cd")), quote("a"), "secret"},
		{quote("u?t=" + inURL.Replace(hidden("secret"))), quote("u?t=secret"), "1 value matched a redacted value"},
		{quote("u?t=" + inURL.Replace(hidden("a b/c"))), quote("u?t=a+b%2Fc"), "1 value matched a redacted value"},
		{quote("u?t=" + inURL.Replace(hidden("a+b"))), quote("u?t=a+b"), "1 value matched a redacted value"},
		{quote("u?t=" + once + six + "%29&x"), quote("u?t=secret&x"), "1 value matched a redacted value"},
		{quote("u?t=" + inURL.Replace(hidden("secret"))), quote("u?t=" + hidden("secret")), "1 value matched a redacted value"},
		{quote(`{"t":"` + hidden(`a"b`) + `"}`), quote(`{"t":"a\"b"}`), "1 value matched a redacted value"},
		{quote(`{"t":"` + hidden(`a"b`) + `","u":1}`), quote(`{"t":"a\"b","u":1}`), "1 value matched a redacted value"},
		{quote(hidden("1234")), `1234`, "1 value matched a redacted value"},
		{quote(hidden("1234")), `1235`, "length"},
		{quote(hidden("true")), `true`, "type"},
		{quote(hidden("secret")), `["secret"]`, "type"},
		{quote(strings.Repeat(hidden("a"), 100)), quote(strings.Repeat("a", 100)), "1 value matched a redacted value"},
		{quote(strings.Repeat(hidden("a"), 100+1)), quote(strings.Repeat("a", 100+1)), "secret"},
	} {
		for _, lengthOnly := range []bool{false, true} {
			want := c.want
			if want == "length" {
				if want = "secret"; lengthOnly {
					want = "1 value matched a redacted value by its length"
				}
			}
			r := Compare(json.RawMessage(c.was), json.RawMessage(c.is), Comparison{LengthOnly: lengthOnly})
			got := r.Counts.String()
			if !r.Same() {
				got = string(r.Differences[0].How)
			}
			if got != want || r.HangsOnHidden() != strings.Contains(want, "redacted") {
				t.Errorf("%s and %s: got %s, want %s", c.was, c.is, got, want)
			}
		}
	}
}

func FuzzCompare(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"id":2}],"b":"••••(len 5, sha256:2cf2)"}`), []byte(`{"a":[{"id":2},1.0],"b":"hello"}`))
	f.Add([]byte(`{"_meta":{"progressToken":1}}`), []byte(`{"x":"****(len-9,sha256:0000)"}`))
	rules, err := ParseRules([]byte("'*':\n  params:\n    .a: unordered by /id\n    .a[].v: time\n    .b: regex l+\n    .c: number +-1\n    .d: ignore\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, was, is []byte) {
		for _, c := range []Comparison{{}, {Rules: rules, Part: Params, Method: "tools/call"}} {
			there, back := Compare(was, is, c), Compare(is, was, c)
			if len(there.Differences) != len(back.Differences) || there.Distance != back.Distance || there.Distance < 0 || there.Distance > 1 || there.Same() != (there.Distance == 0) {
				t.Fatalf("%q %q\n%s\n%s", was, is, show(there), show(back))
			}
			if r := Compare(was, was, c); !r.Same() {
				t.Fatalf("%q: %s", was, show(r))
			}
		}
	})
}
