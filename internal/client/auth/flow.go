package auth

import (
	"context"
	"net/http"
	"time"
)

// A Phase is a part of a login.
type Phase int

// The phases, in the order of a login. A login with a code of RFC 8628 has no redirect, and a login
// without a user has no authorization either.
const (
	FindsResource Phase = iota
	FindsServer
	ChoosesClient
	Authorizes
	AwaitsRedirect
	RequestsToken
)

// A Step is a request that a login made, or a rule that it checked.
type Step struct {
	// Method, URL and Status are of a request. Status is 0 if there was no response.
	Method string
	URL    string
	Status int
	// Sent and Received are the bodies of the request and of its response. They contain secrets.
	Sent, Received []byte
	Took           time.Duration
	// Document is the fetched metadata, or nil. It contains no secret.
	Document []byte
	// Rule is the specification's requirement and its section. It is "" if the step is a request or
	// a remark. Broken is set if the rule is broken; Text describes how.
	Rule   string
	Broken bool
	// Tolerated is set if a rule is broken and the login continues.
	Tolerated bool
	Text      string
}

// A Flow discovers how a server authorizes clients, and obtains tokens. All fields except Net may be
// nil.
type Flow struct {
	Net *Net
	// OnStep is called with each step.
	OnStep func(Step)
	// OnPhase is called when a phase of a login begins. The following steps belong to it.
	OnPhase func(Phase)
	Now     func() time.Time
	// AddSecret is called with each secret as soon as it is known.
	AddSecret func(secrets ...string)
	// Strict makes each broken rule an error.
	Strict bool
	// Read reads a file with the user's key or assertion.
	Read func(name string) ([]byte, error)
}

// report calls OnStep.
func (flow *Flow) report(s Step) {
	if flow.OnStep != nil {
		flow.OnStep(s)
	}
}

// begin calls OnPhase.
func (flow *Flow) begin(p Phase) {
	if flow.OnPhase != nil {
		flow.OnPhase(p)
	}
}

// addSecrets calls AddSecret.
func (flow *Flow) addSecrets(secrets ...string) {
	if flow.AddSecret != nil {
		flow.AddSecret(secrets...)
	}
}

// now returns the time, or the zero time without a clock.
func (flow *Flow) now() time.Time {
	if flow.Now == nil {
		return time.Time{}
	}
	return flow.Now()
}

// notMet tells [Flow.check] that a rule is broken.
const notMet = false

// check reports a checked rule. It returns nil if ok is set, else broken, which says how the rule is
// broken.
func (flow *Flow) check(rule string, ok bool, broken *Error) error {
	if ok {
		flow.report(Step{Rule: rule})
		return nil
	}
	flow.report(Step{Rule: rule, Broken: true, Text: broken.Text})
	return broken
}

// tolerate reports a broken rule that does not stop a login. It returns broken if the flow is
// strict, else nil.
func (flow *Flow) tolerate(rule string, broken *Error) error {
	if flow.Strict {
		return flow.check(rule, notMet, broken)
	}
	flow.report(Step{Rule: rule, Broken: true, Tolerated: true, Text: broken.Text})
	return nil
}

// send sends a request as [Net.send] does, and returns it as a step to report.
func (flow *Flow) send(
	ctx context.Context, web *http.Client, method, where string, fields http.Header, body []byte,
) (Step, error) {
	s := Step{Method: method, URL: where, Sent: body}
	began := flow.now()
	var err error
	s.Received, s.Status, err = flow.Net.send(ctx, web, method, where, fields, body)
	s.Took = flow.now().Sub(began)
	return s, err
}

// fetchDocument fetches a JSON document. It returns the document if the status is 200, and nil
// without an error for another 4xx except 429.
func (flow *Flow) fetchDocument(
	ctx context.Context, where string, fields http.Header,
) (raw []byte, status int, err error) {
	s, err := flow.send(ctx, flow.Net.reader, http.MethodGet, where, fields, nil)
	if err != nil {
		s.Broken = true
		s.Text = err.Error()
	} else if s.Status == http.StatusOK {
		s.Document = s.Received
	}
	flow.report(s)
	raw = s.Received
	status = s.Status
	if err != nil {
		return nil, status, err
	}
	if status == http.StatusOK {
		return raw, status, nil
	}
	if status/100 == 4 && status != http.StatusTooManyRequests { // there is no document: try the next place
		return nil, status, nil
	}
	return nil, status, &Error{
		Rule: Unreachable,
		Text: hostOf(where) + " returned " + statusText(status) + " where metadata should be",
	}
}
