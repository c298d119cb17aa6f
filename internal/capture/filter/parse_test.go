package filter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
)

// filterNow is a Saturday at 17:30, east of Greenwich.
var filterNow = time.Date(2026, 11, 21, 17, 30, 0, 0, time.FixedZone("", 3600))

func parse(t *testing.T, text string) Filter {
	t.Helper()
	f, err := Parse(text, filterNow, judge)
	if err != nil {
		t.Fatalf("%s: column %d: %v", text, err.(*Error).Column(), err)
	}
	return f
}

// plainest is a part of a filter in its plainest form, with the number of the values of a
// field.
func plainest(n node) string {
	inside := func(n node, parentheses bool) string {
		if parentheses {
			return "(" + plainest(n) + ")"
		}
		return plainest(n)
	}
	switch n := n.(type) {
	case *group:
		var terms []string
		for _, term := range n.terms {
			inner, ok := term.(*group)
			terms = append(terms, inside(term, ok && inner.or))
		}
		if n.or {
			return strings.Join(terms, " or ")
		}
		return strings.Join(terms, " ")
	case negation:
		_, ok := n.node.(*group)
		return "-" + inside(n.node, ok)
	case fullText:
		if word := strings.ToLower(n.text); n.text[0] == '-' || strings.ContainsAny(word, "()\":~ ") || word == "or" {
			return strconv.Quote(n.text)
		}
		return n.text
	case *fieldTerm:
		return fmt.Sprintf("%s:%d", n.field.name, len(n.values))
	case *pattern:
		return n.field.name + "~/" + n.re.String() + "/"
	}
	return ""
}

func TestFilterString(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{" \t\n ", ""},
		{"  sum  ", "sum"},
		{"get sum", "get sum"},
		{"get AND sum", "get sum"},
		{"get or sum", "get or sum"},
		{`"get"`, "get"},
		{`"get sum"`, `"get sum"`},
		{`"say \"hi\" \\ \n"`, `"say \"hi\" \\ \\n"`},
		{`"or"`, `"or"`},
		{`oracle android nothing`, "oracle android nothing"},
		{`"method:x"`, `"method:x"`},
		{`"-x"`, `"-x"`},
		{"not x", "-x"},
		{"not not x", "x"},
		{"--x", "x"},
		{"- x", `"-" x`},
		{"-(a b)", "-(a b)"},
		{"not (a or b)", "-(a or b)"},
		{"not(a)", "-a"},
		{"(a)", "a"},
		{"((a) and ((b)))", "a b"},
		{"a b or c d", "a b or c d"},
		{"a (b or c) d", "a (b or c) d"},
		{"a or (b or c)", "a or b or c"},
		{"(a b) or c", "a b or c"},
		{"METHOD:tools/call", "method:1"},
		{`name:"get sum",get-*`, "name:2"},
		{`name:"get"`, "name:1"},
		{"channel:tool_error,rpc_error", "channel:2"},
		{"outcome:tool_error Outcome~/rpc/", "channel:1 channel~/rpc/"},
		{"dur:>500ms size:>1mb http:>=400 exit:!=0", "dur:1 size:1 http:1 exit:1"},
		{"took:>500ms Duration:1s..2s", "dur:1 dur:1"},
		{"http:4xx,500..599 run:..9", "http:2 run:1"},
		{"-method:ping not has:finding", "-method:1 -has:1"},
		{`body~/a\/b "c" (d)/ name~/^get-/`, `body~/a\/b "c" (d)/ name~/^get-/`},
		{`time:"2026-11-20 10:00"`, "time:1"},
		{"10:30", `"10:30"`},
		{"a~b", `"a~b"`},
		{"Größe 世界", "Größe 世界"},
		{"a\xffb", "a\xffb"},
		{"a\u00a0b", "a b"},
	} {
		if got := plainest(parse(t, c.text).root); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestFilterErrorsPointAtTheirColumn(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		want   string
	}{
		{"(", 2, "a search term is missing here"},
		{"a (", 4, "a search term is missing here"},
		{"(a", 1, "unclosed parenthesis"},
		{"a (b (c) d", 3, "unclosed parenthesis"},
		{"()", 2, "a search term is missing before this parenthesis"},
		{"a)", 2, "unmatched parenthesis"},
		{"a b) c", 4, "unmatched parenthesis"},
		{"a or", 5, "a search term is missing here"},
		{"a or or b", 6, "a search term is missing before this word; quote it to search for it"},
		{"and a", 1, "a search term is missing before this word; quote it to search for it"},
		{"a and", 6, "a search term is missing here"},
		{"not", 4, "a search term is missing here"},
		{"-)", 2, "a search term is missing before this parenthesis"},
		{"a(b)", 2, "a space is missing here, or quotes around the whole text"},
		{`a"b"`, 2, "a space is missing here, or quotes around the whole text"},
		{`"a"b`, 4, "a space is missing here, or quotes around the whole text"},
		{`"a`, 1, "unclosed quote"},
		{`x "a\"`, 3, "unclosed quote"},
		{`""`, 1, "empty quotes"},
		{"methd:x", 1, `unknown field "methd"; quote it to search for the text`},
		{"Größe Status:200", 7, `unknown field "Status"; quote it to search for the text`},
		{"-status:200", 2, `unknown field "status"; quote it to search for the text`},
		{"name:", 6, "name takes a name: get-sum, get-*"},
		{"name: x", 6, "name takes a name: get-sum, get-*"},
		{"name:a,", 8, "name takes a name: get-sum, get-*"},
		{"name:>x", 6, "name cannot be compared; -name:… negates, and quotes make this text"},
		{"channel:tool_eror", 9, `channel has no value "tool_eror": use ` + strings.Join(channels(), ", ")},
		{"channel:ok,*_eror", 12, `channel has no value "*_eror": use ` + strings.Join(channels(), ", ")},
		{"kind:heads", 6, `kind has no value "heads": use body, head, event, stderr, noise, closed, fault, held`},
		{"has:findings", 5, `has has no value "findings": use finding, retry, resume, round, notification, question, fault, guess`},
		{"finding:L107", 9, `finding has no value "L107": use a rule, a tag or a severity of mcpc check`},
		{"finding:", 9, "finding takes a rule, a tag or a severity of mcpc check: L106, client-*, error"},
		{"finding~/L1/", 1, "finding takes a rule, a tag or a severity of mcpc check: L106, client-*, error, and no regular expression"},
		{"a dur:500", 7, `dur takes a time: >500ms, 1s..2s, not "500"`},
		{"dur:>=fast", 5, `dur takes a time: >500ms, 1s..2s, not ">=fast"`},
		{"http:http://x", 6, `http takes a status: 404, 4xx, >=400, not "http://x"`},
		{"http:0xx", 6, `http takes a status: 404, 4xx, >=400, not "0xx"`},
		{"run:>1..2", 5, `run takes the number of a run: 42, 40..45, not ">1..2"`},
		{"run:..", 5, `run takes the number of a run: 42, 40..45, not ".."`},
		{"size:1tb", 6, `size takes a size: >1mb, 10kb..20kb, not "1tb"`},
		{"size:nan", 6, `size takes a size: >1mb, 10kb..20kb, not "nan"`},
		{"time:2026-02-30", 6, `time takes a time: 2026-01-31, >=15:04, 15:00..15:30, not "2026-02-30"`},
		{"time:0001-01-01", 6, `time takes a time: 2026-01-31, >=15:04, 15:00..15:30, not "0001-01-01"`},
		{"since:-5m", 7, `since takes how long ago, or a time: 10m, 2h, 3d, 2026-01-31, 15:04, not "-5m"`},
		{"a dur>500ms", 3, "a colon is missing after the field dur; quote it to search for the text"},
		{"http!=200", 1, "a colon is missing after the field http; quote it to search for the text"},
		{"body~/a", 6, "the regular expression has no slash at its end"},
		{`body~/a\/`, 6, "the regular expression has no slash at its end"},
		{"body~/a(/", 7, "invalid RE2 regular expression: missing closing ): `a(`"},
		{`body~/(a)\1/`, 7, "invalid RE2 regular expression: invalid escape sequence: `\\1`"},
		{"bdy~/a/", 1, `unknown field "bdy"; quote it to search for the text`},
		{"dur~/a/", 1, "dur takes a time: >500ms, 1s..2s, and no regular expression"},
		{strings.Repeat("(", 101) + "a", 101, "more than 100 nested parentheses and negations"},
		{strings.Repeat("-", 101) + "a", 101, "more than 100 nested parentheses and negations"},
	} {
		_, err := Parse(c.text, filterNow, judge)
		if err == nil {
			t.Errorf("%q: no error, want %q", c.text, c.want)
			continue
		}
		got := err.(*Error)
		if got.Text != c.want || got.Column() != c.column || got.Filter != c.text {
			t.Errorf("%q: got column %d: %s\nwant column %d: %s", c.text, got.Column(), got.Text, c.column, c.want)
		}
	}
}

// If a field has a fixed list of words, the error suggests them.
func TestFilterErrorsSuggestWords(t *testing.T) {
	for text, word := range map[string]string{"methd:x": "method", "is:opn": "open", "channel:timout": "timeout"} {
		_, err := Parse(text, filterNow, judge)
		got := err.(*Error)
		if got.Word == "" || !strings.Contains(strings.Join(got.Known, " "), word) {
			t.Errorf("%s: got %q of %q", text, got.Word, got.Known)
		}
	}
}

// Another program's name of a field is an error with the intended term, with or without a colon.
func TestFilterErrorsKnowOtherNamesOfFields(t *testing.T) {
	for text, meant := range map[string]string{
		"took>1s": "dur:>1s", "duration>=500ms": "dur:>=500ms", "ms>1000": "dur:>1000ms", "ms:>1000": "dur:>1000ms",
		"latency:>1s": "dur:>1s", "status=404": "http:404", "status:404": "http:404", "status:retry": "has:retry",
		"status:failed": "is:error", "kind=transport": "channel:transport",
	} {
		_, err := Parse(text, filterNow, judge)
		if got, ok := err.(*Error); !ok || got.Word != "" || got.Suggestion != meant {
			t.Errorf("%s: got %+v, want %q", text, err, meant)
		}
	}
}

// A rule after another field is meant for finding.
func TestFilterErrorsKnowTheRules(t *testing.T) {
	for text, meant := range map[string]string{"has:L106": "finding:L106", "has:finding=l106": "finding:l106", "is:tools": "finding:tools", "has:x": ""} {
		_, err := Parse(text, filterNow, judge)
		if got := err.(*Error); got.Suggestion != meant {
			t.Errorf("%s: meant %q, want %q", text, got.Suggestion, meant)
		}
	}
}

// Rows are judged only where nothing else decides.
func TestFilterJudgesOnlyIfNeeded(t *testing.T) {
	asked := &askedJudge{}
	for text, want := range map[string]int{"has:finding method:x": 0, "finding:L106 or method:tools/call": 0, "has:retry": 0, "finding:L106": 1, "-has:finding": 1} {
		f, err := Parse(text, filterNow, asked)
		if err != nil {
			t.Fatal(err)
		}
		asked.times = 0
		if _, err := f.Match(&rows.Row{State: exchange.State{Method: "tools/call"}}); err != nil || asked.times != want {
			t.Errorf("%s: asked %d times, %v", text, asked.times, err)
		}
	}
	asked.fails = errors.New("gone")
	f, _ := Parse("has:finding or has:finding", filterNow, asked)
	if fits, err := f.Match(&rows.Row{}); fits || err != asked.fails {
		t.Error(fits, err)
	}
}

type askedJudge struct {
	times int
	fails error
}

func (j *askedJudge) Words() []string { return []string{"L106"} }

func (j *askedJudge) WordsFor(*rows.Row) ([]string, error) {
	j.times++
	return nil, j.fails
}

func FuzzFilter(f *testing.F) {
	for _, seed := range []string{
		`method:tools/call name:get-* -(channel:ok or dur:>500ms) "a \" b" body~/x\/y/`, "not not (a)", "- a", "--a",
		`name:"a,b",c http:4xx,500..599 since:3d time:2026-11-20..2026-11-21`, "a\xff\x00", "((", `"`, "a~b a~/b/", "or", "-(-(-a))",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := Parse(text, filterNow, judge)
		if err != nil {
			if e := err.(*Error); e.Offset < 0 || e.Offset > len(text) || e.Text == "" {
				t.Fatalf("%q: %+v", text, e)
			}
			return
		}
		for _, row := range []rows.Row{{}, {State: exchange.State{Method: "tools/call", Name: text, Status: 404, Sent: 9}}} {
			c := &candidate{row: &row, findInTraffic: func(s search) (bool, error) { return s.matches([]byte(text)), nil }}
			filter.match(c)
		}
	})
}

// TestTexts checks which texts a filter searches for, so that views can mark them in a message.
func TestTexts(t *testing.T) {
	f, err := Parse(`is:error -no "two words" or (name:x {"a":1} body:b,"c d") or not no`, filterNow, nil)
	if got := strings.Join(f.Texts(), "|"); err != nil || got != `two words|{"a":1}|b|c d` {
		t.Errorf("got %s, %v", got, err)
	}
}
