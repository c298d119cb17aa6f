package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/check/probe"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/lint"
	"mcpc/internal/render/verdict"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// judgeCapture checks recorded traffic against the rules: a whole capture, or the one exchange that
// word names. The report is nil if the recording cannot be read.
func judgeCapture(ctx context.Context, f *cmdutil.Factory, word string) (*verdict.Report, wire.Outcome) {
	c, out := recorded.Open(f, word)
	if !out.OK() {
		return nil, out
	}
	defer c.Close()
	recorded.WarnDamage(f, c.Capture)
	f.HideSecretsIn(c.Capture)
	judged := c.Rows()
	judge := func() (lint.Report, error) { return recorded.JudgeCapture(ctx, c.Capture) }
	if c.HasSelection() {
		row, out := c.Row()
		if !out.OK() {
			return nil, out
		}
		judged = []*rows.Row{row}
		judge = func() (lint.Report, error) { return recorded.JudgeRow(row) }
	}
	report, err := judge()
	cause := context.Cause(ctx)
	if err != nil && cause == nil {
		return nil, usage.LocalIO("reading "+c.Path, usage.Bare(err))
	}
	targets := serversOf(c.Capture, judged)
	names := targets
	const maxNamed = 3
	if len(names) > maxNamed {
		names = append(slices.Clone(names[:maxNamed]), fmt.Sprintf("and %d more", len(names)-maxNamed))
	}
	r := &verdict.Report{Target: strings.Join(names, ", "), Recording: c.Path, Lacks: []string{"check a server"}}
	rec := probe.Recording{Rows: judged, Several: len(targets) > 1}
	rec.Fill(r, report)
	r.Hosts = probe.Hosts(rec.Tools())
	for _, revision := range client.Revisions() {
		isOfRevision := func(row *rows.Row) bool { return row.Revision == revision && row.Method != "initialize" }
		if slices.ContainsFunc(judged, isOfRevision) {
			r.Revisions = append(r.Revisions, revision)
		}
	}
	if err != nil {
		r.Incomplete = cause.Error()
		return r, probe.Ended(cause)
	}
	return r, wire.Outcome{}
}

// serversOf returns the distinct servers of a capture. Recordings of a command name their server in
// the head; recordings of a proxy and imported files name it in each row.
func serversOf(c *rows.Capture, rows []*rows.Row) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, h := range c.Heads {
		add(h.Target)
	}
	for _, row := range rows {
		add(probe.Server(row))
	}
	return names
}
