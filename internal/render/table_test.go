package render

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"mcpc/internal/suggest"
)

var sessions = [][]string{
	{"demo", "http://localhost:3001/mcp", "2025-11-25", "live", "2 minutes ago"},
	{"日本語サーバー", "https://例え.jp/mcp", "2026-07-28", "stateless", ""},
	{"bad\x1b[2J\nname\ttab", "stdio: npx -y @modelcontextprotocol/server-everything --with a --long command line", "2025-06-18", "gone", "yesterday"},
	{"👨\u200d👩\u200d👧", "é̂combined", "", "", "now"},
}

func TestTable(t *testing.T) {
	head := []string{"NAME", "SERVER", "REVISION", "STATE", "USED"}
	var all bytes.Buffer
	for _, st := range []Style{
		{Width: 80}, {Terminal: true, Width: 40}, {Terminal: true, Width: 80}, {Terminal: true, Width: 160},
		{Terminal: true, Width: 60, ASCII: true}, {Terminal: true, Color: true, Width: 60}, {},
	} {
		fmt.Fprintf(&all, "=== %s\n", described(st.Terminal, st.Color, st.Width, st.ASCII))
		from := all.Len()
		if err := Table(&all, st, head, sessions); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(all.String()[from:], "\n") {
			if w := ansi.StringWidth(line); st.Terminal && w > st.Width {
				t.Errorf("%+v: %d columns: %q", st, w, line)
			}
		}
	}
	golden(t, "table.txt", all.Bytes())
}

func TestTableEdges(t *testing.T) {
	var b bytes.Buffer
	if err := Table(&b, Style{Terminal: true}, []string{"A"}, nil); err != nil || b.Len() > 0 {
		t.Errorf("no rows: %q %v", b.String(), err)
	}
	for _, width := range []int{-3, 0, 1, 2, 7, 20, 500} {
		b.Reset()
		if err := Table(&b, Style{Terminal: true, Width: width}, nil, append(sessions, nil, []string{""}, []string{"one more", "", "", "", "", "column"})); err != nil {
			t.Error(err)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if w := ansi.StringWidth(line); width > 0 && w > width {
				t.Errorf("at %d columns a row has %d: %q", width, w, line)
			}
		}
	}
}

func TestCut(t *testing.T) {
	st := Style{Terminal: true}
	for _, c := range []struct {
		text        string
		width, more int
		want        string
	}{
		{"short", 10, 0, "short"},
		{"exactly ten", 11, 0, "exactly ten"},
		{"a longer line of words", 19, 0, "a longer… +14 chars"},
		{"first", 20, 12, "first… +12 chars"},
		{"first line is long", 22, 100, "first line… +108 chars"},
		{"日本語日本語日本語", 14, 0, "日本語日本…+4"},
		{"👨\u200d👩\u200d👧👨\u200d👩\u200d👧👨\u200d👩\u200d👧", 5, 0, "👨\u200d👩\u200d👧👨\u200d👩\u200d👧…"},
		{"abcdefghij", 4, 0, "abc…"},
		{"abcdefghij", 2, 0, "a…"},
		{"abcdefghij", 0, 0, ""},
	} {
		got := st.cutMore(c.text, c.width, c.more)
		if got != c.want {
			t.Errorf("cut %q to %d: %q, want %q", c.text, c.width, got, c.want)
		}
		if w := ansi.StringWidth(got); w > c.width {
			t.Errorf("cut %q to %d: %q has %d columns", c.text, c.width, got, w)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"get-sum", "get_weather", "echo", "list-files", "日本語"}
	for word, want := range map[string]string{
		"get_wether": "get_weather", "get-weather": "get_weather", "GET_SUM": "get-sum", "ehco": "echo", "hceo": "", "ech": "echo", "list": "list-files", "get": "", "li": "",
		"list-file": "list-files", "delete-everything": "", "": "", "x": "", "日本後": "日本語",
		strings.Repeat("a", 100_000): "",
	} {
		if got := suggest.Nearest(word, known); got != want {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
	if got := suggest.Nearest("aaaa", []string{strings.Repeat("a", 1<<20), "aaab", "aaac"}); got != "aaab" {
		t.Errorf("got %q", got)
	}
}
