package console_test

import (
	"fmt"
	"testing"

	"mcpc/internal/cli/console"
	"mcpc/internal/connect"
)

func TestRepeatsBoundsWarnings(t *testing.T) {
	var r console.RepeatedWarnings
	for round := range 2 {
		for i := range connect.MostWarnings + 5 {
			held := r.Again(fmt.Sprint("warning ", i))
			if want := round > 0 || i >= 20; held != want {
				t.Errorf("round %d, warning %d: held back %t, want %t", round, i, held, want)
			}
		}
	}
	if got := r.Left(); got != 5+25 {
		t.Errorf("%d warnings were held back, want 30", got)
	}
	var none *console.RepeatedWarnings
	for range 2 {
		if none.Again("x") {
			t.Error("without a bound a warning was held back")
		}
	}
}
