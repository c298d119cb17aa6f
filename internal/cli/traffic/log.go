// Package traffic has the commands for recorded traffic: log, show and export.
package traffic

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/capture"
	"mcpc/internal/capture/filter"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/faulty"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect"
	"mcpc/internal/english"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// logOptions are the arguments of `mcpc log`.
type logOptions struct {
	filter filter.Filter
	words  []string // of the filter
	file   string
	count  int
	// isDefaultCount is set if count is the default at a terminal.
	isDefaultCount bool
	sort           string
	lines          bool
	follow         bool
	prune          bool
	since          string
	failed         bool
	stats          bool
	faults         bool
	clients        bool
	markdown       string
}

// fewRows is the default number of rows at a terminal.
const fewRows = 20

func NewLog(f *cmdutil.Factory) *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use:   "log [FILE] [FILTER...]",
		Short: "list recorded exchanges, or count them",
		Long: `List the recorded exchanges, the newest last: number, time, server, method,
name, outcome, exit code, duration, bytes, notes, and tap or proxy if one of
them recorded it. Terminals of less than 100 columns show no bytes, exit codes
and notes. mcpc show NUMBER shows one exchange. Failures in a proxy without a
JSON-RPC request, for example of a stream's GET, are listed too.

Every command records its traffic, without secrets, in the state directory. FILE
is another recording: a capture, a bundle or an HTTP archive (HAR); - is stdin.
mcpc help filters describes FILTER.

--stats counts the exchanges by request: number, failures, durations and sizes.
OPEN counts requests without a response that did not fail; the column is shown
only if there are any. P50, P95 and P99 are exact percentiles of the duration.
SIZE is the size of the messages in both directions, and TOKENS an estimate at
four bytes per token.

--faults reports what the client did after each fault of fault rules (mcpc help
faults) in the newest run with faults, in the run of a number, or in a FILE. The
exit code is 1 if the client repeated a call that may have been executed, of a
tool without readOnlyHint or idempotentHint, or if it waited for more than a
minute for a response that never came.

--clients compares what clients do, from the recordings of mcpc tap and mcpc
proxy, or from a FILE: their revisions, capabilities and header fields, whether
they list again after list_changed, follow nextCursor, respond to ping, and
more. Each value has the number of the exchange that proves it, for mcpc show.
"no" means that a client could have done it, and continued without it. "not
seen" means that nothing in the traffic asked for it. FILTER selects
conversations.`,
		Example: `  mcpc log
  mcpc log --failed --since 1h
  mcpc log channel:tool_error 'dur:>500ms'
  mcpc log --stats method:tools/call since:1d
  mcpc log --clients since:1d
  mcpc log --jsonl --jq .method
  mcpc export last --as jsonl | mcpc log -
  mcpc log --prune`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.rejectOtherFlags(cmd); err != nil {
				return err
			}
			if o.faults {
				return runFaults(cmd.Context(), f, o.file, args)
			}
			words := o.leadingFile(args)
			if o.since != "" {
				words = append(slices.Clone(words), "since:"+o.since)
			}
			if o.failed {
				words = append(slices.Clone(words), "is:error")
			}
			o.words = words
			var err error
			o.filter, err = parseFilter(f, words, &recorded.RowFindings{Live: o.follow})
			if err != nil {
				return err
			}
			if o.stats {
				return showStats(cmd.Context(), f, o)
			}
			if o.clients {
				return showClients(cmd.Context(), f, o)
			}
			if o.markdown != "" {
				return usage.New("--markdown is for --clients", wire.Run("log --clients --markdown "+o.markdown))
			}
			if !cmd.Flags().Changed("count") && f.OutStyle.Terminal && !f.JSON && !o.lines && !namesOneRun(words) {
				o.isDefaultCount = true
				o.count = fewRows
			}
			switch {
			case o.prune && len(args) > 0:
				return usage.New("--prune takes no filter", wire.Run("log --prune")+" deletes old recordings")
			case o.count < 0:
				return usage.New("--count must be 0 (all) or more", "")
			case sortKeys[o.sort] == nil:
				return usage.New(fmt.Sprintf("--sort must be dur, size or time, not %q", o.sort), "")
			case o.follow && o.file == recorded.Stdin:
				return usage.New("--follow needs a file: stdin is read to its end", "leave out --follow")
			case o.follow && o.sort != "time":
				return usage.New("--follow and --sort cannot be combined", "use only one of them")
			}
			if f.Output != "" && (o.follow || o.lines) {
				return usage.New("--follow and --jsonl write line by line, so they have no -o", "use > FILE")
			}
			o.lines = o.lines || o.follow && (f.JSON || f.Jq != "")
			return runLog(cmd.Context(), f, o)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&o.count, "count", "n", 0, "number of exchanges; 0 is all (default 20 at a terminal, or all of run:N)")
	flags.StringVar(&o.sort, "sort", "time", "sort `key`: time, dur (duration) or size, largest last")
	flags.StringVar(&o.file, "file", "", "read this recording, a `file` or - for stdin, instead of mcpc's own recordings")
	flags.StringVar(&o.since, "since", "", "only exchanges since a `time` or duration, as the filter since:1h")
	flags.BoolVar(&o.failed, "failed", false, "only failed exchanges, as the filter is:error")
	flags.BoolVar(&o.stats, "stats", false, "count the exchanges by request, with durations and sizes")
	flags.BoolVar(&o.faults, "faults", false, "report what the client did after each fault of fault rules")
	flags.BoolVar(&o.lines, "jsonl", false, "print one JSON object per exchange; --jq filters each")
	flags.BoolVar(&o.clients, "clients", false, "compare what recorded clients do, with the exchanges that prove it")
	flags.BoolVarP(&o.follow, "follow", "f", false, "print new exchanges as they end, and open ones after 1 s")
	flags.BoolVar(&o.prune, "prune", false, "only delete recordings beyond 2000 runs, 512 MiB, 30 days")
	flags.StringVar(&o.markdown, "markdown", "", "write the table of --clients as Markdown to a `file`; - is stdout")
	cmdutil.CompleteFlags(cmd, map[string][]string{"sort": {"time", "dur", "size"}})
	return cmd
}

// noteName prints a note if a word of the filter is the name of a tool or prompt, and exchanges were found
// that only contain the word as a text.
func noteName(f *cmdutil.Factory, found []*rows.Row, filterWords []string) {
	for _, word := range filterWords {
		isNamed := func(r *rows.Row) bool { return r.Name == word }
		isOther := func(r *rows.Row) bool { return r.Name != word }
		if slices.ContainsFunc(found, isNamed) && slices.ContainsFunc(found, isOther) {
			f.Note(word + " is searched for as a text; name:" + word + " selects the exchanges of that name")
		}
	}
}

// wordOfFailure returns the rest of a note for a filter that found nothing because it contains a word such
// as "failed", which is searched for as a text; "" for other filters.
func wordOfFailure(filterWords []string) string {
	for _, word := range filterWords {
		switch word {
		case "failed", "failure", "failures", "error", "errors":
			return "; " + word + " is searched for as a text, and is:error selects failed exchanges"
		}
	}
	return ""
}

// rejectOtherFlags returns a usage error if --stats, --faults, --clients or --prune is given with a flag of log that
// it does not use.
func (o *logOptions) rejectOtherFlags(cmd *cobra.Command) error {
	for _, mode := range []struct {
		name   string
		isSet  bool
		allows []string
	}{
		{"stats", o.stats, []string{"file", "since", "failed"}},
		{"faults", o.faults, []string{"file"}},
		{"clients", o.clients, []string{"file", "since", "failed", "markdown"}},
		{"prune", o.prune, nil},
	} {
		if !mode.isSet {
			continue
		}
		all := []string{
			"count", "sort", "file", "jsonl", "follow", "since", "failed", "stats", "faults", "clients", "prune", "markdown",
		}
		for _, name := range all {
			if cmd.Flags().Changed(name) && name != mode.name && !slices.Contains(mode.allows, name) {
				return usage.New("--"+mode.name+" and --"+name+" cannot be combined", "use only one of them")
			}
		}
	}
	return nil
}

// runFaults reports on the faults of the recording that --file or the only word names.
func runFaults(ctx context.Context, f *cmdutil.Factory, file string, words []string) error {
	if file != "" {
		words = append(words, file)
	}
	if len(words) > 1 {
		return usage.New("--faults takes one recording", wire.Run("log --faults last"))
	}
	return faulty.ReportRecording(ctx, f, strings.Join(words, ""))
}

// leadingFile removes a recording file from the front of the arguments, and returns the rest: the
// filter. A word that looks like a file name is a file, even if the file does not exist.
func (o *logOptions) leadingFile(args []string) []string {
	if o.file != "" || len(args) == 0 {
		return args
	}
	if recorded.NamesFile(args[0]) {
		o.file = args[0]
		return args[1:]
	}
	return args
}

func runLog(ctx context.Context, f *cmdutil.Factory, o logOptions) error {
	if o.prune {
		return prune(f)
	}
	if o.follow {
		return runFollow(ctx, f, o)
	}
	if o.isDefaultCount {
		// One more row shows that there are earlier ones. Counting them would read every recording.
		o.count = fewRows + 1
	}
	rows, out := sortedRows(ctx, f, o)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	if o.isDefaultCount && len(rows) > fewRows {
		rows = rows[len(rows)-fewRows:]
		f.Note(fmt.Sprintf("only the last %d exchanges are shown: -n 0 shows all", fewRows))
	}
	noteName(f, rows, o.words)
	rows = f.HideSecretsInRows(rows)
	if len(rows) == 0 {
		f.Note("no recorded exchange matches" + wordOfFailure(o.words))
	}
	if o.lines {
		return logLines(ctx, f, rows)
	}
	lines := append([]recorded.Line{}, sliceutil.Map(rows, recorded.LineOf)...) // not null
	raw, _ := json.Marshal(map[string]any{"exchanges": lines})
	return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(raw, func(w io.Writer, style term.Style) error {
		return logTable(w, style, rows, f.Now())
	}))
}

// sortKeys return the value of a row for each sort order.
var sortKeys = map[string]func(r *rows.Row) int64{
	"time": func(r *rows.Row) int64 { return r.Time.UnixNano() },
	"dur":  func(r *rows.Row) int64 { return int64(r.Duration) },
	"size": func(r *rows.Row) int64 { return r.Size() },
}

// sortedRows returns the last o.count rows that match, or all if it is 0, in the chosen order.
func sortedRows(ctx context.Context, f *cmdutil.Factory, o logOptions) ([]*rows.Row, wire.Outcome) {
	if o.sort == "time" {
		return readRows(ctx, f, o.file, newSelection(f, o.filter), o.count)
	}
	all, out := readRows(ctx, f, o.file, newSelection(f, o.filter), 0)
	key := sortKeys[o.sort]
	slices.SortStableFunc(all, func(x, y *rows.Row) int { return cmp.Compare(key(x), key(y)) })
	if o.count > 0 {
		all = all[max(0, len(all)-o.count):]
	}
	return all, out
}

// logLines prints each row as a line of JSON.
func logLines(ctx context.Context, f *cmdutil.Factory, rows []*rows.Row) error {
	for _, r := range rows {
		raw, _ := json.Marshal(recorded.LineOf(r))
		if err := cmdutil.PrintLine(ctx, f, raw); err != nil {
			return err
		}
	}
	return nil
}

// prune deletes the recordings that exceed the default limits.
func prune(f *cmdutil.Factory) error {
	ring, err := f.Env.Ring()
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	removed, err := ring.Prune(capture.DefaultLimits, f.Now())
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("removing recordings", err))
	}
	var freed int64
	for _, run := range removed {
		freed += run.Bytes
	}
	l := capture.DefaultLimits
	f.Note(fmt.Sprintf("%s removed (%s); the limits are %d runs, %d MiB, %d days",
		english.Plural(len(removed), "recording"), term.Bytes(freed), l.Runs, l.Bytes>>20, int(l.Age.Hours()/24)))
	return nil
}
