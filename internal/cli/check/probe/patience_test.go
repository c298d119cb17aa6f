package probe

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/wire"
)

// TestAwaitTellsSlowFromSilent makes requests of servers that answer late, never, or that hang.
func TestAwaitTellsSlowFromSilent(t *testing.T) {
	const never = -1
	for _, c := range []struct {
		name           string
		typed, slowest time.Duration
		answers, ping  time.Duration
		kind           wire.Kind
		hung           bool
		waited         time.Duration
	}{
		{"at once", 0, 0, 0, 0, wire.OK, false, 0},
		{"each answer after 3 s", 0, 3 * time.Second, 3 * time.Second, 3 * time.Second, wire.OK, false, 3 * time.Second},
		{"slow for the first time", 0, 0, 9 * time.Second, 9 * time.Second, wire.OK, false, 10 * time.Second},
		{"slower than ever", 0, time.Second, 50 * time.Second, 20 * time.Second, wire.OK, false, 50 * time.Second},
		{"silent", 0, 0, never, 0, wire.Timeout, false, 2 * time.Second},
		{"silent and slow", 0, 2 * time.Second, never, 2 * time.Second, wire.Timeout, false, 18 * time.Second},
		{"hung", 0, 0, never, never, wire.Timeout, true, 31 * time.Second},
		{"--timeout 5s", 5 * time.Second, 0, 4 * time.Second, 0, wire.OK, false, 4 * time.Second},
		{"silent with --timeout 5s", 5 * time.Second, 0, never, 0, wire.Timeout, false, 5 * time.Second},
		{"hung with --timeout 50s", 50 * time.Second, 0, never, never, wire.Timeout, true, 100 * time.Second},
		{"silent with --timeout 0", -1, 0, never, 0, wire.Timeout, false, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer := func(after time.Duration) func(context.Context) wire.Outcome {
					return func(ctx context.Context) wire.Outcome {
						if after == never {
							<-ctx.Done()
							return wire.Outcome{Kind: wire.Timeout}
						}
						select {
						case <-ctx.Done():
							return wire.Outcome{Kind: wire.Timeout}
						case <-time.After(after):
							return wire.Outcome{}
						}
					}
				}
				f := &cmdutil.Factory{}
				f.Now = time.Now
				j := &judge{f: f}
				j.noteAnswerTime("tools/call", time.Hour)
				j.noteAnswerTime("ping", c.slowest)
				began := time.Now()
				out, hung := j.await(t.Context(), "ping", c.typed, answer(c.answers), answer(c.ping))
				if out.Kind != c.kind || hung != c.hung || time.Since(began) != c.waited {
					t.Errorf("got %v, hung %v, after %s", out.Kind, hung, time.Since(began))
				}
			})
		})
	}
}

// TestPatienceWithTools grows with the slowest call for calls only.
func TestPatienceWithTools(t *testing.T) {
	j := &judge{}
	j.noteAnswerTime("tools/call", 3*time.Second)
	j.noteAnswerTime("tools/list", 500*time.Millisecond)
	for method, want := range map[string]time.Duration{"tools/call": 12 * time.Second, "ping": 2 * time.Second} {
		if got := j.patience(method, 0); got != want {
			t.Errorf("%s: %s, not %s", method, got, want)
		}
	}
}

// TestSilentProbeIsRepeatedOnce repeats a probe that got no answer once.
func TestSilentProbeIsRepeatedOnce(t *testing.T) {
	silent := answer{Outcome: wire.Outcome{Kind: wire.Timeout, Text: "no response within 2s"}}
	wrong := answer{Outcome: wire.Outcome{Message: &wire.Message{Kind: wire.Response}}}
	for _, c := range []struct {
		name     string
		attempts []answer
		skip     bool
		severity string
	}{
		{"one late answer", []answer{silent, {}, {}}, true, ""},
		{"two late answers", []answer{silent, silent, {}}, true, ""},
		{"silent each time", []answer{silent, silent, silent}, false, ""},
		{"wrong once", []answer{wrong, {}, {}}, false, "warn"},
	} {
		b := &bench{judge: &judge{pacer: (&Options{}).newPacer("", func() int { return 0 }, time.Now)}, repeatBenches: []*bench{{}, {}}}
		i := 0
		p := probe{run: func(context.Context, *bench) []miss {
			i++
			if a := c.attempts[i-1]; a.Kind != wire.OK || a.Message != nil {
				return []miss{newMiss("L123", "an unknown tool", a, "an error")}
			}
			return nil
		}}
		misses := confirmMisses(t.Context(), b, p, p.run(t.Context(), b))
		if len(misses) != 1 || misses[0].skip != c.skip || string(misses[0].severity) != c.severity {
			t.Errorf("%s: %+v", c.name, misses)
		}
	}
}
