package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/wire"
)

func someRuns() []RunFile {
	at := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	return []RunFile{{Path: "smoke.mcpc.yaml", Server: "demo", Started: at, Took: 1234 * time.Millisecond, Steps: []RunStep{
		{Name: "adds", Line: 4, State: StepPassed, Took: 1500 * time.Microsecond, See: "mcpc show 1.3"},
		{Name: "weather", Line: 8, State: StepMissed, Kind: wire.ToolError, Took: 30 * time.Millisecond, See: "mcpc show 1.4", Misses: []Miss{
			{12, 9, ".structuredContent.temperature == 34", "33"}, {13, 9, "a text with \"x\"", "\x1b[31mred\x00 \u202e& <b>\"\n"}}},
		{Name: "later $(touch x)", Line: 14, State: StepSkipped, Why: "needs id, which was not captured"},
		{Name: "天気", Line: 16, State: StepBroken, Kind: wire.Transport, Hint: "start it", Misses: []Miss{{16, 5, "", "the server ended"}},
			Ended: wire.Outcome{Kind: wire.Transport, Text: "the server ended", Process: &wire.ProcessFacts{Stderr: "Traceback:\n\x1b[31mKeyError\n"}}},
	}}, {Path: "empty.mcpc.yaml", Started: at}}
}

func TestRunsGolden(t *testing.T) {
	var all bytes.Buffer
	for _, st := range []Style{{Width: 80}, {Width: 80, Terminal: true, Color: true}} {
		for _, f := range someRuns() {
			_ = RunHead(&all, st, f)
			for _, s := range f.Steps {
				_ = RunStepLines(&all, st, f.Path, s)
			}
		}
		_ = RunSum(&all, st, someRuns())
	}
	all.Write(RunJSON(someRuns()))
	all.WriteByte('\n')
	if err := JUnit(&all, someRuns()); err != nil {
		t.Fatal(err)
	}
	golden(t, "runs.txt", all.Bytes())
}

// junitShape is the schema that CI servers hold a report against (that of the Jenkins
// plugin, and Ant's): what may stand in an element, and its attributes; those with a !
// must be there.
var junitShape = map[string]struct{ inside, attrs []string }{
	"":           {inside: []string{"testsuites"}},
	"testsuites": {[]string{"testsuite"}, []string{"name", "time", "tests", "failures", "disabled", "errors"}},
	"testsuite": {[]string{"properties", "testcase", "system-out", "system-err"}, []string{"name!", "tests!", "failures", "errors", "time",
		"disabled", "skipped", "timestamp", "hostname", "id", "package"}},
	"properties": {[]string{"property"}, nil},
	"property":   {nil, []string{"name!", "value!"}},
	"testcase":   {[]string{"skipped", "error", "failure", "system-out", "system-err"}, []string{"name!", "classname!", "assertions", "time", "status"}},
	"skipped":    {nil, []string{"message", "type"}},
	"error":      {nil, []string{"message", "type"}},
	"failure":    {nil, []string{"message", "type"}},
}

func TestJUnitHasTheUsualShape(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, someRuns()); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	stack := []string{""}
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			name, parent := token.Name.Local, junitShape[stack[len(stack)-1]]
			if !slices.Contains(parent.inside, name) {
				t.Errorf("%s stands in %q", name, stack[len(stack)-1])
			}
			checkAttributes(t, token)
			count[name]++
			stack = append(stack, name)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		}
	}
	if count["testcase"] != 4 || count["failure"] != 1 || count["error"] != 1 || count["skipped"] != 1 || count["testsuite"] != 2 {
		t.Errorf("elements: %v", count)
	}
}

func checkAttributes(t *testing.T, e xml.StartElement) {
	t.Helper()
	var given []string
	for _, a := range e.Attr {
		given = append(given, a.Name.Local)
	}
	for _, want := range junitShape[e.Name.Local].attrs {
		name, must := strings.CutSuffix(want, "!")
		if must && !slices.Contains(given, name) {
			t.Errorf("%s has no %s", e.Name.Local, name)
		}
		given = slices.DeleteFunc(given, func(g string) bool { return g == name })
	}
	if len(given) > 0 {
		t.Errorf("%s has %v", e.Name.Local, given)
	}
}

func TestHolds(t *testing.T) {
	const doc = `{"a":1,"b":[1,2],"s":"x","big":9007199254740993,"f":false}`
	for _, c := range []struct {
		expr, got string
		holds     bool
	}{
		{".a == 1", "true", true},
		{".a == 2", "1", false},
		{".b | length == 3", "2", false},
		{".b | length | . > 1", "true", true},
		{".b[] | . > 1", "1, 2", false},
		{".b[] > 0", "true, true", true},
		{".f", "false", false},
		{".a", "1", false},
		{".none", "null", false},
		{"empty", "nothing", false},
		{".s == $v", "true", true},
		{".big == 9007199254740993 and .a == 2", "false", false},
	} {
		p, err := Query(c.expr, Variable{"v", []byte(`"x"`)})
		if err != nil {
			t.Fatal(err)
		}
		holds, got, err := p.Holds(t.Context(), []byte(doc))
		if err != nil || holds != c.holds || got != c.got {
			t.Errorf("%s: got %v %s %v, want %v %s", c.expr, holds, got, err, c.holds, c.got)
		}
	}
}
