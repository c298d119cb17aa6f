package replay

import (
	"context"
	"slices"
	"sync"

	"mcpc/internal/capture/rows"
	"mcpc/internal/client"
	"mcpc/internal/match"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// answers are the recorded client's answers to requests of the server. A request gets the answer
// with the same key and method, else with the same params, else the next one in recorded order.
type answers struct {
	selection *selection
	mu        sync.Mutex
	// questions maps each running request to its questions; nil maps to questions that may arrive
	// at any time.
	questions map[*rows.Row][]*question
	// lastRoots is the last list of roots that was sent, for further requests.
	lastRoots *question
}

// A question is a recorded request of the server. isUsed is set once its answer was sent.
type question struct {
	Question
	isUsed bool
}

// newAnswers reads the answers that may be needed at any time.
func newAnswers(s *selection) (*answers, error) {
	a := &answers{selection: s, questions: map[*rows.Row][]*question{}}
	anytime, err := a.recordedQuestions(nil)
	a.questions[nil] = anytime
	return a, err
}

// addFor adds the recorded answers to the requests that the server sent during a row with the
// exchange x. It reports whether an answer contains a hidden secret: it cannot be sent.
func (a *answers) addFor(row *rows.Row, x *wire.Exchange) (hasHidden bool, err error) {
	var all []*question
	for _, q := range Questions(x) {
		isInputRequest := q.Key != "" // the others are rows of their own
		if isInputRequest && q.Answer != nil {
			all = append(all, &question{Question: q})
		}
	}
	requests, err := a.recordedQuestions(row)
	if err != nil {
		return false, err
	}
	all = append(all, requests...)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.questions[row] = all
	return slices.ContainsFunc(all, func(q *question) bool { return redact.HasHiddenParts(string(q.Answer)) }), nil
}

// recordedQuestions reads the server's requests that arrived during a row, or, for nil, at any time,
// with their answers.
func (a *answers) recordedQuestions(row *rows.Row) (all []*question, err error) {
	for _, serverRequest := range a.selection.serverRequests[row] {
		x, err := serverRequest.Exchange()
		if err != nil {
			return nil, err
		}
		if x == nil {
			continue
		}
		m := wire.ParseMessage(x.Request.Raw)
		answer := wire.ParseMessage(x.Response.Raw)
		all = append(all, &question{Question: Question{Method: m.Method, Params: m.Params, Answer: answer.Result}})
	}
	return all, nil
}

// removeFor removes the answers that addFor added for a row.
func (a *answers) removeFor(row *rows.Row) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.questions, row)
}

// respond returns the recorded answer to a request of the server. It implements client.Asker.
func (a *answers) respond(_ context.Context, q client.InputRequest) client.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := a.findQuestion(q)
	if found == nil || found.Answer == nil || redact.HasHiddenParts(string(found.Answer)) {
		if q.Method == "roots/list" && q.Key == "" { // a message of its own
			// A server may ask for the roots at any time, so this ends no request: it gets an error.
			return client.Answer{}
		}
		return client.Answer{
			Outcome: wire.Outcome{
				Kind: wire.InputRequired,
				Text: "the server requested " + q.Method + ", for which no answer is recorded",
			},
		}
	}
	found.isUsed = true
	if q.Method == "roots/list" {
		a.lastRoots = found
	}
	return client.Answer{Result: found.Answer}
}

// findQuestion returns the unused recorded question that matches a request best, or nil: one with the
// same key, else with the same params, else the next of the method. A question of a running request
// comes before a question that may arrive at any time.
func (a *answers) findQuestion(q client.InputRequest) *question {
	var ofRunning, anytime []*question
	for row, all := range a.questions {
		for _, candidate := range all {
			if candidate.isUsed || candidate.Method != q.Method {
				continue
			}
			if row == nil {
				anytime = append(anytime, candidate)
			} else {
				ofRunning = append(ofRunning, candidate)
			}
		}
	}
	hasKey := func(candidate *question) bool { return q.Key != "" && candidate.Key == q.Key }
	hasParams := func(candidate *question) bool {
		return match.Compare(candidate.Params, q.Params, match.Comparison{Part: match.Params, Method: q.Method}).Same()
	}
	// Two different keys are two different questions.
	isNext := func(candidate *question) bool { return q.Key == "" || candidate.Key == "" }
	for _, isMatch := range []func(*question) bool{hasKey, hasParams, isNext} {
		for _, candidates := range [][]*question{ofRunning, anytime} {
			if index := slices.IndexFunc(candidates, isMatch); index >= 0 {
				return candidates[index]
			}
		}
	}
	if q.Method == "roots/list" {
		return a.lastRoots // the roots are the same each time
	}
	return nil
}
