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

// composeAnswer asks the user what the server asked in a request of its own, and
// composes the answer; nil where the server took the question back meanwhile.
func (c *connection) composeAnswer(ctx context.Context, m *wire.Message) []byte {
	ctx, withdraw := context.WithCancel(ctx)
	defer withdraw()
	defer c.questions.open(string(m.ID), withdraw)()
	answer, withdrawn := c.askUser(ctx, m)
	if withdrawn {
		return nil
	}
	if answer.Result != nil {
		answer.Result = withRelatedTask(answer.Result, m)
	}
	return answer.Compose(m.ID)
}

// askUser puts one question; taken is set where it was taken back. One that was not
// answered, or declined, is noted on the requests under way: the server asked on their
// account, and which of them it was cannot be told.
func (c *connection) askUser(ctx context.Context, m *wire.Message) (answer mcp.Answer, withdrawn bool) {
	a := c.s.ask(ctx, Asking{Method: m.Method, Params: m.Params})
	if ctx.Err() != nil {
		return mcp.Answer{}, true
	}
	if a.Ending.Kind != wire.OK {
		c.s.pending.noteUnanswered(&unanswered{answer: a, request: m})
	}
	if a.Result != nil {
		return mcp.Answer{Result: a.Result}, false
	}
	return mcp.NoAnswer(m.Method), false
}

// A question is a request of the server's that is not answered yet. Its id is that
// of the request, or of the task that it became.
type question struct {
	id       string
	withdraw func()
}

// questions are those that are open, oldest first.
type questions struct {
	mu  sync.Mutex
	all []*question
}

// open adds a question until it is closed.
func (qs *questions) open(id string, withdraw func()) (closed func()) {
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

// drop takes back all open questions. The oldest, which the user is being
// asked, comes last, so that its end does not let the next be asked.
func (qs *questions) drop() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, q := range slices.Backward(qs.all) {
		q.withdraw()
	}
}

// withdraw takes back the question with the id. It reports whether that was open.
func (qs *questions) withdraw(id string) bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	at := slices.IndexFunc(qs.all, func(q *question) bool { return q.id == id })
	if at >= 0 {
		qs.all[at].withdraw()
	}
	return at >= 0
}

// withdrawn takes notifications/cancelled for one of the server's own requests:
// the server cancelled the request (basic/utilities/cancellation).
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

// unanswered is what a server asked and was answered with nothing, or with no.
type unanswered struct {
	answer  Answer
	request *wire.Message
	// undeclared is the method of a request that was rejected since the client had not declared the capability, or "".
	undeclared string
}

// unanswered notes it on every request under way. The first such question is the
// one that the rest came of.
func (p *pendingRequests) noteUnanswered(u *unanswered) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.requests {
		if r.unanswered == nil || r.unanswered.undeclared != "" {
			r.unanswered = u
		}
	}
}

// endOf is the ending of an exchange during which a question stayed open. Where no
// answer came at all, or none that could be read, that stays; else what was asked is
// what a caller needs. A server that fails because it got no answer says so in words of
// its own, which are no more than a note. One that goes on from a no has answered.
func (u *unanswered) applyTo(o wire.Outcome) wire.Outcome {
	if u == nil {
		return o
	}
	if u.undeclared != "" {
		if o.Kind == wire.RPCFailed || o.Kind == wire.ToolError {
			o.Findings = append(slices.Clip(o.Findings), wire.Finding{Rule: wire.Undeclared, Level: wire.Info, Got: u.undeclared,
				Text: "the server requested " + u.undeclared + ", which was not offered; it was rejected"})
		}
		return o
	}
	failure := o.RPC()
	no := u.answer.Result != nil || u.answer.Declined
	switch o.Kind {
	case wire.OK, wire.ToolError, wire.OutputInvalid:
		if no && o.Kind == wire.ToolError {
			o.Findings = append(
				slices.Clip(o.Findings),
				wire.Finding{Rule: "refused", Level: wire.Info, Text: u.answer.Ending.Text},
			)
		}
		if no {
			return o
		}
		fallthrough
	case wire.RPCFailed:
		o = u.answer.applyTo(o)
		o.Message = u.request
		o.Result = u.request.Raw
		if u.request.Kind == wire.Response {
			o.Result = u.request.Result
		}
	}
	if o.Message == u.request && failure != nil {
		o.Findings = append(slices.Clip(o.Findings), wire.Finding{Rule: "rpc_error", Level: wire.Info,
			Text: fmt.Sprintf("the server then returned the error %d %q", failure.Code, failure.Message)})
	}
	return o
}
