package mcp

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
)

func TestLookalikes(t *testing.T) {
	names := []string{"get-sum", "gеt-sum", "echo", "list1", "listl", "ｅcho", "get‑sum", "еcho", "поиск", "find_ф", "get\u200b-sum", "résumé", "modem", "modern", "a", "а"}
	want := map[string]string{
		"gеt-sum": "get-sum", "listl": "list1", "ｅcho": "echo", "get‑sum": "get-sum", "еcho": "echo",
		"get\u200b-sum": "get-sum", "modern": "modem", "а": "a",
	}
	for i, like := range Lookalikes(names) {
		if like != want[names[i]] {
			t.Errorf("%q looks like %q, want %q", names[i], like, want[names[i]])
		}
	}
	found := Confusable("tool", names)
	var texts []string
	for _, f := range found {
		texts = append(texts, f.Text)
	}
	for _, want := range []string{
		`the tool "gеt-sum" looks like "get-sum" but differs: it has U+0435`, `the tool "listl" looks like "list1" but differs`,
		`the name of the tool "find_ф" mixes alphabets: it has U+0444`,
	} {
		if !strings.Contains(strings.Join(texts, "\n"), want) {
			t.Errorf("%q is not among %q", want, texts)
		}
	}
	if len(found) != len(want)+1 {
		t.Errorf("got %q", texts)
	}
	// Even if no other tool has that name, the name looks like it.
	if like := Lookalikes([]string{"раураl"}); like[0] != "paypal" {
		t.Errorf("got %q", like)
	}
	if got := Confusable("tool", []string{"get-sum", "поиск", "検索", "αριθμός", "naïve"}); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestLookalikesTableIsConsistent(t *testing.T) {
	for _, pair := range lookalikes {
		if utf8.RuneCountInString(pair[0]) != len(pair[1]) || !jsonraw.IsASCII(pair[1]) {
			t.Errorf("%d for %d: %q %q", len(pair[1]), utf8.RuneCountInString(pair[0]), pair[0], pair[1])
		}
		for _, r := range pair[0] {
			if r < utf8.RuneSelf {
				t.Errorf("%q is of ASCII", r)
			}
		}
	}
}

// MCP Apps: a tool is for a model too, unless its list of who sees it is without one.
func TestAppOnly(t *testing.T) {
	for meta, want := range map[string]bool{
		``: false, `{}`: false, `{"ui":{}}`: false, `{"ui":{"visibility":null}}`: false, `{"ui":{"visibility":"app"}}`: false, `{"ui":{"visibility":[1]}}`: false,
		`{"ui":{"visibility":["model"]}}`: false, `{"ui":{"visibility":["app","model"]}}`: false,
		`{"ui":{"visibility":["app"]}}`: true, `{"ui":{"visibility":[]}}`: true,
	} {
		if got := AppOnly([]byte(meta)); got != want {
			t.Errorf("%s: got %t", meta, got)
		}
	}
}

// Lookalikes finds what comparing all names with each other finds.
func FuzzLookalikes(f *testing.F) {
	f.Add("list1 listl lI5t| modem modern rn m 0O O0 get-sum g\u0435t-sum раураl a\u200bb ab")
	f.Fuzz(func(t *testing.T, text string) {
		alike := strings.NewReplacer("1", "l", "I", "l", "|", "l", "0", "O", "rn", "m")
		names := strings.Fields(text)
		for i, got := range Lookalikes(names) {
			first := ""
			for _, name := range names {
				if alike.Replace(foldToASCII(name)) == alike.Replace(foldToASCII(names[i])) && (first == "" || jsonraw.IsASCII(name) && !jsonraw.IsASCII(first)) {
					first = name
				}
			}
			want := ""
			if plain := foldToASCII(names[i]); plain != names[i] && jsonraw.IsASCII(plain) {
				want = plain
			} else if first != names[i] {
				want = first
			}
			if got != want {
				t.Errorf("%q looks like %q, want %q", names[i], got, want)
			}
		}
	})
}
