package main

import (
	"bufio"
	"cmp"
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

	"mcpc/internal/lineedit"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// A shellRun is one conversation and the lines that are typed in it.
type shellRun struct {
	a *app
	c *conversation
	// globals are the flags of mcpc shell itself, with which each line begins, and own
	// the variables that they have.
	globals globals
	own     map[string]bool
	// last is the result of the line before, worst what the lines came to.
	last  json.RawMessage
	worst wire.Outcome
	ended bool
	stop  bool
	lists shellLists
	// number is that of the line in a script, from 1; 0 where a person types.
	number int
}

func newLines(a *app) *cobra.Command {
	var stop bool
	cmd := &cobra.Command{
		Use:   "shell [TARGET] [-- COMMAND...]",
		Short: "run many commands over one connection, interactively",
		Long: `Connect to a server and read commands line by line: list, describe, call, read,
prompt, complete, tasks, ping, raw, info, and the commands for recorded traffic.
They are written as on the command line, with a shell's quoting, without the
server: all of them use the same server and session. "$last" is the result of
the previous line. "help" lists the commands, "exit" or Ctrl-D ends.

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
		ValidArgsFunction: a.beforeDash(a.completeTarget()),
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := splitDash(cmd, args)
			if len(own) > 1 {
				return hinted("shell takes one target", a.behindDashes("shell", own))
			}
			if len(own) == 1 {
				if err := a.goTo(own[0], argv); err != nil {
					return err
				}
			}
			if a.output != "" || a.jq != "" || a.json || a.wire {
				return hinted("--json, --wire, --jq and -o go on the shell's lines", "for example: call get-sum a=1 b=2 --json")
			}
			a.openShell(cmd.Context(), cmd, argv, stop)
			return nil
		},
	}
	cmd.Flags().BoolVar(&stop, "stop-on-error", false, "stop a script at the first line that fails")
	a.addAnswering(cmd.Flags())
	return cmd
}

// openShell opens the conversation, and reads lines until they end.
func (a *app) openShell(ctx context.Context, cmd *cobra.Command, argv []string, stop bool) {
	typed := a.isTyped()
	a.noInput = a.noInput || !typed
	a.record.most = mostRecorded
	c, out := a.open(ctx, opening{argv: argv, greet: true, many: true})
	if !out.Good() {
		a.close(ctx, c)
		a.end(out)
		return
	}
	c.stopTicking()
	c.lent, c.stopTicking = true, nil
	s := &shellRun{a: a, c: c, globals: a.globals(), own: map[string]bool{}, stop: stop && !typed}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { s.own[envName(f.Name)] = true })
	a.shell = s
	words := a.shellCommands()
	a.outStyle.Aim.Shell, a.errStyle.Aim.Shell = words, words
	defer s.close(ctx)
	if typed && a.outStyle.Terminal && lineedit.Usable() {
		s.interact(ctx)
	} else {
		s.script(ctx, typed)
	}
}

// close ends the conversation, and says with what the lines ended.
func (s *shellRun) close(ctx context.Context) {
	a := s.a
	a.shell = nil
	a.setGlobals(s.globals)
	a.ending, a.exit = wire.Outcome{}, 0
	s.c.lent, s.c.stopTicking = false, nil
	a.close(ctx, s.c)
	if _, ok := errors.AsType[errInterrupted](context.Cause(ctx)); ok {
		a.ending = wire.Outcome{Kind: wire.Signal, Text: "interrupted", Many: true, Reached: wire.Unknown}
		return
	}
	a.ending = s.worst // each line has said its own
	a.ending.Many = true
}

// script reads lines that nobody types, or that nobody can edit.
func (s *shellRun) script(ctx context.Context, typed bool) {
	in := bufio.NewReader(s.a.in)
	if !typed {
		// What reads standard input would take the lines behind its own.
		if none, err := os.Open(os.DevNull); err == nil {
			defer none.Close()
			s.a.in = none
		}
	}
	lines := make(chan typedLine)
	next := make(chan struct{}, 1)
	defer close(next)
	go func() {
		for range next {
			text, err := in.ReadString('\n')
			lines <- typedLine{text, err}
		}
	}()
	for !s.ended && ctx.Err() == nil {
		if typed {
			fmt.Fprint(s.a.stderr(), s.prompt())
		}
		next <- struct{}{}
		select {
		case l := <-lines:
			if !typed {
				s.number++
			}
			s.line(ctx, strings.TrimPrefix(l.text, "\uFEFF"))
			s.ended = s.ended || l.err != nil || s.stop && !s.worst.Good()
		case <-ctx.Done():
			return
		}
	}
	if typed {
		s.worst = wire.Outcome{}
	}
}

// interact reads lines that a person edits.
func (s *shellRun) interact(ctx context.Context) {
	a := s.a
	e, err := lineedit.Open(s.history(), s.complete)
	if err != nil {
		s.script(ctx, true)
		return
	}
	defer e.Close()
	// A Ctrl-C between two lines, such as the second of two, is ignored.
	var ignore context.CancelCauseFunc
	ignore = func(error) { a.line.CompareAndSwap(nil, &ignore) }
	a.line.Store(&ignore)
	defer a.line.Store(nil)
	a.note(s.c.where + ", " + s.c.Revision() + "; help lists the commands, Ctrl-D ends")
	lines := make(chan typedLine, 1)
	for !s.ended {
		go func() {
			text, err := e.Line(s.prompt())
			lines <- typedLine{text, err}
		}()
		var l typedLine
		select {
		case l = <-lines:
		case <-ctx.Done():
			a.progress.Newline()
			return
		}
		switch {
		case errors.Is(l.err, lineedit.ErrInterrupted):
			continue
		case l.err != nil:
			fmt.Fprintln(a.stderr())
			return
		}
		if text := strings.TrimSpace(l.text); text != "" && s.keep(ctx, l.text) {
			e.Remember(text)
		}
		s.line(ctx, l.text)
		s.worst = wire.Outcome{}
	}
}

// entries are what the server lists of a kind now.
func (s *shellRun) entries(k kind) []state.Tool { return s.lists.of(s.c, k) }

func (s *shellRun) lineNumber() int { return s.number }

func (s *shellRun) answered(result json.RawMessage) { s.last = result }

// prompt names the server in a word.
func (s *shellRun) prompt() string {
	name := s.c.target.Name
	place := cmp.Or(s.c.saved, s.c.oneOff)
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
	return s.a.errStyle.Line(name) + "> "
}

// historyName is the file of the lines, and mostKept how many of them are.
const (
	historyName = "shell_history"
	mostKept    = 1000
)

// history are the lines of earlier shells, the oldest first.
func (s *shellRun) history() []string {
	if s.c.store == nil {
		return nil
	}
	raw, err := s.c.store.Private(historyName).Read()
	if err != nil || len(raw) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

// keep remembers a line, unless it may hold a secret: it reports whether it was one
// to remember. That it could not be written is no reason to stop.
func (s *shellRun) keep(ctx context.Context, line string) bool {
	text := strings.TrimSpace(line)
	if strings.HasPrefix(line, " ") || s.a.secrets.Text(text) != text {
		return false
	}
	if s.c.store == nil {
		return true
	}
	err := s.c.store.Private(historyName).Update(ctx, func(old []byte) ([]byte, error) {
		lines := slices.Collect(strings.Lines(string(old)))
		if n := len(lines); n > 0 && lines[n-1] == text+"\n" {
			return old, nil
		}
		lines = append(lines, text+"\n")
		return []byte(strings.Join(lines[max(0, len(lines)-mostKept):], "")), nil
	})
	if err != nil && s.a.verbose > 0 {
		s.a.warn("the line was not saved: " + err.Error())
	}
	return true
}

// lend gives the shell's conversation to a line.
func (s *shellRun) lend(how opening) (*conversation, wire.Outcome) {
	switch {
	case how.argv != nil:
		return &conversation{a: &s.a.env}, usage(hinted("the shell uses one server; a line cannot name another", "exit, and "+wire.Run("shell -- COMMAND")))
	case how.heard != nil:
		return &conversation{a: &s.a.env}, usage(hinted("notifications cannot be streamed in the shell", "use "+wire.Run("listen")+" or "+wire.Run("list --watch")+" in another terminal"))
	}
	if o := writable(s.a.output); !o.Good() {
		return &conversation{a: &s.a.env}, o
	}
	s.c.stopTicking = s.a.ticking()
	if how.fits != nil {
		return s.c, how.fits(s.c)
	}
	return s.c, wire.Outcome{}
}
