package cmdutil

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"syscall"
	"time"

	"mcpc/internal/connect"
	"mcpc/internal/render/failure"
	"mcpc/internal/tty"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// An ExitError is the error of a command that did not end well. The command returns it, and
// the caller reports it once.
type ExitError struct {
	Outcome wire.Outcome
	// Also are failures of later steps, which are reported as warnings.
	Also []wire.Outcome
	// Code replaces the exit code of the outcome unless it is 0.
	Code int
	// Said is set where the command has reported the outcome itself.
	Said bool
	// lost is set where the command could not write its answer.
	lost bool
}

func (e *ExitError) Error() string { return e.Outcome.Text }

// ExitCode is the exit status of a process that ends with e.
func (e *ExitError) ExitCode() int { return cmp.Or(e.Code, e.Outcome.ExitCode()) }

// Exit returns the error of an outcome, nil where that is good.
func Exit(o wire.Outcome) error {
	if o.Good() {
		return nil
	}
	return &ExitError{Outcome: o}
}

// exitOf returns the ending that a command's error stands for: nil is the good ending, and
// an error that is no ExitError is a usage error.
func exitOf(err error) ExitError {
	if err == nil {
		return ExitError{}
	}
	if e, ok := errors.AsType[*ExitError](err); ok {
		return *e
	}
	return ExitError{Outcome: usage.Outcome(err)}
}

// KindOf returns the kind of ending that a command's error stands for.
func KindOf(err error) wire.Kind { return exitOf(err).Outcome.Kind }

// Join returns the error of a command of several steps: the first failure is the ending,
// and each further one is reported as a warning, unless a signal ended the command.
func Join(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	if len(errs) == 1 || KindOf(errs[0]) == wire.Signal {
		return errs[0]
	}
	all := exitOf(errs[0])
	all.Also = slices.Clip(all.Also)
	for _, err := range errs[1:] {
		e := exitOf(err)
		all.lost = all.lost || e.lost
		if !interruptedQuietly(e.Outcome) {
			all.Also = append(append(all.Also, e.Outcome), e.Also...)
		}
	}
	return &all
}

// End reports how a command ended that returned err, closes its connection, and returns the
// ending.
func End(ctx context.Context, f *Factory, err error) ExitError {
	e := settle(ctx, f, err)
	f.report(e)
	if f.conn == nil {
		return e
	}
	closed := f.Close(ctx, f.conn)
	switch {
	case closed == nil || e.Outcome.Kind == wire.Signal:
	case e.Outcome.Good():
		e = settle(ctx, f, closed)
		f.report(e)
	default:
		f.report(ExitError{Said: true, Also: []wire.Outcome{exitOf(closed).Outcome}})
	}
	return e
}

// settle completes the ending of a command that returned err, so that it can be reported
// and recorded: it adds a lost answer, the signal and the cause, and removes secrets. What
// the ending changes in the state is changed here, and not while it is reported.
func settle(ctx context.Context, f *Factory, err error) ExitError {
	e := exitOf(err)
	if lost := f.lost.Swap(nil); lost != nil && !e.lost && e.Outcome.Kind != wire.Internal {
		e = exitOf(Join(lost, err))
	}
	e.Outcome = Signalled(ctx, e.Outcome)
	if !e.Said {
		e.Outcome = connect.Explain(&f.Env, e.Outcome)
	}
	if !e.Outcome.Good() {
		f.hideHints()
	}
	e.Outcome = f.WithoutSecrets(e.Outcome)
	if f.Shell != nil {
		e.Outcome.Line = f.Shell.LineNumber()
	}
	return e
}

// report prints how the command ended.
func (f *Factory) report(e ExitError) {
	f.Progress.Done()
	if !e.Said && !interruptedQuietly(e.Outcome) {
		failure.Write(f.Stderr(), f.ErrStyle, e.Outcome)
	}
	for _, o := range e.Also {
		f.Warn(failure.Headline(f.WithoutSecrets(o)))
	}
}

// Finish ends the recording and prints the last lines: the hint at the recorded exchange,
// and the JSON error.
func (f *Factory) Finish(e ExitError) {
	f.Env.EndRecording(e.Outcome, e.ExitCode())
	if f.Ending != nil { // it may wait for a collector
		f.Ended.Store(&e)
		f.Ending(e)
	}
	f.hintAtRecord(e.Outcome.Kind)
	f.FailureJSON(e.Outcome)
}

// FailureJSON prints for a program how the command ended, unless the reader of standard
// output is gone: other programs are silent then too.
func (f *Factory) FailureJSON(o wire.Outcome) {
	if f.OnFailure != nil && !o.Good() {
		f.OnFailure(o)
	}
	if (f.JSON || f.Wire) && o.Signal != int(syscall.SIGPIPE) {
		failure.WriteJSON(f.Stderr(), f.ErrStyle, o)
	}
}

// interruptedQuietly reports whether an interrupt needs no message: the user who pressed
// Ctrl-C knows of it, but not what became of a request that was under way.
func interruptedQuietly(o wire.Outcome) bool {
	return o.Kind == wire.Signal && (o.Method == "" || o.Reached == wire.Unsent)
}

// ErrInterrupted is the cause of the context that a signal ends.
type ErrInterrupted struct{ Sig os.Signal }

func (e ErrInterrupted) Error() string { return "interrupted by " + e.Sig.String() }

// Signalled says of an ending by a signal which one it was, so that the exit code
// is what the shell sees wherever it stands.
func Signalled(ctx context.Context, o wire.Outcome) wire.Outcome {
	if by, ok := errors.AsType[ErrInterrupted](context.Cause(ctx)); ok && o.Kind == wire.Signal {
		if sig, ok := by.Sig.(syscall.Signal); ok {
			o.Signal = int(sig)
		}
	}
	return o
}

// StdoutError returns the first failure to write to standard output, nil where none failed.
func (f *Factory) StdoutError() error {
	if lost := f.lost.Load(); lost != nil {
		return lost
	}
	return nil
}

// lose keeps a failure to write to standard output, if it is the first, and returns the first.
func (f *Factory) lose(o wire.Outcome) error {
	f.lost.CompareAndSwap(nil, &ExitError{Outcome: o, lost: true})
	return f.StdoutError()
}

// unread is the ending of a command when the reader of its standard output is gone.
var unread = wire.Outcome{Kind: wire.Signal, Signal: int(syscall.SIGPIPE), Text: "stdout was closed by its reader"}

// StdoutClosed returns an error once the reader of standard output is gone. A command that waits
// for more to print asks for it.
func (f *Factory) StdoutClosed() error {
	if tty.ReaderClosed(tty.File(f.Out)) {
		return f.lose(unread)
	}
	return f.StdoutError()
}

// UnreadEvery is how often a command that waits looks whether it is still read.
const UnreadEvery = 200 * time.Millisecond

// Unwritten returns the error of a command that could not write its answer.
func (f *Factory) Unwritten(doing string, err error) error {
	return cmp.Or(f.StdoutError(), Exit(f.Afterwards(usage.LocalIO(doing, err))))
}

// Afterwards is an ending that came when everything was answered. Where there is a
// conversation, saying that nothing was sent would be a lie that makes a script send it
// again.
func (f *Factory) Afterwards(o wire.Outcome) wire.Outcome {
	if f.Talking.Load() || f.Record.Crossed.Load() {
		o.Reached = wire.Answered
	}
	return o
}

// WorstFirst is every kind but the good one, in the order in which they decide the
// exit code of a command that did several things: the one that wire has for a
// single thing, and around it what is no server's doing and what was not sent.
func WorstFirst() []wire.Kind {
	return slices.Concat([]wire.Kind{wire.Signal, wire.Internal, wire.LocalIO}, wire.Precedence[1:],
		[]wire.Kind{wire.InvalidArguments, wire.Usage, wire.CheckFailed, wire.NoMatch})
}

// MoreSevere returns the one of two kinds that decides the exit code.
func MoreSevere(a, b wire.Kind) wire.Kind {
	for _, kind := range WorstFirst() {
		if a == kind || b == kind {
			return kind
		}
	}
	return wire.OK
}
