package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/render"
	"mcpc/internal/trace"
)

// A terminal of 80 columns has whole lines of what was asked; the exit code and the
// notes stand where there is room, and always in a pipe.
func TestLogTable(t *testing.T) {
	c, err := trace.Open(filepath.Join("..", "..", "internal", "trace", "testdata", "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	table := func(st render.Style) []string {
		var b bytes.Buffer
		if err := logTable(&b, st, true, c.Rows(), time.Time{}); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	}
	for width, head := range map[int]string{
		80:  "# TIME SERVER WHAT CHANNEL TOOK SIZE",
		140: "# TIME SERVER WHAT CHANNEL TOOK SIZE EXIT NOTES",
	} {
		lines := table(render.Style{Terminal: true, Width: width, ASCII: true})
		if got := strings.Join(strings.Fields(lines[0]), " "); got != head {
			t.Errorf("at %d: %s", width, got)
		}
		for _, line := range lines {
			if len(line) > width {
				t.Errorf("%d columns in %d: %s", len(line), width, line)
			}
		}
		if !strings.Contains(strings.Join(lines, "\n"), "  tools/call get-sum  ") {
			t.Errorf("at %d what was asked is cut:\n%s", width, strings.Join(lines, "\n"))
		}
	}
	for _, line := range table(render.Style{}) {
		if n := strings.Count(line, "\t"); n != 9 {
			t.Errorf("%d cells in a pipe: %s", n+1, line)
		}
	}
}

func TestWhatOf(t *testing.T) {
	for _, c := range [][3]string{{"tools/call", "get-sum", "tools/call get-sum"}, {"ping", "", "ping"}, {"", "", "(no request)"}} {
		if got := whatOf(c[0], c[1]); got != c[2] {
			t.Errorf("%q, want %q", got, c[2])
		}
	}
}
