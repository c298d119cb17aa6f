// Package cmdutil has the Factory: what one invocation of a command may use, its flags, its connection and what a shell
// may complete. It also has what commands do alike: print an answer or a list, write files and reports, listen until a
// limit, send telemetry, and end with an outcome.
package cmdutil

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/console"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/render/hint"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// Factory is what one invocation of a command may touch of the world: its flags, and what the
// invocations of a process have in common.
type Factory struct {
	host.Env
	console.Console
	// JSON, Wire, Jq, Output, Explain, RedactFile and maxChars are the flags of these names.
	JSON, Wire, Explain    bool
	Jq, Output, RedactFile string
	maxChars               int
	limitFlags
	// Commit and Date are "" where the program was not built by the release script.
	Commit, Date string
	// Groups returns the commands of mcpc, NewRoot makes the tree of all of them.
	Groups  func() []Group
	NewRoot func(*Factory) *cobra.Command
	// PathMeant returns what a path on this machine is that was given for a server, and the hint for it.
	PathMeant func(f *Factory, text string) (what string, hint wire.Hint)
	// Leave ends the process at once; only a mock server is told to do so.
	Leave func(code int)

	// typed are flags that the command of a hint needs too; nil is none.
	typed      *hint.Flags
	typedFlags []typedFlag
	Prepared   bool // typed is settled
	// redactions are the lines of --redact-file; nil before it was read.
	redactions []redaction
	// conn is the connection that End closes; nil where there is none.
	conn *connect.Conn
	// Shell is the one that is open, nil where none is.
	Shell Shell
	*processState
}

// processState is what the invocations of a process have in common.
type processState struct {
	// Relaying is set where signals are another process's.
	Relaying atomic.Bool
	// Line ends what the shell's line is doing; nil where no line runs.
	Line atomic.Pointer[context.CancelCauseFunc]
	// Frames are those of the command, for --explain.
	Frames frameLog
	// lost is the first failure to write to standard output; nil where none was.
	lost atomic.Pointer[ExitError]
	// Ending is called once with how the command ended, behind all traffic; it may be nil.
	// Ended is how, while it runs: a signal then ends only the waiting.
	Ending func(ExitError)
	Ended  atomic.Pointer[ExitError]
	// OnFailure prints for a program how the command failed, in place of the JSON on standard error;
	// it may be nil.
	OnFailure func(wire.Outcome)
}

// New returns a Factory with the streams. The caller sets what else it may touch of the world.
func New(in io.Reader, out, err io.Writer) *Factory {
	f := &Factory{processState: new(processState)}
	f.Shared, f.UI, f.Console = new(host.Shared), f, console.New(in, out, err, &f.Env)
	return f
}

// Invocation returns a Factory with the flags of f for another invocation, which changes no
// flag of f. It shares streams, terminal and recording with f, and has no connection.
func (f *Factory) Invocation() *Factory {
	g := *f
	g.UI, g.Console, g.conn = &g, f.Console.For(&g.Env), nil
	return &g
}

// Separate returns a Factory with the flags of f that shares no recording, no secrets but those of
// --redact-file, and no connection with it.
func (f *Factory) Separate() *Factory {
	g := f.Invocation()
	g.Shared = new(host.Shared)
	g.processState = new(processState)
	for _, r := range f.redactions {
		r.hide(g)
	}
	return g
}

// NewRootWithFlags makes the tree of commands for an invocation that begins with the flags of f: to declare flags sets
// them to their defaults.
func (f *Factory) NewRootWithFlags() *cobra.Command {
	before := *f
	root := f.NewRoot(f)
	*f = before
	return root
}

// A Shell has one connection for the commands that are its lines.
type Shell interface {
	// Lend gives the invocation of a line the connection.
	Lend(f *Factory, how connect.Options) (*connect.Conn, wire.Outcome)
	// MayRun refuses commands and flags that are not for a line.
	MayRun(f *Factory, cmd *cobra.Command) error
	// Getenv leaves out the variables of the shell's own flags, which have their values.
	Getenv(name string) string
	// Entries are what the server lists of a kind now.
	Entries(k connect.Kind) []state.Tool
	// LineNumber is that of the line in a script, from 1; 0 where a person types.
	LineNumber() int
	// Answered notes the result of a line.
	Answered(result json.RawMessage)
}

// AsksJSON reads --json from a command line that could not be read: what is
// behind a bad flag was not looked at, nor was the environment.
func (f *Factory) AsksJSON(args []string) bool {
	set, _ := strconv.ParseBool(f.Getenv(host.EnvName("json")))
	return set || slices.Contains(BeforeDashes(args), "--json")
}

// MeantByPath returns what -s names if that is no server but something on this machine, and the hint for it.
func (f *Factory) MeantByPath(text string) (what string, hint wire.Hint) { return f.PathMeant(f, text) }

// MostRecorded is how many bytes a batch takes of the ring in which every command is
// recorded: what two thousand small calls are. Its lines have the rest.
const MostRecorded = 2 << 20

// Open finds the server that a command means, and opens or resumes the connection with it.
// End closes it, once it has reported how the command ended: a server may take long to exit.
func (f *Factory) Open(ctx context.Context, how connect.Options) (*connect.Conn, wire.Outcome) {
	if f.Shell != nil {
		c, o := f.Shell.Lend(f, how)
		f.conn = c
		f.forgetLists(c, o)
		return c, o
	}
	if f.Output != "" {
		if o := Writable(f.Output); !o.Good() {
			return &connect.Conn{Env: &f.Env}, o
		}
	}
	stop := f.StartSpinner()
	f.ShowTraffic(f.Verbose, f.Explain)
	c, o := connect.Dial(ctx, &f.Env, how)
	c.StopTicking = stop
	f.conn = c
	f.forgetLists(c, o)
	if !o.Good() && c.Dialed {
		Explained(ctx, f)
	}
	return c, o
}

// forgetLists does what --fresh says of an open connection.
func (f *Factory) forgetLists(c *connect.Conn, opened wire.Outcome) {
	if f.Fresh && opened.Good() {
		c.ForgetLists()
	}
}

// Close closes a connection of a command that goes on without it.
func (f *Factory) Close(ctx context.Context, c *connect.Conn) error {
	f.conn = nil
	return Exit(c.Close(ctx))
}
