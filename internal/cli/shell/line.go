package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/jsonraw"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// lineFlags are the flags of all commands that a line of the shell may have. The other flags apply
// to the whole shell.
var lineFlags = []string{"json", "wire", "jq", "output", "explain", "verbose", "help"}

// shellCommands returns help and the commands of mcpc that a line of the shell may run.
func shellCommands(f *cmdutil.Factory) []string {
	words := slices.DeleteFunc(f.Commands(), func(c cmdutil.CommandMaker) bool { return c.Traits&cmdutil.InShell == 0 })
	return append([]string{"help"}, sliceutil.Map(words, func(c cmdutil.CommandMaker) string { return c.Name })...)
}

// line runs one line, prints its error, and keeps the most severe outcome of all lines in
// s.mostSevere. The connection stays open.
func (s *shellRun) line(ctx context.Context, text string) {
	f := s.f.Invocation()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	words, err := shellwords.Split(text, s.value)
	if _, isUnfinished := shellwords.Unfinished(text); isUnfinished && err == nil {
		err = usage.New("the line ends in a backslash, and no line follows", "quote literal text: '...'")
	} else if err != nil {
		err = usage.New("the line cannot be parsed "+err.Error(), "quote literal text: '...'")
	} else if len(words) > 0 {
		err = s.run(ctx, f, cancel, words)
	}
	ended := cmdutil.End(ctx, f, err)
	s.c.Env = &s.f.Env // Lend has set the Env of the line
	out := ended.Outcome
	f.Env.GaveUp(out, ended.ExitCode()) // a later response belongs to no line
	f.FailureJSON(out)
	if out.Kind == wire.ToolError || out.Kind == wire.RPCFailed {
		s.c.ExpireTools(ctx) // the server may have changed while the user typed
	}
	if cmdutil.MoreSevere(s.mostSevere.Kind, out.Kind) != s.mostSevere.Kind {
		s.mostSevere = wire.Outcome{Kind: out.Kind, Signal: out.Signal, Text: out.Text}
	}
}

// value returns the value of $NAME: the last result as one line of JSON for $last, else the
// environment variable.
func (s *shellRun) value(name string) string {
	if name == "last" {
		return string(jsonraw.OneLine(s.last))
	}
	return s.f.Getenv(name)
}

// run runs the words of one line: the shell's own commands exit, quit, help and ?, else a command
// of mcpc. It ignores the word mcpc before a command.
func (s *shellRun) run(ctx context.Context, f *cmdutil.Factory, cancel context.CancelCauseFunc, words []string) error {
	if words[0] == "mcpc" && len(words) > 1 {
		words = words[1:]
	}
	isHelp := words[0] == "?" || words[0] == "help" && len(words) == 1 // help COMMAND is a command of mcpc
	switch {
	case words[0] == "exit" || words[0] == "quit":
		s.ended = true
	case isHelp:
		fmt.Fprint(f.Stdout(), shellHelp)
	default:
		return s.command(ctx, f, cancel, words)
	}
	return nil
}

const shellHelp = `list [prompts|resources|templates|all]   describe NAME      info
call NAME a=1 b=2 | '{"a":1}'            read URI           prompt NAME a=b
complete prompt NAME ARGUMENT            raw METHOD         tasks   ping
log   show last   stats   export last    explain WORD       help COMMAND

Any of them takes --json, --wire, --jq EXPR, -o FILE, --explain and -v.
"$last" is the result of the line before; exit or Ctrl-D ends.
`

// command runs a command of mcpc in the shell's session. If a user types the lines, Ctrl-C ends
// only this command; in a script it ends the script too.
func (s *shellRun) command(
	ctx context.Context, f *cmdutil.Factory, cancel context.CancelCauseFunc, words []string,
) error {
	if s.number == 0 { // a user types
		previous := f.CancelLine.Swap(&cancel)
		defer f.CancelLine.Store(previous)
	}
	f.Args = words
	root := f.NewRootWithFlags()
	f.Progress.Restart()
	f.Frames.Clear()
	err := meant.Execute(ctx, f, root, words)
	f.Progress.Done()
	const isVerbose, explains = 0, false
	f.ShowTraffic(isVerbose, explains) // of the line; the next line has its own flags
	if _, ended := errors.AsType[*cmdutil.ExitError](err); err == nil || ended {
		return err
	}
	f.JSON = f.JSON || slices.Contains(words, "--json") // the flags after an error were not read
	out := usage.Outcome(err)
	if out.Hint == cmdutil.CommandsHint {
		out.Hint = "help lists the commands"
	}
	return cmdutil.Exit(out)
}

// CheckAllowed returns a usage error for a command that the shell does not have, and for a flag that
// applies to the whole shell. If it returns nil, it applies the line's flags --verbose and
// --explain.
func (s *shellRun) CheckAllowed(f *cmdutil.Factory, cmd *cobra.Command) error {
	top := cmd // becomes the command whose parent is mcpc itself
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	isCommand := top.HasParent() && (top.Runnable() || top.HasSubCommands()) // not a topic of help
	if isCommand && !slices.Contains(shellCommands(f), top.Name()) {
		return usage.New(top.Name()+" is not a shell command", wire.Run(top.Name())+", in another terminal")
	}
	answers := cmdutil.AnsweringFlags(cmd)
	var bad error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		isForShell := cmd.InheritedFlags().Lookup(flag.Name) != nil && !slices.Contains(lineFlags, flag.Name)
		if isForShell || slices.Contains(answers, flag) {
			bad = usage.New(
				"--"+flag.Name+" applies to the whole shell, not to a line",
				"exit, and "+wire.Run("shell --"+flag.Name),
			)
		}
	})
	if bad == nil {
		f.ShowTraffic(f.Verbose, f.Explain)
	}
	return bad
}

// Getenv returns an environment variable, or "" if it belongs to the shell's own flags, because
// each line begins with the values of these flags.
func (s *shellRun) Getenv(name string) string {
	if s.own[name] {
		return ""
	}
	return s.f.Getenv(name)
}

// complete completes the last word of head, as a completer does. It completes no word with a quote
// or an escape.
func (s *shellRun) complete(head string) (before string, found []string) {
	start := strings.LastIndexAny(head, " \t") + 1
	before = head[:start]
	typed := head[start:]
	words, err := shellwords.Split(before, s.value)
	if err != nil || strings.ContainsAny(typed, "'\"$\\`") {
		return head, nil
	}
	if len(words) == 0 {
		return before, withBlanks(cmdutil.CompletedWords(append(shellCommands(s.f), "exit"), typed))
	}
	f := s.f.Invocation()
	f.Args = append(slices.Clone(words), typed)
	root := f.NewRootWithFlags()
	root.InitDefaultHelpCmd() // cobra itself adds it only when it runs a line
	cmd, args, err := root.Find(words)
	if err != nil || !cmd.HasParent() { // no such command
		return before, nil
	}
	if strings.HasPrefix(typed, "-") {
		return before, FlagsLike(cmd, typed)
	}
	// The completers of cmdutil expect arguments without flags.
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if cmd.HasSubCommands() {
		return before, withBlanks(cmdutil.CompletedWords(cmdutil.CommandNames(cmd), typed))
	}
	if cmd.ValidArgsFunction == nil || slices.Contains(words, "--") {
		return before, nil
	}
	found, directive := cmd.ValidArgsFunction(cmd, args, typed)
	for i, word := range found {
		found[i] = quoteCompletion(word, typed)
	}
	if directive&cobra.ShellCompDirectiveNoSpace == 0 {
		found = withBlanks(found)
	}
	return before, found
}

// quoteCompletion returns a completed word, quoted for the shell so that it still begins with the typed
// text. It quotes the whole value of NAME=VALUE if the user has not begun the value, else only the
// part after the typed text.
func quoteCompletion(word, typed string) string {
	if shellwords.Quote(word) == word || !strings.HasPrefix(word, typed) {
		return word
	}
	unquoted := len(typed)
	name := word[:strings.IndexByte(word, '=')+1] // with "=", or "" if the word has none
	if strings.HasPrefix(name, typed) && shellwords.Quote(name) == name {
		unquoted = len(name)
	}
	return word[:unquoted] + shellwords.Quote(word[unquoted:])
}

// withBlanks adds a space to each word, in place.
func withBlanks(words []string) []string {
	for i := range words {
		words[i] += " "
	}
	return words
}

// FlagsLike returns the flags that a line with cmd may have and that begin with the typed text,
// each with two hyphens before and a space after it.
func FlagsLike(cmd *cobra.Command, typed string) []string {
	answers := cmdutil.AnsweringFlags(cmd)
	var found []string
	add := func(f *pflag.Flag) {
		if name := "--" + f.Name; strings.HasPrefix(name, typed) && !f.Hidden && !slices.Contains(answers, f) {
			found = append(found, name+" ")
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(lineFlags, f.Name) {
			add(f)
		}
	})
	return found
}
