package liveview

import (
	"testing"

	"mcpc/internal/connect"
	"mcpc/internal/mcp"
)

// An offer says why clients cannot use the schema of its tool.
func TestOfferHasSchemaError(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`: "",
		`{"type":"array"}`:  `/inputSchema/type must be "object", got "array"`,
	} {
		tool := mcp.Tool{Name: "a", InputSchema: []byte(schema)}
		offers := offersOf(connect.ToolKind, connect.Entries{Tools: []mcp.Tool{tool}})
		if got := offers[0].SchemaError; got != want {
			t.Errorf("%s: got %q, want %q", schema, got, want)
		}
	}
}
