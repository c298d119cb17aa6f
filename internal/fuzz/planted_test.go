package fuzz_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"mcpc/internal/fuzz"
	"mcpc/internal/tests/planted"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// compile returns the check of a schema.
func compile(schema []byte) (fuzz.Check, bool, error) {
	s, warnings, err := validate.Compile(schema)
	if err != nil {
		return nil, false, err
	}
	return func(args []byte) ([]wire.Finding, error) { return s.Check(args) }, len(warnings) > 0, nil
}

// answerOf returns the answer of a planted tool.
func answerOf(t *planted.Tool, args json.RawMessage) fuzz.Answer {
	a := t.Call(args)
	answer := fuzz.Answer{Class: fuzz.Success, Text: a.Text, Summary: a.Text}
	result := json.RawMessage(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, a.Text))
	switch {
	case a.IsSilent:
		answer.Class = fuzz.Silent
	case a.Ends:
		answer.Class = fuzz.Ended
	case a.Raw != "":
		answer.Class = fuzz.Malformed
	case a.Code == -32603 || a.Status >= 500:
		answer.Class = fuzz.Internal
	case a.Code == -32602:
		answer.Class = fuzz.Rejected
	case a.IsError:
		answer.Class = fuzz.ToolError
	default:
		answer.Result = result
		if a.Structured != "" {
			if findings := checkOutput(t, a.Structured); findings != 0 {
				answer.Violations = []string{"L120 " + t.Name}
			}
		}
	}
	return answer
}

func checkOutput(t *planted.Tool, structured string) int {
	s, _, err := validate.Compile([]byte(t.OutputSchema))
	if err != nil {
		panic(err)
	}
	findings, _ := s.Check([]byte(structured))
	return len(findings)
}

// smallest are the smallest arguments that show some of the faults.
var smallest = map[string]string{
	"max-off-by-one":  `{"n":100}`,
	"length-in-utf16": `{"w":"😀"}`,
	"trace":           `{"q":"\n"}`,
	"hang":            `{"q":""}`,
	"optional-absent": `{"a":""}`,
	"not-a-number":    `{"total":0,"count":0}`,
}

// Each planted fault is found and reduced within 500 calls, whatever the seed, and the reduced call
// fails again.
func TestPlantedFaultsAreFound(t *testing.T) {
	t.Parallel()
	for seed := range int64(10) {
		for _, tool := range planted.Tools() {
			if tool.Rule == "" || tool.Rule == fuzz.RuleChanges {
				continue
			}
			calls := 0
			report := fuzz.Run(t.Context(), []fuzz.Tool{{Name: tool.Name, InputSchema: json.RawMessage(tool.Input), Reads: true}},
				fuzz.Options{
					Seed: seed, Budget: 500, Compile: compile, WantsToolError: true,
					Call: func(_ context.Context, _ string, args json.RawMessage) fuzz.Answer {
						calls++
						return answerOf(tool, args)
					},
				})
			if calls > 500 || calls != report.Calls {
				t.Errorf("seed %d, %s: %d calls, reported %d", seed, tool.Name, calls, report.Calls)
			}
			found := false
			for _, f := range report.Failures {
				rule := f.Rule
				if f.Violation != "" {
					rule = "L120"
				}
				if rule != tool.Rule {
					t.Errorf("seed %d, %s: also %s %s with %s: %s", seed, tool.Name, rule, f.Cause, f.Args, f.Answer.Summary)
					continue
				}
				found = true
				if seed == 0 {
					t.Logf("%s: %s (%s) after %d calls", tool.Name, cut(f.Args), f.Cause, calls)
				}
				if want := smallest[tool.Name]; want != "" && string(f.Args) != want {
					t.Errorf("seed %d, %s: reduced to %s, want %s", seed, tool.Name, f.Args, want)
				}
				again := answerOf(tool, f.Args)
				if again.Class != f.Answer.Class || f.IsUnstable {
					t.Errorf("seed %d, %s: %s does not fail again", seed, tool.Name, f.Args)
				}
			}
			if len(report.Failures) > 1 && tool.Rule == fuzz.RuleValid {
				t.Errorf("seed %d, %s: %d findings have one cause", seed, tool.Name, len(report.Failures))
			}
			if !found {
				t.Errorf("seed %d, %s: not found in %d calls: %+v", seed, tool.Name, calls, report.Summaries)
			}
		}
	}
}

func cut(raw []byte) string { return string(raw[:min(len(raw), 100)]) }
