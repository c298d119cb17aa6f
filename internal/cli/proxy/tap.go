package proxy

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
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

// tapOptions are what `mcpc tap` was asked.
type tapOptions struct {
	fault faulty.Options
	trace cmdutil.TraceOptions
}

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
such as MCP Inspector, it may be omitted. --fault lets messages fail: see mcpc
help faults.`,
		Example: `  mcpc tap -- mcpc demo --stdio </dev/null
  mcpc list -- mcpc tap -- mcpc demo --stdio
  mcpc list -- mcpc tap --record tapped.jsonl -- mcpc demo --stdio`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() < 0 && len(args) > 0 {
				if _, err := exec.LookPath(args[0]); err != nil {
					if cmdutil.IsURL(args[0]) {
						return usage.New("tap runs a server over stdio, and no URL",
							wire.Run("proxy --to "+shellwords.Quote(args[0]))+" is for one over HTTP")
					}
					if argv := meant.ServerCommand(args); argv != nil {
						return usage.New(args[0]+" is no program", "did you mean "+meant.CommandStarting(f, "tap", argv)+"?")
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
			return runTap(f, args, o)
		},
	}
	// Behind the command's first word all words are the command's, with or without --.
	cmd.Flags().SetInterspersed(false)
	o.fault.AddFlags(cmd.Flags())
	o.trace.AddFlags(cmd.Flags())
	cmd.AddCommand(newTapInstall(f, false), newTapInstall(f, true))
	return cmd
}

// A tapping is a server that runs for another client.
type tapping struct {
	a     *cmdutil.Factory
	cmd   *exec.Cmd
	watch *proxy.Watcher
	// in, out and err are this side's ends of its standard streams.
	in, out, err *os.File
	// send sends the server a signal.
	send   func(os.Signal)
	copies sync.WaitGroup
	// pipe passes messages on.
	pipe *proxy.Pipe
	// ended is closed when the server has ended.
	ended chan struct{}
	// left is set when the client has ended what it writes.
	left atomic.Bool
}

func runTap(f *cmdutil.Factory, argv []string, o tapOptions) error {
	faults, err := o.fault.StartLive(f, proxy.LinkStdio|proxy.LinkChild)
	if err != nil {
		return err
	}
	f.Record.Quiet.Store(f.Verbose == 0)
	f.Secrets.LearnCommand(argv)
	endTrace, err := o.trace.Between(f, connect.CommandLine(argv))
	if err != nil {
		return err
	}
	// All signals are the server's from now on.
	f.Relaying.Store(true)
	caught := make(chan os.Signal, 16)
	signal.Notify(caught, console.Relayed...)
	late, stop := context.WithCancel(context.Background())
	defer stop()
	t := &tapping{a: f, cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	if out := t.start(); !out.Good() {
		return cmdutil.Exit(out)
	}
	t.watch = faulty.Overhear(f, connect.CommandLine(argv), capture.ByTap, faults)
	seen := t.watch.Messages(wire.Received)
	t.pipe = &proxy.Pipe{
		Desk:     faults.Desk,
		Watcher:  t.watch,
		Target:   connect.CommandLine(argv),
		ToServer: t.in,
		ToClient: io.MultiWriter(seen, f.Out),
		End:      func() { t.send(os.Kill) },
		Context:  late,
	}
	go func() {
		for sig := range caught {
			t.send(sig)
			go func() { // nothing of a server that has ended after a signal is waited for
				<-t.ended
				stop()
			}()
		}
	}()
	go t.feed()
	t.copies.Add(2)
	go func() { // what the client gets is seen
		defer t.copies.Done()
		defer seen.Close()
		t.drain(t.pipe.FromServer(), t.out)
	}()
	go t.stderr()
	code := t.wait()
	t.watch.Close()
	endTrace()
	if err := faults.End(); err != nil {
		return err
	}
	if code != 0 {
		return &cmdutil.ExitError{Code: code}
	}
	return nil
}

// start connects the server with pipes of its own.
func (t *tapping) start() wire.Outcome {
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	var failed error
	open := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		failed = errors.Join(failed, err)
		return r, w
	}
	stdin, in := open()
	out, stdout := open()
	errs, stderr := open()
	theirs = []*os.File{stdin, stdout, stderr}
	if failed != nil {
		return usage.LocalIO("opening a pipe for the server", failed)
	}
	t.in = in
	t.out = out
	t.err = errs
	t.cmd.Stdin = stdin
	t.cmd.Stdout = stdout
	t.cmd.Stderr = stderr
	t.send, failed = console.StartGroup(t.cmd)
	if failed != nil {
		o := wire.Outcome{
			Kind:  wire.Transport,
			Phase: "connect",
			Err:   failed,
			Text:  "the server could not be started: " + host.Reason(failed),
		}
		if errors.Is(failed, exec.ErrNotFound) || errors.Is(failed, fs.ErrNotExist) {
			o.Text = "no such command: " + t.cmd.Path
		}
		return o
	}
	return wire.Outcome{}
}

// feed passes on what the client writes, and the end of it. A server that reads no
// more is told to the client as the system does without mcpc.
func (t *tapping) feed() {
	seen := t.watch.Messages(wire.Sent)
	err := t.pipe.Sent(io.TeeReader(t.a.In, seen))
	seen.Close()
	t.left.Store(err == nil)
	if err == nil {
		go t.awaitLeaving()
	}
	t.in.Close()
	if in := tty.File(t.a.In); in != nil && err != nil {
		in.Close()
	}
}

// awaitLeaving waits, once the client writes no more, until it does not read either: then it gets no response any more,
// even if the server does not end.
func (t *tapping) awaitLeaving() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		<-t.ended
		stop()
	}()
	for pause.For(ctx, cmdutil.UnreadEvery) == nil {
		if tty.ReaderClosed(tty.File(t.a.Out)) {
			t.watch.Closed(wire.Sent, "end", "the client is gone")
			return
		}
	}
}

// graceForOthers is how long a process that the server left behind is listened to
// since it wrote last, because it holds the streams.
const graceForOthers = time.Second

func (t *tapping) stderr() {
	defer t.copies.Done()
	seen := t.watch.Stderr()
	t.drain(both{io.MultiWriter(seen, t.a.Err), seen}, t.err)
}

type both struct {
	io.Writer
	io.Closer
}

// drain passes on what the server writes, as far as its end.
func (t *tapping) drain(to io.WriteCloser, from *os.File) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for silent := false; ; {
		n, err := from.Read(buf)
		if n > 0 {
			silent = false
			if _, lost := to.Write(buf[:n]); lost != nil {
				return // the reader is gone: the server learns it from its own next write
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded) && !silent: // the server is dead
			silent = true
			_ = from.SetReadDeadline(t.a.Now().Add(graceForOthers))
		default:
			return
		}
	}
}

// wait waits for the server, and for what it has still written. It returns the exit code.
func (t *tapping) wait() int {
	_ = t.cmd.Wait()
	close(t.ended)
	by := wire.Received
	if t.left.Load() {
		by = wire.Sent // the server was asked to
	}
	for _, f := range []*os.File{t.out, t.err} {
		if err := f.SetReadDeadline(t.a.Now()); errors.Is(err, os.ErrNoDeadline) {
			t.send(os.Kill) // on Windows, where only the end of all writers ends the reading
		}
	}
	t.copies.Wait()
	state := t.cmd.ProcessState
	how := "exit"
	code := state.ExitCode()
	if code < 0 {
		how = "signal"
		if status, ok := state.Sys().(syscall.WaitStatus); ok {
			code = 128 + int(status.Signal())
		}
	}
	t.watch.Closed(by, how, state.String())
	return code
}
