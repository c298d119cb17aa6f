package cmdutil

import (
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

// An ExitError is the error of a command that did not succeed. The command returns it, and End
// reports it once.
type ExitError struct {
	Outcome wire.Outcome
	// Also are failures of later steps. They are reported as warnings.
	Also []wire.Outcome
	// Code replaces the exit code of the outcome unless it is 0.
	Code int
	// Reported is set if the command has reported the outcome itself. End then prints only Also.
	Reported bool
	// isWriteFailure is set if the outcome is that the answer could not be written to standard
	// output.
	isWriteFailure bool
}

func (e *ExitError) Error() string { return e.Outcome.Text }

// ExitCode returns the exit status of a process that ends with e.
func (e *ExitError) ExitCode() int {
	if e.Code != 0 {
		return e.Code
	}
	return e.Outcome.ExitCode()
}

// Exit returns the outcome as an error, or nil if it is OK.
func Exit(o wire.Outcome) error {
	if o.OK() {
		return nil
	}
	return &ExitError{Outcome: o}
}

// exitErrorOf returns the ExitError of a command that returned err. An error of another type is a
// usage error. The result for nil is OK.
func exitErrorOf(err error) ExitError {
	if err == nil {
		return ExitError{}
	}
	if e, ok := errors.AsType[*ExitError](err); ok {
		return *e
	}
	return ExitError{Outcome: usage.Outcome(err)}
}

// KindOf returns the kind of outcome of a command that returned err.
func KindOf(err error) wire.Kind { return exitErrorOf(err).Outcome.Kind }

// Join returns the error of a command of several steps. The first failure decides how the command
// ended. Each further failure becomes a warning, unless a signal ended the command. Returns nil if
// all errs are nil.
func Join(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	if len(errs) == 1 || KindOf(errs[0]) == wire.Signal {
		return errs[0]
	}
	joined := exitErrorOf(errs[0])
	joined.Also = slices.Clip(joined.Also) // appending must not write into errs[0]
	for _, err := range errs[1:] {
		e := exitErrorOf(err)
		joined.isWriteFailure = joined.isWriteFailure || e.isWriteFailure
		if !isQuietInterrupt(e.Outcome) {
			joined.Also = append(append(joined.Also, e.Outcome), e.Also...)
		}
	}
	return &joined
}

// End reports how a command that returned err ended, closes its connection and returns the
// ExitError that decides the exit code.
func End(ctx context.Context, f *Factory, err error) ExitError {
	e := finalExit(ctx, f, err)
	f.report(e)
	if f.conn == nil {
		return e
	}
	closeErr := f.Close(ctx, f.conn)
	if closeErr == nil || e.Outcome.Kind == wire.Signal { // the signal may be why closing failed
		return e
	}
	if e.Outcome.OK() {
		e = finalExit(ctx, f, closeErr)
		f.report(e)
	} else { // e decides the exit code, so the failure to close is only a warning
		f.report(ExitError{Reported: true, Also: []wire.Outcome{exitErrorOf(closeErr).Outcome}})
	}
	return e
}

// finalExit returns the ExitError for err, ready to be reported and recorded. It adds a failure to
// write the answer, the signal and the hint, and removes secrets. It also resets f.writeFailure and
// stores what the outcome means for later commands, such as the challenge for mcpc login.
func finalExit(ctx context.Context, f *Factory, err error) ExitError {
	e := exitErrorOf(err)
	writeFailure := f.writeFailure.Swap(nil)
	isNewFailure := writeFailure != nil && !e.isWriteFailure
	if isNewFailure && e.Outcome.Kind != wire.Internal { // an internal error is reported as it is
		e = exitErrorOf(Join(writeFailure, err))
	}
	e.Outcome = WithSignal(ctx, e.Outcome)
	if !e.Reported {
		e.Outcome = connect.Explain(&f.Env, e.Outcome)
	}
	if !e.Outcome.OK() {
		f.hideSecretsInHints()
	}
	e.Outcome = f.WithoutSecrets(e.Outcome)
	if f.Shell != nil {
		e.Outcome.Line = f.Shell.LineNumber()
	}
	return e
}

// report prints how the command ended, then the warnings.
func (f *Factory) report(e ExitError) {
	f.Progress.Done()
	if !e.Reported && !isQuietInterrupt(e.Outcome) {
		failure.Write(f.Stderr(), f.ErrStyle, e.Outcome)
	}
	for _, o := range e.Also {
		f.Warn(failure.Headline(f.WithoutSecrets(o)))
	}
}

// Finish ends the recording and the telemetry, then prints the last lines: the hint at the recorded
// exchange and the JSON error.
func (f *Factory) Finish(e ExitError) {
	f.Env.EndRecording(e.Outcome, e.ExitCode())
	if f.OnExit != nil {
		f.Exiting.Store(&e)
		f.OnExit(e) // may wait for a collector
	}
	f.hintAtRecording(e.Outcome.Kind)
	f.FailureJSON(e.Outcome)
}

// FailureJSON prints the outcome as JSON on standard error, for programs. It prints nothing if the
// reader of standard output is gone, as other programs do.
func (f *Factory) FailureJSON(o wire.Outcome) {
	if f.OnFailure != nil && !o.OK() {
		f.OnFailure(o)
	}
	if (f.JSON || f.Wire) && o.Signal != int(syscall.SIGPIPE) {
		failure.WriteJSON(f.Stderr(), f.ErrStyle, o)
	}
}

// isQuietInterrupt reports whether an interrupt needs no message. The user who pressed Ctrl-C
// knows about it, but does not know what happened to a request that was already sent.
func isQuietInterrupt(o wire.Outcome) bool {
	return o.Kind == wire.Signal && (o.Method == "" || o.Reached == wire.Unsent)
}

// ErrInterrupted is the cause of a context that a signal ended.
type ErrInterrupted struct{ Sig os.Signal }

func (e ErrInterrupted) Error() string { return "interrupted by " + e.Sig.String() }

// WithSignal returns o with the number of the signal that ended ctx, if a signal did: the exit code
// depends on it.
func WithSignal(ctx context.Context, o wire.Outcome) wire.Outcome {
	interrupt, ok := errors.AsType[ErrInterrupted](context.Cause(ctx))
	if !ok || o.Kind != wire.Signal {
		return o
	}
	if sig, ok := interrupt.Sig.(syscall.Signal); ok {
		o.Signal = int(sig)
	}
	return o
}

// StdoutError returns the first failure to write to standard output, or nil.
func (f *Factory) StdoutError() error {
	if writeFailure := f.writeFailure.Load(); writeFailure != nil {
		return writeFailure
	}
	return nil
}

// storeWriteFailure stores o as the failure to write to standard output unless one is stored
// already. It returns the stored failure.
func (f *Factory) storeWriteFailure(o wire.Outcome) error {
	f.writeFailure.CompareAndSwap(nil, &ExitError{Outcome: o, isWriteFailure: true})
	return f.StdoutError()
}

// stdoutClosed is the outcome of a command when the reader of its standard output is gone.
var stdoutClosed = wire.Outcome{
	Kind:   wire.Signal,
	Signal: int(syscall.SIGPIPE),
	Text:   "stdout was closed by its reader",
}

// StdoutClosed returns an error if the reader of standard output is gone. Commands that wait for
// more to print poll it.
func (f *Factory) StdoutClosed() error {
	if tty.ReaderClosed(tty.File(f.Out)) {
		return f.storeWriteFailure(stdoutClosed)
	}
	return f.StdoutError()
}

// StdoutPollInterval is the interval at which a waiting command polls StdoutClosed.
const StdoutPollInterval = 200 * time.Millisecond

// WriteError returns the error of a command that could not write its answer. doing describes the
// activity.
func (f *Factory) WriteError(doing string, err error) error {
	if err := f.StdoutError(); err != nil {
		return err
	}
	return Exit(f.MarkAnswered(usage.LocalIO(doing, err)))
}

// MarkAnswered returns o for a failure after the server's response. If there was traffic, it marks
// the request as answered: a script must not send it again.
func (f *Factory) MarkAnswered(o wire.Outcome) wire.Outcome {
	if f.IsConnected.Load() || f.Record.HasTraffic.Load() {
		o.Reached = wire.Answered
	}
	return o
}

// KindsBySeverity returns every kind except OK, the most severe first. The first kind that occurred
// decides the exit code of a command that did several things. It extends wire.Precedence with the
// kinds that are not about a server or a sent request.
func KindsBySeverity() []wire.Kind {
	aboutRequests := wire.Precedence[1:] // without OK
	return slices.Concat([]wire.Kind{wire.Signal, wire.Internal, wire.LocalIO}, aboutRequests,
		[]wire.Kind{wire.InvalidArguments, wire.Usage, wire.CheckFailed, wire.NoMatch})
}

// MoreSevere returns the kind that decides the exit code when both occurred. It returns OK if both
// are OK.
func MoreSevere(a, b wire.Kind) wire.Kind {
	for _, kind := range KindsBySeverity() {
		if a == kind || b == kind {
			return kind
		}
	}
	return wire.OK
}
