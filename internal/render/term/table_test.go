package term

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"mcpc/internal/tests/rendertest"
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
		{Width: 80},
		{Terminal: true, Width: 40},
		{Terminal: true, Width: 80},
		{Terminal: true, Width: 160},
		{Terminal: true, Width: 60, ASCII: true},
		{Terminal: true, Color: true, Width: 60},
		{},
	} {
		fmt.Fprintf(&all, "=== %s\n", rendertest.StyleName(st.Terminal, st.Color, st.Width, st.ASCII))
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
	rendertest.Golden(t, "table.txt", all.Bytes())
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

// Columns without room are omitted from the right: a column is clipped if a readable part remains,
// and numbers are never clipped.
func TestGridOmitsColumnsWithoutRoom(t *testing.T) {
	columns := []Column{{Head: "#"}, {Head: "WHAT", CutTo: 8}, {Head: "CHANNEL"}, {Head: "TOOK"}, {Head: "NOTES", CutTo: 8, CutFirst: true}}
	row := []string{"12.1", "tools/call get-sum", "invalid_arguments", "8.6 ms", "1 notification"}
	for width, want := range map[int]string{
		67: "12.1  tools/call get-sum  invalid_arguments  8.6 ms  1 notification",
		61: "12.1  tools/call get-sum  invalid_arguments  8.6 ms  1 notif…",
		52: "12.1  tools/ca…  invalid_arguments  8.6 ms  1 notif…",
		50: "12.1  tools/call get-s…  invalid_arguments  8.6 ms",
		40: "12.1  tools/call get…  invalid_arguments",
		25: "12.1  tools/c…  invalid_…",
		20: "12.1  tools/call ge…",
		4:  "12.1",
	} {
		var b strings.Builder
		g := NewGrid(&b, Style{Width: width, Terminal: true}, columns, [][]string{row})
		if err := g.Rows([][]string{row}); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimRight(b.String(), " \n"); got != want {
			t.Errorf("at %d\ngot  %s\nwant %s", width, got, want)
		}
	}
}
