package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"mcpc/internal/bench"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/english"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// turn is the length of one turn of a target with --against.
const turn = time.Second

// run makes the calls, prints the result, writes the files, and returns the error of a missed
// expectation or a failed run.
func run(ctx context.Context, f *cmdutil.Factory, o *options) error {
	if out := o.files.reports().Writable(); !out.OK() {
		return cmdutil.Exit(out)
	}
	if out := cmdutil.WritableAs("--samples", o.files.samples); !out.OK() {
		return cmdutil.Exit(out)
	}
	if err := o.trace.Command(f, "bench"); err != nil {
		return err
	}
	f.NoInput = true
	f.Repeats = &console.RepeatedWarnings{}
	f.Record.Most = cmdutil.MostRecorded
	f.Record.Many = true
	aims, err := openAll(ctx, f, o)
	if err != nil {
		return err
	}
	if !o.load.iKnow && !o.plan.IsOpen() && slices.ContainsFunc(aims, (*aim).elsewhere) {
		o.plan.Most = politeRate
		o.warmup.Most = politeRate
	}
	var d *bench.Document
	measure := func(samples *bench.Samples) { d = measured(ctx, f, o, aims, samples) }
	err = nil
	if o.files.samples == "" {
		measure(nil)
	} else {
		_, failed := cmdutil.ReplaceBy(o.files.samples, func(w io.Writer) error {
			samples := bench.NewSamples(w, f.Now())
			measure(samples)
			return samples.Err()
		})
		if failed != nil {
			err = f.Unwritten("writing "+o.files.samples, usage.Bare(failed))
		}
	}
	f.Progress.Done()
	judge(d, o, aims)
	f.Record.WriteWaiting() // parsing the waiting frames learns their secrets
	redact.Within(&f.Secrets, d)
	show := reports{o, d}
	interrupted := wire.Outcome{}
	if ctx.Err() != nil {
		interrupted = wire.Outcome{Kind: wire.Signal, Text: "interrupted", IsSummary: true, Reached: wire.Unknown}
	}
	return cmdutil.Join(cmdutil.Exit(interrupted), show.print(context.WithoutCancel(ctx), f), show.files().Write(), err,
		cmdutil.Exit(ending(d, aims)), closeOthers(ctx, aims))
}

// openAll connects to the target, and to the second target of --against.
func openAll(ctx context.Context, f *cmdutil.Factory, o *options) (aims []*aim, err error) {
	first, out := open(ctx, f, o, o.argv)
	if !out.OK() {
		return nil, cmdutil.Exit(out)
	}
	aims = []*aim{first}
	if o.judge.against == "" {
		return aims, nil
	}
	g := f.Invocation()
	g.Server = o.judge.against
	g.ServerGiven = true
	second, out := open(ctx, g, o, nil)
	aims = append(aims, second)
	if !out.OK() {
		return nil, cmdutil.Join(cmdutil.Exit(out), closeOthers(ctx, aims))
	}
	return aims, nil
}

// closeOthers closes all connections except the first, which the command closes.
func closeOthers(ctx context.Context, aims []*aim) (err error) {
	for _, a := range aims[1:] {
		err = cmdutil.Join(err, a.f.Close(ctx, a.c))
	}
	return err
}

// measured makes the calls of the warm-up and of the plan, and returns the result.
func measured(
	ctx context.Context,
	f *cmdutil.Factory,
	o *options,
	aims []*aim,
	samples *bench.Samples,
) *bench.Document {
	d := &bench.Document{
		Format:    bench.Format,
		Version:   f.Version,
		At:        f.Now().UTC(),
		Tool:      o.call.Name,
		Arguments: aims[0].sent.Arguments,
		Machine:   bench.ThisMachine(),
		Load:      bench.LoadOf(o.plan),
	}
	clock := bench.Clock{Now: f.Now, Sleep: bench.Sleep}
	warmed := make([]int64, len(aims))
	for i, a := range aims {
		a.rec = bench.NewRecorder(clock, nil, a.c.Where)
		if o.warmup.Duration > 0 || o.warmup.Requests > 0 {
			a.rec.Observe = observer(f, "warm-up")
			bench.Run(ctx, o.warmup, a.rec, a.make)
			warmed[i] = a.rec.Calls()
		}
		a.rec = bench.NewRecorder(clock, samples, a.c.Where)
		a.rec.Observe = observer(f, a.c.Where)
	}
	if len(aims) == 1 {
		bench.Run(ctx, o.plan, aims[0].rec, aims[0].make)
	} else {
		inTurns(ctx, o.plan, aims)
	}
	for i, a := range aims {
		if ctx.Err() != nil {
			a.rec.Interrupt()
		}
		r := a.result()
		r.Warmup = warmed[i]
		d.Results = append(d.Results, r)
	}
	return d
}

// observer returns a function that shows the progress; nil if standard error is not a terminal.
func observer(f *cmdutil.Factory, what string) func(calls, failed int64) {
	if !f.ErrStyle.Terminal {
		return nil
	}
	began := f.Now()
	return func(calls, failed int64) {
		text := fmt.Sprintf("%s: %s in %s", what, english.Plural(int(calls), "call"), term.Duration(f.Now().Sub(began)))
		if failed > 0 {
			text += fmt.Sprintf(", %d failed", failed)
		}
		f.Progress.Waiting(text, "ends the run, and shows what was measured")
	}
}

// inTurns makes the calls of the plan at two targets in turns, in the order A B B A: a drift over
// time affects both equally.
func inTurns(ctx context.Context, plan bench.Plan, aims []*aim) {
	length := turn
	if plan.IsOpen() {
		length = max(turn, time.Duration(10/plan.Rate*float64(time.Second))) // long enough for ten calls
	}
	left := make([]time.Duration, len(aims))
	for i := range left {
		left[i] = plan.Duration
	}
	for n := 0; ctx.Err() == nil; n++ {
		i := (n + n/2) % 2
		p := plan
		rec := aims[i].rec
		p.Duration = length
		if plan.Duration > 0 {
			p.Duration = min(length, left[i])
			left[i] -= p.Duration
		}
		if plan.Requests > 0 {
			p.Requests = plan.Requests - int(rec.Calls())
		}
		over := plan.Duration > 0 && p.Duration <= 0 || plan.Requests > 0 && p.Requests <= 0
		if !over {
			bench.Run(ctx, p, rec, aims[i].make)
		}
		if rec.Ended() != "" || over && n%2 == 1 { // both targets had the same number of turns
			return
		}
	}
}

// judge adds the expectations and the comparison to the result.
func judge(d *bench.Document, o *options, aims []*aim) {
	for i, r := range d.Results {
		if why := r.Limit(aims[i].c.Target.Kind == target.Demo); why != "" && d.Invalid == "" {
			d.Invalid = why
		}
	}
	for _, e := range o.judge.expectations {
		d.Expectations = append(d.Expectations, e.Judge(d.Results[0]))
	}
	if o.judge.before != nil {
		d.Comparison = bench.Compare(o.judge.before.Results[0], d.Results[0])
	} else if len(d.Results) == 2 {
		d.Comparison = bench.Compare(d.Results[0], d.Results[1])
	}
}

// ending returns the outcome of the command for the result.
func ending(d *bench.Document, aims []*aim) wire.Outcome {
	for i, r := range d.Results {
		if out := worst(r, aims[i].c.Where); !out.OK() {
			return out
		}
	}
	failed := func(text string, hint wire.Hint) wire.Outcome {
		return wire.Outcome{Kind: wire.CheckFailed, Reached: wire.Answered, Phase: "result", Text: text, Hint: hint}
	}
	if d.Invalid != "" {
		return failed("invalid result: "+d.Invalid, "use a lower rate, fewer users or a faster machine")
	}
	text, hint := shortcomings(d)
	if text == "" {
		return wire.Outcome{}
	}
	return failed(text, hint)
}

// shortcomings lists the expectations that failed or could not be judged, and the numbers that got
// worse. It returns an empty text if there are none.
func shortcomings(d *bench.Document) (text string, hint wire.Hint) {
	var missed, worse, all []string
	for _, e := range d.Expectations {
		if e.Unknown != "" {
			missed = append(missed, e.Text+": "+e.Unknown)
			hint = "--duration or --requests makes more calls"
		} else if !e.Held {
			missed = append(missed, e.Text+", got "+e.Got)
		}
	}
	for _, c := range d.Comparison {
		if c.Verdict == bench.Worse {
			worse = append(worse, c.Metric)
		}
	}
	if len(missed) > 0 {
		all = append(all, "expected "+strings.Join(missed, "; "))
	}
	if len(worse) > 0 {
		all = append(all, "worse: "+strings.Join(worse, ", "))
	}
	return strings.Join(all, "; "), hint
}
