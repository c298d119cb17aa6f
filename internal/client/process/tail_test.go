package process

import (
	"fmt"
	"strings"
	"testing"
)

// The first lines of a long stream are kept beside its end, since they often have the cause.
func TestTailKeepsFirstAndLastLines(t *testing.T) {
	tail := NewTail()
	tail.Add([]byte("Error: no config\n"))
	tail.Add([]byte("  at line 1\n"))
	if got := tail.BothEnds(); got != "Error: no config\n  at line 1\n" {
		t.Errorf("a short stream: %q", got)
	}
	total := len("Error: no config\n  at line 1\n")
	for i := range 100_000 {
		line := fmt.Sprintf("line %d\n", i)
		total += len(line)
		tail.Add([]byte(line))
	}
	got := tail.BothEnds()
	lines := strings.Split(got, "\n")
	var mark string
	left := 0
	for _, line := range lines {
		if _, err := fmt.Sscanf(line, "… %d bytes", &left); err == nil {
			mark = line + "\n"
			break
		}
	}
	if !strings.HasPrefix(got, "Error: no config\n  at line 1\nline 0\n") || !strings.HasSuffix(got, "\nline 99999\n") {
		t.Errorf("the ends are not kept: %.80q ... %.80q", got, got[len(got)-80:])
	}
	if mark == "" || left+len(got)-len(mark) != total {
		t.Errorf("%q of %d bytes, %d are kept", mark, total, len(got)-len(mark))
	}
	tail.Reset()
	tail.Add([]byte(strings.Repeat("x", 300<<10)))
	if got := tail.BothEnds(); got != tail.Text() || len(got) != 64<<10 {
		t.Errorf("one long line: %d bytes", len(got))
	}
}
