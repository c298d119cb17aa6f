// Package cmdutil has the Factory: flags, connection and streams of one invocation of a command. It
// also has the jobs that commands share: printing an answer or a list, writing files and reports,
// completion, listening until a limit, sending telemetry, and reporting how a command ended.
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
	"mcpc/internal/mcp"
	"mcpc/internal/render/hint"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// A Factory has everything that one invocation of a command uses: its flags, streams and
// connection, and the state that the invocations of a process share.
type Factory struct {
	host.Env
	console.Console
	// JSON, Wire, Jq, Output, Explain, RedactFile and maxChars are the flags of these names.
	JSON, Wire, Explain    bool
	Jq, Output, RedactFile string
	// AsksCompleteHelp is set by --help-all.
	AsksCompleteHelp bool
	maxChars         int
	limitFlags
	// Commit and Date are "" unless the release script built the program.
	Commit, Date string
	// Groups returns the commands of mcpc. NewRoot builds the command tree.
	Groups  func() []Group
	NewRoot func(*Factory) *cobra.Command
	// DescribePath describes a file or folder that was given instead of a server, and returns a
	// hint for it.
	DescribePath func(f *Factory, text string) (what string, hint wire.Hint)
	// Leave ends the process at once. Only a mock server does that.
	Leave func(code int)

	// hintFlags are the flags that commands in hints repeat. It is nil without such flags.
	hintFlags  *hint.Flags
	typedFlags []typedFlag
	Prepared   bool // Prepared is set once the flags are read.
	// redactions are the lines of --redact-file. It is nil until the file is read.
	redactions []redaction
	// conn is the connection that End closes, or nil.
	conn *connect.Conn
	// Shell is the shell that runs this command as a line, or nil.
	Shell Shell
	*processState
}

// processState is shared by the invocations of a process.
type processState struct {
	// RelaysSignals is set while signals are relayed to another process.
	RelaysSignals atomic.Bool
	// CancelLine cancels the command that runs as a line of the shell. It is nil if no command
	// runs.
	CancelLine atomic.Pointer[context.CancelCauseFunc]
	// Frames are the frames of the command, for --explain.
	Frames frameLog
	// writeFailure is the first failure to write to standard output, or nil. storeWriteFailure sets
	// it, finalExit resets it.
	writeFailure atomic.Pointer[ExitError]
	// OnExit is called once after all traffic, with how the command ended. It may be nil.
	OnExit func(ExitError)
	// Exiting is set to how the command ended before OnExit is called, and is nil before. A signal
	// that arrives later ends the process with that exit code.
	Exiting atomic.Pointer[ExitError]
	// OnFailure reports a failure in place of the JSON on standard error. It may be nil.
	OnFailure func(wire.Outcome)
}

// New returns a Factory with the given streams. The caller sets the other fields.
func New(in io.Reader, out, err io.Writer) *Factory {
	f := &Factory{processState: new(processState)}
	f.Shared = new(host.Shared)
	f.UI = f
	f.Console = console.New(in, out, err, &f.Env)
	return f
}

// Invocation returns a copy of f for another invocation, with its own flags and without a
// connection. It shares the streams, the terminal and the recording with f.
func (f *Factory) Invocation() *Factory {
	g := *f
	g.UI = &g
	g.Console = f.Console.For(&g.Env)
	g.conn = nil
	return &g
}

// Separate returns a copy of f that shares no recording and no connection with f, and only the
// secrets of --redact-file.
func (f *Factory) Separate() *Factory {
	g := f.Invocation()
	g.Shared = new(host.Shared)
	g.processState = new(processState)
	for _, r := range f.redactions {
		r.applyTo(g)
	}
	return g
}

// NewRootWithFlags builds the command tree without changing the flags of f. Declaring a flag sets
// it to its default.
func (f *Factory) NewRootWithFlags() *cobra.Command {
	before := *f
	root := f.NewRoot(f)
	*f = before
	return root
}

// A Shell runs commands as its lines, over one connection.
type Shell interface {
	// Lend lends the connection to the command of a line.
	Lend(f *Factory, options connect.Options) (*connect.Conn, wire.Outcome)
	// CheckAllowed returns an error for commands and flags that a line cannot use.
	CheckAllowed(f *Factory, cmd *cobra.Command) error
	// Getenv returns environment variables, except the variables of the flags that the shell was
	// started with.
	Getenv(name string) string
	// Entries returns what the server lists of a kind now.
	Entries(k connect.Kind) []state.Tool
	// LineNumber returns the number of the line in a script, from 1, or 0 if a person types.
	LineNumber() int
	// StoreResult stores the result of a line, which the next line can refer to.
	StoreResult(result json.RawMessage)
}

// AsksJSON reports whether a command line that could not be parsed asks for JSON. f.JSON does not
// say so: the words after a bad flag and the environment were not read yet.
func (f *Factory) AsksJSON(args []string) bool {
	inEnvironment, _ := strconv.ParseBool(f.Getenv(host.EnvName("json")))
	return inEnvironment || slices.Contains(BeforeDashes(args), "--json")
}

// MeantByPath describes a file or folder that -s names instead of a server, and returns a hint for
// it.
func (f *Factory) MeantByPath(text string) (string, wire.Hint) {
	return f.DescribePath(f, text)
}

// MaxBatchRecording limits how much of the ring of recordings a batch takes: about two thousand
// small calls.
const MaxBatchRecording = 2 << 20 // bytes

// Open finds the server that the command line names, and opens or resumes the connection. End
// closes it after reporting how the command ended: a server may take long to exit.
func (f *Factory) Open(ctx context.Context, options connect.Options) (*connect.Conn, wire.Outcome) {
	if f.Shell != nil {
		c, o := f.Shell.Lend(f, options)
		f.conn = c
		f.forgetListsIfFresh(c, o)
		return c, o
	}
	if f.Output != "" { // before anything is sent: an answer that cannot be written is lost
		if o := CheckOutput(f.Output); !o.OK() {
			return &connect.Conn{Env: &f.Env}, o
		}
	}
	stopSpinner := f.StartSpinner()
	f.ShowTraffic(f.Verbose, f.Explain)
	c, o := connect.Dial(ctx, &f.Env, options)
	c.StopTicking = stopSpinner
	f.conn = c
	f.forgetListsIfFresh(c, o)
	if !o.OK() && c.Dialed { // no answer follows that would print it
		PrintExplanation(ctx, f)
	}
	return c, o
}

// DeclareApps declares that the command shows pages of tools (MCP Apps): some servers list them only for
// such clients. The settings of a flag --extension come later and replace these.
func (f *Factory) DeclareApps() {
	f.Answers.Extensions = slices.Insert(f.Answers.Extensions, 0, mcp.AppsExtension+"="+mcp.AppsSettings)
}

// forgetListsIfFresh drops the cached lists if --fresh is set and the connection is open.
func (f *Factory) forgetListsIfFresh(c *connect.Conn, opened wire.Outcome) {
	if f.Fresh && opened.OK() {
		c.ForgetLists()
	}
}

// Close closes the connection of a command that continues without it.
func (f *Factory) Close(ctx context.Context, c *connect.Conn) error {
	f.conn = nil
	return Exit(c.Close(ctx))
}
