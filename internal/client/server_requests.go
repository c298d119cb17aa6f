package client

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// composeAnswer asks the user for the answer to a request from the server, and returns the composed
// response; nil if the server cancelled its request.
func (c *connection) composeAnswer(ctx context.Context, m *wire.Message) []byte {
	ctx, withdraw := context.WithCancel(ctx)
	defer withdraw()
	removeQuestion := c.questions.add(string(m.ID), withdraw)
	defer removeQuestion()
	answer, withdrawn := c.askUser(ctx, m)
	if withdrawn {
		return nil
	}
	if answer.Result != nil {
		answer.Result = withRelatedTask(answer.Result, m)
	}
	return answer.Compose(m.ID)
}

// askUser asks the user for the answer to a request from the server. withdrawn reports that the
// server cancelled its request. A request without an answer, or a declined one, is noted in all
// pending requests, since the server does not say which of them it belongs to.
func (c *connection) askUser(ctx context.Context, m *wire.Message) (answer mcp.Answer, withdrawn bool) {
	a := c.s.ask(ctx, InputRequest{Method: m.Method, Params: m.Params})
	if ctx.Err() != nil {
		return mcp.Answer{}, true
	}
	if a.Outcome.Kind != wire.OK {
		c.s.pending.noteUnanswered(&unansweredRequest{answer: a, request: m})
	}
	if a.Result != nil {
		return mcp.Answer{Result: a.Result}, false
	}
	return mcp.NoAnswer(m.Method), false
}

// A question is a request from the server without an answer so far. id is the id of the request, or
// of the task that it became.
type question struct {
	id       string
	withdraw func()
}

// questions are the open questions, oldest first.
type questions struct {
	mu  sync.Mutex
	all []*question
}

// add adds a question. The returned function removes it.
func (qs *questions) add(id string, withdraw func()) func() {
	q := &question{id, withdraw}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.all = append(qs.all, q)
	return func() {
		qs.mu.Lock()
		defer qs.mu.Unlock()
		qs.all = slices.DeleteFunc(qs.all, func(other *question) bool { return other == q })
	}
}

// withdrawAll withdraws all open questions, the oldest last: the user is being asked the oldest one, and
// its end must not start the next.
func (qs *questions) withdrawAll() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, q := range slices.Backward(qs.all) {
		q.withdraw()
	}
}

// withdraw withdraws the question with an id. It reports whether that question was open.
func (qs *questions) withdraw(id string) bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	at := slices.IndexFunc(qs.all, func(q *question) bool { return q.id == id })
	if at >= 0 {
		qs.all[at].withdraw()
	}
	return at >= 0
}

// handleCancelled withdraws the question that notifications/cancelled names
// (basic/utilities/cancellation). It ignores other notifications.
func (c *connection) handleCancelled(m *wire.Message) {
	if m.Method != "notifications/cancelled" {
		return
	}
	if c.questions.withdraw(string(mcp.CancelledID(m))) {
		text := "the server cancelled its request"
		if reason := jsonraw.First(m.Params, "reason"); reason != nil {
			text += ": " + jsonraw.Excerpt(reason, 200)
		}
		c.addFinding(wire.Info, "withdrawn", text)
	}
}

// An unansweredRequest is a request from the server that got no answer, or an answer that declines.
type unansweredRequest struct {
	answer  Answer
	request *wire.Message
	// undeclared is the method of a request that was rejected because the client had not declared
	// the capability, or "".
	undeclared string
}

// noteUnanswered stores u in each pending request. The first such request is kept, as the likely
// cause of a later failure, unless it was rejected as undeclared.
func (p *pendingRequests) noteUnanswered(u *unansweredRequest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.requests {
		if r.unanswered == nil || r.unanswered.undeclared != "" {
			r.unanswered = u
		}
	}
}

// applyTo returns the outcome of an exchange in which u happened; u may be nil. Without a usable
// response, o stays. If the request failed, or the server got no answer, the outcome names the
// missing answer, and an error that the server then returned becomes a finding. If the server got
// an answer that declines and continued without it, o stays.
func (u *unansweredRequest) applyTo(o wire.Outcome) wire.Outcome {
	if u == nil {
		return o
	}
	isToolError := o.Kind == wire.ToolError
	if u.undeclared != "" { // a likely cause of a failure, but not a missing answer
		if o.Kind == wire.RPCFailed || isToolError {
			o.Findings = append(slices.Clip(o.Findings), wire.Finding{
				Rule: wire.RuleUndeclared, Severity: wire.Info, Got: u.undeclared,
				Text: "the server requested " + u.undeclared + ", which was not offered; it was rejected",
			})
		}
		return o
	}
	hasResult := o.Kind == wire.OK || isToolError || o.Kind == wire.OutputInvalid
	isDeclined := u.answer.Result != nil || u.answer.Declined
	if hasResult && isDeclined {
		if isToolError {
			o.Findings = append(
				slices.Clip(o.Findings),
				wire.Finding{Rule: "refused", Severity: wire.Info, Text: u.answer.Outcome.Text},
			)
		}
		return o
	}
	if !hasResult && o.Kind != wire.RPCFailed {
		return o
	}
	failure := o.RPCError() // of the original response, before o gets another message
	o = u.answer.applyTo(o)
	o.Message = u.request
	o.Result = u.request.Raw
	if u.request.Kind == wire.Response { // the input request was part of a result
		o.Result = u.request.Result
	}
	if failure != nil {
		o.Findings = append(slices.Clip(o.Findings), wire.Finding{
			Rule: "rpc_error", Severity: wire.Info,
			Text: fmt.Sprintf("the server then returned the error %d %q", failure.Code, failure.Message),
		})
	}
	return o
}
