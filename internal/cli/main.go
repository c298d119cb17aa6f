// Package cli is the command tree of mcpc and one run of it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/elicit"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// New is the app of one run of the program, with all commands. The caller settles what
// it may know of the world.
func New(in, out, err *os.File) *cmdutil.Factory {
	a := &cmdutil.Factory{In: in, Out: out, Err: err, Groups: commandGroups, NewRoot: NewRoot}
	a.UI, a.Asker = a, elicit.New
	return a
}

// Run is the whole program: arguments in, exit code out, and the signal that
// ended it, if one did. A signal is waited for only where there is a
// conversation to end, and a second one does not wait at all.
func Run(a *cmdutil.Factory, args []string, signals <-chan os.Signal) (code int, died os.Signal) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ended := make(chan cmdutil.ExitError, 1)
	go func() { ended <- execute(ctx, a, args) }()
	for {
		select {
		case e := <-ended:
			var interrupted cmdutil.ErrInterrupted
			if errors.As(context.Cause(ctx), &interrupted) && e.Outcome.Kind == wire.Signal {
				died = interrupted.Sig
			}
			return e.ExitCode(), died
		case sig := <-signals:
			if a.Relaying.Load() || sig == os.Interrupt && a.Paging.Load() {
				continue
			}
			if stop := a.Line.Swap(nil); stop != nil && sig == os.Interrupt {
				(*stop)(cmdutil.ErrInterrupted{Sig: sig})
				continue
			}
			cmdutil.LeaveTerminal(a)
			if ctx.Err() != nil || !a.Talking.Load() && !a.Hidden.Load() {
				Killed(a, args, sig)
				return 0, sig
			}
			cancel(cmdutil.ErrInterrupted{Sig: sig})
		}
	}
}

// Killed says for a program that a signal ended the command at once. The command may
// still be at work, so that nothing is used of it that is not made for two.
func Killed(a *cmdutil.Factory, args []string, sig os.Signal) {
	if !cmdutil.AsksJSON(a, args) {
		return
	}
	o := wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	if a.Record.Crossed.Load() || a.Talking.Load() {
		o.Reached = wire.Unknown
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cmdutil.ErrInterrupted{Sig: sig})
	failure.WriteJSON(a.Err, term.StyleFor(a.Err, "never", a.Getenv), cmdutil.Signalled(ctx, o))
}

// execute parses the arguments, runs the command and reports how it ended.
func execute(ctx context.Context, a *cmdutil.Factory, args []string) (e cmdutil.ExitError) {
	defer func() {
		if crash := recover(); crash != nil {
			e = crashed(a, crash, debug.Stack())
		}
	}()
	a.Args = args
	cmdutil.SettleStyles(a)
	a.Secrets.Full = func() { cmdutil.Withholding(a) }
	root := RootFor(a, cmdutil.WithCodes(cmdutil.WithNegations(args)))
	err := cmdutil.Execute(ctx, a, root, args)
	if _, ended := errors.AsType[*cmdutil.ExitError](err); err != nil && !ended {
		cmdutil.AimAnyway(a, root.PersistentFlags())
		a.JSON = a.JSON || cmdutil.AsksJSON(a, args)
	}
	e = cmdutil.End(ctx, a, err)
	cmdutil.Finish(a, e)
	return e
}

// crashed reports that a bug ended the command; -v prints the stack for the developer.
func crashed(a *cmdutil.Factory, crash any, stack []byte) cmdutil.ExitError {
	if a.Progress == nil { // that early
		cmdutil.SettleStyles(a)
	}
	a.Env.LearnArgs()
	o := wire.Outcome{Kind: wire.Internal, Text: fmt.Sprint(crash), Hint: "please report it with the command and what -vv prints"}
	if a.Talking.Load() || a.Record.Crossed.Load() {
		o.Reached = wire.Unknown
	}
	e := cmdutil.End(context.Background(), a, cmdutil.Exit(o))
	if a.Verbose > 0 {
		_, _ = a.Stderr().Write(stack)
	}
	cmdutil.Finish(a, e)
	return e
}
