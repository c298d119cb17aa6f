// Package run implements the command run, which runs saved calls.
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

// runOptions are the flags and arguments of `mcpc run`.
type runOptions struct {
	paths, only, vars []string
	junit             string
	argv              []string
	list, failFast    bool
	allowExec, yes    bool
	trace             cmdutil.TraceOptions
}

// smokeSteps is the file of the examples.
const smokeSteps = `    server: demo
    vars: {a: 1}
    steps:
      - name: adds
        call: get-sum
        args: {a: "${a}", b: 2}
        expect: {within: 5s}
`

// NewRun returns the command run.
func NewRun(f *cmdutil.Factory) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run FILE | FOLDER... [-- COMMAND...]",
		Short: "run saved calls and check the results: *.mcpc.yaml",
		Long: `Run files of saved calls, step by step, over one connection per file, and
compare the results with the expectations. A FOLDER stands for all *.mcpc.yaml
in it. docs/many-calls.md describes the files, and mcpc export --as mcpc-yaml
writes one from recorded calls. This is smoke.mcpc.yaml of the examples below:

` + smokeSteps + `
With --junit - the JUnit report goes to stdout, and the text report to stderr.

The file names the server; -s, MCPC_SERVER or a command after -- replaces it. A
command in a file is started only with --allow-exec.

Exit code 0: all steps passed; 1: a step failed; 2: a file is invalid or the
server is unknown. A step that ends with the kind transport, timeout or auth
without expecting it is an error, not a failure. So is each step of a file whose
command was not started because --allow-exec is missing. If there are errors and
no failures, the exit code is that of the first error.`,
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
			if o.junit == "-" && f.Output == "" && f.PrintsJSON() {
				return usage.New("only one report can go to stdout: --junit - or --json", "use --junit FILE")
			}
			r, err := newRunner(f, o)
			if o.list && r != nil {
				return cmdutil.Join(cmdutil.Show(cmd.Context(), f, wire.Outcome{}, r.listAnswer()), err)
			}
			if err != nil {
				return err
			}
			if err := o.trace.StartCommand(f, "run"); err != nil {
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
	flags.BoolVar(&o.allowExec, "allow-exec", false, "start the server command that a file names")
	flags.BoolVarP(&o.yes, "yes", "y", false, "call without asking for confirmation")
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
	// firstBroken is the outcome of the first step that could not run.
	firstBroken wire.Outcome
	// stopped is set if no further step may run.
	stopped bool
	// unclosed is the first failure to close a connection.
	unclosed error
	// progress gets a line after each step, in progressStyle; nil if the report is one document.
	progress      io.Writer
	progressStyle term.Style
}

// newRunner reads and validates the files, before anything is sent. With --list it returns the
// valid files even with an error about the others.
func newRunner(f *cmdutil.Factory, o runOptions) (*runner, error) {
	r := &runner{factory: f, options: o}
	var err error
	r.given, err = parseVarFlags(f, o.vars)
	if err != nil {
		return nil, err
	}
	first := o.paths[0]
	hasExtension := slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(first)))
	isServer := !hasExtension && cmdutil.IsFile(first) && meant.IsServerCommand([]string{first})
	if isServer {
		return nil, usage.New(first+" is not a file of saved calls", meant.ServerCommandHint(f, "list", o.paths))
	}
	paths, err := findFiles(o.paths)
	if err != nil {
		if hint := suggestCommand(f, o.paths); hint != "" {
			err = usage.New(err.Error(), hint)
		}
		return nil, err
	}
	var all problems
	for _, path := range paths {
		file, found := readSaved(f, path, r.given)
		if o.list { // to list steps needs no values
			for i := range found {
				found[i].Mild = found[i].Mild || found[i].Unset
			}
		}
		all = append(all, found...)
		if !o.list || found.asError() == nil {
			r.files = append(r.files, file)
		}
	}
	invalid := all.asError()
	if invalid != nil && (!o.list || len(r.files) == 0) {
		return nil, invalid
	}
	for _, p := range all {
		if p.Mild {
			f.Warn(p.String())
		}
	}
	r.warnUnused()
	if err := r.selectSteps(); err != nil && invalid == nil { // --only may name a step of an invalid file
		return nil, err
	}
	return r, invalid
}

// run runs all files, and prints and writes the reports. The error has the outcome of the run, and
// the failures to close a connection or to write a report.
func (r *runner) run(ctx context.Context) error {
	f := r.factory
	out := cmdutil.CheckOutput(f.Output)
	if out.OK() && r.options.junit != "-" {
		out = cmdutil.CheckWritable("--junit", r.options.junit)
	}
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	f.NoInput = true // a test never asks the user
	f.Record.Many = true
	if !f.PrintsJSON() && f.Output == "" { // otherwise the report is printed at the end
		r.progress = f.Stdout()
		r.progressStyle = f.OutStyle
		if r.options.junit == "-" {
			r.progress = f.Stderr()
			r.progressStyle = f.ErrStyle
		}
	}
	for _, file := range r.files {
		r.runFile(ctx, file)
	}
	f.Progress.Done()
	err := r.unclosed
	if r.progress != nil {
		_ = report.WriteSummary(r.progress, r.progressStyle, r.done)
	} else {
		err = cmdutil.Join(err, cmdutil.Print(ctx, f, r.reportAnswer()))
	}
	if r.options.junit == "-" {
		_ = report.JUnit(f.Stdout(), r.done) // stdout reports a failed write at the end
	}
	return cmdutil.Join(err, cmdutil.Exit(r.outcome()), cmdutil.Exit(r.writeJUnit()))
}

// reportAnswer returns what the command prints at the end of a run: one document, or with -o the
// text report.
func (r *runner) reportAnswer() cmdutil.Answer {
	if r.factory.PrintsJSON() {
		return cmdutil.Document(report.JSON(r.done), r.writeReport)
	}
	return cmdutil.Answer{Human: r.writeReport}
}

// writeReport writes the whole report as text.
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

// writeJUnit writes the JUnit report to the file of --junit. It does nothing without a file.
func (r *runner) writeJUnit() wire.Outcome {
	if r.options.junit == "" || r.options.junit == "-" {
		return wire.Outcome{}
	}
	n, err := cmdutil.ReplaceBy(r.options.junit, func(w io.Writer) error { return report.JUnit(w, r.done) })
	if err != nil {
		return r.factory.MarkAnswered(usage.LocalIO("writing "+r.options.junit, usage.Bare(err)))
	}
	r.factory.Note(fmt.Sprintf("%d bytes saved to %s", n, r.options.junit))
	return wire.Outcome{}
}

// outcome returns the outcome of the run. An interruption counts first, then failed steps, then
// steps that could not run.
func (r *runner) outcome() wire.Outcome {
	failed := report.Count(r.done, report.Failed)
	broken := report.Count(r.done, report.Broken)
	out := wire.Outcome{
		Kind: wire.CheckFailed, Reached: wire.Answered, Phase: "result", Hint: r.firstShowCommand(),
	}
	switch {
	case r.firstBroken.Kind == wire.Signal:
		return r.firstBroken
	case failed > 0:
		out.Text = fmt.Sprintf("%d of %s failed", failed, english.Plural(r.stepsDone(), "step"))
		return out
	case broken > 0 && !r.firstBroken.OK():
		return r.firstBroken
	case broken > 0:
		out.Text = fmt.Sprintf("%d of %s could not run", broken, english.Plural(r.stepsDone(), "step"))
		return out
	default:
		return wire.Outcome{}
	}
}

// stepsDone returns the number of steps in the report so far.
func (r *runner) stepsDone() int {
	n := 0
	for _, f := range r.done {
		n += len(f.Steps)
	}
	return n
}

// firstShowCommand returns the hint with the command that shows the first failed step, or "".
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

// listAnswer returns what --list prints: the server and the steps of each file.
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
	files := []file{}
	var rows [][]string
	for _, f := range r.files {
		listed := file{Path: f.path, Server: recorded.ShownServer(f.File), Steps: []step{}}
		for i, s := range f.Steps {
			if !f.selected[i] {
				continue
			}
			line := f.doc.Place(s.At).Line
			listed.Steps = append(listed.Steps, step{
				Name: s.Name, Line: line, Verb: string(s.Verb), Subject: s.Subject, Uses: s.Uses(),
			})
			rows = append(rows, []string{
				fmt.Sprintf("%s:%d", f.path, line), s.Name, string(s.Verb) + " " + s.Subject,
				listed.Server, strings.Join(s.Uses(), ", "),
			})
		}
		files = append(files, listed)
	}
	raw, _ := json.Marshal(files)
	return cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
		return term.Table(w, st, []string{"WHERE", "NAME", "DOES", "SERVER", "USES"}, rows)
	})
}
