package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"mcpc/internal/sanitize"

	"golang.org/x/tools/txtar"

	"mcpc/internal/diff"
	"mcpc/internal/diff/accept"
	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/poison"
	"mcpc/internal/yaml"
)

var update = flag.Bool("update", false, "write the golden views")

func tools(all ...string) (s diff.Snapshot) {
	s.Tools = []json.RawMessage{}
	for _, one := range all {
		s.Tools = append(s.Tools, json.RawMessage(one))
	}
	return s
}

func reportOf(a, b diff.Snapshot, entries ...accept.Entry) Report {
	changes := diff.Compare(a, b, diff.Options{Signs: poison.Signs})
	result := accept.Apply(changes, entries, "2027-01-01")
	r := Report{A: "old.json", B: "-- server", Changes: result.Changes, Expired: result.Expired, Stale: result.Stale, AcceptFile: "x" + accept.Suffix}
	r.Tools, r.Sum = diff.Grown(a, b)
	return r
}

const before, after = `{"name":"get_weather","description":"Gives the weather of a city.\nIt knows the whole world.\nAsk in English.\nOr in German.\nNot in Latin.","inputSchema":{"type":"object","properties":{"unit":{"type":"string","enum":["c","f"]}}},"annotations":{"readOnlyHint":true}}`,
	`{"name":"get_weather","description":"Gives the weather of a town, and of villages.\nIt knows the whole world.\nAsk in English.\nOr in German.\nNot in Latin. <IMPORTANT>\u202e@all</IMPORTANT>","inputSchema":{"type":"object","properties":{"unit":{"type":"string","enum":["c"],"title":"Unit"},"day":{"type":"integer"}},"required":["day"]},"title":"W","icons":[]}`

// golden is a report with everything in it: each level, an accepted change, and entries that
// accept nothing.
func golden() Report {
	a, b := tools(before, `{"name":"gone","inputSchema":{"type":"object"}}`), tools(after, `{"name":"new","inputSchema":{"type":"object"}}`)
	all := diff.Compare(a, b, diff.Options{Signs: poison.Signs})
	of := func(rule string) string {
		return all[slices.IndexFunc(all, func(c diff.Change) bool { return c.Rule == rule })].Fingerprint
	}
	return reportOf(a, b, accept.Entry{Fingerprint: of("tool-removed"), Reason: "use new | or not", Until: "2027-06-30"},
		accept.Entry{Fingerprint: of("input-enum-removed"), Reason: "late", Until: "2026-12-31", Place: yaml.Place{Line: 7, Column: 5}},
		accept.Entry{Fingerprint: "c00000000000000", Reason: "old", Until: "2027-06-30", Place: yaml.Place{Line: 12, Column: 5}})
}

// marks shows the roles of a line, as (role:text).
func marks(lines []Line) string {
	names := []string{"", "breaking", "risky", "harmless", "accepted", "dim", "-", "--", "+", "++"}
	var b strings.Builder
	for _, l := range lines {
		for _, s := range l {
			if s.Role == Plain {
				b.WriteString(s.Text)
			} else {
				fmt.Fprintf(&b, "(%s:%s)", names[s.Role], s.Text)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestViewsGolden(t *testing.T) {
	r := golden()
	var sides strings.Builder
	for _, c := range r.Changes {
		for _, p := range Sides(c) {
			fmt.Fprintf(&sides, "%-70s | %s\n", strings.TrimSuffix(marks([]Line{p.Left}), "\n"), strings.TrimSuffix(marks([]Line{p.Right}), "\n"))
		}
	}
	got := txtar.Format(&txtar.Archive{Files: []txtar.File{
		{Name: "text", Data: []byte(marks(Text(r, false)))},
		{Name: "all", Data: []byte(marks(Text(r, true)))},
		{Name: "sides", Data: []byte(sides.String())},
		{Name: "json", Data: append(JSON(r), '\n')},
		{Name: "markdown", Data: Markdown(r)},
		{Name: "github", Data: GitHub(r, "tools.json")},
		{Name: "nothing", Data: []byte(marks(Text(Report{}, false)) + string(JSON(Report{})) + "\n" + string(Markdown(Report{})) + string(GitHub(Report{}, "")))},
	}})
	if *update {
		if err := os.WriteFile("testdata/views.txtar", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile("testdata/views.txtar"); err != nil || string(got) != string(want) {
		t.Errorf("%v: got\n%s", err, got)
	}
}

// Each view has each change that is not harmless, and the same counts.
func TestViewsAgree(t *testing.T) {
	r := golden()
	views := map[string]string{"text": marks(Text(r, false)), "all": marks(Text(r, true)), "markdown": string(Markdown(r)), "github": string(GitHub(r, ""))}
	for name, view := range views {
		if name != "markdown" && !strings.Contains(view, r.Summary()) || name == "markdown" && !strings.Contains(view, sanitize.Markdown(r.Summary())) {
			t.Errorf("%s: no summary %q", name, r.Summary())
		}
		for _, c := range r.Changes {
			if c.Level > diff.Harmless && !strings.Contains(view, c.Rule) {
				t.Errorf("%s: no %s", name, c.Rule)
			}
		}
	}
	var out struct {
		Summary Counts
		Changes []struct{ Fingerprint string }
	}
	if err := json.Unmarshal(JSON(r), &out); err != nil || out.Summary != r.Count() || len(out.Changes) != len(r.Changes) {
		t.Errorf("%v: %+v", err, out)
	}
	if string(JSON(r)) != string(JSON(golden())) || string(Markdown(r)) != string(Markdown(golden())) {
		t.Error("not the same bytes twice")
	}
}

// hostile is text that would be markup, a command of GitHub, or an escape sequence.
const hostile = "x\x1b[2J\u202e|`~~~ ```\n::error::no\r\n@all #1 <img src=x> [a](javascript:b) ![](https://evil.example) %0A * _"

func TestHostileTexts(t *testing.T) {
	quoted := string(jsonraw.Quote(hostile))
	a := tools(`{"name":` + quoted + `,"description":"a","inputSchema":{"type":"object","properties":{` + quoted + `:{"enum":["a"]}}}}`)
	b := tools(`{"name":` + quoted + `,"description":` + quoted + `,"inputSchema":{"type":"object","properties":{` + quoted + `:{"enum":["b",` + quoted + `]}},"required":[` + quoted + `]},` + quoted + `:1}`)
	r := reportOf(a, b)
	r.A, r.B = hostile, hostile
	for i := range r.Changes {
		r.Changes[i].Accepted, r.Changes[i].Until = hostile, hostile
	}
	for name, view := range map[string]string{"text": marks(Text(r, true)), "json": string(JSON(r)), "markdown": string(Markdown(r)), "github": string(GitHub(r, hostile))} {
		for _, c := range view {
			if c != '\n' && !unicode.IsPrint(c) {
				t.Errorf("%s has the character %U", name, c)
				break
			}
		}
	}
	for line := range strings.Lines(string(GitHub(r, hostile))) {
		if !strings.HasPrefix(line, "::notice file=") || strings.Count(line, "::") < 2 || strings.HasPrefix(line, "::error") {
			t.Errorf("github: %q", line)
		}
	}
	fence, markdown := false, string(Markdown(r))
	for line := range strings.Lines(markdown) {
		if strings.HasPrefix(line, "```") {
			fence = !fence
			continue
		}
		line = strings.ReplaceAll(line, "<code>", "`")
		line = strings.ReplaceAll(line, "</code>", "`")
		for _, bad := range []string{"@all", "<img", "a](java", "://evil"} {
			if !fence && strings.Contains(noCode(line), bad) {
				t.Errorf("markdown: %q", line)
			}
		}
	}
	if fence || !json.Valid(JSON(r)) {
		t.Errorf("a block is left open, or this is not JSON: %s", JSON(r))
	}
}

// noCode is a line without its code spans.
func noCode(line string) string {
	var b strings.Builder
	for line != "" {
		at := strings.IndexByte(line, '`')
		if at < 0 {
			break
		}
		if at > 0 && line[at-1] == '\\' {
			b.WriteString(line[:at+1])
			line = line[at+1:]
			continue
		}
		ticks := len(line[at:]) - len(strings.TrimLeft(line[at:], "`"))
		b.WriteString(line[:at])
		_, line, _ = strings.Cut(line[at+ticks:], line[at:at+ticks])
	}
	return b.String() + line
}

func TestLongValuesAreCut(t *testing.T) {
	long := func(word string) string {
		var b strings.Builder
		for i := range 500 {
			fmt.Fprintf(&b, "line %d %s\n", i, word)
		}
		return string(jsonraw.Quote(b.String()))
	}
	r := reportOf(tools(`{"name":"a","description":`+long("x")+`,"inputSchema":{}}`), tools(`{"name":"a","description":`+long("y")+`,"inputSchema":{}}`))
	if lines := Text(r, true); len(lines) > 3*maxLines {
		t.Errorf("%d lines", len(lines))
	}
	equal := make([]string, 100)
	for i := range equal {
		equal[i] = fmt.Sprint("line ", i)
	}
	text := string(jsonraw.Quote(strings.Join(equal, "\n")))
	for n, want := range map[int]int{0: 5, 50: 8, 99: 5} {
		other := strings.Replace(text, fmt.Sprintf("line %d", n), "other", 1)
		r = reportOf(tools(`{"name":"a","description":`+text+`,"inputSchema":{}}`), tools(`{"name":"a","description":`+other+`,"inputSchema":{}}`))
		if lines := Unified(r.Changes[0]); len(lines) != want || !strings.Contains(marks(lines), "++:other") {
			t.Errorf("%d: got\n%s", n, marks(lines))
		}
	}
}

// A value is shown below its sentence where that has not all of it.
func TestLongValuesAreShownBelowSentence(t *testing.T) {
	long := strings.Repeat("x", maxInSentence)
	for _, p := range []struct {
		a, b  string
		lines int
	}{
		{`"title":"a"`, `"title":"b"`, 0},
		{`"title":"` + long + `"`, `"title":"b"`, 2},
		{`"title":"a"`, `"title":"` + long + `"`, 2},
		{`"description":"a"`, `"description":"b"`, 2},
		{`"_meta":{}`, `"_meta":1`, 2},
		{`"_meta":1`, `"_meta":[]`, 2},
		{`"_meta":1`, `"_meta":2`, 0},
		{`"icons":[]`, `"x":1`, 0},
	} {
		r := reportOf(tools(`{"name":"a",`+p.a+`}`), tools(`{"name":"a",`+p.b+`}`))
		if n := len(Unified(r.Changes[0])); n != p.lines {
			t.Errorf("%s, %s: %d lines, want %d", p.a, p.b, n, p.lines)
		}
	}
}

func TestSummary(t *testing.T) {
	r := reportOf(tools(`{"name":"a"}`), tools())
	if got := r.Summary(); got != "1 breaking, 0 risky, 0 harmless" {
		t.Errorf("got %s", got)
	}
	r.B = ""
	if got := string(Markdown(r)); strings.Contains(got, "From") {
		t.Errorf("got %s", got)
	}
}
