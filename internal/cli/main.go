// Package cli is the command tree of mcpc and one run of it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/connect/elicit"
	"mcpc/internal/render"
	"mcpc/internal/usage"
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
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx, a, args) }()
	for {
		select {
		case code := <-ended:
			var interrupted cmdutil.ErrInterrupted
			if errors.As(context.Cause(ctx), &interrupted) && a.Ending.Kind == wire.Signal {
				died = interrupted.Sig
			}
			return code, died
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
	render.FailureJSON(a.Err, render.StyleFor(a.Err, "never", a.Getenv), cmdutil.Signalled(ctx, o))
}

// execute parses the arguments and runs the command. Every error that cobra
// gives back is a usage error, because commands keep what the world did
// in an Outcome.
func execute(ctx context.Context, a *cmdutil.Factory, args []string) (code int) {
	defer func() {
		if crash := recover(); crash != nil {
			code = crashed(a, crash, debug.Stack())
		}
	}()
	a.Args = args
	cmdutil.SettleStyles(a)
	a.Secrets.Full = func() { cmdutil.Withholding(a) }
	args = cmdutil.WithCodes(cmdutil.WithNegations(args))
	root := RootFor(a, args)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		cmdutil.AimAnyway(a, root.PersistentFlags())
		a.JSON = a.JSON || cmdutil.AsksJSON(a, args)
		a.End(usage.Outcome(err))
	}
	a.Ending = cmdutil.Signalled(ctx, a.Ending)
	return cmdutil.Finish(a)
}

// crashed reports that a bug ended the command; -v prints the stack for the developer.
func crashed(a *cmdutil.Factory, crash any, stack []byte) int {
	a.Ending, a.Exit = wire.Outcome{}, 0
	if a.Progress == nil { // that early
		cmdutil.SettleStyles(a)
	}
	connect.LearnArgs(&a.Env)
	reached := wire.Unsent
	if a.Talking.Load() || a.Record.Crossed.Load() {
		reached = wire.Unknown
	}
	a.End(wire.Outcome{Kind: wire.Internal, Text: fmt.Sprint(crash), Reached: reached,
		Hint: "please report it with the command and what -vv prints"})
	if a.Verbose > 0 {
		_, _ = a.Stderr().Write(stack)
	}
	return cmdutil.Finish(a)
}
