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

// A user represents the user of a view, who answers the questions of servers. It prints nothing.
type user struct {
	host.Quiet
	a *Actor
}

func (u *user) CanAsk() bool { return true }

func (u *user) HintText(hint wire.Hint) string {
	text := u.a.Factory.HintText(hint.WithoutVerbose(maxVerbose))
	if hint != hint.WithoutVerbose(maxVerbose) && u.a.hasOutput() {
		text = strings.TrimPrefix(text+"; O shows what the server wrote to stderr", "; ")
	}
	return text
}

// maxVerbose is the highest level of -v, which a view cannot set.
const maxVerbose = 3

// Input returns the text of an argument. It reads neither files nor standard input.
func (u *user) Input(arg string) (raw []byte, from string, err error) {
	return []byte(arg), arguments.FromArgv, nil
}

// A pendingQuestion is a question that waits for the user.
type pendingQuestion struct {
	view.Question
	// check returns an error if an answer is invalid; nil accepts every answer.
	check  func(view.Answer) error
	answer chan view.Answer
}

// FillForm asks the user to fill in a form. An accepted answer fits the form's schema and passes check.
func (u *user) FillForm(ctx context.Context, q client.InputRequest, from string, check host.FormCheck) client.Answer {
	form, err := question.ParseForm(q.Params)
	if err != nil {
		return elicit.NoForm(err)
	}
	answer := u.a.awaitAnswer(
		ctx,
		&pendingQuestion{
			Question: view.Question{
				Server:  from,
				Method:  q.Method,
				Message: form.Message,
				Schema:  form.Schema,
				Params:  q.Params,
			},
			check: func(answer view.Answer) error {
				if answer.Action != "accept" {
					return nil
				}
				// The view shows one error at a time, so the first finding is enough.
				findings := append(form.Check(answer.Content), check(form.Schema, answer.Content)...)
				if len(findings) > 0 {
					return errors.New(findings[0].Pointer + " " + findings[0].Text)
				}
				return nil
			},
		},
	)
	return toClientAnswer(answer)
}

// toClientAnswer converts an answer of the user to a response for the server.
func toClientAnswer(answer view.Answer) client.Answer {
	switch answer.Action {
	case "accept":
		return client.Answer{Result: question.Accept(answer.Content)}
	case "decline":
		return client.Answer{Result: question.Decline()}
	}
	return client.Answer{Result: question.Cancel()}
}

// VisitPage asks the user to open a page. The view never opens it.
func (u *user) VisitPage(ctx context.Context, q client.InputRequest, from string) client.Answer {
	page, err := question.ParsePage(q.Params)
	if err != nil {
		return elicit.Refusal("mcpc", "page, because "+err.Error(), client.Answer{Result: question.Decline()})
	}
	answer := u.a.awaitAnswer(
		ctx,
		&pendingQuestion{
			Question: view.Question{Server: from, Method: q.Method, Message: page.Message, URL: page.URL, Params: q.Params},
		},
	)
	answer.Content = nil // the answer to a page has no content
	return toClientAnswer(answer)
}

// WriteMessage asks the user to answer in place of a model. The content of the answer is a text or
// the whole message.
func (u *user) WriteMessage(ctx context.Context, q client.InputRequest, from string) client.Answer {
	answer := u.a.awaitAnswer(
		ctx,
		&pendingQuestion{
			Question: view.Question{
				Server:  from,
				Method:  q.Method,
				Message: "The server requests a model's answer.",
				Params:  q.Params,
			},
			check: func(answer view.Answer) error {
				if answer.Action != "accept" {
					return nil
				}
				_, err := modelMessage(q.Params, answer.Content)
				return err
			},
		},
	)
	if answer.Action != "accept" {
		declined := wire.Outcome{Kind: wire.InputRequired, Text: "you declined " + q.Method}
		return client.Answer{Declined: true, Outcome: declined}
	}
	raw, _ := modelMessage(q.Params, answer.Content) // no error: check accepted the answer
	return client.Answer{Result: raw}
}

// modelMessage returns the result of sampling/createMessage with the request's params. content is
// what the user entered: a JSON string with the text or with the JSON of the message, or the
// message itself.
func modelMessage(params, content json.RawMessage) (json.RawMessage, error) {
	text, ok := jsonraw.Text(content)
	if !ok {
		text = string(content)
	}
	return question.Message(params, []byte(text))
}

// awaitAnswer waits for the user's answer. The answer is "cancel" if the call or the view ends first.
func (a *Actor) awaitAnswer(ctx context.Context, q *pendingQuestion) view.Answer {
	q.Since = a.Factory.Now()
	q.answer = make(chan view.Answer, 1)
	a.mu.Lock()
	a.questionCount++
	q.ID = strconv.Itoa(a.questionCount)
	a.questions = append(a.questions, q)
	a.mu.Unlock()
	a.Changed()
	defer a.Changed()
	defer a.removeQuestion(q.ID)
	select {
	case answer := <-q.answer:
		return answer
	case <-ctx.Done():
	case <-a.ctx.Done():
	}
	return view.Answer{Action: "cancel"}
}

// removeQuestion removes a question and returns it, or nil if it was already removed.
func (a *Actor) removeQuestion(id string) *pendingQuestion {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.questions, func(q *pendingQuestion) bool { return q.ID == id })
	if i < 0 {
		return nil
	}
	q := a.questions[i]
	a.questions = slices.Delete(a.questions, i, i+1)
	return q
}

// Questions returns the questions that wait for an answer, the oldest first.
func (a *Actor) Questions() []view.Question {
	all := append([]view.Question{}, a.heldQuestions()...)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.questions {
		all = append(all, q.Question)
	}
	return all
}

// errAnswered is returned for a question that was already answered or cancelled.
var errAnswered = errors.New("the question was answered or cancelled")

// Answer answers a question, which may be the question of a held message. After an invalid answer
// it returns an error, and the question still waits.
func (a *Actor) Answer(ctx context.Context, id string, answer view.Answer) error {
	if !slices.Contains([]string{"accept", "decline", "cancel"}, answer.Action) {
		return errors.New("an answer is accept, decline or cancel, not " + answer.Action)
	}
	if answer.Content != nil && jsonraw.Valid(answer.Content) != nil {
		return errors.New("the answer is not JSON")
	}
	if strings.Contains(id, ":") { // a question that a tap or proxy holds
		return a.answerHeld(ctx, id, answer)
	}
	q := a.findQuestion(id)
	if q == nil {
		return errAnswered
	}
	if q.check != nil {
		if err := q.check(answer); err != nil {
			return err
		}
	}
	if a.removeQuestion(id) == nil { // answered or cancelled during the check
		return errAnswered
	}
	q.answer <- answer // never blocks: the channel has room for the only answer
	return nil
}

// findQuestion returns the pending question with an ID, or nil.
func (a *Actor) findQuestion(id string) *pendingQuestion {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.questions {
		if q.ID == id {
			return q
		}
	}
	return nil
}
