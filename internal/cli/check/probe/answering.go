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

// Client capabilities that requests of probes declare. Probes decline each form.
const (
	formCapabilities = `{"elicitation":{"form":{}}}`
	taskCapabilities = `{"extensions":{"` + metaPrefix + `tasks":{}}}`
)

// asksForInput reports whether the tool refused a client without capabilities because it needs
// elicitation. Such a call did nothing so far.
func asksForInput(c calledTool) bool {
	return c.answer.code() == -32021 &&
		conv.Inside(c.answer.Message.Error.Data, "requiredCapabilities", "elicitation") != nil
}

// declaringRequest returns a call of the tool that declares client capabilities, with additional
// members of params.
func (c calledTool) declaringRequest(capabilities string, members ...jsonraw.Member) probeRequest {
	q := c.request(c.Args)
	for _, m := range members {
		q.params = jsonraw.With(q.params, m.Name, m.Value)
	}
	meta := jsonraw.With(nil, metaPrefix+"clientCapabilities", json.RawMessage(capabilities))
	q.params = jsonraw.With(q.params, "_meta", meta)
	return q
}

// judgeQuestions calls each tool that asks for input, and lets judgeOne check its question. It
// skips the rule if judgeOne never reports judged.
func judgeQuestions(
	ctx context.Context,
	b *bench,
	id string,
	judgeOne func(c calledTool, question answer) (misses []miss, judged bool),
) []miss {
	var misses []miss
	anyJudged := false
	for _, c := range b.called {
		if !asksForInput(c) {
			continue
		}
		if question := b.sendRough(ctx, c.declaringRequest(formCapabilities)); wire.RequiresInput(question.Result) {
			found, judged := judgeOne(c, question)
			misses = append(misses, found...)
			anyJudged = anyJudged || judged
		}
	}
	if !anyJudged {
		return []miss{{id: id, skip: true, got: "no called tool sent the request that the rule is about"}}
	}
	return misses
}

// declineAll returns responses that decline all forms of a question; nil if it asks for anything
// else.
func declineAll(question answer) json.RawMessage {
	requests, _ := jsonraw.Object(jsonraw.First(question.Result, "inputRequests"))
	var responses json.RawMessage
	for _, r := range requests {
		if method, _ := jsonraw.Text(jsonraw.First(r.Value, "method")); method != "elicitation/create" {
			return nil
		}
		responses = jsonraw.With(responses, r.Name, json.RawMessage(`{"action":"decline"}`))
	}
	return responses
}

// retryRequest returns the call again, with responses to its question. state is the question's
// requestState, nil if it had no state.
func (c calledTool) retryRequest(responses, state json.RawMessage) probeRequest {
	members := []jsonraw.Member{{Name: "inputResponses", Value: responses}}
	if state != nil {
		members = append(members, jsonraw.Member{Name: "requestState", Value: state})
	}
	return c.declaringRequest(formCapabilities, members...)
}

// probeRememberedCapability calls a tool without the capability that the request before declared.
func probeRememberedCapability(ctx context.Context, b *bench) []miss {
	return judgeQuestions(ctx, b, "L050", func(c calledTool, _ answer) ([]miss, bool) {
		a := b.sendRough(ctx, c.request(c.Args))
		if wire.RequiresInput(a.Result) {
			return []miss{newMiss("L050", "tool "+c.Name, a, "error -32021: this request declares no capability")}, true
		}
		return nil, true
	})
}

// probeTamperedState changes one byte of a requestState. If the state is too short to be signed, the
// miss is only a warning.
func probeTamperedState(ctx context.Context, b *bench) []miss {
	return judgeQuestions(ctx, b, "L157", func(c calledTool, question answer) ([]miss, bool) {
		state, _ := jsonraw.Text(jsonraw.First(question.Result, "requestState"))
		responses := declineAll(question)
		if state == "" || responses == nil {
			return nil, false
		}
		a := b.sendRough(ctx, c.retryRequest(responses, jsonraw.Quote(changeByte(state))))
		isRefused := !a.hasResult() || a.Kind == wire.ToolError || wire.RequiresInput(a.Result)
		if isRefused {
			return nil, true
		}
		m := newMiss("L157", "tool "+c.Name, a, "an error: a byte of requestState was changed")
		if len(state) < minSigned {
			m.severity = conv.Warn
		}
		return []miss{m}, true
	})
}

// changeByte returns a text with its middle byte changed.
func changeByte(text string) string {
	changed := []byte(text)
	middle := len(changed) / 2
	if changed[middle] == 'A' {
		changed[middle] = 'B'
	} else {
		changed[middle] = 'A'
	}
	return string(changed)
}

// minSigned is the length of the shortest state that may have a signature.
const minSigned = 32

// probeWrongResponses sends too few responses to a question, and too many.
func probeWrongResponses(ctx context.Context, b *bench) []miss {
	return judgeQuestions(ctx, b, "L158", func(c calledTool, question answer) (misses []miss, judged bool) {
		responses := declineAll(question)
		state := jsonraw.First(question.Result, "requestState")
		if responses == nil {
			return nil, false
		}
		if a := b.sendRough(ctx, c.retryRequest(json.RawMessage("{}"), state)); !wire.RequiresInput(a.Result) {
			misses = append(misses, newMiss("L158", "tool "+c.Name+", no answers", a, "the same question"))
		}
		tooMany := jsonraw.With(responses, "mcpc-no-such-question", json.RawMessage(`{"action":"decline"}`))
		if a := b.sendRough(ctx, c.retryRequest(tooMany, state)); !a.hasResult() {
			misses = append(misses, newMiss("L158", "tool "+c.Name+", one answer too many", a, "a result"))
		}
		return misses, true
	})
}

// probeCreatedTask gets a task as soon as it was created, and cancels it.
func probeCreatedTask(ctx context.Context, b *bench) []miss {
	anyTask := false
	taskRequest := func(method, id string) probeRequest {
		params := jsonraw.With(jsonraw.With(nil, "taskId", jsonraw.Quote(id)), "_meta",
			jsonraw.With(nil, metaPrefix+"clientCapabilities", json.RawMessage(taskCapabilities)))
		return probeRequest{method: method, params: params}
	}
	var misses []miss
	for _, c := range b.called {
		created := b.sendRough(ctx, c.declaringRequest(taskCapabilities))
		id, _ := jsonraw.Text(jsonraw.First(created.Result, "taskId"))
		if id == "" {
			continue
		}
		anyTask = true
		if a := b.sendRough(ctx, taskRequest("tasks/get", id)); !a.hasResult() {
			misses = append(misses, newMiss("L184", "tool "+c.Name, a, "the task that was created"))
		}
		b.sendRough(ctx, taskRequest("tasks/cancel", id))
	}
	if !anyTask {
		return skipRule("L184", "no tool that was called became a task")
	}
	return misses
}

// probeEndedTask waits for the result of a task, and then cancels the task.
func probeEndedTask(ctx context.Context, b *bench) []miss {
	for _, c := range b.called {
		support := conv.TextInside(c.listed, "execution", "taskSupport")
		if support != "optional" && support != "required" {
			continue
		}
		params := jsonraw.With(Call{Name: c.Name, Args: c.Args}.Params(), "task", json.RawMessage(`{"ttl":60000}`))
		created := b.sendRough(ctx, probeRequest{method: "tools/call", params: params})
		id := conv.TextInside(created.Result, "task", "taskId")
		if id == "" {
			continue
		}
		task := jsonraw.With(nil, "taskId", jsonraw.Quote(id))
		result := b.sendRough(ctx, probeRequest{method: "tasks/result", params: task})
		if !result.hasResult() {
			continue
		}
		if a := b.sendRough(ctx, probeRequest{method: "tasks/cancel", params: task}); a.code() != -32602 {
			return []miss{newMiss("L193", "tool "+c.Name, a, "error -32602: the task has ended")}
		}
		return nil
	}
	return skipRule("L193", "no task ended in time")
}

// probePublicList asks for the tools without the token. If the server answers, a list that it calls
// public must be the same as with the token.
func probePublicList(ctx context.Context, b *bench) []miss {
	if !b.request.Send.Auth || !hasToken(b) {
		return skipRule("L150", "needs --auth and a token: a second user is one without it")
	}
	other, out := b.openMuted(ctx, withoutToken(b.cleanSession))
	if !out.OK() {
		return skipRule("L150", out.Text)
	}
	defer other.Close(context.WithoutCancel(ctx), endSession)
	call := client.Call{Method: "tools/list", Once: true}
	theirs := b.newAnswer(other.Do(ctx, call), other)
	if !theirs.hasResult() {
		return skipRule("L150", "needs a second user: without a token nothing is listed")
	}
	ours := b.callClean(ctx, call, call.Method)
	scope, _ := jsonraw.Text(jsonraw.First(ours.Result, "cacheScope"))
	ourTools := jsonraw.First(ours.Result, "tools")
	theirTools := jsonraw.First(theirs.Result, "tools")
	isPublic := ours.hasResult() && scope == "public"
	if !isPublic || string(ourTools) == string(theirTools) {
		return nil
	}
	m := newMiss("L150", "tools/list", theirs, "the list that is public: "+theirs.excerpt(ourTools))
	m.pointer = "/result/tools"
	return []miss{m}
}

// withoutToken returns a session with the settings of s, for opening one like it without a token: an
// empty header field removes the field.
func withoutToken(s *session) *session {
	tokenless := *s
	tokenless.options.Fields = append(slices.Clone(s.options.Fields), wire.Field{Name: "Authorization"})
	return &tokenless
}

// hasToken reports whether requests carry credentials: a token, or header fields of the user.
func hasToken(b *bench) bool {
	guard := b.f.Guard
	if guard != nil && (guard.Fixed != "" || len(guard.HeaderFields()) > 0) {
		return true
	}
	return len(b.cleanSession.connection.Fields) > 0
}
