package liveview

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// Lines prints a line for each finished exchange that matches a filter, until ctx ends.
func Lines(ctx context.Context, f *cmdutil.Factory, v view.Reader, filter string) error {
	const maxRows = 1000 // the newest
	// printed has the keys of the last page's rows; true if the line was printed. Older keys are
	// forgotten, because their rows do not come back.
	printed := map[string]bool{}
	for seq := uint64(0); ctx.Err() == nil; seq = v.Wait(ctx, seq) {
		// A negative From counts from the end.
		page, err := v.Rows(ctx, view.Query{Filter: filter, From: -maxRows, Count: maxRows})
		if err != nil {
			return err
		}
		wasPrinted := printed
		printed = map[string]bool{}
		for _, row := range page.Rows {
			if row.State == "done" && !wasPrinted[row.Key] {
				fmt.Fprintln(f.Stdout(), RowLine(row))
			}
			printed[row.Key] = row.State == "done"
		}
		if err := f.StdoutClosed(); err != nil {
			return err
		}
	}
	return cmdutil.Exit(wire.Outcome{Kind: wire.Signal})
}

// RowLine describes an exchange in one line: key, time, sides, method and name, outcome, duration,
// and shortened texts. An exchange that is not finished has its state in place of the outcome.
func RowLine(r view.Row) string {
	sides := strings.TrimSpace(r.Client + " → " + cmp.Or(r.Server, r.Target))
	outcome := r.State
	if outcome == "done" || outcome == "" {
		outcome = r.Channel
	}
	line := fmt.Sprintf(
		"%s  %s  %s  %s  %s  %.3f s",
		r.Key,
		r.Time.Format("2006-01-02 15:04:05.000"),
		sides,
		strings.TrimSpace(r.Method+" "+r.Name),
		outcome,
		r.Seconds,
	)
	for _, text := range []string{r.Text, r.Notes} {
		if text != "" {
			line += "  " + term.Shorten(term.Line(text), 120)
		}
	}
	return term.Line(line)
}
