package wire

import (
	"strings"
	"testing"
)

func TestAsksForInput(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		result string
		want   bool
	}{
		{`{"resultType":"input_required"}`, true},
		{` { "a" : {} , "resultType" : "input_required" } `, true},
		{`{"resultType":"input\u005frequired"}`, true},
		{`{"result\u0054ype":"input_required"}`, true},
		{`{"a":"` + long + `","resultType":"input_required"}`, true},
		{`{"resultType":"complete","resultType":"input_required"}`, false},
		{`{"resultType":"input_required","resultType":"complete"}`, true},
		{`{"resultType":"Input_required"}`, false},
		{`{"resultType":["input_required"]}`, false},
		{`{"a":{"resultType":"input_required"}}`, false},
		{`{"text":"input_required"}`, false},
		{`"input_required"`, false},
		{`{}`, false},
		{``, false},
	} {
		if got := RequiresInput([]byte(c.result)); got != c.want {
			t.Errorf("%.60s: got %v, want %v", c.result, got, c.want)
		}
	}
}
