package render

import (
	"strings"
	"testing"
)

// What the terminal has no room for is left out from the right: a column is clipped
// where something of it is left to read, and no number ever.
func TestGridLeavesOutScraps(t *testing.T) {
	columns := []Column{{Head: "#"}, {Head: "WHAT", Least: 8}, {Head: "CHANNEL"}, {Head: "TOOK"}, {Head: "NOTES", Least: 8, Rest: true}}
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
