// Package bench has the command bench, which measures how fast a tool responds under a planned
// load. Package internal/bench plans, measures and compares; this package connects and shows.
package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/bench"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// options are the arguments and flags of `mcpc bench`.
type options struct {
	argv []string
	call toolcall.Request
	load loadOptions
	plan bench.Plan
	// warmup is made before the plan, and not counted. Its duration and number of calls are 0 if
	// there is no warm-up.
	warmup bench.Plan
	// cold is the number of new connections that measure the time to the first result.
	cold int
	// validate checks each result against its schemas. progress requests progress notifications and
	// measures their times.
	validate, progress bool
	judge              judgeOptions
	files              fileOptions
	trace              cmdutil.TraceOptions
}

// loadOptions are the flags of the plan.
type loadOptions struct {
	rate     float64
	poisson  bool
	users    int
	think    cmdutil.Seconds
	duration cmdutil.Seconds
	requests int
	warmup   string
	iKnow    bool
	// isGiven reports whether the command line has a flag.
	isGiven func(flag string) bool
}

// judgeOptions are the expectations and the earlier result or second target of a comparison.
type judgeOptions struct {
	expect           []string
	compare, against string

	expectations []bench.Expectation
	earlier      *bench.Document
}

// fileOptions are the names of the files to write; "" means no file.
type fileOptions struct{ histogram, samples, junit, export string }

// reports returns the files that are written at the end of the run.
func (o fileOptions) reports() cmdutil.ReportFiles {
	return cmdutil.ReportFiles{{Flag: "--histogram", Name: o.histogram}, {Flag: "--junit", Name: o.junit}}
}

// The limits of the load. politeRate and politeInFlight apply without --i-know.
const (
	politeRate     = 200
	politeInFlight = 256
	maxInFlight    = 4096
	maxRun         = time.Hour
	defaultRun     = 10 * time.Second
)

// New returns the command bench.
func New(f *cmdutil.Factory) *cobra.Command {
	var o options
	var document string
	cmd := &cobra.Command{
		Use:   "bench TARGET TOOL [JSON] [NAME=VALUE...] [-- COMMAND...]",
		Short: "measure how fast a tool answers under load",
		Long: `Call a tool many times over one connection, and measure the latencies. TARGET is
named as with -s; without it, name a server with -s or give its command after
--. Arguments are those of mcpc call. There are two models:

  --rate R    open: R calls start each second, whatever the server does. The
              latency is the response time, from the planned start of a call.
  --users N   closed: N users make one call after another (--think pauses in
              between). Latencies are service times: a slow server slows the
              load, and a stall delays few calls. This is the default, with one
              user for 10 s.

Latencies are those of calls that succeed and of calls that time out (at least
--timeout). Other calls are only counted, by kind of failure.
Quantiles are shown if at least 10 calls lie beyond them. Intervals have 95 %
confidence (bootstrap over blocks of at least 1 s). Connecting and listing are
measured separately, and so are --warmup and --cold.

Only a tool that is marked as read-only is called without --yes. More than 256
calls in flight, a --rate above 200, and users who call a server on another
machine more than 200 times a second need --i-know. A pause that the server
asks for (HTTP 429, 503) is observed. A run ends early if over 10 s more than
half of the calls fail.

Exit code 0: measured; 1: an expectation failed or could not be judged, a
number got worse (--compare, --against), or the generator was the limit; 2: the
plan has too few calls to judge an expectation; 5, 6, 7, 9 and others of mcpc
help exit-codes: no call succeeded, or the run ended because calls failed.`,
		Example: `  mcpc bench demo get-sum a=1 b=2 --requests 2000
  mcpc bench demo get-sum a=1 b=2 --rate 10 --requests 10 --expect 'max<9s'
  mcpc bench demo echo message=hi --users 4 --requests 400 --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			words, argv := cmdutil.SplitDash(cmd, args)
			o.argv = argv
			if err := o.validateArguments(f, words, document); err != nil {
				return err
			}
			if o.files.export != "" {
				return export(cmd.Context(), f, &o)
			}
			return run(cmd.Context(), f, &o)
		},
	}
	flags := cmd.Flags()
	o.load.isGiven = flags.Changed
	flags.Float64Var(&o.load.rate, "rate", 0, "open model: start this many `calls` each second")
	flags.IntVar(&o.load.users, "users", 0, "closed model: `N` users, each with one call at a time")
	flags.IntVarP(&o.load.users, "concurrency", "c", 0, "the same as --users, as other programs name it: `N`")
	_ = flags.MarkHidden("concurrency")
	flags.Var(&o.load.duration, "duration", "start calls for this time")
	flags.IntVar(&o.load.requests, "requests", 0, "make `N` calls")
	flags.StringArrayVar(&o.judge.expect, "expect", nil,
		"fail unless `METRIC<VALUE`: p50, p90, p95, p99, p99.9, max, error_rate, rate")
	flags.StringVar(&o.judge.compare, "compare", "",
		"compare with the result of an earlier run: a `file` written by --json -o")
	flags.StringVar(&o.judge.against, "against", "", "measure a second `target` in alternation, and compare")
	flags.StringVar(&o.load.warmup, "warmup", "", "first make calls that are not counted: `TIME` or number of calls")
	flags.BoolVar(&o.load.poisson, "poisson", false, "with --rate: random gaps, like those of many independent clients")
	flags.Var(&o.load.think, "think", "with --users: pause between two calls")
	flags.BoolVar(&o.load.iKnow, "i-know", false,
		"allow more than 200 calls a second and 256 in flight, on a server of your own")
	flags.StringVar(&document, "args", "", "the arguments: `JSON`, @FILE or - for standard input")
	flags.IntVar(&o.cold, "cold", 0, "also open `N` connections, and measure each until its first result")
	flags.BoolVar(&o.validate, "validate", false, "validate each result against its schemas")
	flags.BoolVar(&o.progress, "progress", false, "request progress notifications, and measure their times")
	flags.StringVar(&o.files.histogram, "histogram", "", "write the percentiles to a `file` (HdrHistogram, .hgrm)")
	flags.StringVar(&o.files.samples, "samples", "", "write a line of JSON for each call to a `file`")
	flags.StringVar(&o.files.junit, "junit", "", "write a JUnit report of the expectations to a `file`, - for stdout")
	flags.StringVar(&o.files.export, "export", "",
		"write a load test for this `engine` (k6) into the directory of -o, and measure nothing")
	flags.BoolVarP(&o.call.Yes, "yes", "y", false, "call a tool that may change something")
	o.trace.AddFlags(flags)
	_ = cmd.RegisterFlagCompletionFunc("against", f.CompleteServer)
	cmdutil.CompleteFlags(cmd, map[string][]string{"export": {"k6"}})
	return cmd
}

// validateArguments parses the arguments into o, and rejects options that are invalid or cannot be
// combined. It sends nothing.
func (o *options) validateArguments(f *cmdutil.Factory, words []string, document string) error {
	if !f.ServerGiven && o.argv == nil { // the first word is the target
		hasOnlyTarget := len(words) == 1 && (words[0] == "demo" || cmdutil.IsURL(words[0]))
		if len(words) < 2 && !hasOnlyTarget { // a single other word may be the name of a tool
			refused := wire.Outcome{
				Kind: wire.Refused, Phase: "arguments", Text: "bench needs the name of a server",
				Hint: wire.Run("bench demo get-sum a=1 b=2") + ": the server comes first, then the tool",
			}
			return cmdutil.Exit(refused)
		}
		if err := f.SetServer(words[0], o.argv); err != nil {
			return err
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return usage.New("bench needs the name of a tool", wire.RunOnServer("list")+" shows the tools")
	}
	o.call.Name = words[0]
	var err error
	const flat = false // names may be paths into objects and lists
	o.call.Given, err = arguments.Parse(&f.Env, words[1:], document, flat)
	if err != nil {
		return err
	}
	o.plan, o.warmup, err = o.load.buildPlans()
	if err != nil {
		return err
	}
	if o.cold < 0 || o.cold > 1000 {
		return usage.New(fmt.Sprintf("--cold must be 0 to 1000, not %d", o.cold), wire.Run("bench --help"))
	}
	if f.Wire {
		return usage.New("bench prints what it measured, so it has no --wire", "--record FILE saves the messages")
	}
	if o.judge.against != "" && o.judge.compare != "" {
		return usage.New("--against and --compare both name what to compare with", "use only one of them")
	}
	if o.judge.against != "" && o.files.histogram != "" {
		return usage.New("--histogram writes one distribution, and --against measures two",
			"--samples writes the calls of both")
	}
	if err := o.checkExport(f); err != nil {
		return err
	}
	if err := o.judge.parse(f, o.call.Name, o.plan); err != nil {
		return err
	}
	return o.files.reports().CheckStdout(f.PrintsJSON() && f.Output == "")
}

// buildPlans returns the plan of the measured calls and the plan of the warm-up. It returns a usage
// error for an invalid load, and for a load above the polite limits without --i-know.
func (o loadOptions) buildPlans() (plan, warmup bench.Plan, err error) {
	refuse := func(text, hint string) (bench.Plan, bench.Plan, error) {
		return plan, warmup, usage.New(text, wire.Hint(hint))
	}
	plan = bench.Plan{
		Rate: o.rate, Poisson: o.poisson, Users: o.users, Think: max(0, time.Duration(o.think)),
		Duration: max(0, time.Duration(o.duration)), Requests: o.requests, InFlight: politeInFlight,
	}
	if o.iKnow {
		plan.InFlight = maxInFlight
	}
	const maxRate = 1_000_000
	badRate := o.isGiven("rate") && !(o.rate > 0 && o.rate <= maxRate) // NaN is neither
	hasUsers := o.isGiven("users") || o.isGiven("concurrency")
	badUsers := hasUsers && (o.users <= 0 || o.users > maxInFlight)
	badRequests := o.isGiven("requests") && o.requests <= 0
	isUnlimited := plan.Duration == 0 && plan.Requests == 0
	isImpolite := o.rate > politeRate || o.users > politeInFlight
	if o.rate != 0 && o.users != 0 {
		return refuse("--rate is the open model and --users the closed one", "use only one of them")
	}
	if badRate || badUsers || badRequests {
		return refuse("--rate, --users and --requests must be more than 0, and --users at most 4096", "")
	}
	if plan.Duration > maxRun {
		return refuse("--duration must be at most 1h", "use a load generator for a longer load: --export k6 -o DIR")
	}
	if o.rate > 0 && isUnlimited {
		return refuse("--rate needs --duration or --requests", "--duration 30s")
	}
	if o.poisson && o.rate == 0 {
		return refuse("--poisson needs --rate", "--rate 20 --poisson --duration 30s")
	}
	if o.think != 0 && o.rate > 0 {
		return refuse("--think is for --users", "in the open model calls start by the clock")
	}
	if isImpolite && !o.iKnow {
		return refuse(fmt.Sprintf("more than %d calls a second or %d users may harm a server", politeRate, politeInFlight),
			"--i-know if the server is yours")
	}
	if isUnlimited { // in the closed model: --rate was refused without a limit
		plan.Duration = defaultRun
	}
	if !plan.IsOpen() {
		plan.Users = max(1, plan.Users)
	}
	warmup, err = o.buildWarmup(plan)
	return plan, warmup, err
}

// buildWarmup returns the plan for --warmup: the load of plan with the duration or number of calls of
// --warmup. Without --warmup the plan has neither, and is not run.
func (o loadOptions) buildWarmup(plan bench.Plan) (bench.Plan, error) {
	plan.Duration = 0
	plan.Requests = 0
	if o.warmup == "" {
		return plan, nil
	}
	if n, err := strconv.Atoi(o.warmup); err == nil && n > 0 {
		plan.Requests = n
		return plan, nil
	}
	d, err := time.ParseDuration(o.warmup)
	plan.Duration = d
	if err != nil || d <= 0 || d > maxRun {
		return plan, usage.New(fmt.Sprintf("--warmup is a time or a number of calls, not %q", o.warmup), "--warmup 5s")
	}
	return plan, nil
}

// parse parses the expectations and reads the earlier result of --compare. It rejects an
// expectation that needs more calls than the plan has, and a result of a different load model.
func (o *judgeOptions) parse(f *cmdutil.Factory, tool string, plan bench.Plan) error {
	o.expectations = nil
	for _, text := range o.expect {
		e, err := bench.ParseExpectation(text)
		if err != nil {
			return usage.New(fmt.Sprintf("--expect %s: %s", text, err), expectHint(text))
		}
		if calls := plan.Calls(); calls > 0 && int64(calls) < e.NeededCalls() {
			return usage.New(fmt.Sprintf("--expect %s needs %d calls, and the plan has %d", text, e.NeededCalls(), calls),
				"raise --requests or --duration")
		}
		o.expectations = append(o.expectations, e)
	}
	if o.compare == "" {
		return nil
	}
	raw, err := f.ReadFile(o.compare, maxDocument)
	if err != nil {
		return usage.NotRead("--compare "+o.compare, err, "--json -o FILE writes a result")
	}
	o.earlier, err = bench.ReadDocument(raw)
	if err != nil {
		return usage.New("--compare "+o.compare+": "+err.Error(), "--json -o FILE writes a result")
	}
	now := bench.LoadOf(plan)
	before := o.earlier.Load
	if before.Model != now.Model {
		return usage.New(
			fmt.Sprintf("--compare %s: its latencies are from the %s model, and this run uses the %s model", o.compare,
				before.Model, now.Model),
			"give the same --rate or --users",
		)
	}
	if why := o.earlier.Results[0].EndReason; why != "" {
		return usage.New("--compare "+o.compare+": that run ended early: "+why, "compare with a complete run")
	}
	now.MaxRate = before.MaxRate // it is set once the server is known
	if before != now || o.earlier.Tool != tool || o.earlier.Machine != bench.ThisMachine() {
		f.Note("the tool, the load or the machine differs from " + o.compare)
	}
	return nil
}

// expectHint returns the hint for an invalid expectation. It suggests a metric if the name is
// unknown.
func expectHint(text string) wire.Hint {
	const example = wire.Hint("--expect 'p99<200ms' or 'error_rate<0.1%'")
	name, _, _ := strings.Cut(strings.ReplaceAll(text, ">", "<"), "<")
	name = strings.TrimSpace(name)
	if slices.Contains(bench.Metrics, name) {
		return example
	}
	return suggest.DidYouMean("%s", name, bench.Metrics, example)
}

// maxDocument bounds the file of --compare, in bytes.
const maxDocument = 64 << 20
