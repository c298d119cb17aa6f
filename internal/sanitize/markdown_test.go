package sanitize

import "testing"

func TestMarkdownCode(t *testing.T) {
	for text, want := range map[string]string{"a": "`a`", "": "", "a`b": "``a`b``", "`": "`` ` ``", " a ": "`  a  `", "a\n# b": "`a␊# b`", "a|b": "`a|b`"} {
		if got := MarkdownCode(text); got != want {
			t.Errorf("MarkdownCode(%q) = %q, want %q", text, got, want)
		}
	}
	if got := MarkdownCell("a|`b"); got != "``a\\|`b``" {
		t.Errorf("a cell is %q", got)
	}
}

func TestMarkdownFence(t *testing.T) {
	for text, want := range map[string]string{"": "```", "a\n``\n": "```", "a\n```\nb ````": "`````"} {
		if got := MarkdownFence(text); got != want {
			t.Errorf("MarkdownFence(%q) = %q, want %q", text, got, want)
		}
	}
}
