// Package traffic has the commands for recorded traffic: log, show, stats, export and resend.
package traffic

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/capture"
	"mcpc/internal/capture/filter"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/judged"
	"mcpc/internal/cli/outfile"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect"
	"mcpc/internal/english"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// logOptions are what `mcpc log` was asked.
type logOptions struct {
	filter filter.Filter
	file   string
	count  int
	sort   string
	lines  bool
	follow bool
	prune  bool
}

// fewRows is how many rows a terminal is shown by default.
const fewRows = 20

func NewLog(f *cmdutil.Factory) *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use:   "log [FILE] [FILTER...]",
		Short: "list recorded exchanges",
		Long: `List the recorded exchanges, the newest last: number, time, server, method,
name, outcome, exit code, duration, bytes, notes, and tap or proxy if one of
them recorded it. Terminals of less than 100 columns show no bytes, exit codes
and notes. mcpc show NUMBER shows one exchange. Failures in a proxy without a
JSON-RPC request, for example of a stream's GET, are listed too.

Every command records its traffic, without secrets, in the state directory. mcpc
help filters describes FILTER.`,
		Example: `  mcpc log
  mcpc log channel:tool_error 'dur:>500ms'
  mcpc log --jsonl --jq .method
  mcpc log --prune`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.filter, err = filterOf(f, o.leadingFile(args), &judged.Findings{Live: o.follow}); err != nil {
				return err
			}
			if !cmd.Flags().Changed("count") && f.OutStyle.Terminal && !f.JSON && !o.lines {
				o.count = fewRows
			}
			alone := o.prune && (len(args) > 0 || o.lines || o.follow || slices.ContainsFunc([]string{"count", "sort", "file"}, cmd.Flags().Changed))
			switch {
			case alone:
				return usage.New("--prune takes no filter and no other flag of log", wire.Run("log --prune")+" deletes old recordings")
			case o.count < 0:
				return usage.New("--count must be 0 (all) or more", "")
			case sortKeys[o.sort] == nil:
				return usage.New(fmt.Sprintf("--sort must be dur, size or time, not %q", o.sort), "")
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
	flags.IntVarP(&o.count, "count", "n", 0, "number of exchanges; 0 is all (default 20 at a terminal)")
	flags.StringVar(&o.sort, "sort", "time", "sort `key`: time, dur (duration) or size, largest last")
	flags.StringVar(&o.file, "file", "", "read this capture or bundle `file` instead of the recordings")
	flags.BoolVar(&o.lines, "jsonl", false, "print one JSON object per exchange; --jq filters each")
	flags.BoolVarP(&o.follow, "follow", "f", false, "print new exchanges as they end, and open ones after 1 s")
	flags.BoolVar(&o.prune, "prune", false, "only delete recordings beyond 2000 runs, 512 MiB, 30 days")
	return cmd
}

// leadingFile takes the file of a recording from the front of the words, as other commands do, and gives the rest: the
// filter. A word that is named like one is no filter, even if there is no such file.
func (o *logOptions) leadingFile(args []string) (words []string) {
	if o.file != "" || len(args) == 0 {
		return args
	}
	word, ending := args[0], filepath.Ext(args[0])
	if ending == ".jsonl" || ending == ".mcpcz" || strings.ContainsAny(word, "./") && outfile.IsFile(word) {
		o.file = word
		return args[1:]
	}
	return args
}

func runLog(ctx context.Context, f *cmdutil.Factory, o logOptions) error {
	switch {
	case o.prune:
		return prune(f)
	case o.follow:
		return runFollow(ctx, f, o)
	}
	rows, out := sortedRows(ctx, f, o)
	if !out.Good() {
		return cmdutil.Exit(out)
	}
	if len(cmdutil.HideRows(f, rows)) == 0 {
		f.Note("no recorded exchange matches")
	}
	if o.lines {
		return logLines(ctx, f, rows)
	}
	return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(rowsJSON(rows), func(w io.Writer, style term.Style) error {
		return logTable(w, style, rows, f.Now())
	}))
}

// sortKeys are what rows are sorted by.
var sortKeys = map[string]func(r *capture.Row) int64{
	"time": func(r *capture.Row) int64 { return r.Time.UnixNano() },
	"dur":  func(r *capture.Row) int64 { return int64(r.Duration) },
	"size": func(r *capture.Row) int64 { return r.Size() },
}

// sortedRows are the last so many of those that fit, as they are sorted.
func sortedRows(ctx context.Context, f *cmdutil.Factory, o logOptions) ([]*capture.Row, wire.Outcome) {
	if o.sort == "time" {
		return rows(ctx, f, o.file, recorded.Matching(f, o.filter), o.count)
	}
	rows, out := rows(ctx, f, o.file, recorded.Matching(f, o.filter), 0)
	key := sortKeys[o.sort]
	slices.SortStableFunc(rows, func(x, y *capture.Row) int { return cmp.Compare(key(x), key(y)) })
	if o.count > 0 {
		rows = rows[max(0, len(rows)-o.count):]
	}
	return rows, out
}

// rowOut is a row as a script reads it. Times are RFC 3339, durations seconds.
type rowOut struct {
	Number        string     `json:"number"`
	Time          time.Time  `json:"time"`
	Target        string     `json:"target"`
	Method        string     `json:"method"`
	Name          string     `json:"name,omitempty"`
	ID            string     `json:"id,omitempty"`
	Channel       string     `json:"channel"`
	Exit          *int       `json:"exit"`
	Seconds       float64    `json:"seconds"`
	Sent          int64      `json:"sent"`
	Received      int64      `json:"received"`
	Status        int        `json:"http,omitempty"`
	Code          int64      `json:"code,omitempty"`
	Revision      string     `json:"protocol,omitempty"`
	Era           string     `json:"era,omitempty"`
	By            string     `json:"by,omitempty"`
	Dir           string     `json:"dir"`
	Parent        string     `json:"parent,omitempty"`
	Guess         []string   `json:"guess,omitempty"`
	FirstByte     float64    `json:"firstByte,omitempty"`
	Conn          int        `json:"conn,omitempty"`
	Client        string     `json:"client,omitempty"`
	Server        string     `json:"server,omitempty"`
	Session       string     `json:"session,omitempty"`
	Again         string     `json:"again,omitempty"`
	Notifications int        `json:"notifications,omitempty"`
	Questions     int        `json:"questions,omitempty"`
	Guessed       int        `json:"guessed,omitempty"`
	Retries       int        `json:"retries,omitempty"`
	Resumed       int        `json:"resumed,omitempty"`
	Rounds        int        `json:"rounds,omitempty"`
	Cuts          int        `json:"cuts,omitempty"`
	Cancelled     *cancelOut `json:"cancelled,omitempty"`
	Findings      int        `json:"findings,omitempty"`
	Text          string     `json:"text,omitempty"`
}

// cancelOut is which side cancelled a request, why, after how many seconds, and whether an
// answer came after all.
type cancelOut struct {
	By    string  `json:"by"`
	Why   string  `json:"why,omitempty"`
	After float64 `json:"after"`
	Late  bool    `json:"late,omitempty"`
}

func rowJSON(r *capture.Row) rowOut {
	out := rowOut{Number: r.Number(), Time: r.Time, Target: r.Target, Method: r.Method, Name: r.Name, ID: r.ID, Channel: r.Channel,
		Seconds: r.Duration.Seconds(), Sent: r.Sent, Received: r.Received, Status: r.Status, Code: r.Code, Revision: r.Revision,
		Era: r.Era, By: r.By, Again: r.Again, Notifications: r.Notes.Notifications, Questions: r.Notes.Questions, Guessed: r.Notes.Guessed, Dir: r.Dir.String(), Guess: r.GuessedNumbers(), FirstByte: r.First.Seconds(), Conn: r.Conn,
		Client: r.Client(), Server: r.Server(), Session: r.Session(), Retries: r.Notes.Retries,
		Resumed: r.Notes.Resumed, Rounds: r.Notes.Rounds, Cuts: r.Notes.Cuts, Findings: len(r.Findings), Text: r.Text}
	if r.Exit >= 0 {
		out.Exit = &r.Exit
	}
	if c := r.Cancel; c != nil {
		out.Cancelled = &cancelOut{c.Who(), c.Why, c.After.Seconds(), c.Late}
	}
	switch {
	case r.Within == nil:
	case r.Guess:
		out.Guess = []string{r.Within.Number()}
	default:
		out.Parent = r.Within.Number()
	}
	return out
}

func rowsJSON(rows []*capture.Row) json.RawMessage {
	out := append([]rowOut{}, sliceutil.Map(rows, rowJSON)...) // not null
	raw, _ := json.Marshal(map[string]any{"exchanges": out})
	return raw
}

func logLines(ctx context.Context, f *cmdutil.Factory, rows []*capture.Row) error {
	for _, r := range rows {
		raw, _ := json.Marshal(rowJSON(r))
		if err := cmdutil.PrintLine(ctx, f, raw); err != nil {
			return err
		}
	}
	return nil
}

// prune brings the ring within its limits.
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
