package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// taskStep is a step of a transcript that is about tasks.
func (tr *transcript) taskStep(ctx context.Context, s *Session, verb, rest string) {
	switch verb {
	case "task":
		tr.task(ctx, s, rest)
	case "await":
		tr.say("await %s: %s", rest, tr.told(s.Await(ctx, Task{ID: rest}, tr.waiting())))
	case "leave":
		after, id, _ := strings.Cut(rest, " ")
		span, _ := time.ParseDuration(after)
		ctx, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(span, func() { cancel(errCtrlC) })
		tr.say("await %s: %s", id, tr.told(s.Await(ctx, Task{ID: id}, tr.waiting())))
	case "canceltask":
		tr.say("canceltask %s: %s", rest, tr.told(s.CancelTask(ctx, rest)))
	case "offer":
		tr.say("offer %q: %+v", rest, s.TaskOffer(rest))
	}
}

// task calls a tool that may become a task, and waits for it: TTL PARAMS.
func (tr *transcript) task(ctx context.Context, s *Session, rest string) {
	ttl, params, _ := strings.Cut(rest, " ")
	span, err := time.ParseDuration(ttl)
	if err != nil {
		tr.t.Fatal(err)
	}
	call := Call{Method: "tools/call", Params: json.RawMessage(params), Progress: true, Task: &TaskWish{TTL: span}}
	o := s.Do(ctx, call)
	tr.say("tools/call: %s", tr.told(o))
	if task, ok := s.TaskIn(call, o); ok {
		tr.say("it is the task %s", tr.shown(task))
		tr.say("await: %s", tr.told(s.Await(ctx, task, tr.waiting())))
	}
}

func (tr *transcript) waiting() AwaitOptions {
	return AwaitOptions{
		Tool: "t", Answered: []string{"answered before"},
		OnStatus:  func(task Task) { tr.say("seen: %s", tr.shown(task)) },
		OnAnswers: func(keys []string) { tr.say("answered: %q", keys) },
	}
}

func (tr *transcript) shown(task Task) string {
	return fmt.Sprintf("%s %s %q created=%s ttl=%s poll=%s", task.ID, task.Status, task.Message,
		task.Created.Format(time.RFC3339), task.TTL, task.Poll)
}
