// Package cmdutil is what the commands have in common: the Factory, flags, output, prompts and
// hints.
package cmdutil

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdline"
	"mcpc/internal/cli/outfile"
	"mcpc/internal/cli/prompt"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/hint"
	"mcpc/internal/render/term"
	"mcpc/internal/state"
	"mcpc/internal/tty"
	"mcpc/internal/wire"
)

// Factory is what a command may touch of the world. Tests fill it with their own.
type Factory struct {
	host.Env
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
	Progress *term.Progress
	// Typist is the prompted user. Hidden is set while typed text is not echoed; the
	// terminal's echo must be restored before the command ends.
	Typist   *prompt.Typist
	Hidden   atomic.Bool
	OutStyle term.Style
	ErrStyle term.Style
	// typed are flags that the command of a hint needs too; nil is none.
	typed    *hint.Flags
	Prepared bool // typed is settled
	// redactions are the lines of --redact-file; nil before it was read.
	redactions []redaction
	// conn is the connection that End closes; nil where there is none.
	conn *connect.Conn
	// lost is the first failure to write to standard output; nil where none was.
	lost atomic.Pointer[ExitError]
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
	Repeats *RepeatedWarnings
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
func (f *Factory) Globals() Flags { return Flags{f.Settings, f.display} }

func (f *Factory) SetGlobals(g Flags) { f.Settings, f.display = g.Settings, g.display }

// AsksJSON reads --json from a command line that could not be read: what is
// behind a bad flag was not looked at, nor was the environment.
func AsksJSON(f *Factory, args []string) bool {
	set, _ := strconv.ParseBool(f.Getenv(host.EnvName("json")))
	return set || slices.Contains(cmdline.BeforeDashes(args), "--json")
}

// SettleStyles decides how each stream may be written to. It runs again once
// the flags are known.
func SettleStyles(f *Factory) {
	color := cmp.Or(f.color, "auto")
	f.OutStyle = term.StyleFor(f.Out, color, f.Getenv)
	f.ErrStyle = term.StyleFor(f.Err, color, f.Getenv)
	f.ErrStyle.Verbose = f.Verbose
	f.OutStyle.RawText = f.rawText
	f.Typist = &prompt.Typist{In: f.In}
	f.Progress = term.NewProgress(f.Err, f.ErrStyle, f.Now)
}

// Stderr and stdout are where commands write: the progress line is out of the
// way before anything else appears on the same terminal.
func (f *Factory) Stderr() io.Writer { return f.Progress }

func (f *Factory) Stdout() io.Writer { return &answerWriter{f, f.Progress.Wrap(f.Out)} }

func (f *Factory) ShowProgress(params jsonraw.Members) { f.Progress.Update(params) }

func (f *Factory) ShowLog(level, logger string, data json.RawMessage) {
	f.Progress.Log(level, logger, data)
}

func (f *Factory) Waiting(text, ctrlC string) { f.Progress.Waiting(text, ctrlC) }

func (f *Factory) HintText(hint wire.Hint) string {
	text, _ := f.ErrStyle.Hints.Text(hint)
	return text
}

func (f *Factory) Note(text string) { failure.Note(f.Stderr(), f.ErrStyle, f.Secrets.Text(text)) }

func (f *Factory) Warn(text string) {
	if !f.Repeats.Again(text) {
		failure.Warn(f.Stderr(), f.ErrStyle, f.Secrets.Text(text))
	}
}

// MostRecorded is how many bytes a batch takes of the ring in which every command is
// recorded: what two thousand small calls are. Its lines have the rest.
const MostRecorded = 2 << 20

// Open finds the server that a command means, and opens or resumes the connection with it.
// End closes it, once it has reported how the command ended: a server may take long to exit.
func (f *Factory) Open(ctx context.Context, how connect.Options) (*connect.Conn, wire.Outcome) {
	if f.Shell != nil {
		c, o := f.Shell.Lend(how)
		f.conn = c
		return c, o
	}
	if o := outfile.Writable(f.Output); !o.Good() {
		return &connect.Conn{Env: &f.Env}, o
	}
	stop := StartSpinner(f)
	ShowTraffic(f, f.Verbose, f.Explain)
	c, o := connect.Dial(ctx, &f.Env, how)
	c.StopTicking = stop
	f.conn = c
	if !o.Good() && c.Dialed {
		Explained(ctx, f)
	}
	return c, o
}

// Close closes a connection of a command that goes on without it.
func (f *Factory) Close(ctx context.Context, c *connect.Conn) error {
	f.conn = nil
	return Exit(c.Close(ctx))
}
