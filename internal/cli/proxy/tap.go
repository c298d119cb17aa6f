package proxy

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/cli/faulty"
	"mcpc/internal/cli/meant"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/pause"
	"mcpc/internal/proxy"
	"mcpc/internal/shellwords"
	"mcpc/internal/tty"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// tapOptions are the arguments of `mcpc tap`.
type tapOptions struct {
	fault faulty.Options
	trace cmdutil.TraceOptions
	watch cmdutil.WatchOptions
	// failFast is set by a client that repeats its handshake after a failure.
	failFast bool
}

// NewTap returns the command tap.
func NewTap(f *cmdutil.Factory) *cobra.Command {
	var o tapOptions
	cmd := &cobra.Command{
		Use:   "tap -- COMMAND...",
		Short: "record the stdio traffic of another client",
		Long: `Run a stdio server for another client and record the traffic. Put it before the
server's command in the client's configuration, or use "mcpc tap install".

Stdin, stdout and stderr are passed through unchanged, and so are signals and
the exit status; 128+n means ended by signal n. Traffic that cannot be recorded
is forwarded anyway, and without -v mcpc prints nothing itself. mcpc log lists
the traffic, with --follow while it happens. For clients that interpret "--",
such as MCP Inspector, it may be omitted. --fault makes messages fail: see mcpc
help faults.

With --watch the server is restarted after its files have changed, or after
SIGUSR2, and the client stays connected: the handshake and the subscriptions are
repeated, requests wait meanwhile, and the client is notified about lists that
differ. mcpc then prints what differs in the tools, and failures of the build
and the server. In a pattern, ** is any number of directories, and a directory
is all files below it; .gitignore is respected.`,
		Example: `  mcpc tap -- mcpc demo --stdio </dev/null
  mcpc list -- mcpc tap -- mcpc demo --stdio
  mcpc list -- mcpc tap --record tapped.jsonl -- mcpc demo --stdio
  mcpc list -- mcpc tap --watch 'src/**/*.py' -- mcpc demo --stdio`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() < 0 && len(args) > 0 { // without "--" the first word may be a mistake
				if _, err := exec.LookPath(args[0]); err != nil {
					if o.watch.IsSet() && slices.Contains(args, "--") && cmdutil.IsFile(args[0]) {
						return usage.New("--watch takes one pattern, and the shell has made several files of it",
							"quote the pattern: --watch 'src/**/*.ts'")
					}
					if cmdutil.IsURL(args[0]) {
						return usage.New("tap runs a stdio server and does not take a URL",
							wire.Run("proxy --to "+shellwords.Quote(args[0]))+" is for a server over HTTP")
					}
					if argv := meant.ServerCommand(args); argv != nil {
						return usage.New(args[0]+" is not a program", "did you mean "+meant.StartHint(f, "tap", argv)+"?")
					}
					return meant.UnknownCommand(f, cmd, args)
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.New("tap needs the command of a server", wire.Run("tap -- COMMAND..."))
			}
			if f.Output != "" {
				return usage.New("tap has no result for -o to write",
					"--record "+wire.Hint(shellwords.Quote(f.Output))+" writes the recording to this file")
			}
			if err := o.watch.Check(); err != nil {
				return err
			}
			if o.watch.IsSet() {
				return runWatchedTap(cmd.Context(), f, args, o)
			}
			return runTap(f, args, o)
		},
	}
	// All words after the command's first word belong to the command, with or without --.
	cmd.Flags().SetInterspersed(false)
	o.watch.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.failFast, "fail-fast", false, "--watch: report a server that does not start at once")
	_ = cmd.Flags().MarkHidden("fail-fast") // for mcpc inspect
	o.fault.AddFlags(cmd.Flags())
	o.trace.AddFlags(cmd.Flags())
	cmd.AddCommand(newTapInstall(f), newTapRemove(f))
	return cmd
}

// A tapping runs a server for another client.
type tapping struct {
	factory *cmdutil.Factory
	cmd     *exec.Cmd
	watcher *proxy.Watcher
	// serverIn, serverOut and serverErr are mcpc's ends of the server's standard streams.
	serverIn, serverOut, serverErr *os.File
	send                           func(os.Signal) // to the server
	copies                         sync.WaitGroup  // of the server's stdout and stderr
	pipe                           *proxy.Pipe
	// ended is closed when the server has ended.
	ended chan struct{}
	// clientLeft is set by forwardInput when the client closes the server's stdin.
	clientLeft atomic.Bool
}

// runTap runs the server until it ends, and returns its exit code as an error.
func runTap(f *cmdutil.Factory, argv []string, o tapOptions) error {
	faults, err := o.fault.StartLive(f, proxy.LinkStdio|proxy.LinkChild)
	if err != nil {
		return err
	}
	defer faults.Close()
	f.Record.Quiet.Store(f.Verbose == 0) // stderr is the server's
	f.Secrets.LearnCommand(argv)
	endTrace, err := o.trace.StartRelay(f, connect.CommandLine(argv))
	if err != nil {
		return err
	}
	// From now on all signals are passed to the server.
	f.RelaysSignals.Store(true)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, console.Relayed...)
	pipeCtx, stop := context.WithCancel(context.Background())
	defer stop()
	t := &tapping{factory: f, cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	t.cmd.Env = f.Env.ChildEnviron(f.Environ(), argv)
	if out := t.start(); !out.OK() {
		return cmdutil.Exit(out)
	}
	t.watcher = faulty.NewWatcher(f, connect.CommandLine(argv), capture.ByTap, faults)
	seen := t.watcher.MessageWriter(wire.Received)
	t.pipe = &proxy.Pipe{
		Desk:      faults.Desk,
		Watcher:   t.watcher,
		Target:    connect.CommandLine(argv),
		ToServer:  t.serverIn,
		ToClient:  io.MultiWriter(seen, f.Out),
		EndServer: func() { t.send(os.Kill) },
		Context:   pipeCtx,
	}
	go func() {
		for sig := range signals {
			t.send(sig)
			go func() { // delayed messages are dropped once a signal has ended the server
				<-t.ended
				stop()
			}()
		}
	}()
	go t.forwardInput()
	t.copies.Add(2) // of stdout here, of stderr in forwardStderr
	go func() {
		defer t.copies.Done()
		defer seen.Close()
		t.forwardOutput(t.pipe.ServerWriter(), t.serverOut)
	}()
	go t.forwardStderr()
	code := t.wait()
	t.watcher.Close()
	endTrace()
	if err := faults.End(); err != nil {
		return err
	}
	if code != 0 {
		return &cmdutil.ExitError{Code: code}
	}
	return nil
}

// start starts the server with pipes for its standard streams. The server's ends of the pipes are
// closed in this process.
func (t *tapping) start() wire.Outcome {
	var serverEnds []*os.File
	defer func() {
		for _, f := range serverEnds {
			f.Close()
		}
	}()
	var err error
	openPipe := func() (r, w *os.File) {
		r, w, pipeErr := os.Pipe()
		err = errors.Join(err, pipeErr)
		return r, w
	}
	stdin, in := openPipe()
	out, stdout := openPipe()
	errs, stderr := openPipe()
	serverEnds = []*os.File{stdin, stdout, stderr}
	if err != nil {
		return usage.LocalIO("opening a pipe for the server", err)
	}
	t.serverIn = in
	t.serverOut = out
	t.serverErr = errs
	t.cmd.Stdin = stdin
	t.cmd.Stdout = stdout
	t.cmd.Stderr = stderr
	t.send, err = console.StartGroup(t.cmd)
	if err == nil {
		return wire.Outcome{}
	}
	return notStarted(t.cmd.Path, err)
}

// notStarted returns the outcome if the program of a server cannot be started.
func notStarted(program string, err error) wire.Outcome {
	failure := wire.Outcome{
		Kind:  wire.Transport,
		Phase: "connect",
		Err:   err,
		Text:  "the server could not be started: " + host.Reason(err),
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		failure.Text = "no such command: " + program
	}
	return failure
}

// forwardInput forwards what the client writes, and its end. If the server stops reading,
// forwardInput closes the client's pipe, so that the client gets the same error as without mcpc.
func (t *tapping) forwardInput() {
	seen := t.watcher.MessageWriter(wire.Sent)
	err := t.pipe.ForwardSent(io.TeeReader(t.factory.In, seen))
	seen.Close()
	hasInputEnded := err == nil // else the server stopped reading, or the input could not be read
	t.clientLeft.Store(hasInputEnded)
	if hasInputEnded {
		go t.awaitClientExit()
	}
	t.serverIn.Close()
	if clientPipe := tty.File(t.factory.In); clientPipe != nil && !hasInputEnded {
		clientPipe.Close()
	}
}

// awaitClientExit records that the client is gone once it has closed both streams, even if the server
// continues to run.
func (t *tapping) awaitClientExit() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		<-t.ended
		stop()
	}()
	for pause.For(ctx, cmdutil.StdoutPollInterval) == nil {
		if tty.ReaderClosed(tty.File(t.factory.Out)) {
			t.watcher.ReportClosed(wire.Sent, "end", "the client is gone")
			return
		}
	}
}

// graceForOthers is how long the output of processes that the server left behind is read after
// their last write.
const graceForOthers = time.Second

// forwardStderr forwards and records the server's standard error.
func (t *tapping) forwardStderr() {
	defer t.copies.Done()
	seen := t.watcher.StderrWriter()
	t.forwardOutput(writeCloser{io.MultiWriter(seen, t.factory.Err), seen}, t.serverErr)
}

// A writeCloser writes to a Writer and closes a Closer, which need not be the same.
type writeCloser struct {
	io.Writer
	io.Closer
}

// forwardOutput forwards what the server writes, until its end. After the server has ended, wait sets
// a deadline for the reads: output of processes that the server left behind is forwarded until
// nothing arrives for graceForOthers.
func (t *tapping) forwardOutput(to io.WriteCloser, from *os.File) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for isSilent := false; ; { // isSilent: nothing arrived since the last deadline
		n, err := from.Read(buf)
		if n > 0 {
			isSilent = false
			if _, writeErr := to.Write(buf[:n]); writeErr != nil {
				return // the client is gone: closing from makes the server's next write fail
			}
		}
		if err == nil {
			continue
		}
		isDeadline := errors.Is(err, os.ErrDeadlineExceeded)
		if !isDeadline || isSilent {
			return
		}
		isSilent = true
		_ = from.SetReadDeadline(t.factory.Now().Add(graceForOthers))
	}
}

// wait waits for the server and its last output. It returns the exit code.
func (t *tapping) wait() int {
	_ = t.cmd.Wait()
	close(t.ended)
	by := wire.Received // the server ended by itself
	if t.clientLeft.Load() {
		by = wire.Sent // the client asked the server to end
	}
	for _, f := range []*os.File{t.serverOut, t.serverErr} {
		if err := f.SetReadDeadline(t.factory.Now()); errors.Is(err, os.ErrNoDeadline) {
			t.send(os.Kill) // on Windows, reads end only when all writers have ended
		}
	}
	t.copies.Wait()
	how, code := exitOf(t.cmd.ProcessState)
	t.watcher.ReportClosed(by, how, t.cmd.ProcessState.String())
	return code
}

// exitOf returns how a process ended, "exit" or "signal", and its exit code: 128+n after signal n.
func exitOf(state *os.ProcessState) (how string, code int) {
	code = state.ExitCode()
	if code >= 0 {
		return "exit", code
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok {
		code = 128 + int(status.Signal())
	}
	return "signal", code
}
