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

// A request may take several rounds: the server responds with input requests, and the
// client sends the request again with the answers (2026-07-28 basic/patterns/mrtr). Up to
// 2025-11-25 the error -32042 has the same effect for pages that the user has to visit
// first (client/elicitation, "URL Mode").

const (
	// maxRounds limits the rounds of one request.
	maxRounds = 10
	// maxEmptyRounds limits the consecutive rounds without a request for input.
	maxEmptyRounds = 3
	// firstEmptyWait is the wait before the first round without input; it doubles each time.
	firstEmptyWait = 500 * time.Millisecond
)

// codeURLElicitation is URLElicitationRequired of 2025-11-25.
const codeURLElicitation = -32042

// answerRounds answers the input requests in o and sends the request again, until the server
// responds with a result, an input request gets no answer, or maxRounds is reached. The hard limit
// bounds the total time of all rounds.
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
	tookFirst := o.Took
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
		if !o.OperationSent() {
			const mayHaveArrived = true // the request of the first round
			o = withPart(&r.call, o, mayHaveArrived)
		}
	}
	o.Took = tookFirst + r.s.opt.Now().Sub(began)
	return r.firstDecline.applyTo(o)
}

// canContinue reports whether input requests are answered. They are not if the caller wrote
// inputResponses, requestState, the id or the whole message: it wants to see the response. Nor are
// they if the request must be sent once only and there is no Asker.
func (r *inputRounds) canContinue() bool {
	call := r.call
	hasRoundParams := jsonraw.First(call.Params, "inputResponses") != nil ||
		jsonraw.First(call.Params, "requestState") != nil
	if hasRoundParams || call.OneRound || call.Bare || call.ID != nil {
		return false
	}
	return !call.Once || r.s.opt.Asker != nil
}

// inputRounds are the rounds of one request. call is the request as the caller passed it.
type inputRounds struct {
	s    *Session
	call Call
	// emptyRounds counts the consecutive rounds without an input request.
	emptyRounds int
	// declinedRequests is the inputRequests object of the last round if all its answers declined;
	// nil otherwise. firstDecline is the first answer of the last round that declined, or nil.
	declinedRequests json.RawMessage
	firstDecline     *unansweredRequest
}

// nextCall returns the request of the next round after the outcome o, with the answers to the input
// requests in o. If ok is false, there is no next round, and end is the outcome of the request.
func (r *inputRounds) nextCall(ctx context.Context, o wire.Outcome) (next Call, end wire.Outcome, ok bool) {
	next = r.call
	r.firstDecline = nil
	if o.RPCError() != nil { // the error -32042; the request is then repeated unchanged
		end, ok = r.visitPages(ctx, o)
		return next, end, ok
	}
	members, _ := o.Message.ResultMembers()
	rawRequests, hasRequests := members.Get("inputRequests")
	state, hasState := members.Get("requestState")
	if requests, _ := jsonraw.Object(rawRequests); len(requests) > 0 {
		r.emptyRounds = 0
	} else {
		r.emptyRounds++
		if r.emptyRounds > maxEmptyRounds {
			text := fmt.Sprintf("the server requested %d more rounds without an input request", r.emptyRounds)
			return next, withFailure(o, wire.BadResponse, text), false
		}
		// A state alone means "later": a wait keeps the client from asking without a pause.
		if !hasRequests && !transport.Sleep(ctx, firstEmptyWait<<(r.emptyRounds-1)) {
			return next, abandoned(ctx, o), false
		}
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

// answerAll answers every input request of a round, and returns the inputResponses object. If one gets
// no answer, ok is false and end is the outcome: a part of the answers must not be sent.
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
	anyAccepted := len(requests) == 0 // nothing was declined
	for _, request := range requests {
		a, end, ok := answerInput(ctx, r.s, o, newInputRequest(request, true), ", so the request was not sent again")
		if !ok {
			return nil, end, false
		}
		if a.Outcome.Kind != wire.OK && r.firstDecline == nil {
			r.firstDecline = &unansweredRequest{answer: a, request: o.Message}
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

// newInputRequest returns the InputRequest for an entry of inputRequests. willRetry is as in
// InputRequest.
func newInputRequest(request jsonraw.Member, willRetry bool) InputRequest {
	method, _ := jsonraw.Text(jsonraw.First(request.Value, "method"))
	params := jsonraw.First(request.Value, "params")
	return InputRequest{Method: method, Params: params, Key: request.Name, WillRetry: willRetry}
}

// answerInput gets the answer to one input request. If ok is false, there is no answer, and end is
// the outcome: an answer without a result ends the request, because sampling and roots cannot
// express a refusal. consequence is appended to the text of a refusal.
func answerInput(
	ctx context.Context,
	s *Session,
	o wire.Outcome,
	q InputRequest,
	consequence string,
) (a Answer, end wire.Outcome, ok bool) {
	if code, what := parseSupport(s.opt.Capabilities).rejection(q.Method, q.Params); code != 0 {
		text := "the input request " + q.Key + " requests " + what + ", which was not offered"
		return a, withFailure(o, wire.BadResponse, text), false
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

// applyTo returns o as the outcome of a request that failed because of the answer a.
func (a Answer) applyTo(o wire.Outcome) wire.Outcome {
	o.Kind = a.Outcome.Kind
	o.Text = a.Outcome.Text
	o.Hint = a.Outcome.Hint
	o.Findings = a.Outcome.Findings
	return o
}

// isAccepted reports whether an answer does not decline. Only answers to elicitation have an
// action.
func isAccepted(result json.RawMessage) bool {
	action := jsonraw.First(result, "action")
	return action == nil || string(action) == `"accept"`
}

// visitPages asks the user to open each page of a -32042 error. It reports whether the request can
// be sent again. Otherwise end is the outcome: the error itself if the user declines or the client
// did not declare the capability.
func (r *inputRounds) visitPages(ctx context.Context, o wire.Outcome) (end wire.Outcome, ok bool) {
	pages, err := jsonraw.Array(jsonraw.First(o.RPCError().Data, "elicitations"))
	if err != nil || len(pages) == 0 {
		return o, false
	}
	for _, params := range pages {
		q := InputRequest{Method: "elicitation/create", Params: params, WillRetry: true}
		if code, _ := parseSupport(r.s.opt.Capabilities).rejection(q.Method, q.Params); code != 0 {
			return o, false
		}
		a := r.s.ask(ctx, q)
		if ctx.Err() != nil {
			return abandoned(ctx, o), false
		}
		hasReason := a.Outcome.Kind != wire.OK // the Asker says why the user did not accept
		isOnlyUnanswered := a.Result == nil && a.Outcome.Kind == wire.InputRequired
		if hasReason && !isOnlyUnanswered {
			o.Result = o.RPCError().Data // shows the pages to visit
			return a.applyTo(o), false
		}
		if a.Result == nil || !isAccepted(a.Result) {
			return o, false
		}
	}
	return o, true
}

// abandoned returns the outcome of a request that was given up between two rounds: the server has
// responded and waits for nothing.
func abandoned(ctx context.Context, o wire.Outcome) wire.Outcome {
	f := &transport.Fault{Phase: "wait", Reached: wire.Answered}
	f.EndBy(context.Cause(ctx))
	o.Result = nil
	return f.ApplyTo(o)
}
