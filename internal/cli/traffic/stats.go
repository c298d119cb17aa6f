package traffic

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/render/term"
	"mcpc/internal/render/traffic"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// NewStats returns the command stats, the old name of log --stats.
func NewStats(f *cmdutil.Factory) *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use:   "stats [FILE] [FILTER...]",
		Short: "count recorded exchanges, with durations and sizes",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.filter, err = parseFilter(f, o.leadingFile(args), &recorded.RowFindings{})
			if err != nil {
				return err
			}
			return showStats(cmd.Context(), f, o)
		},
	}
	cmd.Flags().StringVar(&o.file, "file", "",
		"read this recording, a `file` or - for stdin, instead of mcpc's own recordings")
	return cmd
}

// showStats shows the counts, durations and sizes of the exchanges that match, by request.
func showStats(ctx context.Context, f *cmdutil.Factory, o logOptions) error {
	var stats rows.Stats
	out := eachCapture(f, o.file, func(c *rows.Capture, _ time.Time) (more bool) {
		newSelection(f, o.filter).each(c, func(r *rows.Row) { stats.Add(f.HideSecretsInRows([]*rows.Row{r})[0]) })
		return ctx.Err() == nil
	})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	if stats.All().Count == 0 {
		f.Note("no recorded exchange matches")
	}
	document := cmdutil.Document(statsJSON(&stats), func(w io.Writer, st term.Style) error {
		bars := sliceutil.Map(stats.All().Histogram(),
			func(b rows.Bucket) traffic.HistogramBar { return traffic.HistogramBar(b) })
		return traffic.Stats(w, st, sliceutil.Map(stats.Groups(), statsRow), statsRow(stats.All()), bars)
	})
	return cmdutil.Show(ctx, f, wire.Outcome{}, document)
}

// statsRow returns the row of a group for people.
func statsRow(g *rows.Group) traffic.StatsRow {
	row := traffic.StatsRow{
		What: describeRequest(g.Method, g.Name), Count: g.Count, Open: g.Open, Cancelled: g.Cancelled,
		Timed: g.Timed(), Bytes: g.Sent + g.Received, Tokens: g.Tokens(),
		P50: g.Percentile(50), P95: g.Percentile(95), P99: g.Percentile(99),
	}
	for _, failure := range g.Failures() {
		row.Failures = append(row.Failures, traffic.FailureCount(failure))
	}
	return row
}

// describeRequest returns method and name for people. An interrupted run may have no request.
func describeRequest(method, name string) string {
	title := strings.TrimSpace(method + " " + name)
	if title == "" {
		return "(no request)"
	}
	return title
}

// statsJSON returns {"all":GROUP,"groups":[GROUP...]}. Times are in nanoseconds, sizes in bytes.
// DurationNs and histogram are missing if nothing was sent.
func statsJSON(stats *rows.Stats) json.RawMessage {
	groups := append([]groupJSON{}, sliceutil.Map(stats.Groups(), groupOf)...) // not null
	raw, _ := json.Marshal(map[string]any{"all": groupOf(stats.All()), "groups": groups})
	return raw
}

type groupJSON struct {
	Method     string                   `json:"method,omitempty"`
	Name       string                   `json:"name,omitempty"`
	Count      int                      `json:"count"`
	Open       int                      `json:"open"`
	Cancelled  int                      `json:"cancelled,omitempty"`
	Failures   map[string]int           `json:"failures"`
	DurationNs map[string]time.Duration `json:"durationNs,omitempty"`
	Bytes      map[string]int64         `json:"bytes"`
	Tokens     int64                    `json:"tokens"`
	Histogram  []rows.Bucket            `json:"histogram,omitempty"`
}

// groupOf returns a group as JSON.
func groupOf(g *rows.Group) groupJSON {
	j := groupJSON{
		Method:    g.Method,
		Name:      g.Name,
		Count:     g.Count,
		Open:      g.Open,
		Cancelled: g.Cancelled,
		Failures:  map[string]int{},
		Bytes:     map[string]int64{"sent": g.Sent, "received": g.Received},
		Tokens:    g.Tokens(),
		Histogram: g.Histogram(),
	}
	for _, f := range g.Failures() {
		j.Failures[f.Channel] = f.Count
	}
	if g.Timed() > 0 {
		j.DurationNs = map[string]time.Duration{}
		for name, p := range map[string]float64{"min": 0, "p50": 50, "p95": 95, "p99": 99, "max": 100} {
			j.DurationNs[name] = g.Percentile(p)
		}
	}
	return j
}
