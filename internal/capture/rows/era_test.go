package rows

import (
	"cmp"
	"strings"
	"testing"
)

// A request does not have to name its era: the era that was settled before applies.
func TestEraOfConversationAppliesToRequests(t *testing.T) {
	const (
		initialize = `> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
		discover   = `> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
		list       = `> {"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	)
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"opened in the run":              {[]string{initialize, list}, "legacy legacy"},
		"discovered in the run":          {[]string{discover, list}, "modern modern"},
		"opened after a look":            {[]string{discover, initialize, list}, "modern legacy legacy"},
		"opened before the run":          {[]string{">1 post Mcp-Protocol-Version: 2025-06-18", strings.Replace(list, ">", ">1", 1)}, "legacy"},
		"of which nothing says anything": {[]string{list}, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			capture, err := Open(written(t, c.lines...))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, row := range capture.Rows() {
				got = append(got, cmp.Or(row.Era, "-"))
			}
			if eras := strings.Join(got, " "); eras != c.want {
				t.Errorf("%s, want %s", eras, c.want)
			}
		})
	}
}
