package render

import (
	"strings"
	"testing"

	"mcpc/internal/render/term"
)

// The long pattern that libraries add to a format with a plain name is not shown; other patterns are.
func TestPatternsOfFormats(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"type":"string","format":"date","pattern":"^LONG$"}`:      false,
		`{"type":"string","format":"date-time","pattern":"^LONG$"}`: false,
		`{"type":"string","format":"uuid","pattern":"^LONG$"}`:      false,
		`{"type":"string","format":"hostname","pattern":"^LONG$"}`:  true,
		`{"type":"string","pattern":"^LONG$"}`:                      true,
	} {
		o := &term.Outline{}
		writeSchema(o, []byte(`{"type":"object","properties":{"d":`+raw+`}}`), "")
		if strings.Contains(o.String(), "LONG") != want {
			t.Errorf("%s: %q", raw, o.String())
		}
	}
}
