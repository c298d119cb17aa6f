// Package cmdutil is what the commands have in common: the Factory, flags, output, prompts and
// hints.
package cmdutil

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render"
	"mcpc/internal/state"
	"mcpc/internal/tty"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Factory is what a command may touch of the world. Tests fill it with their own.
type Factory struct {
	connect.Env
	display
	In  *os.File
	Out *os.File
	Err *os.File
	// Commit and date are "" where the program was not built by the release script.
	Commit, Date string
	// Groups are the commands of mcpc, newRoot makes the tree of all of them.
	Groups  func() []Group
	NewRoot func(*Factory) *cobra.Command
	// Leave ends the process at once; only a mock server is told to do so.
	Leave func(code int)

	// Progress is the one writer to standard error while a command runs.
	Progress *render.Progress
	// Typist is the prompted user. Hidden is set while typed text is not echoed; the
	// terminal's echo must be restored before the command ends.
	Typist   *Typist
	Hidden   atomic.Bool
	OutStyle render.Style
	ErrStyle render.Style
	// typed are flags that the command of a hint needs too; nil is none.
	typed    *render.Typed
	Prepared bool // typed is settled
	// redactions are the lines of --redact-file; nil before it was read.
	redactions []redaction
	// Ending is how the command ended; the zero Outcome is the good ending.
	Ending wire.Outcome
	// Relaying is set where signals are another process's.
	Relaying atomic.Bool
	// Paging is set while a pager has the terminal, and with it Ctrl-C.
	Paging atomic.Bool
	// terminal is the one that is being asked what it can show, if one is.
	terminal atomic.Pointer[tty.Terminal]
	// Shell is the one that is open, nil where none is, and line gives up what it is doing.
	Shell Shell
	Line  atomic.Pointer[context.CancelCauseFunc]
	// Repeats holds back what a command of many calls would say again and again.
	Repeats *Repeats
	// Exit replaces the ending's own code where it is not 0.
	Exit int
	// Frames are those of the command, for --explain.
	Frames frameLog
	// forms counts those that the user was shown.
	forms int
}

// A Shell has one connection for the commands that are its lines.
type Shell interface {
	// Lend gives a line the connection.
	Lend(how connect.Options) (*connect.Conn, wire.Outcome)
	// MayRun refuses commands and flags that are not for a line.
	MayRun(cmd *cobra.Command) error
	// Getenv leaves out the variables of the shell's own flags, which have their values.
	Getenv(name string) string
	// Entries are what the server lists of a kind now.
	Entries(k connect.Kind) []state.Tool
	// LineNumber is that of the line in a script, from 1; 0 where a person types.
	LineNumber() int
	// Answered notes the result of a line.
	Answered(result json.RawMessage)
}

// Globals are the flags of all commands as they are now; setGlobals replaces them.
func (a *Factory) Globals() Flags { return Flags{a.Settings, a.display} }

func (a *Factory) SetGlobals(g Flags) { a.Settings, a.display = g.Settings, g.display }

// ErrInterrupted is the cause of the context that a signal ends.
type ErrInterrupted struct{ Sig os.Signal }

func (e ErrInterrupted) Error() string { return "interrupted by " + e.Sig.String() }

// Signalled says of an ending by a signal which one it was, so that the exit code
// is what the shell sees wherever it stands.
func Signalled(ctx context.Context, o wire.Outcome) wire.Outcome {
	if by, ok := errors.AsType[ErrInterrupted](context.Cause(ctx)); ok && o.Kind == wire.Signal {
		if sig, ok := by.Sig.(syscall.Signal); ok {
			o.Signal = int(sig)
		}
	}
	return o
}

// AsksJSON reads --json from a command line that could not be read: what is
// behind a bad flag was not looked at, nor was the environment.
func AsksJSON(a *Factory, args []string) bool {
	set, _ := strconv.ParseBool(a.Getenv(connect.EnvName("json")))
	return set || slices.Contains(BeforeDashes(args), "--json")
}

// SettleStyles decides how each stream may be written to. It runs again once
// the flags are known.
func SettleStyles(a *Factory) {
	color := cmp.Or(a.color, "auto")
	a.OutStyle = render.StyleFor(a.Out, color, a.Getenv)
	a.ErrStyle = render.StyleFor(a.Err, color, a.Getenv)
	a.ErrStyle.Verbose = a.Verbose
	a.OutStyle.RawText = a.rawText
	a.Typist = &Typist{In: a.In}
	a.Progress = render.NewProgress(a.Err, a.ErrStyle, a.Now)
}

// Stderr and stdout are where commands write: the progress line is out of the
// way before anything else appears on the same terminal.
func (a *Factory) Stderr() io.Writer { return a.Progress }

func (a *Factory) Stdout() io.Writer { return &answerWriter{a, a.Progress.Wrap(a.Out)} }

// answerWriter notes that the answer could not be written: a full disk must not
// look like success, and a reader that went away ends the command quietly.
type answerWriter struct {
	a *Factory
	w io.Writer
}

func (w *answerWriter) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	if err != nil {
		lostAnswer(w.a, err)
	}
	return n, err
}

func lostAnswer(a *Factory, err error) {
	if IsBrokenPipe(err) {
		unreadAnswer(a)
		return
	}
	a.End(Unwritten(a, err))
}

func unreadAnswer(a *Factory) {
	a.Ending = wire.Outcome{Kind: wire.Signal, Signal: int(syscall.SIGPIPE), Text: "stdout was closed by its reader"}
}

// Unread ends a command that waits for more to print once the reader of its standard
// output is gone, and reports whether it did.
func Unread(a *Factory) bool {
	if !tty.Gone(a.Out) {
		return false
	}
	unreadAnswer(a)
	return true
}

// UnreadEvery is how often a command that waits looks whether it is still read.
const UnreadEvery = 200 * time.Millisecond

// Unwritten is the ending of a command that could not write its answer.
func Unwritten(a *Factory, err error) wire.Outcome {
	return Afterwards(a, usage.LocalIO("writing the result", err))
}

// Afterwards is an ending that came when everything was answered. Where there is a
// conversation, saying that nothing was sent would be a lie that makes a script send it
// again.
func Afterwards(a *Factory, o wire.Outcome) wire.Outcome {
	if a.Talking.Load() || a.Record.Crossed.Load() {
		o.Reached = wire.Answered
	}
	return o
}

func (a *Factory) ShowProgress(params jsonraw.Members) { a.Progress.Update(params) }

func (a *Factory) ShowLog(level, logger string, data json.RawMessage) {
	a.Progress.Log(level, logger, data)
}

func (a *Factory) Waiting(text, ctrlC string) { a.Progress.Waiting(text, ctrlC) }

func (a *Factory) HintText(hint wire.Hint) string {
	text, _ := a.ErrStyle.Aim.Hint(hint)
	return text
}

func (a *Factory) Note(text string) { render.Note(a.Stderr(), a.ErrStyle, a.Secrets.Text(text)) }

func (a *Factory) Warn(text string) {
	if !a.Repeats.Again(text) {
		render.Warn(a.Stderr(), a.ErrStyle, a.Secrets.Text(text))
	}
}

// End says how a command ended, unless it was said already.
func (a *Factory) End(o wire.Outcome) {
	if a.Ending.Kind != wire.OK {
		return
	}
	o = WithoutSecrets(a, connect.Unheld(&a.Env, connect.Challenged(&a.Env, o)))
	if a.Shell != nil {
		o.Line = a.Shell.LineNumber()
	}
	a.Ending = o
	a.Progress.Done()
	if o.Good() || interruptedQuietly(o) {
		return
	}
	render.Failure(a.Stderr(), a.ErrStyle, o)
}

// EndAlso is end for what may have failed besides: the first failure is the ending, and
// the next one a warning.
func (a *Factory) EndAlso(o wire.Outcome) {
	if o.Good() || a.Ending.Good() || a.Ending.Kind == wire.Signal {
		a.End(o)
		return
	}
	a.Warn(render.Headline(WithoutSecrets(a, o)))
}

// Finish has the last word, and so that the JSON error is the last line whatever
// else a command has to say, it says it here.
func Finish(a *Factory) int {
	connect.EndRecording(&a.Env, a.Ending, ExitCode(a))
	hintAtRecord(a)
	FailureJSON(a)
	return ExitCode(a)
}

// FailureJSON prints for a program how the command ended, unless the reader of standard
// output is gone: other programs are silent then too.
func FailureJSON(a *Factory) {
	if (a.JSON || a.Wire) && a.Ending.Signal != int(syscall.SIGPIPE) {
		render.FailureJSON(a.Stderr(), a.ErrStyle, a.Ending)
	}
}

func ExitCode(a *Factory) int { return cmp.Or(a.Exit, a.Ending.ExitCode()) }

// interruptedQuietly reports whether an interrupt needs no message: the user who pressed
// Ctrl-C knows of it, but not what became of a request that was under way.
func interruptedQuietly(o wire.Outcome) bool {
	return o.Kind == wire.Signal && (o.Method == "" || o.Reached == wire.Unsent)
}

// MostRecorded is how many bytes a batch takes of the ring in which every command is
// recorded: what two thousand small calls are. Its lines have the rest.
const MostRecorded = 2 << 20
