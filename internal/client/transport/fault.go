package transport

import (
	"mcpc/internal/wire"
)

// A Fault says why there is no response. Its fields are those of the wire.Outcome that it
// leads to.
type Fault struct {
	Kind      wire.Kind
	Phase     string
	Text      string
	Hint      string
	Reached   wire.Reached
	retryable bool
	// Status is that of the HTTP response, where there was one.
	Status  int
	Process *wire.ProcessFacts
	// raw are the bytes that were no message.
	raw []byte
	Err error
}

// Error is the text.
func (f *Fault) Error() string { return f.Text }

// event is what happened on the line, whether a request waited for an answer or not.
func (f *Fault) event() string {
	if f.Process != nil && f.Process.Ended != "" {
		return "the server exited (" + f.Process.Ended + ")"
	}
	return f.Text
}

// EndBy makes the fault the ending of a request that was given up, by a timer
// or by the caller.
func (f *Fault) EndBy(cause error) {
	f.Err = cause
	timeout, ok := cause.(TimeoutError)
	switch {
	case ok:
		f.Kind, f.Text, f.Hint = wire.Timeout, timeout.Error(), timeout.Flag+" TIME waits longer"
	case cause == ErrClosed:
		f.Kind, f.Text = wire.Transport, ErrClosed.Error()
	default:
		f.Kind = wire.Signal
		f.Text = "interrupted"
	}
}

// ApplyTo writes what a fault knows into an outcome.
func (f *Fault) ApplyTo(o wire.Outcome) wire.Outcome {
	o.Kind = f.Kind
	o.Text = f.Text
	o.Hint = wire.Hint(f.Hint)
	o.Phase = f.Phase
	o.Reached = f.Reached
	o.Retryable = f.retryable
	o.Process = f.Process
	o.Err = f.Err
	if o.Message == nil && f.raw != nil {
		o.Message = wire.ParseMessage(f.raw)
	}
	return o
}

// Failed is the reply to a message that got none because of f.
func Failed(f *Fault) Reply { return Reply{Fault: f} }
