package tui

import (
	"strings"
	"testing"
)

func TestCountOfRows(t *testing.T) {
	for rows, want := range map[int]string{0: "● live", 1: "● live 1 exchange", 2: "● live 2 exchanges", 1000: "● live 1,000 exchanges"} {
		m := &model{w: 120}
		m.status.Rows = rows
		if got := strings.TrimSpace(m.drawCounts(false).String()); got != want {
			t.Errorf("%d: %q, want %q", rows, got, want)
		}
	}
}
