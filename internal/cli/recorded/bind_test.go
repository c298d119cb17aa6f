package recorded

import "testing"

// A hint has the path that was meant, where one can be told.
func TestHintHasIntendedPath(t *testing.T) {
	const example = ".structuredContent.id"
	for _, c := range [][3]string{
		{"--bind", "/structuredContent/id", ".structuredContent.id"},
		{"--bind", "structuredContent.order", ".structuredContent.order"},
		{"--bind", "/structuredContent/id=.arguments.order", ".structuredContent.id=.arguments.order"},
		{"--bind", ".id=/arguments/ids/0", ".id=.arguments.ids[0]"},
		{"--ignore", "/content/0/text", ".content[0].text"},
		{"--ignore", ".a=.b", example},
		{"--bind", "", example},
		{"--bind", "it's", example},
	} {
		if got := suggestPath(c[0], c[1]); got != c[2] {
			t.Errorf("%s %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
