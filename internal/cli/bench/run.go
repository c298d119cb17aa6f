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

// turnLength is the length of one turn of a target with --against.
const turnLength = time.Second

// run makes the calls, prints the result, writes the files, and returns the error of a missed
// expectation or a failed run.
func run(ctx context.Context, f *cmdutil.Factory, o *options) error {
	if out := o.files.reports().CheckWritable(); !out.OK() {
		return cmdutil.Exit(out)
	}
	if out := cmdutil.CheckWritable("--samples", o.files.samples); !out.OK() {
		return cmdutil.Exit(out)
	}
	if err := o.trace.StartCommand(f, "bench"); err != nil {
		return err
	}
	f.NoInput = true
	f.Repeats = &console.RepeatedWarnings{}
	f.Record.Most = cmdutil.MaxBatchRecording
	f.Record.Many = true
	measurements, err := openAll(ctx, f, o)
	if err != nil {
		return err
	}
	callsRemote := slices.ContainsFunc(measurements, (*measurement).isRemote)
	if callsRemote && !o.load.iKnow && !o.plan.IsOpen() { // --rate was checked before
		o.plan.MaxRate = politeRate
		o.warmup.MaxRate = politeRate
	}
	document, samplesErr := measureWithSamples(ctx, f, o, measurements)
	f.Progress.Done()
	judge(document, o, measurements)
	f.Record.WriteWaiting() // parsing the waiting frames learns their secrets
	redact.Within(&f.Secrets, document)
	show := reports{o: o, d: document}
	interrupted := wire.Outcome{}
	if ctx.Err() != nil {
		interrupted = wire.Outcome{Kind: wire.Signal, Text: "interrupted", IsSummary: true, Reached: wire.Unknown}
	}
	printErr := show.print(context.WithoutCancel(ctx), f) // after Ctrl-C too
	return cmdutil.Join(cmdutil.Exit(interrupted), printErr, show.files().Write(), samplesErr,
		cmdutil.Exit(resultOutcome(document, measurements)), closeOthers(ctx, measurements))
}

// measureWithSamples makes the calls and returns the result, as measureAll does. It also writes the
// file of --samples, if the flag is given, and returns the error of writing.
func measureWithSamples(
	ctx context.Context, f *cmdutil.Factory, o *options, measurements []*measurement,
) (*bench.Document, error) {
	if o.files.samples == "" {
		var noSamples *bench.Samples
		return measureAll(ctx, f, o, measurements, noSamples), nil
	}
	var document *bench.Document
	_, err := cmdutil.ReplaceBy(o.files.samples, func(w io.Writer) error {
		samples := bench.NewSamples(w, f.Now())
		document = measureAll(ctx, f, o, measurements, samples)
		return samples.Err()
	})
	if err != nil {
		err = f.WriteError("writing "+o.files.samples, usage.Bare(err))
	}
	return document, err
}

// openAll connects to the target, and to the second target of --against. After an error only the
// first connection may be open, which the command closes.
func openAll(ctx context.Context, f *cmdutil.Factory, o *options) (measurements []*measurement, err error) {
	first, out := openMeasurement(ctx, f, o, o.argv)
	if !out.OK() { // the command closes this connection
		return nil, cmdutil.Exit(out)
	}
	measurements = []*measurement{first}
	if o.judge.against == "" {
		return measurements, nil
	}
	second := f.Invocation()
	second.Server = o.judge.against
	second.ServerGiven = true
	var noCommand []string // second.Server is the target
	other, out := openMeasurement(ctx, second, o, noCommand)
	measurements = append(measurements, other)
	if !out.OK() {
		return nil, cmdutil.Join(cmdutil.Exit(out), closeOthers(ctx, measurements))
	}
	return measurements, nil
}

// closeOthers closes all connections except the first, which the command closes.
func closeOthers(ctx context.Context, measurements []*measurement) error {
	var err error
	for _, m := range measurements[1:] {
		err = cmdutil.Join(err, m.f.Close(ctx, m.conn))
	}
	return err
}

// measureAll makes the calls of the warm-up and of the plan, and returns the result. After an
// interruption the result has the calls so far. samples may be nil.
func measureAll(
	ctx context.Context,
	f *cmdutil.Factory,
	o *options,
	measurements []*measurement,
	samples *bench.Samples,
) *bench.Document {
	document := &bench.Document{
		Format:    bench.Format,
		Version:   f.Version,
		At:        f.Now().UTC(),
		Tool:      o.call.Name,
		Arguments: measurements[0].request.Arguments,
		Machine:   bench.ThisMachine(),
		Load:      bench.LoadOf(o.plan),
	}
	clock := bench.Clock{Now: f.Now, Sleep: bench.Sleep}
	warmed := make([]int64, len(measurements))
	for i, m := range measurements {
		var noSamples *bench.Samples
		m.rec = bench.NewRecorder(clock, noSamples, m.conn.Where)
		if o.warmup.Duration > 0 || o.warmup.Requests > 0 {
			m.rec.Observe = progressObserver(f, "warm-up")
			bench.Run(ctx, o.warmup, m.rec, m.makeCall)
			warmed[i] = m.rec.Calls()
		}
		m.rec = bench.NewRecorder(clock, samples, m.conn.Where)
		m.rec.Observe = progressObserver(f, m.conn.Where)
	}
	if len(measurements) == 1 {
		bench.Run(ctx, o.plan, measurements[0].rec, measurements[0].makeCall)
	} else {
		measureInTurns(ctx, o.plan, measurements)
	}
	for i, m := range measurements {
		if ctx.Err() != nil {
			m.rec.Interrupt()
		}
		r := m.result()
		r.Warmup = warmed[i]
		document.Results = append(document.Results, r)
	}
	return document
}

// progressObserver returns a function that shows the progress; nil if standard error is not a terminal.
func progressObserver(f *cmdutil.Factory, what string) func(calls, failed int64) {
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

// measureInTurns makes the calls of the plan at two targets in turns, in the order A B B A: a drift over
// time affects both equally. It returns when both targets had all their calls, or when a run ended early.
func measureInTurns(ctx context.Context, plan bench.Plan, measurements []*measurement) {
	length := turnLength
	if plan.IsOpen() {
		length = max(turnLength, time.Duration(10/plan.Rate*float64(time.Second))) // long enough for ten calls
	}
	remaining := make([]time.Duration, len(measurements))
	for i := range remaining {
		remaining[i] = plan.Duration
	}
	for n := 0; ctx.Err() == nil; n++ {
		i := (n + n/2) % 2 // 0 1 1 0 0 1 1 0
		rec := measurements[i].rec
		turn := plan
		turn.Duration = length
		if plan.Duration > 0 {
			turn.Duration = min(length, remaining[i])
			remaining[i] -= turn.Duration
		}
		if plan.Requests > 0 {
			turn.Requests = plan.Requests - int(rec.Calls())
		}
		hasNoTime := plan.Duration > 0 && turn.Duration <= 0
		hasNoRequests := plan.Requests > 0 && turn.Requests <= 0
		isOver := hasNoTime || hasNoRequests
		if !isOver {
			bench.Run(ctx, turn, rec, measurements[i].makeCall)
		}
		hasEqualTurns := n%2 == 1 // both targets had the same number of turns
		if rec.EndReason() != "" || isOver && hasEqualTurns {
			return
		}
	}
}

// judge adds to the result whether it is valid, the expectations with their outcomes, and the
// comparison with an earlier result or the second target.
func judge(d *bench.Document, o *options, measurements []*measurement) {
	for i, r := range d.Results {
		isInProcess := measurements[i].conn.Target.Kind == target.Demo
		if why := r.GeneratorLimit(isInProcess); why != "" && d.Invalid == "" {
			d.Invalid = why
		}
	}
	for _, e := range o.judge.expectations {
		d.Expectations = append(d.Expectations, e.Judge(d.Results[0]))
	}
	if o.judge.earlier != nil {
		d.Comparison = bench.Compare(o.judge.earlier.Results[0], d.Results[0])
	} else if len(d.Results) == 2 {
		d.Comparison = bench.Compare(d.Results[0], d.Results[1])
	}
}

// resultOutcome returns the outcome of the command for the result: the failure of a run without
// successful calls, then an invalid result, then missed expectations and worse numbers. It is OK
// otherwise.
func resultOutcome(d *bench.Document, measurements []*measurement) wire.Outcome {
	for i, r := range d.Results {
		if out := dominantFailure(r, measurements[i].conn.Where); !out.OK() {
			return out
		}
	}
	failed := func(text string, hint wire.Hint) wire.Outcome {
		return wire.Outcome{Kind: wire.CheckFailed, Reached: wire.Answered, Phase: "result", Text: text, Hint: hint}
	}
	if d.Invalid != "" {
		return failed("invalid result: "+d.Invalid, "use a lower rate, fewer users or a faster machine")
	}
	text, hint := describeShortcomings(d)
	if text == "" {
		return wire.Outcome{}
	}
	return failed(text, hint)
}

// describeShortcomings lists the expectations that failed or could not be judged, and the numbers
// that got worse. It returns an empty text if all were met and nothing got worse.
func describeShortcomings(d *bench.Document) (text string, hint wire.Hint) {
	var missed, worse, parts []string
	for _, e := range d.Expectations {
		if e.UnknownReason != "" {
			missed = append(missed, e.Text+": "+e.UnknownReason)
			hint = "--duration or --requests makes more calls"
		} else if !e.Met {
			missed = append(missed, e.Text+", got "+e.Got)
		}
	}
	for _, c := range d.Comparison {
		if c.Verdict == bench.Worse {
			worse = append(worse, c.Metric)
		}
	}
	if len(missed) > 0 {
		parts = append(parts, "expected "+strings.Join(missed, "; "))
	}
	if len(worse) > 0 {
		parts = append(parts, "worse: "+strings.Join(worse, ", "))
	}
	return strings.Join(parts, "; "), hint
}
