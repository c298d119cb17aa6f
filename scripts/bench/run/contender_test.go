package main

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Another program that fails is not run again and does not stop the bench; one that all are
// compared to does.
func TestRound(t *testing.T) {
	exits := func(context.Context, string) (sample, error) { return sample{}, exitError(3) }
	waits := func(ctx context.Context, _ string) (sample, error) { <-ctx.Done(); return sample{}, ctx.Err() }
	answers := func(context.Context, string) (sample, error) { return sample{took: time.Second, out: 10}, nil }
	for name, test := range map[string]struct {
		entry  contender
		failed string
		runs   int
	}{
		"exit code": {contender{run: exits}, "fails: exit code 3", 1},
		"too long":  {contender{run: waits, limit: time.Millisecond}, "over 1ms", 1},
		"no answer": {contender{run: func(context.Context, string) (sample, error) { return sample{out: 9}, nil }}, "fails: no answer", 1},
		"no limit":  {contender{run: answers}, "", 3},
		"budget":    {contender{run: answers, budget: 1500 * time.Millisecond}, "", 2},
	} {
		e, runs := test.entry, 0
		run := e.run
		e.run = func(ctx context.Context, url string) (sample, error) { runs++; return run(ctx, url) }
		r := &row{minOutput: 10, contenders: []*contender{{name: "raw", run: answers}, &e}}
		for range 3 {
			if err := e.runOnce(t.Context(), r); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if e.failure != test.failed || runs != test.runs {
			t.Errorf("%s: failed %q after %d runs, want %q after %d", name, e.failure, runs, test.failed, test.runs)
		}
	}
	base := &contender{name: "raw", run: exits}
	if err := base.runOnce(t.Context(), &row{contenders: []*contender{base}}); err == nil {
		t.Error("the bench goes on without the program that all are compared to")
	}
	broken := errors.New("broken")
	other := &contender{run: func(context.Context, string) (sample, error) { return sample{}, broken }}
	if err := other.runOnce(t.Context(), &row{contenders: []*contender{base, other}}); !errors.Is(err, broken) {
		t.Errorf("a bench that cannot start a program: %v", err)
	}
}
