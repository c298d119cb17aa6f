package auth

import (
	"context"
	"net/http"
	"time"
)

// A Step is one thing that a walk did or held against a rule.
type Step struct {
	// URL and Status are those of a request; Status is 0 where no answer came.
	URL    string
	Status int
	// Document is the metadata that was fetched, else nil. It holds no secret.
	Document []byte
	// Rule says what the specification asks for, and where; "" is a request or a
	// remark. Broken is set where it is not so, Text then says what is.
	Rule   string
	Broken bool
	// Tolerated is set where a rule is broken and the login goes on.
	Tolerated bool
	Text      string
}

// A Flow is how a server's authorization is found out and gone through. Its
// members may be nil but for Net.
type Flow struct {
	Net *Net
	// OnStep is called with each step.
	OnStep func(Step)
	Now    func() time.Time
	// AddSecret is called with each secret as soon as there is one.
	AddSecret func(secrets ...string)
	// Strict makes an error of each broken rule.
	Strict bool
	// Read reads a file of the user's that holds a key or an assertion.
	Read func(name string) ([]byte, error)
}

func (w *Flow) tell(s Step) {
	if w.OnStep != nil {
		w.OnStep(s)
	}
}

func (w *Flow) learn(secrets ...string) {
	if w.AddSecret != nil {
		w.AddSecret(secrets...)
	}
}

func (w *Flow) now() time.Time {
	if w.Now == nil {
		return time.Time{}
	}
	return w.Now()
}

// holds tells of a rule. Where it is broken broken says how, and comes back.
func (w *Flow) holds(rule string, ok bool, broken *Error) error {
	if ok {
		w.tell(Step{Rule: rule})
		return nil
	}
	w.tell(Step{Rule: rule, Broken: true, Text: broken.Text})
	return broken
}

// tolerates tells of a broken rule without which a login can go on. It returns the error if the flow is strict.
func (w *Flow) tolerates(rule string, broken *Error) error {
	if w.Strict {
		return w.holds(rule, false, broken)
	}
	w.tell(Step{Rule: rule, Broken: true, Tolerated: true, Text: broken.Text})
	return nil
}

// document fetches a JSON document, which is there if the status is 200. A refusal (4xx) is no error.
func (w *Flow) document(ctx context.Context, where string, fields http.Header) (raw []byte, status int, err error) {
	raw, status, err = w.Net.send(ctx, w.Net.reader, http.MethodGet, where, fields, nil)
	s := Step{URL: where, Status: status}
	if err != nil {
		s.Broken, s.Text = true, err.Error()
	} else if status == http.StatusOK {
		s.Document = raw
	}
	w.tell(s)
	if err != nil {
		return nil, status, err
	}
	if status == http.StatusOK {
		return raw, status, nil
	}
	if status/100 == 4 && status != http.StatusTooManyRequests {
		return nil, status, nil
	}
	return nil, status, &Error{
		Rule: Unreachable,
		Text: hostOf(where) + " answered " + statusText(status) + " where metadata should be",
	}
}
