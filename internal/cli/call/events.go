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

// events prints what happens during a call as JSON lines on standard output, and reads the answers
// to input requests from standard input, one per line. It is for programs that run mcpc. The last
// line is a result or an error.
type events struct {
	host.UI       // prints notes and warnings
	f             *cmdutil.Factory
	ctx           context.Context
	mu            sync.Mutex
	questionCount int
}

// newEvents makes events the UI of the command, and returns it. Failures become events too. Flags
// for another output are a usage error.
func newEvents(ctx context.Context, f *cmdutil.Factory) (*events, error) {
	if f.JSON || f.Wire || f.Output != "" {
		return nil, usage.New("--events writes JSON lines to standard output", "remove --json, --wire and -o")
	}
	f.Progress.Done() // the events contain the progress, and the user may type answers
	e := &events{UI: f.Env.UI, f: f, ctx: ctx}
	f.Env.UI = e
	f.OnFailure = func(o wire.Outcome) {
		if o.Kind != wire.ToolError { // the result event contains the error
			e.write("error", jsonraw.Member{Name: "error", Value: failure.JSON(f.OutStyle, o)})
		}
	}
	if !f.Answers.Samples() {
		f.Answers.Sampling = "-" // WriteMessage then asks the program
	}
	return e, nil
}

// write prints one event. Write errors end the command later.
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
		jsonraw.Member{Name: "exit", Value: jsonNumber(o.ExitCode())}, jsonraw.Member{Name: "result", Value: o.Result})
}

// ShowsProgress reports true: progress becomes events.
func (e *events) ShowsProgress() bool { return true }

// ShowProgress prints a progress event.
func (e *events) ShowProgress(params jsonraw.Members) {
	var known jsonraw.Members
	for _, name := range []string{"progress", "total", "message"} {
		if value, ok := params.Get(name); ok {
			known = append(known, jsonraw.Member{Name: name, Value: value})
		}
	}
	e.write("progress", known...)
}

// ShowLog prints a log event.
func (e *events) ShowLog(level, logger string, data json.RawMessage) {
	e.write(
		"log",
		jsonraw.Member{Name: "level", Value: jsonraw.Quote(level)},
		jsonraw.Member{Name: "logger", Value: jsonraw.Quote(logger)},
		jsonraw.Member{Name: "data", Value: jsonraw.OrEmpty(data)},
	)
}

// CanAsk reports true: input requests become events.
func (e *events) CanAsk() bool { return true }

// FillArguments returns nil: missing arguments are an error.
func (e *events) FillArguments(context.Context, string, question.Form, host.FormCheck) map[string]json.RawMessage {
	return nil
}

// OfferLogin returns false: the command ends with exit code 4.
func (e *events) OfferLogin(context.Context, auth.Refusal) (bool, error) { return false, nil }

// FillForm asks for the values of a form.
func (e *events) FillForm(ctx context.Context, q client.InputRequest, _ string, check host.FormCheck) client.Answer {
	form, err := question.ParseForm(q.Params)
	if err != nil {
		return elicit.NoForm(err)
	}
	return e.ask(ctx, q, func(answer json.RawMessage) (client.Answer, []wire.Finding, error) {
		a, accepted, err := parseAction(answer)
		if !accepted || err != nil {
			return a, nil, err
		}
		content := jsonraw.First(answer, "content")
		findings := append(form.Check(content), check(form.Schema, content)...)
		if len(findings) > 0 {
			return a, findings, errors.New("the content does not match the form")
		}
		return client.Answer{Result: question.Accept(content)}, nil, nil
	})
}

// VisitPage asks to open a page.
func (e *events) VisitPage(ctx context.Context, q client.InputRequest, _ string) client.Answer {
	if _, err := question.ParsePage(q.Params); err != nil {
		return elicit.Refusal("mcpc", "page, because "+err.Error(), client.Answer{Result: question.Decline()})
	}
	return e.ask(ctx, q, func(answer json.RawMessage) (client.Answer, []wire.Finding, error) {
		a, _, err := parseAction(answer)
		return a, nil, err
	})
}

// WriteMessage asks for the message of the model.
func (e *events) WriteMessage(ctx context.Context, q client.InputRequest, _ string) client.Answer {
	return e.ask(ctx, q, func(answer json.RawMessage) (client.Answer, []wire.Finding, error) {
		if word, _ := jsonraw.Text(jsonraw.First(answer, "action")); word == "decline" {
			return client.Answer{
				Declined: true,
				Outcome:  wire.Outcome{Kind: wire.InputRequired, Text: "the answer on standard input declined " + q.Method},
			}, nil, nil
		}
		message, err := question.Message(q.Params, answer)
		return client.Answer{Result: message}, nil, err
	})
}

// jsonNumber returns n as JSON.
func jsonNumber(n int) json.RawMessage { return strconv.AppendInt(nil, int64(n), 10) }

// parseAction reads the action of an answer to a form or a page.
func parseAction(answer json.RawMessage) (a client.Answer, accepted bool, err error) {
	word, _ := jsonraw.Text(jsonraw.First(answer, "action"))
	switch word {
	case "accept":
		return client.Answer{Result: question.Accept(nil)}, true, nil
	case "decline":
		return client.Answer{Result: question.Decline()}, false, nil
	case "cancel":
		return client.Answer{Result: question.Cancel()}, false, nil
	}
	return a, false, errors.New(`the action is "accept", "decline" or "cancel"`)
}

// ask prints a question event and reads lines until read accepts one. It prints a rejected event
// for each other line. At the end of standard input it returns client.UnansweredOutcome.
func (e *events) ask(
	ctx context.Context,
	q client.InputRequest,
	read func(answer json.RawMessage) (client.Answer, []wire.Finding, error),
) client.Answer {
	e.questionCount++
	id := jsonraw.Member{Name: "id", Value: jsonNumber(e.questionCount)}
	e.write(
		"question",
		id,
		jsonraw.Member{Name: "method", Value: jsonraw.Quote(q.Method)},
		jsonraw.Member{Name: "params", Value: jsonraw.OrEmpty(q.Params)},
	)
	for {
		line, err := e.f.Typist.Line(ctx)
		isBlank := strings.TrimSpace(line) == ""
		isLastLine := errors.Is(err, io.EOF) && !isBlank // without a line end
		if err != nil && !isLastLine {
			return client.Answer{Outcome: client.UnansweredOutcome(q.Method)}
		}
		if isBlank {
			continue
		}
		answer := json.RawMessage(line)
		members, bad := jsonraw.Object(answer)
		var a client.Answer
		var findings []wire.Finding
		if bad != nil {
			err = errors.New("an answer is one line with a JSON object")
		} else if string(members.Value("id")) != string(id.Value) {
			err = fmt.Errorf("the id of the question is %s", id.Value)
		} else {
			a, findings, err = read(jsonraw.Without(answer, "id"))
		}
		if err == nil {
			return a
		}
		e.reject(id, err, findings)
	}
}

// reject prints a rejected event for an answer.
func (e *events) reject(id jsonraw.Member, why error, findings []wire.Finding) {
	list := jsonraw.ListOf(findings, func(f wire.Finding) json.RawMessage {
		return jsonraw.With(jsonraw.With(nil, "where", jsonraw.Quote(f.Pointer)), "text", jsonraw.Quote(f.Text))
	})
	e.write(
		"rejected",
		id,
		jsonraw.Member{Name: "message", Value: jsonraw.Quote(why.Error())},
		jsonraw.Member{Name: "findings", Value: list},
	)
}
