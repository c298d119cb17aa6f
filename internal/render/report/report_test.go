package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/render/term"
	"mcpc/internal/tests/rendertest"
	"mcpc/internal/wire"
)

func someRuns() []File {
	at := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	return []File{{Path: "smoke.mcpc.yaml", Server: "demo", Started: at, Took: 1234 * time.Millisecond, Steps: []Step{
		{Name: "adds", Line: 4, State: Passed, Took: 1500 * time.Microsecond, See: "mcpc show 1.3"},
		{Name: "weather", Line: 8, State: Failed, Kind: wire.ToolError, Took: 30 * time.Millisecond, See: "mcpc show 1.4", Misses: []Miss{
			{12, 9, ".structuredContent.temperature == 34", "33"}, {13, 9, "a text with \"x\"", "\x1b[31mred\x00 \u202e& <b>\"\n"},
		}},
		{Name: "later $(touch x)", Line: 14, State: Skipped, Why: "needs id, which was not captured"},
		{
			Name: "天気", Line: 16, State: Broken, Kind: wire.Transport, Hint: "start it", Misses: []Miss{{16, 5, "", "the server ended"}},
			Ended: wire.Outcome{Kind: wire.Transport, Text: "the server ended", Process: &wire.ProcessFacts{Stderr: "Traceback:\n\x1b[31mKeyError\n"}},
		},
	}}, {Path: "empty.mcpc.yaml", Started: at}}
}

func TestRunsGolden(t *testing.T) {
	var all bytes.Buffer
	for _, st := range []term.Style{{Width: 80}, {Width: 80, Terminal: true, Color: true}} {
		for _, f := range someRuns() {
			_ = WriteHead(&all, st, f)
			for _, s := range f.Steps {
				_ = WriteStep(&all, st, f.Path, s)
			}
		}
		_ = WriteSummary(&all, st, someRuns())
	}
	all.Write(JSON(someRuns()))
	all.WriteByte('\n')
	if err := JUnit(&all, someRuns()); err != nil {
		t.Fatal(err)
	}
	rendertest.Golden(t, "runs.txt", all.Bytes())
}

// junitShape is the schema that CI servers check a report with (the Jenkins plugin's and Ant's):
// the elements and attributes that an element may have; attributes with a ! are required.
var junitShape = map[string]struct{ inside, attrs []string }{
	"":           {inside: []string{"testsuites"}},
	"testsuites": {[]string{"testsuite"}, []string{"name", "time", "tests", "failures", "disabled", "errors"}},
	"testsuite": {[]string{"properties", "testcase", "system-out", "system-err"}, []string{
		"name!", "tests!", "failures", "errors", "time",
		"disabled", "skipped", "timestamp", "hostname", "id", "package",
	}},
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
