package probe

import (
	"context"
	"encoding/json"
	"slices"

	"mcpc/internal/client"
	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/wire"
)

// What requests of probes declare: forms, of which each is declined, and tasks.
const (
	forms = `{"elicitation":{"form":{}}}`
	tasks = `{"extensions":{"` + meta + `tasks":{}}}`
)

// asksForInput reports a tool that refused a client without capabilities: it did nothing so far.
func asksForInput(c calledTool) bool {
	return c.answer.code() == -32021 &&
		conv.Inside(c.answer.Message.Error.Data, "requiredCapabilities", "elicitation") != nil
}

// declaring asks to call a tool with other capabilities, and with more members of params.
func (c calledTool) declaringRequest(capabilities string, more ...jsonraw.Member) probeRequest {
	q := c.request(c.Args)
	for _, m := range more {
		q.params = jsonraw.With(q.params, m.Name, m.Value)
	}
	q.params = jsonraw.With(q.params, "_meta", jsonraw.With(nil, meta+"clientCapabilities", json.RawMessage(capabilities)))
	return q
}

// eachQuestion calls each tool that asks for input, and judges what it asks. A rule that
// nothing judged was not run.
func judgeQuestions(
	ctx context.Context,
	b *bench,
	id string,
	judge func(c calledTool, question answer) (misses []miss, judged bool),
) (misses []miss) {
	seen := false
	for _, c := range b.called {
		if !asksForInput(c) {
			continue
		}
		if question := b.sendRough(ctx, c.declaringRequest(forms)); wire.AsksForInput(question.Result) {
			found, judged := judge(c, question)
			misses = append(misses, found...)
			seen = seen || judged
		}
	}
	if !seen {
		return []miss{{id: id, skip: true, got: "no tool that was called asked for what the rule is about"}}
	}
	return misses
}

// declined are refusals of all forms that were asked for; nil where something else was.
func declineAll(question answer) json.RawMessage {
	requests, _ := jsonraw.Object(jsonraw.First(question.Result, "inputRequests"))
	var all json.RawMessage
	for _, r := range requests {
		if method, _ := jsonraw.Text(jsonraw.First(r.Value, "method")); method != "elicitation/create" {
			return nil
		}
		all = jsonraw.With(all, r.Name, json.RawMessage(`{"action":"decline"}`))
	}
	return all
}

// retry asks again with answers and the state of a question, if it had one.
func (c calledTool) retryRequest(responses, state json.RawMessage) probeRequest {
	more := []jsonraw.Member{{Name: "inputResponses", Value: responses}}
	if state != nil {
		more = append(more, jsonraw.Member{Name: "requestState", Value: state})
	}
	return c.declaringRequest(forms, more...)
}

// remembered asks without a capability that the request before declared.
func rememberedCapability(ctx context.Context, b *bench) []miss {
	return judgeQuestions(ctx, b, "L050", func(c calledTool, _ answer) ([]miss, bool) {
		a := b.sendRough(ctx, c.request(c.Args))
		if wire.AsksForInput(a.Result) {
			return []miss{newMiss("L050", "tool "+c.Name, a, "error -32021: this request declares no capability")}, true
		}
		return nil, true
	})
}

// tampered changes one byte of a state. Of one that is too short to be signed that is no more
// than a warning.
func tamperedState(ctx context.Context, b *bench) []miss {
	return judgeQuestions(ctx, b, "L157", func(c calledTool, question answer) ([]miss, bool) {
		state, _ := jsonraw.Text(jsonraw.First(question.Result, "requestState"))
		responses := declineAll(question)
		if state == "" || responses == nil {
			return nil, false
		}
		bytes := []byte(state)
		if at := len(bytes) / 2; bytes[at] == 'A' {
			bytes[at] = 'B'
		} else {
			bytes[at] = 'A'
		}
		a := b.sendRough(ctx, c.retryRequest(responses, jsonraw.Quote(string(bytes))))
		if !a.hasResult() || a.Kind == wire.ToolError || wire.AsksForInput(a.Result) {
			return nil, true
		}
		m := newMiss("L157", "tool "+c.Name, a, "an error: a byte of requestState was changed")
		if len(state) < minSigned {
			m.severity = conv.Warn
		}
		return []miss{m}, true
	})
}

// leastSigned is the length of a state that may have a signature.
const minSigned = 32

// otherAnswers sends too few answers, and too many.
func wrongAnswers(ctx context.Context, b *bench) []miss {
	return judgeQuestions(ctx, b, "L158", func(c calledTool, question answer) (misses []miss, judged bool) {
		responses := declineAll(question)
		state := jsonraw.First(question.Result, "requestState")
		if responses == nil {
			return nil, false
		}
		if a := b.sendRough(ctx, c.retryRequest(json.RawMessage("{}"), state)); !wire.AsksForInput(a.Result) {
			misses = append(misses, newMiss("L158", "tool "+c.Name+", no answers", a, "the same question"))
		}
		more := jsonraw.With(responses, "mcpc-no-such-question", json.RawMessage(`{"action":"decline"}`))
		if a := b.sendRough(ctx, c.retryRequest(more, state)); !a.hasResult() {
			misses = append(misses, newMiss("L158", "tool "+c.Name+", one answer too many", a, "a result"))
		}
		return misses, true
	})
}

// createdTask asks for a task as soon as it was created, and cancels it.
func createdTask(ctx context.Context, b *bench) (misses []miss) {
	seen := false
	about := func(method, id string) probeRequest {
		params := jsonraw.With(jsonraw.With(nil, "taskId", jsonraw.Quote(id)), "_meta",
			jsonraw.With(nil, meta+"clientCapabilities", json.RawMessage(tasks)))
		return probeRequest{method: method, params: params}
	}
	for _, c := range b.called {
		created := b.sendRough(ctx, c.declaringRequest(tasks))
		id, _ := jsonraw.Text(jsonraw.First(created.Result, "taskId"))
		if id == "" {
			continue
		}
		seen = true
		if a := b.sendRough(ctx, about("tasks/get", id)); !a.hasResult() {
			misses = append(misses, newMiss("L184", "tool "+c.Name, a, "the task that was created"))
		}
		b.sendRough(ctx, about("tasks/cancel", id))
	}
	if !seen {
		return skipRule("L184", "no tool that was called became a task")
	}
	return misses
}

// endedTask waits for the result of a task, and cancels it then.
func endedTask(ctx context.Context, b *bench) []miss {
	for _, c := range b.called {
		at := slices.Index(b.lists.names("tools", "name"), c.Name)
		if support := conv.TextInside(b.lists["tools"][at], "execution", "taskSupport"); support != "optional" &&
			support != "required" {
			continue
		}
		params := jsonraw.With(Call{Name: c.Name, Args: c.Args}.Params(), "task", json.RawMessage(`{"ttl":60000}`))
		created := b.sendRough(ctx, probeRequest{method: "tools/call", params: params})
		id := conv.TextInside(created.Result, "task", "taskId")
		if id == "" {
			continue
		}
		named := jsonraw.With(nil, "taskId", jsonraw.Quote(id))
		if ended := b.sendRough(ctx, probeRequest{method: "tasks/result", params: named}); ended.hasResult() {
			if a := b.sendRough(ctx, probeRequest{method: "tasks/cancel", params: named}); a.code() != -32602 {
				return []miss{newMiss("L193", "tool "+c.Name, a, "error -32602: the task has ended")}
			}
			return nil
		}
	}
	return skipRule("L193", "no task ended in time")
}

// publicLists asks for the lists without the token. Where that is answered, too, what is
// public has to be the same.
func publicLists(ctx context.Context, b *bench) (misses []miss) {
	if !b.o.Send.Auth || !hasToken(b) {
		return skipRule("L150", "needs --auth and a token: a second user is one without it")
	}
	s := *b.clean
	s.opt.Fields = append(slices.Clone(s.opt.Fields), wire.Field{Name: "Authorization"})
	other, out := b.openLike(ctx, &s, true)
	if !out.Good() {
		return skipRule("L150", out.Text)
	}
	defer other.Close(context.WithoutCancel(ctx), true)
	theirs := client.Call{Method: "tools/list", Once: true}
	a := b.answerOf(other.Do(ctx, theirs), other)
	if !a.hasResult() {
		return skipRule("L150", "needs a second user: without a token nothing is listed")
	}
	ours := b.callClean(ctx, theirs, theirs.Method)
	scope, _ := jsonraw.Text(jsonraw.First(ours.Result, "cacheScope"))
	if x, y := jsonraw.First(ours.Result, "tools"), jsonraw.First(a.Result, "tools"); scope == "public" && ours.hasResult() &&
		string(x) != string(y) {
		m := newMiss("L150", "tools/list", a, "the list that is public: "+a.excerpt(x))
		m.pointer = "/result/tools"
		misses = append(misses, m)
	}
	return misses
}

// hasToken reports credentials that are sent.
func hasToken(b *bench) bool {
	return b.f.Guard != nil && (len(b.f.Guard.Held()) > 0 || b.f.Guard.Fixed != "") || len(b.clean.c.Fields) > 0
}
