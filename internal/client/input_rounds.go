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
func (r *inputRounds) answerRounds(ctx context.Context, o wire.Outcome) wire.Outcome {
	if !r.canContinue() {
		return o
	}
	ctx, stop := withLimit(
		ctx,
		transport.TimeoutError{Flag: "--max-time", What: "the call did not end", After: r.s.opt.Limits.Hard},
		o.Took,
	)
	defer stop()
	began := r.s.opt.Now()
	first := o.Took
	for n := 1; r.s.requestsInput(o); n++ {
		if n == maxRounds {
			o = withFailure(o, wire.BadResponse, fmt.Sprintf("the server still requests input after %d rounds", maxRounds))
			break
		}
		next, failed, ok := r.nextCall(ctx, o)
		if !ok {
			o = failed
			break
		}
		o, _ = r.s.doRound(ctx, &next)
		if !o.OperationSent() { // the first round was
			o = withPart(&r.call, o, true)
		}
	}
	o.Took = first + r.s.opt.Now().Sub(began)
	return r.firstDecline.applyTo(o)
}

// mayGoOn: who writes the rounds' own members, the id or the whole message
// himself wants to see what comes back; so does who sends just once and answers
// nothing.
func (r *inputRounds) canContinue() bool {
	call := r.call
	own := jsonraw.First(call.Params, "inputResponses") != nil || jsonraw.First(call.Params, "requestState") != nil
	return !own && !call.OneRound && !call.Bare && call.ID == nil && (!call.Once || r.s.opt.Asker != nil)
}

// A round is the request as the user meant it, and what is known of the rounds
// before this one.
type inputRounds struct {
	s    *Session
	call Call
	// idle counts the rounds in a row in which nothing was asked.
	emptyRounds int
	// refused is what was asked when nothing was answered but no, no the first no of the
	// round before.
	declinedRequests json.RawMessage
	firstDecline     *unanswered
}

// answer makes the next round's call. ok is false where there is none, and o
// then the ending.
func (r *inputRounds) nextCall(ctx context.Context, o wire.Outcome) (next Call, end wire.Outcome, ok bool) {
	next = r.call
	r.firstDecline = nil
	if o.RPC() != nil {
		end, ok = r.visitPages(ctx, o)
		return next, end, ok
	}
	members, _ := o.Message.ResultMembers()
	rawRequests, hasRequests := members.Get("inputRequests")
	state, hasState := members.Get("requestState")
	if requests, _ := jsonraw.Object(rawRequests); len(requests) > 0 {
		r.emptyRounds = 0
	} else if r.emptyRounds++; r.emptyRounds > maxIdleRounds {
		return next, withFailure(o, wire.BadResponse, fmt.Sprintf("the server requested %d more rounds without an input request", r.emptyRounds)), false
	} else if !hasRequests && !transport.Sleep(ctx, firstIdle<<(r.emptyRounds-1)) {
		return next, abandoned(ctx, o), false
	}
	if hasRequests {
		answers, failed, ok := r.answerAll(ctx, o, rawRequests)
		if !ok {
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
func (r *inputRounds) answerAll(
	ctx context.Context,
	o wire.Outcome,
	rawRequests json.RawMessage,
) (answers json.RawMessage, end wire.Outcome, ok bool) {
	requests, _ := jsonraw.Object(rawRequests)
	if len(requests) > 0 && r.s.opt.Asker == nil {
		return nil, o, false
	}
	if r.declinedRequests != nil && bytes.Equal(r.declinedRequests, rawRequests) {
		return nil, withFailure(o, wire.InputRequired, "the server repeats a request that was declined"), false
	}
	answers = json.RawMessage("{}")
	anyAccepted := len(requests) == 0
	for _, request := range requests {
		a, end, ok := answerInput(ctx, r.s, o, newAsking(request, true), ", so the request was not sent again")
		if !ok {
			return nil, end, false
		}
		if a.Ending.Kind != wire.OK && r.firstDecline == nil {
			r.firstDecline = &unanswered{answer: a, request: o.Message}
		}
		anyAccepted = anyAccepted || isAccepted(a.Result)
		answers = jsonraw.With(answers, request.Name, a.Result)
	}
	r.declinedRequests = nil
	if !anyAccepted {
		r.declinedRequests = rawRequests
	}
	return answers, o, true
}

func newAsking(request jsonraw.Member, again bool) Asking {
	method, _ := jsonraw.Text(jsonraw.First(request.Value, "method"))
	return Asking{Method: method, Params: jsonraw.First(request.Value, "params"), Key: request.Name, Again: again}
}

// inputResponse gets the answer to one input request; ok is false where there is none, and end
// then the ending. No answer ends the request: sampling and roots have no shape for a
// refusal; so, appended to the text of a refusal, says what that means.
func answerInput(
	ctx context.Context,
	s *Session,
	o wire.Outcome,
	q Asking,
	consequence string,
) (a Answer, end wire.Outcome, ok bool) {
	if code, what := parseSupport(s.opt.Capabilities).rejection(q.Method, q.Params); code != 0 {
		return a, withFailure(o, wire.BadResponse, "the input request "+q.Key+" requests "+what+", which was not offered"), false
	}
	if why := invalidSampling(q.Method, q.Params); why != "" {
		return a, withFailure(o, wire.BadResponse, "the input request "+q.Key+" is not a valid "+q.Method+": "+why), false
	}
	a = s.ask(ctx, q)
	if ctx.Err() != nil {
		return a, abandoned(ctx, o), false
	}
	if a.Result != nil {
		return a, o, true
	}
	if a.Declined {
		return a, withFailure(o, wire.InputRequired, q.Method+" was declined"+consequence), false
	}
	return a, a.applyTo(o), false
}

// endOf is the ending of an exchange in which the answer was missing.
func (a Answer) applyTo(o wire.Outcome) wire.Outcome {
	o.Kind = a.Ending.Kind
	o.Text = a.Ending.Text
	o.Hint = a.Ending.Hint
	o.Findings = a.Ending.Findings
	return o
}

// accepts: declining and cancelling are words of elicitation alone.
func isAccepted(result json.RawMessage) bool {
	action := jsonraw.First(result, "action")
	return action == nil || string(action) == `"accept"`
}

// visit asks the user to open each page of a -32042; the request is sent again
// when that is done, and the error is the ending where the user does not want to
// or the client never said that it could.
func (r *inputRounds) visitPages(ctx context.Context, o wire.Outcome) (end wire.Outcome, ok bool) {
	pages, err := jsonraw.Array(jsonraw.First(o.RPC().Data, "elicitations"))
	if err != nil || len(pages) == 0 {
		return o, false
	}
	for _, params := range pages {
		q := Asking{Method: "elicitation/create", Params: params, Again: true}
		if code, _ := parseSupport(r.s.opt.Capabilities).rejection(q.Method, q.Params); code != 0 {
			return o, false
		}
		a := r.s.ask(ctx, q)
		if ctx.Err() != nil {
			return abandoned(ctx, o), false
		}
		if a.Ending.Kind != wire.OK && (a.Result != nil || a.Ending.Kind != wire.InputRequired) {
			o.Result = o.RPC().Data
			return a.applyTo(o), false
		}
		if a.Result == nil || !isAccepted(a.Result) {
			return o, false
		}
	}
	return o, true
}

// gaveUp is the ending of a request that was given up between two rounds. The
// server has answered, and waits for nothing.
func abandoned(ctx context.Context, o wire.Outcome) wire.Outcome {
	f := &transport.Fault{Phase: "wait", Reached: wire.Answered}
	f.EndBy(context.Cause(ctx))
	o.Result = nil
	return f.ApplyTo(o)
}
