package mock

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/faulty"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/english"
	"mcpc/internal/match"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/mock"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// playOptions are the flags of `mcpc mock CAPTURE`.
type playOptions struct {
	era, match, repeat, latency, onMiss string
	failOnMiss, allowRedacted           bool
}

// addFlags adds the flags to cmd.
func (o *playOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.era, "era", "both", "`era` to serve: both, legacy or modern (default both)")
	flags.StringVar(&o.match, "match", "strict",
		"`level` of comparison with recorded requests: strict, loose or exact (default strict)")
	flags.StringVar(&o.repeat, "repeat", "in-order",
		"response to a request that was recorded several times, by `way`: in-order, last or cycle (default in-order)")
	flags.StringVar(&o.latency, "latency", "none",
		"`pace`: none, as-recorded, a factor (x0.5) or a time (200ms) (default none)")
	flags.StringVar(&o.onMiss, "on-miss", "error",
		"`answer` to a request that was not recorded: error, nearest, or pass:TARGET to ask a server (default error)")
	flags.BoolVar(&o.failOnMiss, "fail-on-miss", false,
		"exit with 1 if a request was not recorded, or an answer differed; else Ctrl-C exits with 0")
	flags.BoolVar(&o.allowRedacted, "allow-redacted", false, "serve results in which secrets are hidden")
	cmdutil.CompleteFlags(cmd, map[string][]string{
		"era": {"both", "legacy", "modern"}, "match": {"strict", "loose", "exact"}, "repeat": {"in-order", "last", "cycle"},
		"latency": {"none", "as-recorded", "x0.5", "200ms"}, "on-miss": {"error", "nearest"},
	})
}

// isSet reports whether any of the flags is set.
func (o *playOptions) isSet(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"era", "match", "repeat", "latency", "on-miss", "fail-on-miss", "allow-redacted"},
		cmd.Flags().Changed)
}

// playerOptions validates the flags and returns the options of a Player.
func (o playOptions) playerOptions(f *cmdutil.Factory) (mock.PlayerOptions, error) {
	p := mock.PlayerOptions{
		Eras: bridge.Eras(o.era), Repeat: mock.Repeat(o.repeat), Nearest: o.onMiss == "nearest",
		Report: f.Note, Hide: f.Secrets.Text, Now: f.Now, SessionID: rand.Text,
	}
	if f.Environ != nil {
		f.Secrets.LearnEnvironment(f.Environ())
	}
	var err error
	if p.Eras != bridge.BothEras && p.Eras != bridge.LegacyOnly && p.Eras != bridge.ModernOnly {
		return p, usage.New(fmt.Sprintf("--era must be both, legacy or modern, not %q", o.era), "")
	}
	if p.Repeat != mock.InOrder && p.Repeat != mock.Last && p.Repeat != mock.Cycle {
		return p, usage.New(fmt.Sprintf("--repeat must be in-order, last or cycle, not %q", o.repeat), "")
	}
	if o.onMiss != "error" && o.onMiss != "nearest" && o.passTo() == "" {
		return p, usage.New(fmt.Sprintf("--on-miss must be error, nearest or pass:TARGET, not %q", o.onMiss), "")
	}
	p.Level, err = match.ParseLevel(o.match)
	if err != nil {
		return p, usage.New("--match: "+err.Error(), "--match strict, loose or exact")
	}
	p.Pace, err = mock.ParsePace(o.latency)
	if err != nil {
		return p, usage.New("--latency: "+err.Error(), "")
	}
	return p, nil
}

// runPlay plays a recording.
func runPlay(ctx context.Context, f *cmdutil.Factory, o mockOptions, word string, words []string) error {
	options, err := o.play.playerOptions(f)
	if err != nil {
		return err
	}
	filter, err := recorded.Filter(words, f.Now(), &recorded.RowFindings{})
	if err != nil {
		return err
	}
	r, out := recorded.Open(f, word)
	if out.Kind == wire.Usage && filepath.Ext(word) == ".txt" {
		out.Hint = wire.Run("mock --script " + shellwords.Quote(word))
	}
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	defer r.Close()
	recorded.WarnDamage(f, r.Capture)
	matches := recorded.Matching(f, filter)
	if len(words) == 0 {
		matches = nil
	}
	rows, out := selectRows(r, matches)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	if err := refuseHidden(f, rows, o.play.allowRedacted); err != nil {
		return err
	}
	if len(rows) > manyRows {
		debug.SetGCPercent(25) // the rows stay in memory as long as the mock serves
	}
	rec, left, err := recordingOf(rows)
	if err != nil {
		return cmdutil.Exit(recorded.Unreadable(r.Path, err))
	}
	if len(rec.Exchanges) == 0 {
		return usage.New(word+" has no request of a client to play", wire.Run("log")+" lists recordings")
	}
	if left > 0 {
		f.Warn(
			english.Plural(left, "message") + " outside of requests left out: there are more than " + term.Bytes(maxUnrequested),
		)
	}
	if to := o.play.passTo(); to != "" {
		s := &passThrough{f: f, target: to}
		defer s.close(ctx)
		options.Pass = s.send
	}
	o.until.capture = word
	target, err := openLive(ctx, f, o.until, rec, rows)
	if err != nil {
		return err
	}
	defer target.close()
	options.Eras = target.eras(options.Eras)
	options.Continue = target.continuation(o.stdio, rand.Text)
	p, err := mock.NewPlayer(rec, options)
	if err != nil {
		return cmdutil.Exit(recorded.Unreadable(r.Path, err))
	}
	err = serve(ctx, f, o, p, func() { printIntroduction(f, rec, rows) })
	if target != nil {
		target.report(p.Coverage().Continued)
	}
	return err
}

// manyRows is the number of exchanges beyond which runPlay saves memory.
const manyRows = 20_000

// refuseHidden returns an error if results of the recording lack secrets, because a client would
// use the placeholders. If allowed is set, it only warns.
func refuseHidden(f *cmdutil.Factory, rows []*rows.Row, allowed bool) error {
	n, where, err := findHidden(rows)
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("reading the recording", err))
	}
	if n > 0 && !allowed {
		return cmdutil.Exit(wire.Outcome{
			Kind: wire.Refused,
			Text: "secrets are hidden in " + english.Plural(n, "message") + " that a client would get: " + joinFirst(where),
			Hint: "--allow-redacted serves the placeholders instead of the values",
		})
	}
	if n > 0 {
		f.Warn("secrets are hidden in " + english.Plural(n, "message") + " that a client gets: " + joinFirst(where))
	}
	return nil
}

// printIntroduction prints the server and the age of the recording.
func printIntroduction(f *cmdutil.Factory, rec mock.Recording, rows []*rows.Row) {
	server := ""
	newest := time.Time{}
	for _, row := range rows {
		if name := row.Server(); name != "" {
			server = name
		}
		if row.Time.After(newest) {
			newest = row.Time
		}
	}
	text := english.Plural(len(rec.Exchanges), "recorded exchange")
	if server != "" {
		text += " of " + term.Line(server)
	}
	ago := english.Ago(f.Now(), newest)
	if days := int(f.Now().Sub(newest).Hours() / 24); days > 0 {
		ago = english.Plural(days, "day") + " ago (" + newest.UTC().Format(time.DateOnly) + ")"
	}
	f.Note(text + ", recorded " + ago)
}

// serve plays until the client or the user ends it, and prints the coverage. It calls begun when
// clients can connect.
func serve(ctx context.Context, f *cmdutil.Factory, o mockOptions, p *mock.Player, onReady func()) error {
	faults, err := o.fault.Start(f, faulty.Link(o.stdio))
	if err != nil {
		return err
	}
	defer faults.Close()
	f.IsConnected.Store(true)
	if o.stdio {
		onReady()
		err = playStdio(ctx, f, p, faults)
	} else {
		err = playHTTP(ctx, f, o.listen, p, faults, onReady)
	}
	if exit, ok := errors.AsType[*cmdutil.ExitError](err); ok && exit.Outcome.Kind != wire.Signal {
		return err
	}
	c := p.Coverage()
	if shown := showCoverage(ctx, f, c, o.stdio); shown != nil {
		return shown
	}
	if !o.play.failOnMiss {
		return err
	}
	if c.Misses+c.NearMisses > 0 {
		return cmdutil.Exit(wire.Outcome{
			Kind: wire.CheckFailed, IsSummary: true,
			Text: missesText(c),
		})
	}
	return nil // over HTTP, a signal is the way to request the verdict of --fail-on-miss
}

// playStdio plays over stdio until the input ends or ctx is done. It does not wait for a blocked
// read then.
func playStdio(ctx context.Context, f *cmdutil.Factory, p *mock.Player, faults *faulty.Faults) error {
	in, to, end := faults.Stdio(f, "mock")
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(p.Stdio(ctx, in, to), end()) }()
	select {
	case err := <-ended:
		if err != nil {
			return cmdutil.Exit(usage.LocalIO("the mock", err))
		}
		return nil
	case <-ctx.Done():
		return cmdutil.Exit(wire.Outcome{Kind: wire.Signal})
	}
}

// playHTTP plays over HTTP until ctx is done.
func playHTTP(
	ctx context.Context,
	f *cmdutil.Factory,
	address string,
	p *mock.Player,
	faults *faulty.Faults,
	onReady func(),
) error {
	listener, out := cmdutil.ListenLoopback("--listen", address)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	f.Note(fmt.Sprintf("listening on http://%s/mcp; Ctrl-C stops", listener.Addr()))
	onReady()
	return faults.ServeHTTP(ctx, "mock", listener, p.Handler(ctx))
}

// showCoverage prints the coverage: to stdout over HTTP, to stderr over stdio.
func showCoverage(ctx context.Context, f *cmdutil.Factory, c mock.Coverage, stdio bool) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	human := func(w io.Writer, st term.Style) error {
		if err := term.Table(w, st, []string{"METHOD", "NAME", "RECORDED", "PLAYED", "TIMES"}, coverageRows(c)); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "%d of %s played; %s\n", c.Played, english.Plural(len(c.Exchanges), "recorded exchange"),
			missesText(c))
		return err
	}
	if !stdio {
		return cmdutil.Print(context.WithoutCancel(ctx), f, cmdutil.Document(raw, human))
	}
	if f.JSON {
		_, err = f.Stderr().Write(append(raw, '\n'))
		return err
	}
	return human(f.Stderr(), f.ErrStyle)
}

// missesText returns the counts of misses and near misses as text.
func missesText(c mock.Coverage) string {
	count := func(n int, what string) string {
		if n == 1 {
			return "1 " + what
		}
		return fmt.Sprintf("%d %ses", n, what)
	}
	return count(c.Misses, "miss") + ", " + count(c.NearMisses, "near miss")
}

// coverageRows returns the rows of the coverage table: one for each method and name, with the
// number of recorded and played exchanges and of plays.
func coverageRows(c mock.Coverage) [][]string {
	type sum struct{ recorded, played, times int }
	sums := map[[2]string]*sum{}
	var order [][2]string
	for _, x := range c.Exchanges {
		key := [2]string{x.Method, x.Name}
		if sums[key] == nil {
			sums[key] = &sum{}
			order = append(order, key)
		}
		s := sums[key]
		s.recorded, s.times = s.recorded+1, s.times+x.Hits
		if x.Played {
			s.played++
		}
	}
	var rows [][]string
	for _, key := range order {
		s := sums[key]
		rows = append(rows, []string{key[0], key[1], strconv.Itoa(s.recorded), strconv.Itoa(s.played), strconv.Itoa(s.times)})
	}
	return rows
}
