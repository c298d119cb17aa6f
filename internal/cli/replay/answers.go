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
	// questions maps each running request to its questions; nil maps to questions that may arrive at any
	// time.
	questions map[*rows.Row][]*question
	// lastRoots is the last list of roots that was sent, for further requests.
	lastRoots *question
}

// A question is a recorded request of the server. used is set once its answer was sent.
type question struct {
	Question
	isUsed bool
}

// newAnswers reads the answers that may be needed at any time.
func newAnswers(s *selection) (a *answers, err error) {
	a = &answers{selection: s, questions: map[*rows.Row][]*question{}}
	a.questions[nil], err = a.recordedQuestions(nil)
	return a, err
}

// addFor adds the answers of an exchange. It reports whether one of them contains a hidden secret,
// which cannot be sent.
func (a *answers) addFor(row *rows.Row, x *wire.Exchange) (hidden bool, err error) {
	var all []*question
	for _, q := range Questions(x) {
		if q.Answer != nil && q.Key != "" {
			all = append(all, &question{Question: q})
		}
	}
	own, err := a.recordedQuestions(row)
	if err != nil {
		return false, err
	}
	all = append(all, own...)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.questions[row] = all
	return slices.ContainsFunc(all, func(q *question) bool { return redact.HasHiddenParts(string(q.Answer)) }), nil
}

// recordedQuestions reads the server's requests that arrived during a row, with their answers.
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

// removeFor removes the answers of an exchange.
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
		if q.Method == "roots/list" && q.Key == "" {
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

// findQuestion returns the unused question that matches a request best, or nil.
func (a *answers) findQuestion(q client.InputRequest) *question {
	var during, anytime []*question
	for row, all := range a.questions {
		for _, candidate := range all {
			switch {
			case candidate.isUsed || candidate.Method != q.Method:
			case row == nil:
				anytime = append(anytime, candidate)
			default:
				during = append(during, candidate)
			}
		}
	}
	for _, fits := range []func(*question) bool{
		func(candidate *question) bool { return q.Key != "" && candidate.Key == q.Key },
		func(candidate *question) bool {
			return match.Compare(candidate.Params, q.Params, match.Comparison{Part: match.Params, Method: q.Method}).Same()
		},
		func(candidate *question) bool { return q.Key == "" || candidate.Key == "" },
	} {
		for _, all := range [][]*question{during, anytime} {
			if index := slices.IndexFunc(all, fits); index >= 0 {
				return all[index]
			}
		}
	}
	if q.Method == "roots/list" {
		return a.lastRoots
	}
	return nil
}
