package liveview

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/elicit"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live/view"
	"mcpc/internal/question"
	"mcpc/internal/wire"
)

// A user stands for the user of a view, who answers what a server asks. It prints nothing.
type user struct {
	host.Quiet
	a *Actor
}

func (u *user) CanAsk() bool { return true }

func (u *user) HintText(hint wire.Hint) string { return u.a.Factory.HintText(hint) }

// Input is the text of an argument: no file is read, and no standard input.
func (u *user) Input(arg string) (raw []byte, from string, err error) {
	return []byte(arg), arguments.FromArgv, nil
}

// An asking is a question that waits for the user.
type asking struct {
	view.Question
	// check says what is wrong with an answer.
	check  func(view.Answer) error
	answer chan view.Answer
}

// FillForm has the user fill in a form.
func (u *user) FillForm(ctx context.Context, q client.Asking, from string, check host.FormCheck) client.Answer {
	form, err := question.ParseForm(q.Params)
	if err != nil {
		return elicit.NoForm(err)
	}
	answer := u.a.ask(
		ctx,
		&asking{
			Question: view.Question{
				Server:  from,
				Method:  q.Method,
				Message: form.Message,
				Schema:  form.Schema,
				Params:  q.Params,
			},
			check: func(is view.Answer) error {
				if is.Action != "accept" {
					return nil
				}
				for _, f := range append(form.Check(is.Content), check(form.Schema, is.Content)...) {
					return errors.New(f.Where + " " + f.Text)
				}
				return nil
			},
		},
	)
	return answered(answer)
}

// answered is an answer of the user as one to a server.
func answered(is view.Answer) client.Answer {
	switch is.Action {
	case "accept":
		return client.Answer{Result: question.Accept(is.Content)}
	case "decline":
		return client.Answer{Result: question.Decline()}
	}
	return client.Answer{Result: question.Cancel()}
}

// VisitPage has the user open a page. The view opens none by itself.
func (u *user) VisitPage(ctx context.Context, q client.Asking, from string) client.Answer {
	page, err := question.ParsePage(q.Params)
	if err != nil {
		return elicit.Refusal("mcpc", "page, because "+err.Error(), client.Answer{Result: question.Decline()})
	}
	answer := u.a.ask(
		ctx,
		&asking{
			Question: view.Question{Server: from, Method: q.Method, Message: page.Message, URL: page.URL, Params: q.Params},
		},
	)
	answer.Content = nil
	return answered(answer)
}

// WriteMessage has the user be the model. The content of an answer is a text, or the whole
// message.
func (u *user) WriteMessage(ctx context.Context, q client.Asking, from string) client.Answer {
	answer := u.a.ask(
		ctx,
		&asking{
			Question: view.Question{
				Server:  from,
				Method:  q.Method,
				Message: "The server requests a model's answer.",
				Params:  q.Params,
			},
			check: func(is view.Answer) (err error) {
				if is.Action == "accept" {
					_, err = sampled(q.Params, is.Content)
				}
				return err
			},
		},
	)
	if answer.Action != "accept" {
		return client.Answer{Declined: true, Ending: wire.Outcome{Kind: wire.InputRequired, Text: "you declined " + q.Method}}
	}
	raw, _ := sampled(q.Params, answer.Content) // it was checked
	return client.Answer{Result: raw}
}

// sampled is the message of a model that a user wrote, as a text or whole.
func sampled(params, wrote json.RawMessage) (json.RawMessage, error) {
	text, ok := jsonraw.Text(wrote)
	if !ok {
		text = string(wrote)
	}
	return question.Message(params, []byte(text))
}

// ask waits for the user's answer; it is cancelled with the call, or the view.
func (a *Actor) ask(ctx context.Context, q *asking) view.Answer {
	q.Since = a.Factory.Now()
	q.answer = make(chan view.Answer, 1)
	a.mu.Lock()
	a.asked++
	q.ID = strconv.Itoa(a.asked)
	a.questions = append(a.questions, q)
	a.mu.Unlock()
	a.Changed()
	defer a.Changed()
	defer a.take(q.ID)
	select {
	case answer := <-q.answer:
		return answer
	case <-ctx.Done():
	case <-a.ctx.Done():
	}
	return view.Answer{Action: "cancel"}
}

// take removes a question; it is nil where that was done before.
func (a *Actor) take(id string) *asking {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.questions, func(q *asking) bool { return q.ID == id })
	if i < 0 {
		return nil
	}
	q := a.questions[i]
	a.questions = slices.Delete(a.questions, i, i+1)
	return q
}

// Questions are those that wait for an answer, the oldest first.
func (a *Actor) Questions() []view.Question {
	all := append([]view.Question{}, a.heldQuestions()...)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.questions {
		all = append(all, q.Question)
	}
	return all
}

// errAnswered is the error where a question does not wait any more.
var errAnswered = errors.New("the question was answered or cancelled")

// Answer answers a question. An answer that does not fit is an error, and the question waits on.
func (a *Actor) Answer(ctx context.Context, id string, is view.Answer) error {
	if !slices.Contains([]string{"accept", "decline", "cancel"}, is.Action) {
		return errors.New("an answer is accept, decline or cancel, not " + is.Action)
	}
	if is.Content != nil && jsonraw.Valid(is.Content) != nil {
		return errors.New("the answer is not JSON")
	}
	if strings.Contains(id, ":") { // of a command that passes messages on
		return a.answerHeld(ctx, id, is)
	}
	a.mu.Lock()
	i := slices.IndexFunc(a.questions, func(q *asking) bool { return q.ID == id })
	var q *asking
	if i >= 0 {
		q = a.questions[i]
	}
	a.mu.Unlock()
	if q == nil {
		return errAnswered
	}
	if q.check != nil {
		if err := q.check(is); err != nil {
			return err
		}
	}
	if a.take(id) == nil {
		return errAnswered
	}
	q.answer <- is
	return nil
}
