package call

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/client/auth"
	"mcpc/internal/connect/elicit"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/question"
	"mcpc/internal/render/failure"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// events writes what happens during a call as lines of JSON on standard output, and reads the
// answers to what the server asks from standard input, a line each: for an agent that runs mcpc.
// The last line is a result, or an error where there is none.
type events struct {
	host.UI // the user's, for notes and warnings
	f       *cmdutil.Factory
	ctx     context.Context
	mu      sync.Mutex
	asked   int
}

// follow has the call of this command reported as events.
func follow(ctx context.Context, f *cmdutil.Factory) (*events, error) {
	if f.JSON || f.Wire || f.Output != "" {
		return nil, usage.New("--events writes JSON lines to standard output", "remove --json, --wire and -o")
	}
	f.Progress.Done() // the reader of the events has the progress, and may type the answers
	e := &events{UI: f.Env.UI, f: f, ctx: ctx}
	f.Env.UI, f.OnFailure = e, func(o wire.Outcome) {
		if o.Kind != wire.ToolError { // the result says that
			e.write("error", jsonraw.Member{Name: "error", Value: failure.JSON(f.OutStyle, o)})
		}
	}
	if !f.Answers.Samples() {
		f.Answers.Sampling = "-"
	}
	return e, nil
}

// write prints one event. What standard output does not take ends the command later.
func (e *events) write(name string, members ...jsonraw.Member) {
	line := jsonraw.Append(jsonraw.With(nil, "event", jsonraw.Quote(name)), members...)
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = cmdutil.TryLine(e.ctx, e.f, line)
}

// result prints the result of the call, if it has one.
func (e *events) result(o wire.Outcome) {
	if !e.f.HasAnswer(o) || o.Kind == wire.InputRequired {
		return
	}
	e.write("result", jsonraw.Member{Name: "kind", Value: jsonraw.Quote(cmp.Or(string(o.Kind), "ok"))},
		jsonraw.Member{Name: "exit", Value: number(o.ExitCode())}, jsonraw.Member{Name: "result", Value: o.Result})
}

func (e *events) ShowsProgress() bool { return true }

func (e *events) ShowProgress(params jsonraw.Members) {
	var known jsonraw.Members
	for _, name := range []string{"progress", "total", "message"} {
		if value, ok := params.Get(name); ok {
			known = append(known, jsonraw.Member{Name: name, Value: value})
		}
	}
	e.write("progress", known...)
}

func (e *events) ShowLog(level, logger string, data json.RawMessage) {
	e.write(
		"log",
		jsonraw.Member{Name: "level", Value: jsonraw.Quote(level)},
		jsonraw.Member{Name: "logger", Value: jsonraw.Quote(logger)},
		jsonraw.Member{Name: "data", Value: jsonraw.OrEmpty(data)},
	)
}

// CanAsk reports that the reader of the events answers what the server asks.
func (e *events) CanAsk() bool { return true }

// FillArguments leaves arguments that are missing to the error that says so.
func (e *events) FillArguments(context.Context, string, question.Form, host.FormCheck) map[string]json.RawMessage {
	return nil
}

// OfferLogin offers none: the command ends with exit code 4.
func (e *events) OfferLogin(context.Context, auth.Refusal) (bool, error) { return false, nil }

// FillForm has the reader fill in a form.
func (e *events) FillForm(ctx context.Context, q client.Asking, _ string, check host.FormCheck) client.Answer {
	form, err := question.ParseForm(q.Params)
	if err != nil {
		return elicit.NoForm(err)
	}
	return e.ask(ctx, q, func(answer json.RawMessage) (client.Answer, []wire.Finding, error) {
		a, accepted, err := action(answer)
		if !accepted || err != nil {
			return a, nil, err
		}
		content := jsonraw.First(answer, "content")
		if findings := append(form.Check(content), check(form.Schema, content)...); len(findings) > 0 {
			return a, findings, errors.New("the content does not match the form")
		}
		return client.Answer{Result: question.Accept(content)}, nil, nil
	})
}

// VisitPage has the reader open a page.
func (e *events) VisitPage(ctx context.Context, q client.Asking, _ string) client.Answer {
	if _, err := question.ParsePage(q.Params); err != nil {
		return elicit.Refusal("mcpc", "page, because "+err.Error(), client.Answer{Result: question.Decline()})
	}
	return e.ask(ctx, q, func(answer json.RawMessage) (client.Answer, []wire.Finding, error) {
		a, _, err := action(answer)
		return a, nil, err
	})
}

// WriteMessage has the reader be the model.
func (e *events) WriteMessage(ctx context.Context, q client.Asking, _ string) client.Answer {
	return e.ask(ctx, q, func(answer json.RawMessage) (client.Answer, []wire.Finding, error) {
		if said, _ := jsonraw.Text(jsonraw.First(answer, "action")); said == "decline" {
			return client.Answer{
				Declined: true,
				Ending:   wire.Outcome{Kind: wire.InputRequired, Text: "the answer on standard input declined " + q.Method},
			}, nil, nil
		}
		message, err := question.Message(q.Params, answer)
		return client.Answer{Result: message}, nil, err
	})
}

func number(n int) json.RawMessage { return strconv.AppendInt(nil, int64(n), 10) }

// action reads the action of an answer to a form or a page.
func action(answer json.RawMessage) (a client.Answer, accepted bool, err error) {
	switch said, _ := jsonraw.Text(jsonraw.First(answer, "action")); said {
	case "accept":
		return client.Answer{Result: question.Accept(nil)}, true, nil
	case "decline":
		return client.Answer{Result: question.Decline()}, false, nil
	case "cancel":
		return client.Answer{Result: question.Cancel()}, false, nil
	}
	return a, false, errors.New(`the action is "accept", "decline" or "cancel"`)
}

// ask prints a question and reads lines until one answers it; one that does not is rejected. At the
// end of standard input there is no answer.
func (e *events) ask(
	ctx context.Context,
	q client.Asking,
	read func(answer json.RawMessage) (client.Answer, []wire.Finding, error),
) client.Answer {
	e.asked++
	id := jsonraw.Member{Name: "id", Value: number(e.asked)}
	e.write(
		"question",
		id,
		jsonraw.Member{Name: "method", Value: jsonraw.Quote(q.Method)},
		jsonraw.Member{Name: "params", Value: jsonraw.OrEmpty(q.Params)},
	)
	for {
		line, err := e.f.Typist.Line(ctx)
		if errors.Is(err, io.EOF) && strings.TrimSpace(line) == "" || err != nil && !errors.Is(err, io.EOF) {
			return client.Answer{Ending: client.Unanswered(q.Method)}
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		answer := json.RawMessage(line)
		members, bad := jsonraw.Object(answer)
		var a client.Answer
		var findings []wire.Finding
		switch {
		case bad != nil:
			err = errors.New("an answer is one line with a JSON object")
		case string(members.Value("id")) != string(id.Value):
			err = fmt.Errorf("the id of the question is %s", id.Value)
		default:
			a, findings, err = read(jsonraw.Without(answer, "id"))
		}
		if err == nil {
			return a
		}
		e.reject(id, err, findings)
	}
}

func (e *events) reject(id jsonraw.Member, why error, findings []wire.Finding) {
	list := jsonraw.ListOf(findings, func(f wire.Finding) json.RawMessage {
		return jsonraw.With(jsonraw.With(nil, "where", jsonraw.Quote(f.Where)), "text", jsonraw.Quote(f.Text))
	})
	e.write(
		"rejected",
		id,
		jsonraw.Member{Name: "message", Value: jsonraw.Quote(why.Error())},
		jsonraw.Member{Name: "findings", Value: list},
	)
}
