package mock

import (
	"encoding/json"
	"fmt"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A step is one action of the recorded server within an exchange: exactly one of note, apart, asks
// and end is set.
type step struct {
	// wait is the time since the preceding message of either side. at is the recorded time.
	wait time.Duration
	at   time.Time
	// note is a notification. guessed is set if it is only assumed to belong to the request.
	note    *wire.Message
	guessed bool
	// apart is a message that belongs to no request and preceded the response.
	apart *Unrequested
	// asks are requests that the server sent together. round is the input_required result that
	// contained them, nil if they were separate messages.
	asks  []*ask
	round json.RawMessage
	// end is the response.
	end *wire.Message
}

// An ask is a request of the server to the client, with the recorded answer: a result, an error, or
// neither.
type ask struct {
	key, method    string
	params         json.RawMessage
	result, failed json.RawMessage
	// late is set if the server sent the response to the client's request before it had this
	// answer.
	late bool
	// guessed is set if the request is only assumed to belong to the client's request.
	guessed bool
}

// stepsOf returns the steps of an exchange. It omits retries and their answers.
func stepsOf(x *wire.Exchange) []step {
	s := stepWriter{byID: map[string]*ask{}, before: x.Request.Time}
	ended := x.Response.Raw == nil
	end := func() {
		s.add(wire.ParseMessage(x.Response.Raw), x.Response, false, true)
		ended = true
		s.ended = true
	}
	for _, f := range x.OtherMessages {
		if !ended && f.Seq > x.Response.Seq {
			end()
		}
		s.add(wire.ParseMessage(f.Raw), f, x.IsGuess(f), false)
	}
	if !ended {
		end()
	}
	return s.steps
}

// A stepWriter builds the steps of an exchange from its messages in order.
type stepWriter struct {
	steps  []step
	byID   map[string]*ask
	before time.Time
	// open is set while the last step has server requests and no answer to them.
	open  bool
	asked int
	// ended is set after the response.
	ended bool
}

// add appends the step for a message. last is set if the message is the response.
func (s *stepWriter) add(m *wire.Message, f wire.Frame, guessed, last bool) {
	wait := max(0, f.Time.Sub(s.before))
	s.before = f.Time
	if f.Dir == wire.Sent {
		s.addAnswer(m)
		return
	}
	if s.ended {
		return
	}
	switch {
	case m.Kind == wire.Notification && belongsToPlay(m.Method):
		s.steps = append(s.steps, step{wait: wait, at: f.Time, note: m, guessed: guessed})
		s.open = false
	case m.Kind == wire.Request:
		s.addAsk(m, wait, f.Time, guessed)
	case m.Kind == wire.Response && wire.RequiresInput(m.Result):
		asks := []*ask{}
		members, _ := jsonraw.Object(jsonraw.First(m.Result, "inputRequests"))
		for _, r := range members {
			asks = append(asks, &ask{
				key:    r.Name,
				method: jsonraw.TextOrRaw(jsonraw.First(r.Value, "method")),
				params: jsonraw.First(r.Value, "params"),
			})
		}
		s.steps = append(s.steps, step{wait: wait, at: f.Time, asks: asks, round: m.Result})
		s.open = false
	case last && (m.Kind == wire.Response || m.Kind == wire.ErrorResponse):
		s.steps = append(s.steps, step{wait: wait, at: f.Time, end: m})
	}
}

// belongsToPlay reports whether a recorded notification is sent again: mcpserver sends its own acknowledgements.
func belongsToPlay(method string) bool {
	return method != "notifications/cancelled" && method != "notifications/subscriptions/acknowledged"
}

// addAsk adds a request of the server. It joins the last step if that still waits for its answers.
func (s *stepWriter) addAsk(m *wire.Message, wait time.Duration, at time.Time, guessed bool) {
	s.asked++
	a := &ask{key: fmt.Sprintf("request-%d", s.asked), method: m.Method, params: m.Params, guessed: guessed}
	s.byID[string(m.ID)] = a
	if !s.open {
		s.steps = append(s.steps, step{wait: wait, at: at})
		s.open = true
	}
	last := &s.steps[len(s.steps)-1]
	last.asks = append(last.asks, a)
}

// addAnswer stores the client's answer to a request of the server, or its answers to a round.
func (s *stepWriter) addAnswer(m *wire.Message) {
	if a := s.byID[string(m.ID)]; a != nil && m.Method == "" {
		a.result = m.Result
		if m.Error != nil {
			a.failed = m.Error.Raw
		}
		s.open = false
		a.late = s.ended
		return
	}
	given, _ := jsonraw.Object(jsonraw.First(m.Params, "inputResponses"))
	if len(s.steps) == 0 || m.Kind != wire.Request {
		return
	}
	for _, a := range s.steps[len(s.steps)-1].asks {
		if value := given.Value(a.key); value != nil {
			a.result = value
		}
	}
}

// withApart inserts the messages that belong to no request and preceded the response. It returns
// the steps and the messages that followed the response.
func withApart(steps []step, apart []Unrequested) (all []step, after []Unrequested) {
	for _, s := range steps {
		for s.end != nil && len(apart) > 0 && apart[0].Time.Before(s.at) {
			all = append(all, step{at: apart[0].Time, apart: &apart[0]})
			apart = apart[1:]
		}
		all = append(all, s)
	}
	return all, apart
}
