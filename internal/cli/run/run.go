// Package run has the command run, which runs saved calls.
package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/english"
	"mcpc/internal/render/report"
	"mcpc/internal/render/term"
	"mcpc/internal/saved"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// runOptions are what `mcpc run` was asked.
type runOptions struct {
	paths, only, vars []string
	junit             string
	argv              []string
	list, failFast    bool
	allowExec, yes    bool
	trace             cmdutil.TraceOptions
}

// smokeSteps are the file that the examples speak of.
const smokeSteps = `    server: demo
    vars: {a: 1}
    steps:
      - name: adds
        call: get-sum
        args: {a: "${a}", b: 2}
        expect: {within: 5s}
`

func NewRun(f *cmdutil.Factory) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run FILE | FOLDER... [-- COMMAND...]",
		Short: "run saved calls and check the results: *.mcpc.yaml",
		Long: `Run the steps of files of saved calls, over one connection per file, and compare
the results with the expectations. A FOLDER stands for all *.mcpc.yaml in it.
docs/saved-calls.md describes the files, and mcpc export --as mcpc-yaml writes
one from recorded calls. This is smoke.mcpc.yaml of the examples below:

` + smokeSteps + `
With --junit - the JUnit report goes to stdout, and the text report to stderr.

The server is the file's, unless -s, MCPC_SERVER or a command after -- names
another. A command in a file is started only with --allow-exec.

Exit code 0: all steps passed; 1: a step failed; 2: a file is invalid or the
server is unknown. A step that ends with transport, timeout or auth and does not
expect it is an error, not a failure; so is a step of a file that was refused
because --allow-exec is missing. If there are errors and no failures, the exit
code is that of the first error.`,
		Example: `  mcpc run smoke.mcpc.yaml
  mcpc run . --junit report.xml --fail-fast
  mcpc run smoke.mcpc.yaml --var a=40 --only adds
  mcpc run smoke.mcpc.yaml --list
  mcpc run smoke.mcpc.yaml -- mcpc demo --stdio`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.LearnsAtOnce = true
			o.paths, o.argv = cmdutil.SplitDash(cmd, args)
			if len(o.paths) == 0 {
				return usage.New(
					"run takes files of saved calls, or directories",
					wire.Run("run .")+" runs all *.mcpc.yaml in this directory",
				)
			}
			if o.junit == "-" && f.Output == "" && f.OneDocument() {
				return usage.New("only one report can go to stdout: --junit - or --json", "use --junit FILE")
			}
			r, err := newRunner(f, o)
			if o.list && r != nil {
				return cmdutil.Join(cmdutil.Show(cmd.Context(), f, wire.Outcome{}, r.listAnswer()), err)
			}
			if err != nil {
				return err
			}
			if err := o.trace.Command(f, "run"); err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.vars, "var", nil, "a variable: `NAME=VALUE`, NAME:=JSON or NAME=@FILE")
	flags.StringArrayVar(&o.only, "only", nil, "run only the steps with this `name`, and those they need")
	flags.BoolVar(&o.failFast, "fail-fast", false, "stop at the first failed step")
	flags.StringVar(&o.junit, "junit", "", "write a JUnit report to a `file`")
	flags.BoolVar(&o.allowExec, "allow-exec", false, "allow starting a server command in a file")
	flags.BoolVarP(&o.yes, "yes", "y", false, "call without a confirmation")
	flags.BoolVar(&o.list, "list", false, "list the steps without running them")
	_ = cmd.RegisterFlagCompletionFunc("only", completeSteps)
	o.trace.AddFlags(flags)
	f.AddFresh(flags)
	f.AddAnswering(flags)
	return cmd
}

// A runner runs the steps of several files.
type runner struct {
	factory *cmdutil.Factory
	options runOptions
	given   map[string]saved.Value
	files   []*runFile
	done    []report.File
	// broken is the ending of the first step that could not be taken, and stopped is
	// set where no further one is to be.
	firstBroken wire.Outcome
	stopped     bool
	// unclosed is the first failure to close a connection.
	unclosed error
	// live writes lines as steps end, in a style; nil where all of it is one document.
	live      io.Writer
	liveStyle term.Style
}

// newRunner reads the files. What is wrong with them is said before anything is sent.
// With --list the runner has the files that are right, also beside an error.
func newRunner(f *cmdutil.Factory, o runOptions) (*runner, error) {
	r := &runner{factory: f, options: o}
	var err error
	r.given, err = givenVars(f, o.vars)
	if err != nil {
		return nil, err
	}
	first := o.paths[0]
	isCalls := slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(first)))
	if !isCalls && cmdutil.IsFile(first) && meant.BeginsCommand([]string{first}) {
		return nil, usage.New(first+" is no file of saved calls", meant.BehindDashes(f, "list", o.paths))
	}
	paths, err := findFiles(o.paths)
	if err != nil {
		if hint := suggestCommand(f, o.paths); hint != "" {
			err = usage.New(err.Error(), hint)
		}
		return nil, err
	}
	var wrong problems
	for _, path := range paths {
		f, bad := readSaved(f, path, r.given)
		for i := range bad {
			bad[i].Mild = bad[i].Mild || o.list && bad[i].Unset
		}
		wrong = append(wrong, bad...)
		if !o.list || bad.asError() == nil {
			r.files = append(r.files, f)
		}
	}
	bad := wrong.asError()
	if bad != nil && len(r.files) == 0 || bad != nil && !o.list {
		return nil, bad
	}
	for _, w := range wrong {
		if w.Mild {
			f.Warn(w.String())
		}
	}
	r.warnUnused()
	if err := r.selectSteps(); err != nil && bad == nil {
		return nil, err
	}
	return r, bad
}

// run is the walk over all files.
func (r *runner) run(ctx context.Context) error {
	f := r.factory
	out := cmdutil.Writable(f.Output)
	if out.Good() && r.options.junit != "-" {
		out = cmdutil.WritableAs("--junit", r.options.junit)
	}
	if !out.Good() {
		return cmdutil.Exit(out)
	}
	f.NoInput = true // what asks a person is no test
	f.Record.Many = true
	switch {
	case f.OneDocument() || f.Output != "":
	case r.options.junit == "-":
		r.live = f.Stderr()
		r.liveStyle = f.ErrStyle
	default:
		r.live = f.Stdout()
		r.liveStyle = f.OutStyle
	}
	for _, f := range r.files {
		r.runFile(ctx, f)
	}
	f.Progress.Done()
	err := r.unclosed
	if r.live != nil {
		_ = report.WriteSummary(r.live, r.liveStyle, r.done)
	} else {
		err = cmdutil.Join(err, cmdutil.Print(ctx, f, r.answer()))
	}
	if r.options.junit == "-" {
		_ = report.JUnit(f.Stdout(), r.done) // which ends the run where it cannot be written
	}
	return cmdutil.Join(err, cmdutil.Exit(r.outcome()), cmdutil.Exit(r.writeJUnit()))
}

// answer is what a run prints when it is over: one document, or with -o alone what
// a person reads.
func (r *runner) answer() cmdutil.Answer {
	if r.factory.OneDocument() {
		return cmdutil.Document(report.JSON(r.done), r.writeReport)
	}
	return cmdutil.Answer{Human: r.writeReport}
}

// report is all of it for a person.
func (r *runner) writeReport(w io.Writer, st term.Style) error {
	for _, f := range r.done {
		if err := report.WriteHead(w, st, f); err != nil {
			return err
		}
		for _, s := range f.Steps {
			if err := report.WriteStep(w, st, f.Path, s); err != nil {
				return err
			}
		}
	}
	return report.WriteSummary(w, st, r.done)
}

func (r *runner) writeJUnit() wire.Outcome {
	if r.options.junit == "" || r.options.junit == "-" {
		return wire.Outcome{}
	}
	n, err := cmdutil.ReplaceBy(r.options.junit, func(w io.Writer) error { return report.JUnit(w, r.done) })
	if err != nil {
		return r.factory.Afterwards(usage.LocalIO("writing "+r.options.junit, usage.Bare(err)))
	}
	r.factory.Note(fmt.Sprintf("%d bytes saved to %s", n, r.options.junit))
	return wire.Outcome{}
}

// ending is that of the whole run. An expectation that does not hold comes before a
// step that could not be taken, and both after an interruption.
func (r *runner) outcome() wire.Outcome {
	missed := report.Count(r.done, report.Failed)
	broken := report.Count(r.done, report.Broken)
	switch {
	case r.firstBroken.Kind == wire.Signal:
		return r.firstBroken
	case missed > 0:
		return wire.Outcome{Kind: wire.CheckFailed, Reached: wire.Answered, Phase: "result", Hint: r.firstShowCommand(),
			Text: fmt.Sprintf("%d of %s failed", missed, english.Plural(r.stepsDone(), "step"))}
	case broken > 0 && !r.firstBroken.Good():
		return r.firstBroken
	case broken > 0:
		return wire.Outcome{Kind: wire.CheckFailed, Reached: wire.Answered, Phase: "result", Hint: r.firstShowCommand(),
			Text: fmt.Sprintf("%d of %s could not run", broken, english.Plural(r.stepsDone(), "step"))}
	}
	return wire.Outcome{}
}

// stepsDone counts the steps of all files so far.
func (r *runner) stepsDone() int {
	n := 0
	for _, f := range r.done {
		n += len(f.Steps)
	}
	return n
}

// firstSight is the command that shows the first step that went wrong.
func (r *runner) firstShowCommand() wire.Hint {
	for _, f := range r.done {
		for _, s := range f.Steps {
			if len(s.Misses) > 0 && s.See != "" {
				return s.See + " shows the exchange"
			}
		}
	}
	return ""
}

// listed is what --list prints: the server of each file, and its steps.
func (r *runner) listAnswer() cmdutil.Answer {
	type step struct {
		Name    string   `json:"name"`
		Line    int      `json:"line"`
		Verb    string   `json:"does"`
		Subject string   `json:"subject"`
		Uses    []string `json:"uses,omitempty"`
	}
	type file struct {
		Path   string `json:"file"`
		Server string `json:"server"`
		Steps  []step `json:"steps"`
	}
	all := []file{}
	var rows [][]string
	for _, f := range r.files {
		one := file{Path: f.path, Server: recorded.ShownServer(f.File), Steps: []step{}}
		for i, s := range f.Steps {
			if !f.selected[i] {
				continue
			}
			line := f.doc.Place(s.At).Line
			one.Steps = append(one.Steps, step{s.Name, line, string(s.Verb), s.Subject, s.Uses()})
			rows = append(
				rows,
				[]string{
					fmt.Sprintf("%s:%d", f.path, line),
					s.Name,
					string(s.Verb) + " " + s.Subject,
					one.Server,
					strings.Join(s.Uses(), ", "),
				},
			)
		}
		all = append(all, one)
	}
	raw, _ := json.Marshal(all)
	return cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
		return term.Table(w, st, []string{"WHERE", "NAME", "DOES", "SERVER", "USES"}, rows)
	})
}
