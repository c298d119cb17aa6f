package traffic

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"mcpc/internal/render/term"
	"mcpc/internal/tests/rendertest"
)

func TestStats(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	figures := []StatsRow{
		{
			What: "tools/call get-sum", Count: 1204, Timed: 1200, P50: 1200 * us, P95: 34 * ms, P99: 61 * time.Second, Bytes: 31_234_567, Tokens: 7_808_642,
			Failures: []FailureCount{{"open", 4}, {"tool_error", 12}},
		},
		{
			What: "tools/call a\x1b[2Jname 日本語 that goes on and on and on and on and on and on", Count: 3, Timed: 3, P50: 5 * us, P95: 80 * us, P99: 80 * us, Bytes: 900, Tokens: 225,
			Failures: []FailureCount{{"rpc_error", 1}},
		},
		{What: "ping", Count: 1, Bytes: 1, Tokens: 1},
	}
	all := StatsRow{Count: 1208, Timed: 1203, P50: 1200 * us, P95: 34 * ms, P99: 61 * time.Second, Bytes: 31_235_468, Tokens: 7_808_868}
	bars := []HistogramBar{{0, us, 1}, {500 * us, ms, 1}, {ms, 2 * ms, 1000}, {2 * ms, 5 * ms, 0}, {50 * time.Second, 100 * time.Second, 201}, {5e17, 1<<63 - 1, 1}}
	var out bytes.Buffer
	for _, st := range []term.Style{{}, {Terminal: true, Width: 80}, {Terminal: true, Width: 100, ASCII: true}, {Terminal: true, Color: true, Width: 130}} {
		fmt.Fprintf(&out, "=== %s\n", rendertest.StyleName(st.Terminal, st.Color, st.Width, st.ASCII))
		from := out.Len()
		if err := Stats(&out, st, figures, all, bars); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(out.String()[from:], "\n") {
			if w := ansi.StringWidth(line); w > st.Columns() {
				t.Errorf("%+v: %d columns: %q", st, w, line)
			}
		}
	}
	fmt.Fprintln(&out, "=== one figure, nothing sent")
	if err := Stats(&out, term.Style{}, figures[2:], all, nil); err != nil {
		t.Fatal(err)
	}
	rendertest.Golden(t, "stats.txt", out.Bytes())
}
