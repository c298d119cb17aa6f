// Package cli has the command tree of mcpc, and runs a command.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/connect/elicit"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// New returns the Factory for one run of the program, with all commands. The caller sets the other
// fields.
func New(in io.Reader, out, err io.Writer) *cmdutil.Factory {
	f := cmdutil.New(in, out, err)
	f.Groups = commandGroups
	f.NewRoot = NewRoot
	f.DescribePath = meant.DescribePath
	f.Asker = elicit.New
	return f
}

// Run runs the program, and returns its exit code and the signal that ended it, or nil. After the
// first signal it waits for the command only if a connection is open or the echo is off. A second
// signal ends it at once, unless it is a SIGTERM together with the first one.
func Run(f *cmdutil.Factory, args []string, signals <-chan os.Signal) (code int, died os.Signal) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ended := make(chan cmdutil.ExitError, 1)
	go func() { ended <- execute(ctx, f, args) }()
	var interruptedAt time.Time
	for {
		select {
		case e := <-ended:
			var interrupted cmdutil.ErrInterrupted
			if errors.As(context.Cause(ctx), &interrupted) && e.Outcome.Kind == wire.Signal {
				died = interrupted.Sig
			}
			return e.ExitCode(), died
		case sig := <-signals:
			isForPager := sig == os.Interrupt && f.Paging.Load()
			if f.RelaysSignals.Load() || isForPager {
				continue // the child process gets the signal too, and decides
			}
			if stop := f.CancelLine.Swap(nil); stop != nil && sig == os.Interrupt {
				// Ctrl-C ends one line of the shell, not the shell.
				(*stop)(cmdutil.ErrInterrupted{Sig: sig})
				continue
			}
			f.LeaveTerminal()
			// The command has ended, and only its output is left to be written.
			if e := f.Exiting.Load(); e != nil {
				return e.ExitCode(), nil
			}
			if sig == syscall.SIGTERM && ctx.Err() != nil && f.Now().Sub(interruptedAt) < sameSignal {
				continue
			}
			interruptedAt = f.Now()
			mustEndInOrder := f.IsConnected.Load() || f.IsEchoOff.Load()
			if ctx.Err() != nil || !mustEndInOrder {
				reportSignal(f, args, sig)
				return 0, sig
			}
			cancel(cmdutil.ErrInterrupted{Sig: sig})
		}
	}
}

// sameSignal is the time within which two SIGTERM are one: timeout(1) sends the signal to the command, and
// to the group of the command.
const sameSignal = 100 * time.Millisecond

// reportSignal writes the JSON error if Run returns because of a signal without waiting for the
// command, and the command is to print JSON. The command may still run in its goroutine, so
// reportSignal uses only what is safe for concurrent use.
func reportSignal(f *cmdutil.Factory, args []string, sig os.Signal) {
	if !f.AsksJSON(args) {
		return
	}
	o := wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	if f.Record.HasTraffic.Load() || f.IsConnected.Load() { // something may have reached the server
		o.Reached = wire.Unknown
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cmdutil.ErrInterrupted{Sig: sig}) // WithSignal takes the signal from the cause
	failure.WriteJSON(f.Err, term.StyleFor(f.Err, "never", f.Getenv), cmdutil.WithSignal(ctx, o))
}

// execute parses the arguments, runs the command, reports how it ended, and returns that.
func execute(ctx context.Context, f *cmdutil.Factory, args []string) (e cmdutil.ExitError) {
	defer func() {
		if panicValue := recover(); panicValue != nil {
			e = reportPanic(f, panicValue, debug.Stack())
		}
	}()
	f.Args = args
	f.SettleStyles()
	f.Secrets.Full = func() {
		const text = "more secrets than mcpc can track: message texts are hidden in the recording from here on"
		failure.Warn(f.Stderr(), f.ErrStyle, text)
	}
	root := RootFor(f, meant.EscapeCodes(meant.EscapeNegations(args)))
	err := meant.Execute(ctx, f, root, args)
	if _, ended := errors.AsType[*cmdutil.ExitError](err); err != nil && !ended {
		f.SetHintFlags(root.PersistentFlags())
		f.JSON = f.JSON || f.AsksJSON(args)
	}
	e = cmdutil.End(ctx, f, err)
	f.Finish(e)
	return e
}

// reportPanic reports that a bug ended the command. -v prints the stack.
func reportPanic(f *cmdutil.Factory, panicValue any, stack []byte) cmdutil.ExitError {
	if f.Progress == nil { // it panicked before the styles were set
		f.SettleStyles()
	}
	f.Env.LearnArgs() // so that the report shows no secret of the command line
	o := wire.Outcome{
		Kind: wire.Internal,
		Text: fmt.Sprint(panicValue),
		Hint: "please report it with the command and what -vv prints",
	}
	if f.IsConnected.Load() || f.Record.HasTraffic.Load() {
		o.Reached = wire.Unknown
	}
	e := cmdutil.End(context.Background(), f, cmdutil.Exit(o))
	if f.Verbose > 0 {
		_, _ = f.Stderr().Write(stack)
	}
	f.Finish(e)
	return e
}
