package diff_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"mcpc/internal/diff"
)

func TestGrowthOfLists(t *testing.T) {
	tools := func(all ...string) (s diff.Snapshot) {
		s.Tools = []json.RawMessage{}
		for _, one := range all {
			s.Tools = append(s.Tools, json.RawMessage(one))
		}
		return s
	}
	a := tools(`{"name":"a","title":"not counted","inputSchema":{ }}`, `{"name":"b","inputSchema":{}}`, `{"name":"gone","inputSchema":{}}`)
	b := tools(`{"name":"a","description":"0123456789","inputSchema":{}}`, `{"name":"b","title":"x","inputSchema":{}}`,
		`{"name":"page","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}}`)
	grown, sum := diff.Grown(a, b)
	if got, want := fmt.Sprint(grown), "[{a {29 8} {56 14}} {gone {32 8} {0 0}}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(sum, sum.Percent()), "{ {90 24} {85 22}} -8.3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if grown, sum := diff.Grown(a, diff.Snapshot{}); grown != nil || sum.Percent() != 0 {
		t.Errorf("got %v %v of a list that is not known", grown, sum)
	}
	if _, sum := diff.Grown(tools(), b); sum.Percent() != 100 {
		t.Errorf("got %v", sum.Percent())
	}
}
