package diff_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcpc/internal/diff"
)

// repeated is 5,000 parts with their numbers between two texts.
func repeated(begin, part, end string) string {
	b := []byte(begin)
	for i := range 5_000 {
		b = fmt.Appendf(b, part, i)
	}
	return string(b) + end
}

// Lists that would take very long if each entry were compared with each other one end in seconds:
// the test ends at all.
func TestHostileListsEnd(t *testing.T) {
	tools := func(part string) diff.Snapshot { return snapshot([]byte(repeated(`{"tools":[`, part, `{}]}`))) }
	for name, c := range map[string]struct {
		a, b diff.Snapshot
		n    int
	}{
		"renamed":      {tools(`{"name":"a%d","description":"The same."},`), tools(`{"name":"b%d","description":"The same."},`), 5_000},
		"nameless":     {tools(`{"x":%d},`), tools(`{"y":%d},`), 10_000},
		"one name":     {tools(`{"name":"a","title":"%d"},`), tools(`{"name":"a","title":"x%d"},`), 5_000},
		"members":      {snapshot([]byte(repeated(`{"tools":[{"name":"a",`, `"x%d":1,`, `"z":1}]}`))), snapshot([]byte(repeated(`{"tools":[{"name":"a",`, `"x%d":2,`, `"z":1}]}`))), 5_000},
		"arguments":    {snapshot([]byte(repeated(`{"prompts":[{"name":"a","arguments":[`, `{"name":"x%d"},`, `{}]}]}`))), snapshot([]byte(repeated(`{"prompts":[{"name":"a","arguments":[`, `{"name":"y%d"},`, `{}]}]}`))), 10_000},
		"revisions":    {snapshot([]byte(repeated(`{"revisions":[`, `"a%d",`, `""]}`))), snapshot([]byte(repeated(`{"revisions":[`, `"b%d",`, `""]}`))), 10_000},
		"capabilities": {snapshot([]byte(repeated(`{"capabilities":{`, `"a%d":{},`, `"x":{}}}`))), snapshot([]byte(repeated(`{"capabilities":{`, `"b%d":{},`, `"x":{}}}`))), 10_000},
	} {
		if got := diff.Compare(c.a, c.b, diff.Options{}); len(got) < c.n {
			t.Errorf("%s: %d changes, want %d", name, len(got), c.n)
		}
	}
	words := func(word string) diff.Snapshot {
		one := []json.RawMessage{}
		for i := range 300 {
			one = append(one, json.RawMessage(fmt.Sprintf(`{"name":"%s%d","description":"%s %d"}`, word, i, strings.Repeat(word+" b ", 400), i)))
		}
		return diff.Snapshot{Tools: one}
	}
	if got := diff.Compare(words("x"), words("y"), diff.Options{}); len(got) != 600 {
		t.Errorf("%d changes of long descriptions", len(got))
	}
}

// Deeply nested definitions, and definitions that are not JSON, are compared like any other.
func TestUnusualDefinitionsAreCompared(t *testing.T) {
	deep := func(leaf string) string { return strings.Repeat(`{"a":[`, 450) + leaf + strings.Repeat(`]}`, 450) }
	for _, p := range [][2]string{
		{`{"name":"a","x":` + deep("1") + `}`, `{"name":"a","x":` + deep("2") + `}`},
		{`{"name":"a","inputSchema":` + deep("1") + `}`, `{"name":"a","inputSchema":` + deep("2") + `}`},
		{`{"name":"a","inputSchema":{}}`, `{"name":"a","inputSchema":`},
		{`{"name":"a"}`, `{"name":"a","name":"b"}`},
		{`{"name":"a","description":"x"}`, `{"name":"a","description":["x"]}`},
		{`{"name":"a","annotations":{}}`, `{"name":"a","annotations":[]}`},
		{`{"name":"a","execution":1}`, `{"name":"a","execution":2}`},
		{`{"name":"a","inputSchema":{}}`, `{"name":"a"}`},
		{``, `{"name":"a"}`},
		{`[]`, `1`},
	} {
		if got := diff.CompareTool([]byte(p[0]), []byte(p[1]), options); len(got) == 0 {
			t.Errorf("no change from %.60s to %.60s", p[0], p[1])
		}
	}
}
