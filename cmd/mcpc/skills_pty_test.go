//go:build unix

package main

import (
	"strings"
	"testing"

	"mcpc/internal/tests/terminal"
)

// A narrow terminal has the columns that can be read: the name of a skill is enough to name it.
func TestTerminalSkills(t *testing.T) {
	t.Parallel()
	for columns, wide := range map[int]bool{80: false, 120: true} {
		out := terminal.Start(t, columns, nil, "mcpc", "-s", "demo", "skills").Ends("0")
		if strings.Contains(out, "skill://") != wide || !strings.Contains(out, "Handle a refund request") {
			t.Errorf("%d columns:\n%s", columns, out)
		}
	}
}
