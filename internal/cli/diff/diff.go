// Package diff implements the command diff, which compares two descriptions of a server.
package diff

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/pin"
	"mcpc/internal/diff"
	"mcpc/internal/diff/report"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// diffOptions are the arguments and flags of the command.
type diffOptions struct {
	words, argv []string
	lock        bool
	judge       judgeOptions
	show        showOptions
}

// judgeOptions select the changes that count, and the changes that make the exit code 1.
type judgeOptions struct {
	failOn      string
	accept      string
	writeAccept string
	only        []string
	asModel     bool
	maxGrowth   string
	// growth is maxGrowth in percent, or noLimit.
	growth float64
}

// noLimit is the growth of the tools that never fails.
const noLimit = -1

// neverFails and anyLevel are values of --fail-on that are not names of levels.
const (
	neverFails = "none"
	anyLevel   = "any"
)

// failWords are the values of --fail-on.
var failWords = []string{"breaking", "risky", anyLevel, neverFails}

// NewDiff returns the command diff.
func NewDiff(f *cmdutil.Factory) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff A [B] [-- COMMAND...] | --lock TARGET",
		Short: "compare two descriptions of a server, and rate each change",
		Long: `Compare what a server declared: tools, prompts, resources, capabilities,
instructions, and recorded calls. A is before and B is after.

A and B are one of these:

  last, 42, FILE, - a recording, as in mcpc show; 42.3, FILE#3: one exchange
  URL, NAME, demo   a server, as with -s; B may also be a command after --
  FILE, -           a lock file, or a list of tools as in mcpc list --json
  git:REV:PATH      such a file in a commit of the current git repository

Without B the server is selected as in every command. Every change has a rule
and a level: breaking (a call that was valid now fails, or a result does not
have the form that its reader expects), risky (a user should read it) or
harmless. A server may accept more than before, but may not send more. The same
input always produces the same report.

The exit code is 1 if there are breaking changes that --accept does not accept;
--fail-on risky fails for risky changes too, and --fail-on any for all. If a
server cannot be reached, the exit code names the reason (mcpc help exit-codes).
mcpc compares only the parts that both sides have.

--lock writes what a server declares to mcpc.lock.json (or -o FILE), for git. It
replaces an existing lock file only if that file is of the same server.`,
		Example: `  mcpc diff --lock demo -o demo.lock.json
  mcpc diff demo.lock.json demo
  mcpc diff last demo --only tools --json
  mcpc diff demo -- mcpc demo --stdio`,
		ValidArgsFunction: f.CompleteTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.LearnsAtOnce = true // the report is made before everything is recorded
			o.words, o.argv = cmdutil.SplitDash(cmd, args)
			if err := o.check(f); err != nil {
				return err
			}
			if o.lock {
				return runLock(cmd.Context(), f, o)
			}
			return runDiff(cmd.Context(), f, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.lock, "lock", false, "write a lock file of one server")
	flags.StringVar(&o.judge.failOn, "fail-on", "breaking", "lowest `level` that fails: "+strings.Join(failWords, ", "))
	flags.StringVar(&o.judge.accept, "accept", "", "`file` of accepted changes, *.mcpc-accept.yaml")
	flags.StringVar(&o.judge.writeAccept, "write-accept", "", "add the failing changes to a `file` of accepted changes")
	flags.StringSliceVar(&o.judge.only, "only", nil, "compare these `parts` only: "+strings.Join(diff.Sections, ", "))
	flags.BoolVar(&o.judge.asModel, "as-model", false, "compare only the parts that a model reads")
	flags.StringVar(&o.judge.maxGrowth, "max-growth", "", "fail if the tools need more than `percent` more tokens")
	flags.BoolVar(&o.show.side, "side", false, "show texts side by side")
	flags.BoolVar(&o.show.long, "long", false, "show harmless changes in full")
	flags.BoolVar(&o.show.github, "github", false, "print annotations for GitHub Actions")
	flags.StringVar(&o.show.markdown, "markdown", "", "write the report as Markdown to a `file`; - is stdout")
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cmdutil.CompleteFixed(failWords...))
	_ = cmd.RegisterFlagCompletionFunc("only", cmdutil.CompleteFixed(diff.Sections...))
	return cmd
}

// check validates the arguments and flags.
func (o *diffOptions) check(f *cmdutil.Factory) error {
	if err := o.judge.check(); err != nil {
		return err
	}
	expected := "two descriptions"
	maxWords := 2
	if o.lock {
		expected = "one server"
		maxWords = 1
	}
	if len(o.argv) > 0 || f.ServerGiven { // -s or the command after -- names a side
		maxWords--
	}
	if len(o.argv) > 0 && f.ServerGiven {
		return usage.New("two servers are given: one with -s, one after --", "use only one of them")
	}
	if len(o.words) > maxWords {
		return usage.New(
			fmt.Sprintf("diff takes %s, so this argument is too many: %s", expected, o.words[maxWords]),
			wire.Run("diff --help"),
		)
	}
	if len(o.words) == 0 && !o.lock {
		return usage.New("diff needs two descriptions of a server", wire.Run("diff --help")+" shows what they can be")
	}
	if o.show.github && (o.show.markdown == "-" || f.JSON || f.Jq != "") {
		return usage.New(
			"stdout can have one report: --github, --json, --jq or --markdown -",
			"--markdown FILE writes a second one",
		)
	}
	if f.Wire {
		return usage.New("--wire prints messages of a server, and a comparison has none", "use --json")
	}
	return nil
}

// check validates the flags, and sets growth.
func (o *judgeOptions) check() error {
	if err := checkWord("--fail-on", o.failOn, failWords); err != nil {
		return err
	}
	for _, section := range o.only {
		if err := checkWord("--only", section, diff.Sections); err != nil {
			return err
		}
	}
	o.growth = noLimit
	if o.maxGrowth != "" {
		n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(o.maxGrowth, "%")), 64)
		isPercent := err == nil && n >= 0 && n <= 1e6 // rejects NaN
		if !isPercent {
			return usage.New(fmt.Sprintf("--max-growth takes percent, not %q", o.maxGrowth), "--max-growth 10%")
		}
		o.growth = n
	}
	return nil
}

// checkWord returns an error if the value of a flag is not among the words.
func checkWord(flag, word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	return usage.New(
		fmt.Sprintf("%s takes %s, not %q", flag, strings.Join(words, ", "), word),
		suggest.DidYouMean(wire.Hint(flag+" %s"), word, words, ""),
	)
}

// failLevel returns the lowest level that fails, or false if no level does.
func (o *judgeOptions) failLevel() (diff.Level, bool) {
	if o.failOn == anyLevel {
		return diff.Harmless, true
	}
	return diff.ParseLevel(o.failOn) // not for neverFails
}

// runDiff loads both sides, compares them, and prints the report.
func runDiff(ctx context.Context, f *cmdutil.Factory, o diffOptions) error {
	if err := o.checkWritable(f); err != nil {
		return err
	}
	accepted, err := readAccepted(f, o.judge)
	if err != nil {
		return err
	}
	l := &loader{f}
	a, b, err := l.loadBoth(ctx, o.words, o.argv)
	if err != nil {
		return err
	}
	// What only one side can know must not become a change.
	agreeOnRevisions(&a, &b)
	alignHidden(&a, &b)
	calls, compared, err := compareShared(f, a, b, o.judge.only)
	if err != nil {
		return err
	}
	changes := append(diff.Compare(a.Snapshot, b.Snapshot, pin.Options()), calls...)
	changes = diff.Only(diff.Sorted(changes), o.judge.only)
	r := report.Report{A: a.name, B: b.name, Changes: changes, Compared: compared}
	r.Tools, r.Sum = diff.Grown(a.Snapshot, b.Snapshot)
	if o.judge.asModel {
		r.Changes = diff.AsModel(changes)
	}
	if err := o.judge.apply(f, &r, accepted); err != nil {
		return err
	}
	file := b.file // annotations refer to it
	if file == "" {
		file = a.file
	}
	err = o.finish(ctx, f, r, file)
	return cmdutil.Join(a.listErr, b.listErr, err)
}

// loadBoth loads the two sides. A is the first word. B is the second word, the command after --, or
// the server that the global flags select. It reports a wrong word before it loads a side.
func (l *loader) loadBoth(ctx context.Context, words, argv []string) (a, b side, err error) {
	first := l.classify(words[0])
	second := source{kind: serverSource, argv: argv}
	if len(words) == 2 {
		second = l.classify(words[1])
	}
	if first.err != nil {
		return a, b, first.err
	}
	if second.err != nil {
		return a, b, second.err
	}
	if first.kind == serverSource && second.kind == serverSource {
		if err := l.refuseCredentials(); err != nil {
			return a, b, err
		}
	}
	a, err = l.load(ctx, first)
	if err == nil {
		b, err = l.load(ctx, second)
	}
	return a, b, err
}
