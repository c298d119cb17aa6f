package main

import (
	"cmp"
	"context"
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

	"mcpc/internal/client/auth"
	"mcpc/internal/render"
	"mcpc/internal/state"
	"mcpc/internal/tty"
	"mcpc/internal/wire"
)

// app is what a command may touch of the world. Tests fill it with their own.
type app struct {
	in      *os.File
	out     *os.File
	err     *os.File
	getenv  func(string) string
	environ func() []string
	now     func() time.Time
	version string
	// commit and date are "" where the program was not built by the release script.
	commit, date string
	// leave ends the process at once; only a mock server is told to do so.
	leave func(code int)

	globals
	// progress is the one writer to standard error while a command runs.
	progress *render.Progress
	// typist is the person who is asked. hidden is set while what he types is not shown,
	// which the terminal has to forget before the command ends.
	typist *typist
	hidden atomic.Bool
	// guard says who asks in the conversation that is under way; nil where it is not
	// by HTTP.
	guard *auth.Guard
	// held is the session of the command where its server lives on between commands,
	// and heldUsed when it was used last.
	held     *state.Session
	heldUsed time.Time
	// way leads to the server of the command; nil before one is settled.
	way      *way
	outStyle render.Style
	errStyle render.Style
	// known are the configurations of other programs, nil before they are read.
	known *[]knownFile
	// fromFile is the server of one of them that the command went to, or "".
	fromFile string
	// typed are flags that the command of a hint needs too; nil is none.
	typed    *render.Typed
	prepared bool // typed is settled
	// args are those of the program, without its name.
	args []string
	// secrets are what no frame and no recording may show.
	secrets wire.Secrets
	// redactions are the lines of --redact-file; nil before it was read.
	redactions []redaction
	record     record
	// ending is how the command ended; the zero Outcome is the good ending.
	ending wire.Outcome
	// talking is set while there is a conversation that must be ended in order.
	talking atomic.Bool
	// relaying is set where signals are another process's.
	relaying atomic.Bool
	// paging is set while a pager has the terminal, and with it Ctrl-C.
	paging atomic.Bool
	// terminal is the one that is being asked what it can show, if one is.
	terminal atomic.Pointer[tty.Terminal]
	// shell is the one that is open, if one is, and line gives up what it is doing.
	shell *shellRun
	line  atomic.Pointer[context.CancelCauseFunc]
	// ballast is what spareCollections has put on the heap, nil before.
	ballast []byte
	// repeats holds back what a command of many calls would say again and again.
	repeats *repeats
	// exit replaces the ending's own code where it is not 0.
	exit int
}

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
		o.Line = a.shell.number
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
	a.endRecording()
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
	if hinted, ok := err.(interface{ Hint() wire.Hint }); ok {
		o.Hint = hinted.Hint()
	}
	if hinted, ok := errors.AsType[hintedError](err); ok {
		o.Hint = hinted.hint
	}
	if several, ok := errors.AsType[*severalError](err); ok {
		o.Findings = several.findings
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

func (e *severalError) Hint() wire.Hint { return e.hint }

// A hintedError is a usage error with a way out.
type hintedError struct {
	text string
	hint wire.Hint
}

func (e hintedError) Error() string { return e.text }
