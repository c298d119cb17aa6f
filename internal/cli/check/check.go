// Package check implements the command check: it judges a server, or recorded traffic, by the
// rules of package lint. It first reports the steps of a connection (DNS, TCP, TLS, ...), then
// the rules, with the check's own recording as the evidence.
package check

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/capture"
	"mcpc/internal/cli/check/probe"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/render/verdict"
	"mcpc/internal/shellwords"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// options are the flags and arguments of `mcpc check`.
type options struct {
	argv []string
	// capture is the recording to judge; "" if a server is judged.
	capture string
	era     string
	failOn  string
	// explain is the id of the rule to explain; list prints all rules.
	explain string
	list    bool
	rules   ruleOptions
	probes  probe.Options
	reports reportOptions
}

// failWords are the values of --fail-on.
var failWords = []string{verdict.Error, verdict.Warn, "never"}

// NewCheck returns the command check.
func NewCheck(f *cmdutil.Factory) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "check [TARGET | CAPTURE] [--fuzz [TOOL...]] [-- COMMAND...]",
		Short: "check a server, or recorded traffic, against the specification",
		Long: `Check a server, or the traffic in a recording, against the rules of the
specification. The report begins with the steps of a connection: DNS, TCP, TLS,
HTTP, revision, authorization, lists, schemas. If a step failed, a fix is shown.
The rules follow. A rule about something that the server does not declare is not
applicable, and never fails.

By default the server gets well-formed requests that change nothing, at most 5
a second unless it is on this machine. --negative adds malformed requests,
--call and --call-read-only tool calls, --deep all of them. --fuzz calls the
tools that are marked as read-only, or some of them, with generated arguments:
valid ones at the limits of the inputSchema, and ones that violate one
constraint. A CAPTURE is a file, - for stdin, the number of a run (42) or of an
exchange (42.3), or "last"; nothing is sent.

Exit code 0: no finding at or above --fail-on; 1: findings; 4, 7, 8, 9: the
server could not be checked, or only in part: 9 if --max-time ended the check, 7
if the server exited during a request and could not be restarted, or returned
HTTP 429 or 503. In these cases no SARIF file is written: its consumers treat a
missing finding as fixed.`,
		Example: `  mcpc check demo
  mcpc check demo --era both --json
  mcpc check demo --fail-on warn --sarif check.sarif
  mcpc check demo --fuzz get-sum
  mcpc check --explain L106`,
		RunE: func(cmd *cobra.Command, args []string) error {
			words, argv := cmdutil.SplitDash(cmd, args)
			o.argv = argv
			if err := o.readWords(f, words); err != nil {
				return err
			}
			if o.explain != "" {
				return explainRule(cmd.Context(), f, o.explain)
			}
			if o.list {
				return listRules(cmd.Context(), f)
			}
			return run(cmd.Context(), f, o)
		},
	}
	o.declare(cmd)
	f.AddAnswering(cmd.Flags())
	return cmd
}

// declare adds the flags of the command to cmd.
func (o *options) declare(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.era, "era", "",
		"`which` revisions: legacy (with a handshake), modern (without), both, or one revision (default: the negotiated one)")
	flags.StringVar(&o.failOn, "fail-on", verdict.Error,
		"exit with 1 on findings of this `severity` or above: error or warn; never disables it")
	o.rules.declare(flags)
	o.probes.Declare(flags)
	o.reports.declare(flags)
	flags.StringVar(&o.explain, "explain", "", "explain a `rule`")
	flags.BoolVar(&o.list, "list-rules", false, "list the rules")
	eras := append([]string{"both", "legacy", "modern"}, client.Revisions()...)
	cmdutil.CompleteFlags(cmd, map[string][]string{"era": eras, "fail-on": failWords})
}

// readWords validates the flags, and finds the capture or the server in the words of the command
// line.
func (o *options) readWords(f *cmdutil.Factory, words []string) error {
	if !slices.Contains(failWords, o.failOn) {
		return usage.New(fmt.Sprintf("--fail-on must be error, warn or never, not %q", o.failOn),
			suggest.DidYouMean("--fail-on %s", o.failOn, failWords, ""))
	}
	if _, err := probe.Pins(o.era, ""); err != nil {
		return err
	}
	if err := o.probes.Validate(); err != nil {
		return err
	}
	if err := o.reports.validate(f.PrintsJSON() && f.Output == ""); err != nil {
		return err
	}
	if err := o.checkCallArguments(words); err != nil {
		return err
	}
	if o.probes.Fuzz.On {
		words = o.takeFuzzTools(f, words)
	}
	if len(words) > 1 {
		return usage.New("check takes one server or one capture",
			"to check a stdio server, put its command after --: mcpc check -- COMMAND")
	}
	if len(words) == 0 {
		return nil
	}
	word := words[0]
	if !recorded.NamesTraffic(word) {
		if capture.NamesRecording(word) {
			return usage.New("no such recording: "+word, wire.Run("log")+" lists recordings")
		}
		return f.SetServer(word, o.argv)
	}
	if o.probes.Fuzz.On {
		return usage.New("--fuzz calls the tools of a server, and "+word+" is a recording",
			wire.Run("check demo --fuzz")+" names a server, and "+wire.Run("check --fuzz -- COMMAND")+" starts one")
	}
	if f.ServerGiven || o.argv != nil {
		return usage.New("a capture and a server are given", "use only one of them")
	}
	o.capture = word
	return nil
}

// takeFuzzTools takes the names of tools for --fuzz from the words, and returns the other words: the
// first one if no flag or command names the server.
func (o *options) takeFuzzTools(f *cmdutil.Factory, words []string) []string {
	serverWords := 1
	if f.ServerGiven || o.argv != nil {
		serverWords = 0
	}
	serverWords = min(serverWords, len(words))
	o.probes.Fuzz.Tools = words[serverWords:]
	return words[:serverWords]
}

// checkCallArguments returns an error if the user gave arguments of --call as words (name=value),
// as `mcpc call` takes them. The hint has the correct command.
func (o *options) checkCallArguments(words []string) error {
	var others []string
	var args json.RawMessage
	for _, word := range words {
		nameEnd, valueStart := arguments.Operator(word)
		if nameEnd < 1 {
			others = append(others, shellwords.Quote(word))
			continue
		}
		value := json.RawMessage(word[valueStart:])
		if !arguments.IsScalar(word[valueStart:]) {
			value = jsonraw.Quote(word[valueStart:])
		}
		args = jsonraw.With(args, word[:nameEnd], value)
	}
	if args == nil || len(o.probes.Calls) == 0 {
		return nil
	}
	lastCall := o.probes.Calls[len(o.probes.Calls)-1]
	words = slices.Concat([]string{"check"}, others,
		[]string{"--call", shellwords.Quote(lastCall.Name + "=" + string(args))})
	return usage.New("the arguments of --call are a part of its value",
		"did you mean "+wire.RunOnServer(strings.Join(words, " "))+"?")
}

// run judges the server or the capture, and writes the reports.
func run(ctx context.Context, f *cmdutil.Factory, o options) error {
	p, err := readPolicy(f, o.rules)
	if err != nil {
		return err
	}
	if out := o.reports.checkWritable(f); !out.OK() {
		return cmdutil.Exit(out)
	}
	if out := cmdutil.CheckOutput(f.Output); !out.OK() {
		return cmdutil.Exit(out)
	}
	f.NoInput = true // a check never asks the user
	f.Record.Many = true
	judging, stop := probe.Limit(ctx, f.Limits.Hard)
	defer stop()
	var r *verdict.Report
	var out wire.Outcome
	if o.capture != "" {
		r, out = judgeCapture(judging, f, o.capture)
	} else {
		r, out = probe.Judge(judging, probe.Request{
			Factory: f, Argv: o.argv, Era: o.era, Off: p.offIDs(),
			Tools: recorded.LintTools, Send: o.probes,
		})
	}
	if r == nil {
		return cmdutil.Exit(out)
	}
	r.Command = "check"
	r.Version = f.Version
	p.apply(r)
	redact.Within(&f.Secrets, r)
	files := o.reports.files(r)
	if r.Unfinished() != "" {
		files = files.WithholdSARIF(f)
	}
	err = cmdutil.Join(printReport(ctx, f, r, files), files.Write())
	if out.OK() {
		err = cmdutil.Join(err, p.saveBaseline(f, r))
	}
	return cmdutil.Join(err, cmdutil.Exit(outcomeOf(r, o.failOn, out)))
}

// outcomeOf returns out if the server could not be judged, else a failed check if a finding is at
// or above the severity failOn.
func outcomeOf(r *verdict.Report, failOn string, out wire.Outcome) wire.Outcome {
	if !out.OK() {
		return out
	}
	if failOn == "never" {
		return wire.Outcome{}
	}
	count := 0
	rules := map[string]bool{}
	for _, f := range r.Findings {
		if verdict.Weight(f.Severity) >= verdict.Weight(failOn) {
			count++
			rules[f.Rule] = true
		}
	}
	if count == 0 {
		return wire.Outcome{}
	}
	text := english.Plural(count, "finding")
	if len(rules) < count { // the summary counts rules
		text += " of " + english.Plural(len(rules), "rule")
	}
	first := r.Findings[0].Rule
	return wire.Outcome{
		Kind: wire.CheckFailed, Reached: wire.Answered, Phase: "result",
		Text: text + " at or above " + failOn,
		Hint: wire.Run("check --explain "+first) + " explains a rule",
	}
}
