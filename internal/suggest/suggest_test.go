package suggest

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"get-sum", "get_weather", "echo", "list-files", "日本語"}
	for word, want := range map[string]string{
		"get_wether": "get_weather", "get-weather": "get_weather", "GET_SUM": "get-sum", "ehco": "echo", "hceo": "", "ech": "echo", "list": "list-files", "get": "", "li": "",
		"list-file": "list-files", "delete-everything": "", "": "", "x": "", "日本後": "日本語",
		strings.Repeat("a", 100_000): "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
	if got := Nearest("aaaa", []string{strings.Repeat("a", 1<<20), "aaab", "aaac"}); got != "aaab" {
		t.Errorf("got %q", got)
	}
}
