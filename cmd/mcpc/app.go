package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/render"
	"mcpc/internal/state"
	"mcpc/internal/tty"
	"mcpc/internal/wire"
)

// app is what a command may touch of the world. Tests fill it with their own.
type app struct {
	env
	display
	in  *os.File
	out *os.File
	err *os.File
	// commit and date are "" where the program was not built by the release script.
	commit, date string
	// groups are the commands of mcpc, newRoot makes the tree of all of them.
	groups  func() []group
	newRoot func(*app) *cobra.Command
	// leave ends the process at once; only a mock server is told to do so.
	leave func(code int)

	// progress is the one writer to standard error while a command runs.
	progress *render.Progress
	// typist is the person who is asked. hidden is set while what he types is not shown,
	// which the terminal has to forget before the command ends.
	typist   *typist
	hidden   atomic.Bool
	outStyle render.Style
	errStyle render.Style
	// typed are flags that the command of a hint needs too; nil is none.
	typed    *render.Typed
	prepared bool // typed is settled
	// redactions are the lines of --redact-file; nil before it was read.
	redactions []redaction
	// ending is how the command ended; the zero Outcome is the good ending.
	ending wire.Outcome
	// relaying is set where signals are another process's.
	relaying atomic.Bool
	// paging is set while a pager has the terminal, and with it Ctrl-C.
	paging atomic.Bool
	// terminal is the one that is being asked what it can show, if one is.
	terminal atomic.Pointer[tty.Terminal]
	// shell is the one that is open, nil where none is, and line gives up what it is doing.
	shell lineShell
	line  atomic.Pointer[context.CancelCauseFunc]
	// repeats holds back what a command of many calls would say again and again.
	repeats *repeats
	// exit replaces the ending's own code where it is not 0.
	exit int
	// frames are those of the command, for --explain.
	frames frameLog
	// forms counts those that the user was shown.
	forms int
}

// newApp is the app of one run of the program, with all commands. The caller settles what
// it may know of the world.
func newApp(in, out, err *os.File) *app {
	a := &app{in: in, out: out, err: err, groups: commandGroups, newRoot: newRoot}
	a.ui, a.asker = a, newResponder
	return a
}

// A lineShell has one connection for the commands that are its lines.
type lineShell interface {
	// lend gives a line the connection.
	lend(how opening) (*conversation, wire.Outcome)
	// mayRun refuses commands and flags that are not for a line.
	mayRun(cmd *cobra.Command) error
	// getenv leaves out the variables of the shell's own flags, which have their values.
	getenv(name string) string
	// entries are what the server lists of a kind now.
	entries(k kind) []state.Tool
	// lineNumber is that of the line in a script, from 1; 0 where a person types.
	lineNumber() int
	// answered notes the result of a line.
	answered(result json.RawMessage)
}

// globals are the flags of all commands as they are now; setGlobals replaces them.
func (a *app) globals() globals { return globals{a.settings, a.display} }

func (a *app) setGlobals(g globals) { a.settings, a.display = g.settings, g.display }

// errInterrupted is the cause of the context that a signal ends.
type errInterrupted struct{ sig os.Signal }

func (e errInterrupted) Error() string { return "interrupted by " + e.sig.String() }

// run is the whole program: arguments in, exit code out, and the signal that
// ended it, if one did. A signal is waited for only where there is a
// conversation to end, and a second one does not wait at all.
func (a *app) run(args []string, signals <-chan os.Signal) (code int, died os.Signal) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ended := make(chan int, 1)
	go func() { ended <- a.execute(ctx, args) }()
	for {
		select {
		case code := <-ended:
			var interrupted errInterrupted
			if errors.As(context.Cause(ctx), &interrupted) && a.ending.Kind == wire.Signal {
				died = interrupted.sig
			}
			return code, died
		case sig := <-signals:
			if a.relaying.Load() || sig == os.Interrupt && a.paging.Load() {
				continue
			}
			if stop := a.line.Swap(nil); stop != nil && sig == os.Interrupt {
				(*stop)(errInterrupted{sig})
				continue
			}
			a.leaveTerminal()
			if ctx.Err() != nil || !a.talking.Load() && !a.hidden.Load() {
				a.killed(args, sig)
				return 0, sig
			}
			cancel(errInterrupted{sig})
		}
	}
}

// killed says for a program that a signal ended the command at once. The command may
// still be at work, so that nothing is used of it that is not made for two.
func (a *app) killed(args []string, sig os.Signal) {
	if !a.asksJSON(args) {
		return
	}
	o := wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	if a.record.crossed.Load() || a.talking.Load() {
		o.Reached = wire.Unknown
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errInterrupted{sig})
	render.FailureJSON(a.err, render.StyleFor(a.err, "never", a.getenv), signalled(ctx, o))
}

// execute parses the arguments and runs the command. Every error that cobra
// gives back means "you asked wrongly", because commands keep what the world did
// in an Outcome.
func (a *app) execute(ctx context.Context, args []string) (code int) {
	defer func() {
		if crash := recover(); crash != nil {
			code = a.crashed(crash, debug.Stack())
		}
	}()
	a.args = args
	a.settleStyles()
	a.secrets.Full = a.withholding
	args = withCodes(withNegations(args))
	root := rootFor(a, args)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		a.aimAnyway(root.PersistentFlags())
		a.json = a.json || a.asksJSON(args)
		a.end(usage(err))
	}
	a.ending = signalled(ctx, a.ending)
	return a.finish()
}

// signalled says of an ending by a signal which one it was, so that the exit code
// is what the shell sees wherever it stands.
func signalled(ctx context.Context, o wire.Outcome) wire.Outcome {
	if by, ok := errors.AsType[errInterrupted](context.Cause(ctx)); ok && o.Kind == wire.Signal {
		if sig, ok := by.sig.(syscall.Signal); ok {
			o.Signal = int(sig)
		}
	}
	return o
}

// asksJSON reads --json from a command line that could not be read: what is
// behind a bad flag was not looked at, nor was the environment.
func (a *app) asksJSON(args []string) bool {
	set, _ := strconv.ParseBool(a.getenv(envName("json")))
	return set || slices.Contains(beforeDashes(args), "--json")
}

// crashed says that a bug ended the command. The stack is for whoever mends it.
func (a *app) crashed(crash any, stack []byte) int {
	a.ending, a.exit = wire.Outcome{}, 0
	if a.progress == nil { // that early
		a.settleStyles()
	}
	a.learnArgs()
	reached := wire.Unsent
	if a.talking.Load() || a.record.crossed.Load() {
		reached = wire.Unknown
	}
	a.end(wire.Outcome{Kind: wire.Internal, Text: fmt.Sprint(crash), Reached: reached,
		Hint: "please report it with the command and what -vv prints"})
	if a.verbose > 0 {
		_, _ = a.stderr().Write(stack)
	}
	return a.finish()
}

// settleStyles decides how each stream may be written to. It runs again once
// the flags are known.
func (a *app) settleStyles() {
	color := cmp.Or(a.color, "auto")
	a.outStyle = render.StyleFor(a.out, color, a.getenv)
	a.errStyle = render.StyleFor(a.err, color, a.getenv)
	a.errStyle.Verbose = a.verbose
	a.outStyle.RawText = a.rawText
	a.typist = &typist{in: a.in}
	a.progress = render.NewProgress(a.err, a.errStyle, a.now)
}

// stderr and stdout are where commands write: the progress line is out of the
// way before anything else appears on the same terminal.
func (a *app) stderr() io.Writer { return a.progress }

func (a *app) stdout() io.Writer { return &answerWriter{a, a.progress.Wrap(a.out)} }

// answerWriter notes that the answer could not be written: a full disk must not
// look like success, and a reader that went away ends the command quietly.
type answerWriter struct {
	a *app
	w io.Writer
}

func (w *answerWriter) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	if err != nil {
		w.a.lostAnswer(err)
	}
	return n, err
}

func (a *app) lostAnswer(err error) {
	if isBrokenPipe(err) {
		a.unreadAnswer()
		return
	}
	a.end(a.unwritten(err))
}

func (a *app) unreadAnswer() {
	a.ending = wire.Outcome{Kind: wire.Signal, Signal: int(syscall.SIGPIPE), Text: "stdout was closed by its reader"}
}

// unread ends a command that waits for more to print once nobody reads what it
// prints, and reports whether it did.
func (a *app) unread() bool {
	if !tty.Gone(a.out) {
		return false
	}
	a.unreadAnswer()
	return true
}

// unreadEvery is how often a command that waits looks whether it is still read.
const unreadEvery = 200 * time.Millisecond

// unwritten is the ending of a command that could not write its answer.
func (a *app) unwritten(err error) wire.Outcome {
	return a.afterwards(localIO("writing the result", err))
}

// afterwards is an ending that came when everything was answered. Where there is a
// conversation, saying that nothing was sent would be a lie that makes a script send it
// again.
func (a *app) afterwards(o wire.Outcome) wire.Outcome {
	if a.talking.Load() || a.record.crossed.Load() {
		o.Reached = wire.Answered
	}
	return o
}

func localIO(doing string, err error) wire.Outcome {
	return wire.Outcome{Kind: wire.LocalIO, Text: doing + ": " + err.Error(), Err: err, Phase: "output"}
}

func (a *app) showProgress(params wire.Members) { a.progress.Update(params) }

func (a *app) showLog(level, logger string, data json.RawMessage) {
	a.progress.Log(level, logger, data)
}

func (a *app) waiting(text, ctrlC string) { a.progress.Waiting(text, ctrlC) }

func (a *app) hintText(hint wire.Hint) string {
	text, _ := a.errStyle.Aim.Hint(hint)
	return text
}

func (a *app) note(text string) { render.Note(a.stderr(), a.errStyle, a.secrets.Text(text)) }

func (a *app) warn(text string) {
	if !a.repeats.again(text) {
		render.Warn(a.stderr(), a.errStyle, a.secrets.Text(text))
	}
}

// end says how a command ended, unless it was said already.
func (a *app) end(o wire.Outcome) {
	if a.ending.Kind != wire.OK {
		return
	}
	o = a.withoutSecrets(a.unheld(a.challenged(o)))
	if a.shell != nil {
		o.Line = a.shell.lineNumber()
	}
	a.ending = o
	a.progress.Done()
	if o.Good() || a.interruptedQuietly(o) {
		return
	}
	render.Failure(a.stderr(), a.errStyle, o)
}

// endAlso is end for what may have failed besides: the first failure is the ending, and
// the next one a warning.
func (a *app) endAlso(o wire.Outcome) {
	if o.Good() || a.ending.Good() || a.ending.Kind == wire.Signal {
		a.end(o)
		return
	}
	a.warn(render.Headline(a.withoutSecrets(o)))
}

// finish has the last word, and so that the JSON error is the last line whatever
// else a command has to say, it says it here.
func (a *app) finish() int {
	a.endRecording(a.ending, a.exitCode())
	a.hintAtRecord()
	a.failureJSON()
	return a.exitCode()
}

// failureJSON says for a program how the command ended. Who went away from what it
// prints needs no word, as no other program has one then.
func (a *app) failureJSON() {
	if (a.json || a.wire) && a.ending.Signal != int(syscall.SIGPIPE) {
		render.FailureJSON(a.stderr(), a.errStyle, a.ending)
	}
}

func (a *app) exitCode() int { return cmp.Or(a.exit, a.ending.ExitCode()) }

// interruptedQuietly: who pressed Ctrl-C knows that, but not what became of a
// request that was under way.
func (a *app) interruptedQuietly(o wire.Outcome) bool {
	return o.Kind == wire.Signal && (o.Method == "" || o.Reached == wire.Unsent)
}

// usage is the ending of a command that was asked wrongly.
func usage(err error) wire.Outcome {
	o := wire.Outcome{Kind: wire.Usage, Text: err.Error(), Phase: "arguments"}
	if with, ok := err.(interface{ Hint() wire.Hint }); ok {
		o.Hint = with.Hint()
	}
	if with, ok := errors.AsType[hintedError](err); ok {
		o.Hint = with.hint
	}
	if several, ok := errors.AsType[*severalError](err); ok {
		o.Findings, o.Hint = several.findings, several.hint
	}
	if isLate(err) {
		o.Kind, o.Hint = wire.Timeout, "--max-time TIME waits longer"
	}
	if typed, ok := errors.AsType[*inputError](err); ok {
		o.Hint, o.Input = typed.hint, &typed.facts
	}
	return o
}

// A severalError is a usage error of several things.
type severalError struct {
	text     string
	hint     wire.Hint
	findings []wire.Finding
}

func (e *severalError) Error() string { return e.text }

// A hintedError is a usage error with a way out.
type hintedError struct {
	text string
	hint wire.Hint
}

// hinted is a usage error with a way out.
func hinted(text string, hint wire.Hint) error { return hintedError{text: text, hint: hint} }

func (e hintedError) Error() string { return e.text }
