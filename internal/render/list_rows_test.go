package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcpc/internal/mcp"
	"mcpc/internal/render/term"
	"mcpc/internal/spool"
)

// Hints that depend on other tools are added to lines in memory and in a file, and the list may
// start again.
func TestRowsHints(t *testing.T) {
	for _, n := range []int{10, 20_000} {
		rows := NewRows(term.Style{}, false, spool.Dir(t.TempDir()))
		rows.Tools([]mcp.Tool{listedTool(t, "void", "")})
		rows.Empty()
		var want strings.Builder
		for i := range n {
			name, hints := fmt.Sprintf("tool-%d-x", i*2+2e6), "ro"
			switch i {
			case 3, n - 1:
				name = "twice"
				hints += fmt.Sprintf(",--index %d", 1+i/(n-1))
			case 5:
				hints += ",⚠ odd,⚠ worse"
				rows.Warn(i, []string{"odd", "worse"})
			}
			rows.Tools([]mcp.Tool{listedTool(t, name, "about")})
			fmt.Fprintf(&want, "%s\ta: number\t%s\tabout\n", name, hints)
		}
		var got bytes.Buffer
		if err := rows.Write(&got); err != nil || got.String() != want.String() {
			t.Errorf("%d tools: %v, %.300s", n, err, got.String())
		}
	}
}

func listedTool(t *testing.T, name, about string) mcp.Tool {
	raw := fmt.Sprintf(`{"name":%q,"description":%q,"annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}}`, name, about)
	parsed, bad := mcp.ParseTool(json.RawMessage(raw))
	if bad != nil {
		t.Fatal(bad)
	}
	return parsed
}
