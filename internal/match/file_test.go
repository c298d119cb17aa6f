package match

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mcpc/internal/match/jsonvalue"
)

func TestParseRules(t *testing.T) {
	rules, err := ParseRules([]byte(`# What changes from run to run.
"*":
  ._meta["x.example/trace"]: uuid
tools/call get-forecast:
  .structuredContent.at: time
  .structuredContent.rows: unordered by /id
  '.["a b"]': 'regex ^a: "b"$'
  params:
    .arguments.when: ignore
    .arguments.n: number +- 0.5
  error:
    .data.id: type
resources/read file:///a b:
x/custom:
  .a: "number"
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range rules.Sections {
		got = append(got, fmt.Sprintf("[%s|%s]", s.Method, s.Name))
		for _, r := range s.Rules {
			got = append(got, fmt.Sprintf("%s %s %s %s", r.Place, r.Part, r.Path, r.Matcher))
		}
	}
	want := `[*|]
3:3 result ._meta["x.example/trace"] uuid
[tools/call|get-forecast]
5:3 result .structuredContent.at time
6:3 result .structuredContent.rows unordered by /id
7:3 result .["a b"] regex ^a: "b"$
9:5 params .arguments.when ignore
10:5 params .arguments.n number +-0.5
12:5 error .data.id type
[resources/read|file:///a b]
[x/custom|]
15:3 result .a number`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	for _, text := range []string{"", "# nothing", "null"} {
		if rules, err := ParseRules([]byte(text)); err != nil || len(rules.Sections) != 0 {
			t.Errorf("%q: %v %v", text, rules, err)
		}
	}
}

func TestRulesHavePlacesForTheirErrors(t *testing.T) {
	for text, want := range map[string]string{
		"tools/call:\n  .a: uid\n":                              `2:7: unknown matcher "uid"; the matchers are ignore, type, regex, number, time, uuid, unordered; did you mean uuid?`,
		"tools/call:\n  .a: nothing\n":                          `2:7: unknown matcher "nothing"; the matchers are ignore, type, regex, number, time, uuid, unordered`,
		"tools/call:\n  .a: 'regex a('\n":                       `2:14: missing closing ): ` + "`a(`",
		"tools/call:\n  .a: regex\n":                            `2:7: regex is followed by an expression of at most 1000 bytes`,
		"tools/call:\n  .a: regex " + strings.Repeat("x", 1001): `2:13: regex is followed by`,
		"tools/call:\n  .a: number 5\n":                         `2:14: number is followed by +- and a number from 0 on, as in number +-0.5; got "5"`,
		"tools/call:\n  .a: number +-x\n":                       `2:14: number is followed by +-`,
		"tools/call:\n  .a: number +--1\n":                      `2:14: number is followed by +-`,
		"tools/call:\n  .a: number +-1e9999\n":                  `2:14: number is followed by +-`,
		"tools/call:\n  .a: number +-\n":                        `2:14: number is followed by +-`,
		"tools/call:\n  .a: uuid 4\n":                           `2:12: uuid takes no value, got "4"`,
		"tools/call:\n  .a: unordered by id\n":                  `2:17: unordered is followed by nothing or by the JSON pointer of a key, as in unordered by /id; got "by id"`,
		"tools/call:\n  .a: unordered /id\n":                    `2:17: unordered is followed by`,
		"tools/call:\n  .a: 5\n":                                `2:7: a matcher must be a text, such as ignore or number +-0.5; got 5`,
		"tools/call:\n  .a.b-c: ignore\n":                       `2:7: expected ".", "[" or the end: only paths as .a.b[0].c and .a[].b are understood`,
		"tools/call:\n  '.a | .b': ignore\n":                    `2:6: expected "."`,
		"tools/call:\n  result: ignore\n":                       `2:11: result has paths and matchers; got "ignore"`,
		"tools/call:\n  results:\n":                             `2:3: unknown part "results"; a section has paths, which begin with ".", and the parts params, result and error; did you mean result?`,
		"tools/call:\n  error:\n    a: type\n":                  `3:5: a path begins with ".", as in .a.b[0].c`,
		"tools/call: ignore\n":                                  `1:13: a section has paths and matchers, as in .structuredContent.id: uuid; got "ignore"`,
		"tool/call x:\n  .a: type\n":                            `1:1: unknown method "tool/call"; did you mean tools/call?`,
		"something:\n  .a: type\n":                              `1:1: unknown method "something"; a section is called after a method`,
		"tools/list x:\n  .a: type\n":                           `1:1: requests of the method tools/list have no name; "x" follows it`,
		"'* x':\n  .a: type\n":                                  `1:1: * is all methods, and no name follows it`,
		"- a\n":                                                 `1:1: the file has sections, as in tools/call get-sum:; got ["a"]`,
		"tools/call:\n  .a: ignore\n  .a: type\n":               `3:3: the name ".a" is duplicated`,
		"tools/call:\n\t.a: ignore\n":                           `2:`,
		"a: [\n":                                                `1:`,
		"tools/call:\n  .a: uid\n  .b: tim\n  x: 1\n":           "2:7: unknown matcher \"uid\"; the matchers are ignore, type, regex, number, time, uuid, unordered; did you mean uuid?\n3:7: unknown matcher \"tim\"; the matchers are ignore, type, regex, number, time, uuid, unordered; did you mean time?\n4:3: unknown part",
		"tools/call:\n" + strings.Repeat("  params:\n", 1) + manyRules(maxRules+1): `1:1: the file has more than 1000 matchers`,
	} {
		rules, err := ParseRules([]byte(text))
		if problems, ok := errors.AsType[Problems](err); !ok || rules != nil || !strings.HasPrefix(problems.Error(), want) {
			t.Errorf("%.100s\ngot  %.300v\nwant %s", text, err, want)
		}
	}
	if _, err := ParseRules([]byte("tools/call:\n  params:\n" + manyRules(maxRules))); err != nil {
		t.Error(err)
	}
}

func manyRules(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "    .a%d: type\n", i)
	}
	return b.String()
}

func TestFormattedRulesAreReadAgain(t *testing.T) {
	const text = `tools/call get-sum:
  .a[0].b: uuid
  .["x y"][]: regex ^a.*$
  params:
    .arguments.n: number +-0.5
    .arguments.rows: unordered by /id
  error:
    .data: type
'*':
  .: ignore
`
	rules, err := ParseRules([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Format(rules)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseRules(got)
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if last, _ := Format(again); string(last) != string(got) || strings.ReplaceAll(string(got), `"*"`, "'*'") != text {
		t.Errorf("got\n%s\nthen\n%s", got, last)
	}
	if got, err := Format(&Rules{}); err != nil || string(got) != "{}\n" {
		t.Errorf("got %q %v", got, err)
	}
	// Rules that were proposed for one message at a time become one section.
	one := Rule{Part: Params, Path: jsonvalue.Path{{Name: "a"}}, Matcher: Matcher{Kind: Type}}
	other := Rule{Part: Params, Path: jsonvalue.Path{{Name: "b"}}, Matcher: Matcher{Kind: UUID}}
	got, _ = Format(&Rules{Sections: []Section{{"tools/call", "x", []Rule{one}}, {"tools/call", "x", []Rule{other, one}}}})
	if string(got) != "tools/call x:\n  params:\n    .a: type\n    .b: uuid\n" {
		t.Errorf("got %s", got)
	}
}

func TestMatchersAreWrittenAsTheyAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"ignore": "", "type": "", "regex a b": "", "number": "", "number +-1.50": "", "number ±2": "number +-2", "number +- 2": "number +-2",
		"time": "", "uuid": "", "unordered": "", "unordered by  /a": "unordered by /a", "unordered by /a/b": "",
	} {
		m, err := ParseMatcher(text)
		if want == "" {
			want = text
		}
		if err != nil || m.String() != want {
			t.Errorf("%s: %s %v", text, m, err)
		}
	}
}

func TestMatcherErrorsPointAtTheArgument(t *testing.T) {
	for text, want := range map[string]int{
		"type  e": 6, "number u": 7, "regex": 0, "regex  ": 0, "regex (": 6, "unordered  o": 11, "rege x": 0,
	} {
		_, err := ParseMatcher(text)
		problem, ok := errors.AsType[*jsonvalue.SyntaxError](err)
		if !ok || problem.Offset != want {
			t.Errorf("%q: got %v, want byte %d", text, err, want)
		}
	}
}

func TestMatcherAccepts(t *testing.T) {
	for _, c := range []struct {
		matcher, was, is string
		want             bool
	}{
		{"ignore", `1`, `{}`, true},
		{"type", `1`, `2`, true},
		{"type", `1`, `"2"`, false},
		{"unordered", `[1]`, `[1.0]`, true},
		{"unordered", `[1,2]`, `[2,1]`, false},
		{"time", `"x"`, `"x"`, true},
		{"time", `"Mon, 02 Jan 2006 15:04:05 GMT"`, `"Tue, 03 Jan 2006 15:04:05 GMT"`, true},
		{"time", `{`, `{`, false},
		{"time", `1`, `{`, false},
		{"time", `"` + strings.Repeat(" ", 100) + `2026-01-01"`, `"2026-01-01"`, false},
		{"time", `-1700000000`, `-1700000001`, false},
		{"time", `-170000000`, `-170000001`, false},
		{"time", `17e8`, `1700000001`, true},
		{"uuid", id1, id2, true},
		{"uuid", `1`, id2, false},
		{"number +-0", `1`, `1.0`, true},
		{"number +-0", `1`, `1.1`, false},
	} {
		m, err := ParseMatcher(c.matcher)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Accepts([]byte(c.was), []byte(c.is)); got != c.want {
			t.Errorf("%s %s %s: %v", c.matcher, c.was, c.is, got)
		}
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add("tools/call x:\n  .a[].b: uuid\n  params:\n    '.[\"x\"]': regex a+\n")
	f.Add("'*':\n  .: number +-1\n")
	f.Add("a: &x {.a: type}\nb: *x\n")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := ParseRules([]byte(text))
		if problems, ok := errors.AsType[Problems](err); err != nil {
			if !ok || len(problems) == 0 || problems[0].Line < 1 || problems[0].Column < 1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		written, err := Format(rules)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if _, err := ParseRules(written); err != nil {
			t.Fatalf("%q is written\n%s\n%v", text, written, err)
		}
	})
}
