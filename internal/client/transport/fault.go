package transport

import (
	"mcpc/internal/wire"
)

// A Fault says why there is no response. ApplyTo copies its fields to the fields of a wire.Outcome.
type Fault struct {
	Kind wire.Kind
	// Phase is "dns", "tls", "connect", "send", "wait", "read" or "result".
	Phase string
	// Text and Hint are for the user: what happened, and what to do next. Hint may be "".
	Text string
	Hint wire.Hint
	// Reached says whether the request may have reached the server, and retryable whether it can be
	// sent again without taking effect twice.
	Reached   wire.Reached
	retryable bool
	// Status is the status of the HTTP response, 0 if there was no response.
	Status int
	// response is the status in words, and for a redirect where it leads; "" unless the status is
	// the fault.
	response string
	Process  *wire.ProcessFacts
	// raw are the received bytes that are no message.
	raw []byte
	// Err is the cause for -v, or nil. It contains no secrets of the URL.
	Err error
}

// Error returns the text.
func (f *Fault) Error() string { return f.Text }

// describeEnd returns what happened to the connection, whether a request was open or not.
func (f *Fault) describeEnd() string {
	if f.Process != nil && f.Process.HowEnded != "" {
		return wire.ExitText(f.Process.HowEnded)
	}
	return f.Text
}

// EndBy makes f the fault of a request that a timer, the user or the end of the session cancelled
// with that cause.
func (f *Fault) EndBy(cause error) {
	f.Err = cause
	timeout, ok := cause.(TimeoutError)
	switch { // any other cause is a signal to mcpc
	case ok:
		f.Kind = wire.Timeout
		f.Text = timeout.Error()
		f.Hint = wire.Hint(timeout.Flag + " TIME waits longer")
	case cause == ErrClosed:
		f.Kind = wire.Transport
		f.Text = ErrClosed.Error()
	default:
		f.Kind = wire.Signal
		f.Text = "interrupted"
	}
}

// ApplyTo returns o with the fields of the fault. It sets the message only if o has no message.
func (f *Fault) ApplyTo(o wire.Outcome) wire.Outcome {
	o.Kind = f.Kind
	o.Text = f.Text
	o.Hint = f.Hint
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

// Failed returns the reply to a message that got no response because of f.
func Failed(f *Fault) Reply { return Reply{Fault: f} }
