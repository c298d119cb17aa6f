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
	printed := map[string]bool{}
	for seq := uint64(0); ctx.Err() == nil; seq = v.Wait(ctx, seq) {
		page, err := v.Rows(ctx, view.Query{Filter: filter, From: -maxRows, Count: maxRows})
		if err != nil {
			return err
		}
		before := printed
		printed = map[string]bool{}
		for _, row := range page.Rows {
			if row.State == "done" && !before[row.Key] {
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

// RowLine describes an exchange in one line.
func RowLine(r view.Row) string {
	who := strings.TrimSpace(r.Client + " → " + cmp.Or(r.Server, r.Target))
	state := r.State
	if state == "done" || state == "" {
		state = r.Channel
	}
	line := fmt.Sprintf(
		"%s  %s  %s  %s  %s  %.3f s",
		r.Key,
		r.Time.Format("2006-01-02 15:04:05.000"),
		who,
		strings.TrimSpace(r.Method+" "+r.Name),
		state,
		r.Seconds,
	)
	for _, more := range []string{r.Text, r.Notes} {
		if more != "" {
			line += "  " + term.Shorten(term.Line(more), 120)
		}
	}
	return term.Line(line)
}
