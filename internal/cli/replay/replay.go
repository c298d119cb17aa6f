// Package replay implements the command replay, which sends recorded requests again and compares
// the responses.
package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/faulty"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect/host"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// options are the flags of `mcpc replay`.
type options struct {
	recorded.ServerChoice
	filterWords []string // of the filter
	only        []string
	yes         bool
	// printed is set if one request is sent, and its response printed instead of compared.
	printed    bool
	edit       bool
	match      matchOptions
	pace       string
	update     string
	learn      int
	writeMatch string // of --write-match
	reports    reports
	faults     faulty.Options
	// parallel is the number of concurrent requests.
	parallel int
}

// matchOptions say what is compared and what may differ.
type matchOptions struct {
	level, file  string
	ignore, bind []string
	compare      string
	inOrder      bool
	maxSlowdown  string
}

// reports are the files of the reports.
type reports struct{ sarif, junit, markdown string }

// paces are the values of --pace.
var paces = []string{"max", "as-recorded"}

// maxParallel limits the concurrent requests.
const maxParallel = 64

// NewReplay returns the command replay.
func NewReplay(f *cmdutil.Factory) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "replay CAPTURE [FILTER...|NAME=VALUE...] --to TARGET | -- COMMAND...",
		Short: "send recorded requests again, and compare or print the responses",
		Long: `Send the requests of a recording again, to the server in --to, and compare the
responses with the recorded ones. CAPTURE is a file, FILE#3, - for stdin, the
number of a run (42) or of an exchange (42.3), or "last"; a FILTER (mcpc help
filters) selects exchanges.

The requests are sent over one new connection, in the recorded order and the
recorded revision; --protocol selects a different revision. Recorded ids,
cursors, task ids and request states are replaced by the current ones. Requests
of the server (forms, sampling, roots) get the recorded responses. A tool is
called only if the server and the recording both mark it as read-only; --yes
calls all of them.

  same       the response has the same values
  differs    the response has different values; a table shows them
  worse      the request succeeded when it was recorded, and fails now
  better     the request failed when it was recorded, and succeeds now
  new        only the replay has a response
  missing    only the recording has a response
  unmatched  the request failed, and contains a recorded id that the server
             did not replace by a current one
  skipped    the request was not sent; the report gives the reason

A file of matchers (--match-file), or --ignore, names the values that may
differ; the last line counts the accepted differences. --learn N replays N times
and proposes matchers for the values that differed between these runs.

--print sends the request of one exchange (NUMBER, last, or FILE#NUMBER) and
prints the response instead of comparing it. So do NAME=VALUE words after the
number, which change the arguments of a tool, and --edit, which opens the params
in an editor. The new exchange is recorded with the number of the old one.

Exit code 0: all are same, better or new; 1: one is not; 12: all were skipped;
4, 7, 8, 9: the server could not be reached or failed.`,
		Example: `  mcpc call get-sum a=1 b=2 -s demo --record smoke.jsonl
  mcpc replay smoke.jsonl --to demo
  mcpc replay sums.jsonl#3 a=5 --to demo
  mcpc replay smoke.jsonl --to demo --ignore '.content[0].text'
  mcpc replay smoke.jsonl --to demo --learn 2 --write-match demo.mcpc-match.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.LearnsAtOnce = true // the reports are made before everything is recorded
			args, o.Argv = cmdutil.SplitDash(cmd, args)
			if len(args) == 0 {
				return usage.New("replay takes a recording: a file, the number of a run, or last",
					wire.Run("log")+" lists recordings")
			}
			// A changed argument has no recorded response to compare with.
			isChanged := slices.ContainsFunc(args[1:], isArgument)
			isPrinted := o.printed || o.edit || isChanged
			if err := rejectFlagsOfOther(cmd, isPrinted); err != nil {
				return err
			}
			if isPrinted {
				o.Verb = "replay"
				if o.edit {
					o.Verb += " --edit"
				} else if !isChanged {
					o.Verb += " --print"
				}
				return runResend(cmd.Context(), f, o, args)
			}
			o.Verb = "replay"
			o.Word = args[0]
			o.filterWords = args[1:]
			if err := o.validate(f); err != nil {
				return err
			}
			return run(cmd.Context(), f, o)
		},
	}
	o.declare(f, cmd)
	return cmd
}

// declare adds the flags to cmd.
func (o *options) declare(f *cmdutil.Factory, cmd *cobra.Command) {
	flags := cmd.Flags()
	o.declareServer(flags)
	flags.BoolVar(&o.printed, "print", false, "send one request, and print the response instead of comparing it")
	flags.StringSliceVar(&o.only, "only", nil, "send these `methods` only")
	flags.BoolVarP(&o.yes, "yes", "y", false, "also send requests that may change something")
	flags.StringVar(&o.match.level, "match", "strict",
		"how to compare: `level` strict compares values (the default), exact compares bytes")
	flags.StringVar(&o.match.file, "match-file", "", "`file` of matchers, *.mcpc-match.yaml")
	flags.StringArrayVar(&o.match.ignore, "ignore", nil, "ignore the values at a `path` of each result")
	flags.StringArrayVar(&o.match.bind, "bind", nil,
		"the value at a `path` of a result is a handle for later requests; FROM=TO: at that path of their params")
	flags.StringVar(&o.match.compare, "compare", "result",
		"`part` to compare: result, schema (members and types) or status")
	flags.BoolVar(&o.match.inOrder, "strict-notifications", false, "compare number and order of the notifications")
	flags.StringVar(&o.match.maxSlowdown, "max-slowdown", "",
		"fail if an answer takes so many `times` as long as recorded, e.g. 2x")
	flags.IntVarP(&o.parallel, "parallel", "p", 1,
		"number of concurrent requests, 1 to 64; above 1 notifications are not compared")
	flags.StringVar(&o.pace, "pace", "max", "`pace` of sending: max (at once) or as-recorded")
	flags.StringVar(&o.update, "update", "", "write a recording with the new answers to a new `file`")
	flags.IntVar(&o.learn, "learn", 0, "replay `N` times, and propose matchers for values that differed")
	flags.StringVar(&o.writeMatch, "write-match", "", "write the proposed matchers to a new `file`")
	flags.StringVar(&o.reports.junit, "junit", "", "write a JUnit report to a `file`, - for stdout")
	flags.StringVar(&o.reports.sarif, "sarif", "", "write a SARIF report to a `file`, - for stdout")
	flags.StringVar(&o.reports.markdown, "markdown", "", "write a Markdown report to a `file`, - for stdout")
	o.faults.AddFlags(flags)
	o.declarePrinted(f, flags)
	_ = cmd.RegisterFlagCompletionFunc("to", f.CompleteServer)
	cmdutil.CompleteFlags(cmd,
		map[string][]string{"match": {"strict", "exact"}, "compare": {"result", "schema", "status"}, "pace": paces})
}

// isArgument reports whether a word is an argument of a tool, NAME=VALUE or NAME:=JSON, and not a filter.
func isArgument(word string) bool {
	name, _, found := strings.Cut(word, "=")
	name = strings.TrimSuffix(name, ":")
	isName := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.[]", r)
	}
	return found && name != "" && strings.IndexFunc(name, func(r rune) bool { return !isName(r) }) < 0
}

// declareServer adds the flags that choose the server.
func (o *options) declareServer(flags *pflag.FlagSet) {
	flags.StringVar(&o.To, "to", "", "`target` to send them to; -s does the same")
	flags.BoolVar(&o.AllowExec, "allow-exec", false, "allow starting the recorded stdio command")
}

// declarePrinted adds the flags of a request whose response is printed.
func (o *options) declarePrinted(f *cmdutil.Factory, flags *pflag.FlagSet) {
	flags.BoolVar(&o.edit, "edit", false, "edit the params in $VISUAL or $EDITOR first, and print the response")
	f.AddMaxChars(flags)
	f.AddFresh(flags)
	f.AddAnswering(flags)
}

// rejectFlagsOfOther returns a usage error for a flag that only compares responses if one is printed, and
// for a flag that only applies to a printed response if responses are compared.
func rejectFlagsOfOther(cmd *cobra.Command, isPrinted bool) error {
	forBoth := []string{"to", "allow-exec", "yes"}
	forPrinted := []string{"print", "edit", "max-chars", "fresh", "extension"}
	for _, flag := range cmdutil.AnsweringFlags(cmd) {
		forPrinted = append(forPrinted, flag.Name)
	}
	var bad error
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		isWrong := slices.Contains(forPrinted, flag.Name) != isPrinted
		if !flag.Changed || !isWrong || slices.Contains(forBoth, flag.Name) || bad != nil {
			return
		}
		if isPrinted {
			bad = usage.New("--"+flag.Name+" is for comparing responses, and --print compares none",
				"leave out --"+wire.Hint(flag.Name))
		} else {
			bad = usage.New("--"+flag.Name+" needs --print: replay compares the response otherwise",
				wire.Run("replay NUMBER --print --"+flag.Name))
		}
	})
	return bad
}

// validate returns an error for flags with invalid or contradictory values.
func (o *options) validate(f *cmdutil.Factory) error {
	if err := o.RejectTwoServers(f); err != nil {
		return err
	}
	for _, w := range []struct {
		flag, word string
		words      []string
	}{
		{"--match", o.match.level, []string{"strict", "exact"}},
		{"--compare", o.match.compare, Levels},
		{"--pace", o.pace, paces},
	} {
		if !slices.Contains(w.words, w.word) {
			return usage.New(fmt.Sprintf("%s takes %s, not %q", w.flag, strings.Join(w.words, ", "), w.word),
				suggest.DidYouMean(wire.Hint(w.flag+" %s"), w.word, w.words, ""))
		}
	}
	switch {
	case o.parallel < 1 || o.parallel > maxParallel:
		return usage.New(fmt.Sprintf("--parallel must be 1 to %d, not %d", maxParallel, o.parallel),
			wire.Run("replay --help"))
	case o.parallel > 1 && o.match.inOrder:
		return usage.New(
			"--strict-notifications needs the recorded order: with --parallel nothing says to which request one belongs",
			"leave out --parallel",
		)
	case o.parallel > 1 && len(o.match.bind) > 0:
		return usage.New("--bind needs the recorded order: a later request waits for the handle", "leave out --parallel")
	case o.learn < 0 || o.learn == 1 || o.learn > maxLearned:
		return usage.New(fmt.Sprintf("--learn takes 2 to %d runs, not %d", maxLearned, o.learn), "--learn 3")
	case o.writeMatch != "" && o.learn == 0:
		return usage.New("--write-match needs --learn", "--learn 3 --write-match "+wire.Hint(o.writeMatch))
	case f.Wire:
		return usage.New("replay prints what it compared, so it has no --wire", "--record FILE saves the messages")
	case o.update != "" && f.RecordTo != "":
		return usage.New("--update and --record both name the recording", "use only one of them")
	}
	return o.reports.files().CheckStdout(f.PrintsJSON() && f.Output == "")
}

// files returns the reports to write.
func (r reports) files() cmdutil.ReportFiles {
	return cmdutil.ReportFiles{
		{Flag: "--sarif", Name: r.sarif},
		{Flag: "--junit", Name: r.junit},
		{Flag: "--markdown", Name: r.markdown},
	}
}

// run opens the recording, selects the server, replays, and writes the reports. What can be checked
// without the server is checked before anything is sent.
func run(ctx context.Context, f *cmdutil.Factory, o options) error {
	judge, err := o.readJudgement(f)
	if err != nil {
		return err
	}
	if out := o.checkWritable(f); !out.OK() {
		return cmdutil.Exit(out)
	}
	filter, err := recorded.Filter(o.filterWords, f.Now(), &recorded.RowFindings{})
	if err != nil {
		return err
	}
	host.TuneGC(&f.Env, true) // before the rows are on the heap: they would raise its limit
	s, out := openSelection(f, o, recorded.Matching(f, filter))
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	defer s.capture.Close()
	if out := s.selectServer(f, &o); !out.OK() {
		return cmdutil.Exit(out)
	}
	f.NoInput = true     // the recording answers, not a person
	f.Record.Many = true // the outcome is not that of one exchange
	if o.update != "" {
		f.RecordTo = o.update
	}
	endFaults, err := o.startFaults(ctx, f)
	if err != nil {
		return err
	}
	return errors.Join(s.replayAndShow(ctx, f, o, judge), endFaults())
}

// replayAndShow replays a selection and shows the outcome of each request.
func (s *selection) replayAndShow(ctx context.Context, f *cmdutil.Factory, o options, judge judgement) error {
	if o.learn > 0 {
		return learn(ctx, f, o, s, judge)
	}
	show := newReporter(f, o, s, judge.Rules)
	playCtx, stop := context.WithCancel(ctx)
	defer stop()
	c, out := s.play(playCtx, f, o, judge, func(it item) {
		show.addItem(it)
		if f.StdoutError() != nil { // further results are not written
			stop()
		}
	})
	if err := f.StdoutError(); err != nil {
		return err
	}
	if out.Kind == wire.Usage {
		return cmdutil.Exit(out)
	}
	show.target = c.Where
	return show.finish(ctx, out)
}
