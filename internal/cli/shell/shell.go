// Package shell has the command shell.
package shell

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/cli/meant"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/shellwords"
	"mcpc/internal/state"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A shellRun is the state of one run of mcpc shell: its connection, and the results of its lines.
type shellRun struct {
	f *cmdutil.Factory
	c *connect.Conn
	// own has the environment variables of the flags of mcpc shell. Each line begins with the
	// values of these flags.
	own map[string]bool
	// last is the result of the previous line, mostSevere the most severe outcome of all lines.
	last         json.RawMessage
	mostSevere   wire.Outcome
	ended        bool
	stopsOnError bool
	lists        cmdutil.ShellLists
	// number is the line number of a script at which the current command begins, from 1; 0 if a
	// user types the lines.
	number int
}

// continuation is the prompt for a line that continues the previous line.
const continuation = "> "

// NewShell returns the command `mcpc shell`.
func NewShell(f *cmdutil.Factory) *cobra.Command {
	var stop bool
	cmd := &cobra.Command{
		Use:   "shell [TARGET] [-- COMMAND...]",
		Short: "run many commands over one connection, interactively",
		Long: `Connect to a server and read commands line by line: list, describe, call, read,
prompt, complete, tasks, ping, raw, info, and the commands for recorded traffic.
They are written as on the command line, with a shell's quoting, without the
server: all of them use the same server and session. A line that ends in \ or
within quotes continues in the next one. "$last" is the result of the previous
line. "help" lists the commands, "exit" or Ctrl-D ends.

At a terminal TAB completes commands, flags, names, arguments and their values,
the arrow keys and Ctrl-R find older lines, and Ctrl-C cancels the current line
or request. The history is stored in the state directory (shell_history, mode
0600), without lines that begin with a space or seem to contain a secret.

From a pipe or a file the lines are a script: there are no prompts, errors have
line numbers, and the exit code is the most severe one, in the order of mcpc
batch. At a terminal it is 0.`,
		Example: `  echo 'call get-sum a=1 b=2' | mcpc shell demo
  printf 'list prompts\nprompt args-prompt city=Paris\n' | mcpc shell demo
  echo 'call echo message=hi' | mcpc shell --stop-on-error -- mcpc demo --stdio`,
		ValidArgsFunction: f.CompleteTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			if len(own) > 1 {
				return usage.New("shell takes one target", meant.ServerCommandHint(f, "shell", own))
			}
			if len(own) == 1 {
				if err := f.SetServer(own[0], argv); err != nil {
					return err
				}
			}
			if f.Output != "" || f.Jq != "" || f.JSON || f.Wire {
				return usage.New("--json, --wire, --jq and -o go on the shell's lines", "for example: call get-sum a=1 b=2 --json")
			}
			return openShell(cmd.Context(), f, cmd, argv, stop)
		},
	}
	cmd.Flags().BoolVar(&stop, "stop-on-error", false, "stop a script at the first line that fails")
	f.AddFresh(cmd.Flags())
	f.AddAnswering(cmd.Flags())
	return cmd
}

// openShell connects to the server, and runs lines until the input ends, a line is exit, or ctx
// ends. It returns the most severe outcome of the lines of a script as an error.
func openShell(ctx context.Context, f *cmdutil.Factory, cmd *cobra.Command, argv []string, stop bool) (err error) {
	typed := f.IsTyped()
	f.NoInput = f.NoInput || !typed // answers would be read from the script
	f.Record.Most = cmdutil.MaxBatchRecording
	c, out := f.Open(ctx, connect.Options{Argv: argv, RequireServerInfo: true, MultiCall: true})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	c.StopTicking()
	c.Lent = true // the lines do not close it
	c.StopTicking = nil
	s := &shellRun{f: f, c: c, own: map[string]bool{}, stopsOnError: stop && !typed}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { s.own[host.EnvName(f.Name)] = true })
	f.Shell = s
	words := map[string]bool{}
	for _, word := range shellCommands(f) {
		words[word] = true
	}
	f.OutStyle.Hints.ShellCommands = words
	f.ErrStyle.Hints.ShellCommands = words
	defer func() { err = s.close(ctx) }()
	if typed && f.OutStyle.Terminal && canEdit() {
		s.interact(ctx)
	} else {
		s.runLines(ctx, typed)
	}
	return nil
}

// close closes the connection, and returns the most severe outcome of the lines, or the failure to
// close.
func (s *shellRun) close(ctx context.Context) error {
	f := s.f
	f.Shell = nil
	s.c.Lent = false // so that it can be closed
	s.c.StopTicking = nil
	f.Record.Many = true // the outcome is not that of one exchange
	closed := f.Close(ctx, s.c)
	if _, ok := errors.AsType[cmdutil.ErrInterrupted](context.Cause(ctx)); ok {
		return cmdutil.Exit(wire.Outcome{Kind: wire.Signal, Text: "interrupted", IsSummary: true, Reached: wire.Unknown})
	}
	if s.mostSevere.OK() {
		return closed
	}
	s.mostSevere.IsSummary = true
	// Each line has printed its own error.
	return cmdutil.Join(&cmdutil.ExitError{Outcome: s.mostSevere, Reported: true}, closed)
}

// runLines runs the lines of a pipe or a file, or lines that a user types without the line editor. It
// returns when the lines end or ctx ends.
func (s *shellRun) runLines(ctx context.Context, typed bool) {
	in := bufio.NewReader(s.f.In)
	if !typed {
		// A command that reads standard input would read the following lines of the script.
		if none, err := os.Open(os.DevNull); err == nil {
			defer none.Close()
			s.f.In = none
		}
	}
	lines := make(chan console.TypedLine)
	next := make(chan struct{}, 1) // asks for a line: a command may read the terminal before the next line
	defer close(next)
	go func() {
		for range next {
			text, err := in.ReadString('\n')
			lines <- console.TypedLine{Text: text, Err: err}
		}
	}()
	// head and unfinished are the lines so far of a command of several lines: with the last continuation
	// mark removed, and with it.
	var head, unfinished string
	count := 0 // lines that were read
	for !s.ended && ctx.Err() == nil {
		if typed && unfinished != "" {
			fmt.Fprint(s.f.Stderr(), continuation)
		} else if typed {
			fmt.Fprint(s.f.Stderr(), s.prompt())
		}
		next <- struct{}{}
		select {
		case l := <-lines:
			count++
			if !typed && unfinished == "" {
				s.number = count
			}
			text := head + strings.TrimPrefix(l.Text, "\uFEFF")
			rest, more := shellwords.Unfinished(text)
			if more && l.Err == nil {
				head = rest
				unfinished = text
				continue
			}
			if l.Text == "" && unfinished != "" { // the script ended: the missing part is an error of the line
				text = unfinished
			}
			head = ""
			unfinished = ""
			s.line(ctx, text)
			s.ended = s.ended || l.Err != nil || s.stopsOnError && !s.mostSevere.OK()
		case <-ctx.Done():
			return
		}
	}
	if typed {
		s.mostSevere = wire.Outcome{} // the user has seen the errors: the exit code is 0
	}
}

// interact runs lines that a user edits, until Ctrl-D, exit, or the end of ctx. If the terminal
// cannot be opened, it runs the lines without the line editor.
func (s *shellRun) interact(ctx context.Context) {
	f := s.f
	e, err := openEditor(s.history(), s.complete)
	if err != nil {
		const typed = true
		s.runLines(ctx, typed)
		return
	}
	defer e.Close()
	// A Ctrl-C between two lines, such as the second of two, is ignored.
	var ignore context.CancelCauseFunc
	ignore = func(error) { f.CancelLine.CompareAndSwap(nil, &ignore) }
	f.CancelLine.Store(&ignore)
	defer f.CancelLine.Store(nil)
	f.Note(s.c.Where + ", " + s.c.Revision() + "; help lists the commands, Ctrl-D ends")
	lines := make(chan console.TypedLine, 1)
	head := ""
	for !s.ended {
		shown := s.prompt()
		if head != "" {
			shown = continuation
		}
		go func() {
			text, err := e.Line(shown)
			lines <- console.TypedLine{Text: text, Err: err}
		}()
		var l console.TypedLine
		select {
		case l = <-lines:
		case <-ctx.Done():
			f.Progress.Newline()
			return
		}
		if errors.Is(l.Err, errInterrupted) {
			head = ""
			continue
		}
		if l.Err != nil { // Ctrl-D, or the terminal is gone
			fmt.Fprintln(f.Stderr())
			return
		}
		line := head + l.Text
		head = ""
		if rest, more := shellwords.Unfinished(line); more {
			head = rest
			continue
		}
		// A line with a newline within quotes is not kept: each line of the history is one line of
		// the file.
		if text := strings.TrimSpace(line); text != "" && !strings.Contains(text, "\n") && s.keep(ctx, line) {
			e.Remember(text)
		}
		s.line(ctx, line)
		s.mostSevere = wire.Outcome{} // the user has seen the error
	}
}

// Entries returns the current entries of the server's list of a kind.
func (s *shellRun) Entries(k connect.Kind) []state.Tool { return s.lists.Entries(s.c, k) }

// LineNumber returns the line number at which the current command of a script begins; 0 if a user
// types.
func (s *shellRun) LineNumber() int { return s.number }

// StoreResult keeps the result of a line as $last.
func (s *shellRun) StoreResult(result json.RawMessage) { s.last = result }

// prompt returns the prompt: a short name of the server and "> ". The name is the session's, else
// the program's, else the host of the URL.
func (s *shellRun) prompt() string {
	name := s.c.Target.Name
	place := s.c.Saved
	if place == nil {
		place = s.c.OneOff
	}
	u, err := url.Parse(place.Endpoint)
	switch {
	case name != "":
	case len(place.Command) > 0:
		name = filepath.Base(place.Command[0])
	case err == nil && u.Host != "":
		name = u.Host
	default:
		name = place.Endpoint
	}
	return s.f.ErrStyle.Line(name) + "> "
}

// HistoryName is the file of the history in the state directory; mostKept bounds its lines.
const (
	HistoryName = "shell_history"
	mostKept    = 1000
)

// history returns the lines of earlier shells, the oldest first. Returns nil if there is no state
// directory or the file cannot be read.
func (s *shellRun) history() []string {
	if s.c.Store == nil {
		return nil
	}
	raw, err := s.c.Store.Private(HistoryName).Read()
	if err != nil || len(raw) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

// keep saves a line in the history, and reports whether the line belongs there. A line that begins
// with a space or may contain a secret does not. A failure to write is only a warning, with -v.
func (s *shellRun) keep(ctx context.Context, line string) bool {
	text := strings.TrimSpace(line)
	if strings.HasPrefix(line, " ") || s.f.Secrets.Text(text) != text {
		return false
	}
	if s.c.Store == nil {
		return true
	}
	err := s.c.Store.Private(HistoryName).Update(ctx, func(old []byte) ([]byte, error) {
		lines := slices.Collect(strings.Lines(string(old)))
		if n := len(lines); n > 0 && lines[n-1] == text+"\n" {
			return old, nil
		}
		lines = append(lines, text+"\n")
		return []byte(strings.Join(lines[max(0, len(lines)-mostKept):], "")), nil
	})
	if err != nil && s.f.Verbose > 0 {
		s.f.Warn("the line was not saved: " + err.Error())
	}
	return true
}

// Lend returns the shell's connection for the invocation of a line. The outcome is a usage error if
// the line names a server or streams notifications, and a local error if its output file is not
// writable.
func (s *shellRun) Lend(f *cmdutil.Factory, how connect.Options) (*connect.Conn, wire.Outcome) {
	if how.Argv != nil {
		return &connect.Conn{Env: &f.Env}, usage.Outcome(usage.New(
			"the shell uses one server; a line cannot name another",
			"exit, and "+wire.Run("shell -- COMMAND"),
		))
	}
	if how.OnNotification != nil {
		return &connect.Conn{Env: &f.Env}, usage.Outcome(usage.New(
			"notifications cannot be streamed in the shell",
			"use "+wire.Run("listen")+" or "+wire.Run("list --watch")+" in another terminal",
		))
	}
	if o := cmdutil.CheckOutput(f.Output); !o.OK() {
		return &connect.Conn{Env: &f.Env}, o
	}
	s.c.Env = &f.Env
	s.c.StopTicking = f.StartSpinner()
	if how.Fits != nil {
		return s.c, how.Fits(s.c)
	}
	return s.c, wire.Outcome{}
}
