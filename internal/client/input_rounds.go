package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A request may take several rounds: the server ends it by saying what it needs
// to know, and the client sends it again with the answers (2026-07-28
// basic/patterns/mrtr). Until 2025-11-25 the error -32042 does the same for
// pages that a person has to visit first (client/elicitation, "URL Mode").

// maxRounds bounds the rounds of one request, maxIdleRounds those in a row in
// which the server asks nothing and only wants to be called again.
const (
	maxRounds     = 10
	maxIdleRounds = 3
	firstIdle     = 500 * time.Millisecond
)

// codeURLElicitation is URLElicitationRequired of 2025-11-25.
const codeURLElicitation = -32042

// rounds answers the questions in o and sends the request again, until the server has answered it, a question stays
// unanswered, or maxRounds is reached. The hard limit is for all rounds.
func (r *round) rounds(ctx context.Context, o wire.Outcome) wire.Outcome {
	if !r.mayGoOn() {
		return o
	}
	ctx, stop := limited(
		ctx,
		transport.TimeoutError{Flag: "--max-time", What: "the call did not end", After: r.s.opt.Limits.Hard},
		o.Took,
	)
	defer stop()
	began := r.s.opt.Now()
	first := o.Took
	for n := 1; r.s.asksBack(o); n++ {
		if n == maxRounds {
			o = ended(o, wire.BadResponse, fmt.Sprintf("the server still requests input after %d rounds", maxRounds))
			break
		}
		next, failed, ok := r.answer(ctx, o)
		if !ok {
			o = failed
			break
		}
		o, _ = r.s.do(ctx, &next)
		if !o.OperationSent() { // the first round was
			o = partOf(&r.call, o, true)
		}
	}
	o.Took = first + r.s.opt.Now().Sub(began)
	return r.no.endOf(o)
}

// mayGoOn: who writes the rounds' own members, the id or the whole message
// himself wants to see what comes back; so does who sends just once and answers
// nothing.
func (r *round) mayGoOn() bool {
	call := r.call
	own := jsonraw.First(call.Params, "inputResponses") != nil || jsonraw.First(call.Params, "requestState") != nil
	return !own && !call.OneRound && !call.Bare && call.ID == nil && (!call.Once || r.s.opt.Asker != nil)
}

// A round is the request as the user meant it, and what is known of the rounds
// before this one.
type round struct {
	s    *Session
	call Call
	// idle counts the rounds in a row in which nothing was asked.
	idle int
	// refused is what was asked when nothing was answered but no, no the first no of the
	// round before.
	refused json.RawMessage
	no      *unanswered
}

// answer makes the next round's call. ok is false where there is none, and o
// then the ending.
func (r *round) answer(ctx context.Context, o wire.Outcome) (next Call, end wire.Outcome, ok bool) {
	next = r.call
	r.no = nil
	if o.RPC() != nil {
		end, ok = r.visit(ctx, o)
		return next, end, ok
	}
	members, _ := o.Message.ResultMembers()
	asked, asks := members.Get("inputRequests")
	state, hasState := members.Get("requestState")
	if requests, _ := jsonraw.Object(asked); len(requests) > 0 {
		r.idle = 0
	} else if r.idle++; r.idle > maxIdleRounds {
		return next, ended(o, wire.BadResponse, fmt.Sprintf("the server requested %d more rounds without an input request", r.idle)), false
	} else if !asks && !transport.Sleep(ctx, firstIdle<<(r.idle-1)) {
		return next, gaveUp(ctx, o), false
	}
	if asks {
		answers, failed, good := r.responses(ctx, o, asked)
		if !good {
			return next, failed, false
		}
		next.Params = jsonraw.With(next.Params, "inputResponses", answers)
	}
	if hasState {
		next.Params = jsonraw.With(next.Params, "requestState", state)
	}
	return next, o, true
}

// responses answers every request of a round, or none: a part of the answers
// must not be sent.
func (r *round) responses(
	ctx context.Context,
	o wire.Outcome,
	asked json.RawMessage,
) (answers json.RawMessage, end wire.Outcome, ok bool) {
	requests, _ := jsonraw.Object(asked)
	if len(requests) > 0 && r.s.opt.Asker == nil {
		return nil, o, false
	}
	if r.refused != nil && bytes.Equal(r.refused, asked) {
		return nil, ended(o, wire.InputRequired, "the server repeats a request that was declined"), false
	}
	answers = json.RawMessage("{}")
	agreed := len(requests) == 0
	for _, request := range requests {
		a, end, ok := inputResponse(ctx, r.s, o, asking(request, true), ", so the request was not sent again")
		if !ok {
			return nil, end, false
		}
		if a.Ending.Kind != wire.OK && r.no == nil {
			r.no = &unanswered{answer: a, request: o.Message}
		}
		agreed = agreed || accepts(a.Result)
		answers = jsonraw.With(answers, request.Name, a.Result)
	}
	r.refused = nil
	if !agreed {
		r.refused = asked
	}
	return answers, o, true
}

func asking(request jsonraw.Member, again bool) Asking {
	method, _ := jsonraw.Text(jsonraw.First(request.Value, "method"))
	return Asking{Method: method, Params: jsonraw.First(request.Value, "params"), Key: request.Name, Again: again}
}

// inputResponse gets the answer to one input request; ok is false where there is none, and end
// then the ending. No answer ends the request: sampling and roots have no shape for a
// refusal; so, appended to the text of a refusal, says what that means.
func inputResponse(
	ctx context.Context,
	s *Session,
	o wire.Outcome,
	q Asking,
	so string,
) (a Answer, end wire.Outcome, ok bool) {
	if code, what := offerOf(s.opt.Capabilities).forbids(q.Method, q.Params); code != 0 {
		return a, ended(o, wire.BadResponse, "the input request "+q.Key+" requests "+what+", which was not offered"), false
	}
	if why := broken(q.Method, q.Params); why != "" {
		return a, ended(o, wire.BadResponse, "the input request "+q.Key+" is not a valid "+q.Method+": "+why), false
	}
	a = s.ask(ctx, q)
	if ctx.Err() != nil {
		return a, gaveUp(ctx, o), false
	}
	if a.Result != nil {
		return a, o, true
	}
	if a.Declined {
		return a, ended(o, wire.InputRequired, q.Method+" was declined"+so), false
	}
	return a, a.endOf(o), false
}

// endOf is the ending of an exchange in which the answer was missing.
func (a Answer) endOf(o wire.Outcome) wire.Outcome {
	o.Kind = a.Ending.Kind
	o.Text = a.Ending.Text
	o.Hint = a.Ending.Hint
	o.Findings = a.Ending.Findings
	return o
}

// accepts: declining and cancelling are words of elicitation alone.
func accepts(result json.RawMessage) bool {
	action := jsonraw.First(result, "action")
	return action == nil || string(action) == `"accept"`
}

// visit asks the user to open each page of a -32042; the request is sent again
// when that is done, and the error is the ending where the user does not want to
// or the client never said that it could.
func (r *round) visit(ctx context.Context, o wire.Outcome) (end wire.Outcome, ok bool) {
	pages, err := jsonraw.Array(jsonraw.First(o.RPC().Data, "elicitations"))
	if err != nil || len(pages) == 0 {
		return o, false
	}
	for _, params := range pages {
		q := Asking{Method: "elicitation/create", Params: params, Again: true}
		if code, _ := offerOf(r.s.opt.Capabilities).forbids(q.Method, q.Params); code != 0 {
			return o, false
		}
		a := r.s.ask(ctx, q)
		if ctx.Err() != nil {
			return gaveUp(ctx, o), false
		}
		if a.Ending.Kind != wire.OK && (a.Result != nil || a.Ending.Kind != wire.InputRequired) {
			o.Result = o.RPC().Data
			return a.endOf(o), false
		}
		if a.Result == nil || !accepts(a.Result) {
			return o, false
		}
	}
	return o, true
}

// gaveUp is the ending of a request that was given up between two rounds. The
// server has answered, and waits for nothing.
func gaveUp(ctx context.Context, o wire.Outcome) wire.Outcome {
	f := &transport.Fault{Phase: "wait", Reached: wire.Answered}
	f.EndBy(context.Cause(ctx))
	o.Result = nil
	return f.ApplyTo(o)
}
