package mock

import (
	"encoding/json"
	"fmt"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A step is one thing that the recorded server did for a request: exactly one of note, apart, asks and end is set.
type step struct {
	// wait is how long after the message before it came, of whichever side; at is when.
	wait time.Duration
	at   time.Time
	// note is a notification, guessed where nothing says that it belongs to the request.
	note    *wire.Message
	guessed bool
	// apart is a message that belongs to no request, and came before the response.
	apart *Unrequested
	// asks are requests that the server made at once. round is the result in which it made them, nil
	// if they were messages of their own.
	asks  []*ask
	round json.RawMessage
	// end is the response.
	end *wire.Message
}

// An ask is a request of the server to the client, with the recorded answer: a result, an error, or neither.
type ask struct {
	key, method    string
	params         json.RawMessage
	result, failed json.RawMessage
	// late is set where the response to the client's request did not wait for the answer.
	late bool
	// guessed is set if nothing says that it belongs to the client's request.
	guessed bool
}

// scriptOf makes steps of the messages of an exchange. Retries and their answers are left out.
func scriptOf(x *wire.Exchange) (steps []step) {
	s := scriptWriter{byID: map[string]*ask{}, before: x.Request.Time}
	ended := x.Response.Raw == nil
	end := func() {
		s.add(wire.ParseMessage(x.Response.Raw), x.Response, false, true)
		ended, s.ended = true, true
	}
	for _, f := range x.Between {
		if !ended && f.Seq > x.Response.Seq { // what came late
			end()
		}
		s.add(wire.ParseMessage(f.Raw), f, x.Guessed(f), false)
	}
	if !ended {
		end()
	}
	return s.steps
}

type scriptWriter struct {
	steps  []step
	byID   map[string]*ask
	before time.Time
	open   bool // the last step asks, and no answer came yet
	asked  int
	ended  bool // the response came
}

func (s *scriptWriter) add(m *wire.Message, f wire.Frame, guessed, last bool) {
	wait := max(0, f.Time.Sub(s.before))
	s.before = f.Time
	if f.Dir == wire.Sent {
		s.answered(m)
		return
	}
	if s.ended {
		return
	}
	switch {
	case m.Kind == wire.Notification && m.Method != "notifications/cancelled" && m.Method != "notifications/subscriptions/acknowledged":
		s.steps = append(s.steps, step{wait: wait, at: f.Time, note: m, guessed: guessed})
		s.open = false
	case m.Kind == wire.Request:
		s.asks(m, wait, f.Time, guessed)
	case m.Kind == wire.Response && wire.AsksForInput(m.Result):
		asks := []*ask{}
		members, _ := jsonraw.Object(jsonraw.First(m.Result, "inputRequests"))
		for _, r := range members {
			asks = append(asks, &ask{key: r.Name, method: jsonraw.TextOrRaw(jsonraw.First(r.Value, "method")), params: jsonraw.First(r.Value, "params")})
		}
		s.steps = append(s.steps, step{wait: wait, at: f.Time, asks: asks, round: m.Result})
		s.open = false
	case last && (m.Kind == wire.Response || m.Kind == wire.ErrorResponse):
		s.steps = append(s.steps, step{wait: wait, at: f.Time, end: m})
	}
}

// asks adds a request of the server, to the last step where that still waits for its answers.
func (s *scriptWriter) asks(m *wire.Message, wait time.Duration, at time.Time, guessed bool) {
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

// answered notes what the client said: an answer, or the answers of a round.
func (s *scriptWriter) answered(m *wire.Message) {
	if a := s.byID[string(m.ID)]; a != nil && m.Method == "" {
		a.result = m.Result
		if m.Error != nil {
			a.failed = m.Error.Raw
		}
		s.open, a.late = false, s.ended
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

// withApart inserts the messages that came before a response and belong to no request, and gives those that
// came behind it.
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
