// Package cli is the command tree of mcpc and one run of it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/connect/elicit"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// New is the app of one run of the program, with all commands. The caller settles what
// it may know of the world.
func New(in io.Reader, out, err io.Writer) *cmdutil.Factory {
	f := cmdutil.New(in, out, err)
	f.Groups = commandGroups
	f.NewRoot = NewRoot
	f.PathMeant = meant.ByPath
	f.Asker = elicit.New
	return f
}

// Run is the whole program: arguments in, exit code out, and the signal that
// ended it, if one did. A signal is waited for only where there is a
// conversation to end, and a second one does not wait at all.
func Run(f *cmdutil.Factory, args []string, signals <-chan os.Signal) (code int, died os.Signal) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ended := make(chan cmdutil.ExitError, 1)
	go func() { ended <- execute(ctx, f, args) }()
	for {
		select {
		case e := <-ended:
			var interrupted cmdutil.ErrInterrupted
			if errors.As(context.Cause(ctx), &interrupted) && e.Outcome.Kind == wire.Signal {
				died = interrupted.Sig
			}
			return e.ExitCode(), died
		case sig := <-signals:
			if f.Relaying.Load() || sig == os.Interrupt && f.Paging.Load() {
				continue
			}
			if stop := f.Line.Swap(nil); stop != nil && sig == os.Interrupt {
				(*stop)(cmdutil.ErrInterrupted{Sig: sig})
				continue
			}
			f.LeaveTerminal()
			if e := f.Ended.Load(); e != nil {
				return e.ExitCode(), nil
			}
			if ctx.Err() != nil || !f.Talking.Load() && !f.Hidden.Load() {
				Killed(f, args, sig)
				return 0, sig
			}
			cancel(cmdutil.ErrInterrupted{Sig: sig})
		}
	}
}

// Killed says for a program that a signal ended the command at once. The command may
// still be at work, so that nothing is used of it that is not made for two.
func Killed(f *cmdutil.Factory, args []string, sig os.Signal) {
	if !f.AsksJSON(args) {
		return
	}
	o := wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	if f.Record.Crossed.Load() || f.Talking.Load() {
		o.Reached = wire.Unknown
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cmdutil.ErrInterrupted{Sig: sig})
	failure.WriteJSON(f.Err, term.StyleFor(f.Err, "never", f.Getenv), cmdutil.Signalled(ctx, o))
}

// execute parses the arguments, runs the command and reports how it ended.
func execute(ctx context.Context, f *cmdutil.Factory, args []string) (e cmdutil.ExitError) {
	defer func() {
		if crash := recover(); crash != nil {
			e = crashed(f, crash, debug.Stack())
		}
	}()
	f.Args = args
	f.SettleStyles()
	f.Secrets.Full = func() {
		failure.Warn(
			f.Stderr(),
			f.ErrStyle,
			"more secrets than mcpc can track: message texts are hidden in the recording from here on",
		)
	}
	root := RootFor(f, meant.WithCodes(meant.WithNegations(args)))
	err := meant.Execute(ctx, f, root, args)
	if _, ended := errors.AsType[*cmdutil.ExitError](err); err != nil && !ended {
		f.SetHintFlags(root.PersistentFlags())
		f.JSON = f.JSON || f.AsksJSON(args)
	}
	e = cmdutil.End(ctx, f, err)
	f.Finish(e)
	return e
}

// crashed reports that a bug ended the command; -v prints the stack for the developer.
func crashed(f *cmdutil.Factory, crash any, stack []byte) cmdutil.ExitError {
	if f.Progress == nil { // that early
		f.SettleStyles()
	}
	f.Env.LearnArgs()
	o := wire.Outcome{
		Kind: wire.Internal,
		Text: fmt.Sprint(crash),
		Hint: "please report it with the command and what -vv prints",
	}
	if f.Talking.Load() || f.Record.Crossed.Load() {
		o.Reached = wire.Unknown
	}
	e := cmdutil.End(context.Background(), f, cmdutil.Exit(o))
	if f.Verbose > 0 {
		_, _ = f.Stderr().Write(stack)
	}
	f.Finish(e)
	return e
}
