// Package mock implements the command mock.
package mock

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/cli/faulty"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/connect/host"
	"mcpc/internal/mock"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// mockOptions are the flags of `mcpc mock`.
type mockOptions struct {
	script string
	listen string
	stdio  bool
	play   playOptions
	until  untilOptions
	fault  faulty.Options
}

// NewMock returns the command mock.
func NewMock(f *cmdutil.Factory) *cobra.Command {
	var o mockOptions
	cmd := &cobra.Command{
		Use:   "mock CAPTURE [FILTER...] | --script FILE",
		Short: "run a mock server from a recording or a script",
		Long: `Run a mock server that sends the responses of a recording to any client, over
HTTP or stdio, in every revision: results, lists and instructions byte for byte,
and notifications, progress and server requests in the recorded order. A request
gets the response that was recorded for its method and params. If there is none,
the response is an error that names the most similar recorded requests, and mcpc
reports it. CAPTURE is the number of a run, last, a file or - for stdin; a
FILTER (mcpc help filters) selects exchanges.

Handshakes are always kept. At the end mcpc prints which exchanges were used.

--until N --then TARGET plays the recording before exchange N, and lets a real
server answer the same client from N on: a target as for -s, or -- COMMAND.
Requests that changed something are not repeated at the server. If a later
request depends on one, mcpc refuses to begin; --yes continues, repeats those
whose result has a handle (an id that the server made) that is used later, and
replaces the handle by the new one.

--match strict compares the params as values, and exact compares them byte by
byte; loose compares only the method and the name, and takes the recorded
request with the most similar params. --era both serves clients with a handshake
(legacy) and without (modern).

With --script, run a mock server from a script, to test how a client handles
faults. The script lists what the server does wrong; the rest is correct
behavior. This is fault.txt of the examples below:

    speaks ` + client.Revisions()[1] + `
    tool echo {"type":"object"}

    on tools/call #2
        error -32000 out of order

This server supports that revision, has one tool, and responds to the second
call with an error. An action that the transport does not support, such as
status with --stdio, is an error at the start. mcpc help mock-scripts describes
the language.`,
		Example: `  mcpc call get-sum a=1 b=2 -s demo --record sums.jsonl
  mcpc call get-sum a=1 b=2 -- mcpc mock sums.jsonl --stdio
  mcpc mock sums.jsonl --listen 127.0.0.1:3001 --fail-on-miss
  mcpc list -- mcpc mock sums.jsonl --stdio --until last -- mcpc demo --stdio
  mcpc mock --script fault.txt --listen 127.0.0.1:3001
  mcpc list -- mcpc mock --script fault.txt --stdio
  mcpc describe -vv -- mcpc mock --script fault.txt --stdio`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, o.until.argv = cmdutil.SplitDash(cmd, args)
			o.until.asRecorded = !cmd.Flags().Changed("era")
			if err := o.until.validate(f, o.play); err != nil {
				return err
			}
			if o.stdio && cmd.Flags().Changed("listen") {
				return usage.New("--stdio and --listen cannot be combined", "")
			}
			if cmd.Flags().Changed("record") && !f.NoRecord && f.RecordTo != host.OffWord && o.play.passTo() == "" &&
				!o.until.isSet() {
				return usage.New("mock does not record what its clients send",
					"to record them: "+wire.Run("tap --record FILE -- mcpc mock ... --stdio")+", or over HTTP a proxy in front: "+
						wire.Run("proxy --record FILE --to URL"))
			}
			if o.stdio && (o.script == recorded.Stdin || len(args) > 0 && args[0] == recorded.Stdin) {
				return usage.New("with --stdio the client's messages come on stdin, so - cannot be read there", "name a file")
			}
			if len(args) > 0 && o.script == "" {
				return runPlay(cmd.Context(), f, o, args[0], args[1:])
			}
			if len(args) > 0 || o.script != "" && (o.play.isSet(cmd) || o.until.isSet()) {
				return usage.New("mock takes one recording with its flags, or --script FILE", "")
			}
			return runMock(cmd.Context(), f, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.script, "script", "", "script `file`, or - for stdin")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:3001",
		"HTTP listen `addr`ess, loopback only; port 0 selects a free port (default 127.0.0.1:3001)")
	flags.BoolVar(&o.stdio, "stdio", false, "use stdio")
	flags.StringVar(&o.until.until, "until", "",
		"play up to this `exchange`, and let --then answer from it on: a number, last, or a filter")
	flags.StringVar(&o.until.then, "then", "", "`target` that answers from --until on; or -- COMMAND")
	flags.BoolVarP(&o.until.yes, "yes", "y", false,
		"--until: continue although something is lost, and repeat requests that made a handle")
	flags.StringArrayVar(&o.until.bind, "bind", nil,
		"--until: the value at a `path` of a result is a handle for later requests; FROM=TO: at that path of their params")
	o.play.addFlags(cmd)
	_ = cmd.RegisterFlagCompletionFunc("then", f.CompleteServer)
	o.fault.AddFlags(flags)
	return cmd
}

// runMock plays a script.
func runMock(ctx context.Context, f *cmdutil.Factory, o mockOptions) error {
	if o.script == "" {
		return usage.New("mock needs a recording, or a script",
			wire.Run("mock last")+" plays the last recording, --script FILE a script")
	}
	text, _, err := f.Input("@" + o.script) // - is standard input
	if err != nil {
		return err
	}
	script, err := mock.Parse(string(text))
	if err != nil {
		return usage.New(o.script+": "+err.Error(), "see "+wire.Run("help mock-scripts"))
	}
	if err := checkTransport(f, script, o); err != nil {
		return err
	}
	if script.TLS != "" && o.fault.HasRules() {
		return usage.New("--fault cannot be combined with a script that uses TLS",
			"run "+wire.Run("proxy --fault")+" in front of it")
	}
	faults, err := o.fault.Start(f, faulty.Link(o.stdio))
	if err != nil {
		return err
	}
	defer faults.Close()
	if o.stdio {
		// A signal does not interrupt a read of the input, so it must end the process.
		return mockStdio(ctx, f, script, faults)
	}
	f.IsConnected.Store(true)
	return mockHTTP(ctx, f, script, o.listen, faults)
}

// checkTransport returns an error if the transport cannot play the script. It warns about rules
// that never run over it.
func checkTransport(f *cmdutil.Factory, script *mock.Script, o mockOptions) error {
	over := mock.OverHTTP
	hint := wire.Hint("use --stdio for stdio")
	if o.stdio {
		over = mock.OverStdio
		hint = "use --listen instead of --stdio for HTTP"
	}
	idle, err := script.CheckTransport(over)
	for _, rule := range idle {
		f.Warn(o.script + ": " + rule.Error())
	}
	if err != nil {
		return usage.New(o.script+": "+err.Error(), hint)
	}
	return nil
}

// mockStdio plays a script over stdio.
func mockStdio(ctx context.Context, f *cmdutil.Factory, script *mock.Script, faults *faulty.Faults) error {
	in, to, end := faults.Stdio(f, "mock")
	err := script.Stdio(ctx, mock.Process{
		In: in, Out: to, Err: f.Err,
		Exit: func(code int) {
			_ = end()
			f.Leave(code)
		},
		Kill:       func(name string) { console.Raise(killedBy[name]) },
		IgnoreTerm: func() { signal.Ignore(syscall.SIGTERM) },
		Fork:       func(d time.Duration) { startOrphan(f, d) },
	})
	if err != nil {
		err = cmdutil.Exit(usage.LocalIO("the mock", err))
	}
	return cmdutil.Join(err, end())
}

// killedBy maps the names of signals in scripts to signals.
var killedBy = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "SEGV": syscall.SIGSEGV, "ABRT": syscall.SIGABRT,
}

// startOrphan starts a child process that holds the standard streams for the duration.
func startOrphan(f *cmdutil.Factory, d time.Duration) {
	sleep := exec.Command("sleep", fmt.Sprint(d.Seconds()))
	sleep.Stdin = f.In
	sleep.Stdout = f.Out
	sleep.Stderr = f.Err
	if err := sleep.Start(); err != nil {
		f.Warn("fork: " + err.Error())
	}
}

// mockHTTP plays a script over HTTP until a signal arrives.
func mockHTTP(
	ctx context.Context,
	f *cmdutil.Factory,
	script *mock.Script,
	address string,
	faults *faulty.Faults,
) error {
	listener, out := cmdutil.ListenLoopback("--listen", address)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	scheme := "http"
	if script.TLS != "" {
		scheme = "https"
	}
	f.Note(fmt.Sprintf("listening on %s://%s/mcp; Ctrl-C stops", scheme, listener.Addr()))
	// cmdutil.ServeHTTP serves net/http handlers; a script writes its responses to the connections
	// itself.
	return faults.ServeBehind(ctx, "mock", listener, func(l net.Listener) error {
		if err := script.HTTP(ctx, l, nil); err != nil {
			return cmdutil.Exit(usage.LocalIO("serving", err))
		}
		return cmdutil.Exit(wire.Outcome{Kind: wire.Signal})
	})
}
