package catalog

import (
	"encoding/json"
	"strings"
	"testing"

	"mcpc/internal/render/term"
)

// Nothing that a server declares is cut for a reader, and none of it can look
// like another line.
func TestDeclarationsForAReader(t *testing.T) {
	rows := declarations(json.RawMessage(`{"tools":{"listChanged":true},"resources":{"subscribe":false},
		"extensions":{"org.example/a\nfake":{"deep":["a long setting that does not fit the width of the terminal"]}}}`))
	var b strings.Builder
	if err := writeDeclarations(&b, term.Style{Terminal: true, Width: 40}, rows); err != nil {
		t.Fatal(err)
	}
	want := "capability  tools  listChanged\n            resources\n" +
		"extension   org.example/a␊fake\n" +
		"            {\"deep\":[\"a long setting\n            that does not fit the width\n            of the terminal\"]}\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
