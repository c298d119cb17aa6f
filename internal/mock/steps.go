package mock

import (
	"encoding/json"
	"fmt"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A step is one action of the recorded server within an exchange: exactly one of notification,
// unrequested, requests and response is set.
type step struct {
	// wait is the time since the preceding message of either side. at is when the message was recorded.
	wait time.Duration
	at   time.Time
	// notification is a notification. isGuessed is set if it is only assumed to belong to the request.
	notification *wire.Message
	isGuessed    bool
	// unrequested is a message that belongs to no request and preceded the response.
	unrequested *Unrequested
	// requests are requests that the server sent at once. round is the input_required result that
	// contained them, nil if they were separate messages.
	requests []*serverRequest
	round    json.RawMessage
	// response is the response that ends the exchange.
	response *wire.Message
}

// A serverRequest is a request of the server to the client, with the recorded answer: a result, an error, or
// neither.
type serverRequest struct {
	key, method         string
	params              json.RawMessage
	result, errorObject json.RawMessage
	// isLate is set if the server sent the response to the client's request before it had this
	// answer.
	isLate bool
	// isGuessed is set if the request is only assumed to belong to the client's request.
	isGuessed bool
}

// stepsOf returns the steps of an exchange. It omits retries and their answers.
func stepsOf(x *wire.Exchange) []step {
	s := stepWriter{requestsByID: map[string]*serverRequest{}, previous: x.Request.Time}
	isPending := x.Response.Raw != nil // there is a response, and it was not added
	addResponse := func() {
		const isGuessed, isResponse = false, true
		s.add(wire.ParseMessage(x.Response.Raw), x.Response, isGuessed, isResponse)
		isPending = false
		s.isEnded = true
	}
	for _, f := range x.OtherMessages {
		if isPending && f.Seq > x.Response.Seq {
			addResponse()
		}
		const isResponse = false
		s.add(wire.ParseMessage(f.Raw), f, x.IsGuess(f), isResponse)
	}
	if isPending {
		addResponse()
	}
	return s.steps
}

// A stepWriter builds the steps of an exchange from its messages in order.
type stepWriter struct {
	steps        []step
	requestsByID map[string]*serverRequest
	previous     time.Time
	// isAsking is set while the last step has server requests and no answer to them.
	isAsking bool
	requests int
	// isEnded is set after the response.
	isEnded bool
}

// add appends the step for a message that the server sent, or stores an answer of the client. isGuessed is
// set if the message is only assumed to belong to the exchange, isResponse if it is the response that
// ends the exchange. After the response it adds no more steps.
func (s *stepWriter) add(m *wire.Message, f wire.Frame, isGuessed, isResponse bool) {
	wait := max(0, f.Time.Sub(s.previous))
	s.previous = f.Time
	if f.Dir == wire.Sent {
		s.addAnswer(m)
		return
	}
	if s.isEnded {
		return
	}
	switch {
	case m.Kind == wire.Notification && isReplayed(m.Method):
		s.steps = append(s.steps, step{wait: wait, at: f.Time, notification: m, isGuessed: isGuessed})
		s.isAsking = false
	case m.Kind == wire.Request:
		s.addRequest(m, wait, f.Time, isGuessed)
	case m.Kind == wire.Response && wire.RequiresInput(m.Result):
		s.steps = append(s.steps, step{wait: wait, at: f.Time, requests: inputRequests(m.Result), round: m.Result})
		s.isAsking = false // a later request of the server does not join the round
	case isResponse && (m.Kind == wire.Response || m.Kind == wire.ErrorResponse):
		s.steps = append(s.steps, step{wait: wait, at: f.Time, response: m})
	}
}

// inputRequests returns the requests in an input_required result. They have no ids: the client
// answers them by their keys. The list is not nil, so that its step asks even without a request.
func inputRequests(result json.RawMessage) []*serverRequest {
	requests := []*serverRequest{}
	members, _ := jsonraw.Object(jsonraw.First(result, "inputRequests"))
	for _, member := range members {
		requests = append(requests, &serverRequest{
			key:    member.Name,
			method: jsonraw.TextOrRaw(jsonraw.First(member.Value, "method")),
			params: jsonraw.First(member.Value, "params"),
		})
	}
	return requests
}

// isReplayed reports whether a recorded notification is sent again. mcpserver sends its own
// acknowledgements, and a live client's requests are not the requests that were cancelled.
func isReplayed(method string) bool {
	return method != "notifications/cancelled" && method != "notifications/subscriptions/acknowledged"
}

// addRequest adds a request of the server. It joins the last step if that still waits for its answers.
func (s *stepWriter) addRequest(m *wire.Message, wait time.Duration, at time.Time, isGuessed bool) {
	s.requests++
	a := &serverRequest{
		key:       fmt.Sprintf("request-%d", s.requests),
		method:    m.Method,
		params:    m.Params,
		isGuessed: isGuessed,
	}
	s.requestsByID[string(m.ID)] = a
	if !s.isAsking {
		s.steps = append(s.steps, step{wait: wait, at: at})
		s.isAsking = true
	}
	last := &s.steps[len(s.steps)-1]
	last.requests = append(last.requests, a)
}

// addAnswer stores the client's answer to a request of the server, or its answers to a round.
func (s *stepWriter) addAnswer(m *wire.Message) {
	if a := s.requestsByID[string(m.ID)]; a != nil && m.Method == "" {
		a.result = m.Result
		if m.Error != nil {
			a.errorObject = m.Error.Raw
		}
		s.isAsking = false
		a.isLate = s.isEnded
		return
	}
	if len(s.steps) == 0 || m.Kind != wire.Request {
		return
	}
	// The request of the next round answers the last step.
	answers, _ := jsonraw.Object(jsonraw.First(m.Params, "inputResponses"))
	for _, a := range s.steps[len(s.steps)-1].requests {
		if value := answers.Value(a.key); value != nil {
			a.result = value
		}
	}
}

// insertUnrequested inserts the messages that belong to no request and preceded the response. It returns
// the steps and the messages that followed the response.
func insertUnrequested(steps []step, unrequested []Unrequested) (all []step, after []Unrequested) {
	for _, s := range steps {
		// Directly before the response is early enough: nothing depends on them.
		for s.response != nil && len(unrequested) > 0 && unrequested[0].Time.Before(s.at) {
			all = append(all, step{at: unrequested[0].Time, unrequested: &unrequested[0]})
			unrequested = unrequested[1:]
		}
		all = append(all, s)
	}
	return all, unrequested
}
