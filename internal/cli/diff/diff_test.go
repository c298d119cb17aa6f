package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/diff"
	"mcpc/internal/diff/report"
	"mcpc/internal/match"
	"mcpc/internal/render/term"
)

func TestAgreeOnRevisions(t *testing.T) {
	list := strings.Fields
	for _, c := range []struct {
		name           string
		a, b           string
		unprobed       bool // B
		removed, added string
	}{
		{"two lists", "2026-07-28 2025-11-25", "2026-07-28", false, "2025-11-25", ""},
		{"the same one agreed on", "2025-11-25", "2025-11-25", false, "", ""},
		{"an older one agreed on", "2025-11-25", "2025-06-18", false, "2025-11-25", ""},
		{"a newer one agreed on", "2024-11-05", "2025-11-25", false, "", "2025-11-25"},
		{"one agreed on, and a list of stateless ones", "2025-11-25", "2026-07-28", false, "", "2026-07-28"},
		{"a list of stateless ones, and one agreed on", "2026-07-28", "2025-11-25", false, "2026-07-28", ""},
		{"one agreed on is in the list", "2025-11-25", "2026-07-28 2025-11-25 2025-06-18", false, "", "2026-07-28"},
		{"one agreed on is not in the list", "2025-11-25", "2026-07-28 2025-06-18", false, "2025-11-25", "2026-07-28"},
		{"the stateless one is gone", "2026-07-28 2025-11-25 2025-06-18", "2025-11-25", false, "2026-07-28", ""},
		{"the stateless one was not looked for", "2026-07-28 2025-11-25 2025-06-18", "2025-11-25", true, "", ""},
		{"nothing is known", "", "2026-07-28 2025-11-25", false, "", "2026-07-28 2025-11-25"},
	} {
		a, b := side{isProbed: true}, side{isProbed: !c.unprobed}
		a.Revisions, b.Revisions = list(c.a), list(c.b)
		agreeOnRevisions(&a, &b)
		var removed, added []string
		for _, change := range diff.Compare(a.Snapshot, b.Snapshot, diff.Options{}) {
			switch change.Rule {
			case "revision-removed":
				removed = append(removed, change.Subject.Name)
			case "revision-added":
				added = append(added, change.Subject.Name)
			}
		}
		slices.Sort(added)
		slices.Sort(removed)
		wantAdded := list(c.added)
		slices.Sort(wantAdded)
		if strings.Join(removed, " ") != c.removed || strings.Join(added, " ") != strings.Join(wantAdded, " ") {
			t.Errorf("%s: removed %q, added %q", c.name, removed, added)
		}
	}
}

func call(arguments, result string) recordedCall {
	c := answeredCall{Request: match.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"x","arguments":` + arguments + `}`)}}
	if strings.HasPrefix(result, "{") {
		c.result = json.RawMessage(result)
	} else {
		c.failure = result
	}
	return func() (answeredCall, error) { return c, nil }
}

// The k-th of several equal requests is compared with the k-th one.
func TestCompareCalls(t *testing.T) {
	for _, c := range []struct {
		name  string
		a, b  []recordedCall
		pairs int
		want  []string
	}{
		{"nothing recorded", nil, []recordedCall{call(`{}`, `{}`)}, 0, nil},
		{"other arguments", []recordedCall{call(`{"a":1}`, `{}`)}, []recordedCall{call(`{"a":2}`, `{}`)}, 0, nil},
		{"the same", []recordedCall{call(`{"a":1,"b":2}`, `{"n":1}`)}, []recordedCall{call(`{"b":2,"a":1.0}`, `{"n":1}`)}, 1, nil},
		{"in order", []recordedCall{call(`{}`, `{"n":1}`), call(`{}`, `{"n":2}`)}, []recordedCall{call(`{}`, `{"n":1}`), call(`{}`, `{"n":2}`)}, 2, nil},
		{"another value", []recordedCall{call(`{}`, `{"n":1}`)}, []recordedCall{call(`{}`, `{"n":"1","m":2}`)}, 1, []string{"call-result-changed /m", "call-result-changed /n"}},
		{"fails", []recordedCall{call(`{}`, `{}`)}, []recordedCall{call(`{}`, `tool error`)}, 1, []string{"call-fails "}},
		{"works", []recordedCall{call(`{}`, `tool error`)}, []recordedCall{call(`{}`, `{}`)}, 1, []string{"call-works "}},
		{"fails in another way", []recordedCall{call(`{}`, `error -32603: x`)}, []recordedCall{call(`{}`, `error -32602: x`)}, 1, []string{"call-fails-otherwise "}},
		{"fails in the same way", []recordedCall{call(`{}`, `error -32603: x`)}, []recordedCall{call(`{}`, `error -32603: x`)}, 1, nil},
	} {
		changes, pairs, err := compareCalls(c.a, c.b)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, change := range changes {
			if _, known := diff.RuleOf(change.Rule); !known || change.Subject.Section() != "calls" {
				t.Errorf("%s: %+v", c.name, change)
			}
			got = append(got, change.Rule+" "+change.Pointer)
		}
		slices.Sort(got)
		if pairs != c.pairs || !slices.Equal(got, c.want) {
			t.Errorf("%s: %d pairs, got %q", c.name, pairs, got)
		}
	}
}

// A result that differs everywhere is not listed whole.
func TestManyDifferencesOfOneCall(t *testing.T) {
	var a, b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&a, `,"m%d":1`, i)
		fmt.Fprintf(&b, `,"m%d":2`, i)
	}
	changes, _, err := compareCalls([]recordedCall{call(`{}`, `{"x":0`+a.String()+`}`)}, []recordedCall{call(`{}`, `{"x":0`+b.String()+`}`)})
	if n := len(changes); err != nil || n != maxPerCall+1 || changes[n-1].Rule != "call-result-differs" || !strings.Contains(changes[n-1].Text, "80 places") {
		t.Errorf("%d changes, the last %+v", n, changes[n-1])
	}
}

// Columns have one width, whatever characters a text has.
func TestColumnsHaveOneWidth(t *testing.T) {
	line := func(text string) report.Line { return report.Line{{Role: report.Removed, Text: text}} }
	var b bytes.Buffer
	writeColumns(&b, term.Style{Width: 67}, []report.Pair{
		{Left: line(strings.Repeat("界", 20)), Right: line("b")},
		{Left: line("same"), Right: line("same"), Same: true},
		{Right: line(strings.Repeat("x", 61))},
	})
	want := "    " + strings.Repeat("界", 15) + " | b\n" +
		"    " + strings.Repeat("界", 5) + strings.Repeat(" ", 20) + "   \n" +
		"    same" + strings.Repeat(" ", 26) + "   same\n" +
		"    " + strings.Repeat(" ", 30) + " | " + strings.Repeat("x", 30) + "\n" +
		"    " + strings.Repeat(" ", 33) + strings.Repeat("x", 30) + "\n" +
		"    " + strings.Repeat(" ", 33) + "x\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
