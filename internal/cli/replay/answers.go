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
	// open maps each running request to its questions; nil maps to questions that may arrive at any
	// time.
	open map[*rows.Row][]*question
	// roots is the last list of roots that was sent, for further requests.
	roots *question
}

// A question is a recorded request of the server. used is set once its answer was sent.
type question struct {
	Question
	used bool
}

// newAnswers reads the answers that may be needed at any time.
func newAnswers(s *selection) (a *answers, err error) {
	a = &answers{selection: s, open: map[*rows.Row][]*question{}}
	a.open[nil], err = a.recordedQuestions(nil)
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
	a.open[row] = all
	return slices.ContainsFunc(all, func(q *question) bool { return redact.HasHiddenParts(string(q.Answer)) }), nil
}

// recordedQuestions reads the server's requests that arrived during a row, with their answers.
func (a *answers) recordedQuestions(row *rows.Row) (all []*question, err error) {
	for _, asked := range a.selection.serverRequests[row] {
		x, err := asked.Exchange()
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
	delete(a.open, row)
}

// respond returns the recorded answer to a request of the server. It implements client.Asker.
func (a *answers) respond(_ context.Context, q client.InputRequest) client.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := a.find(q)
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
	found.used = true
	if q.Method == "roots/list" {
		a.roots = found
	}
	return client.Answer{Result: found.Answer}
}

// find returns the unused question that matches a request best, or nil.
func (a *answers) find(q client.InputRequest) *question {
	var during, anytime []*question
	for row, all := range a.open {
		for _, one := range all {
			switch {
			case one.used || one.Method != q.Method:
			case row == nil:
				anytime = append(anytime, one)
			default:
				during = append(during, one)
			}
		}
	}
	for _, fits := range []func(*question) bool{
		func(one *question) bool { return q.Key != "" && one.Key == q.Key },
		func(one *question) bool {
			return match.Compare(one.Params, q.Params, match.Comparison{Part: match.Params, Method: q.Method}).Same()
		},
		func(one *question) bool { return q.Key == "" || one.Key == "" },
	} {
		for _, all := range [][]*question{during, anytime} {
			if index := slices.IndexFunc(all, fits); index >= 0 {
				return all[index]
			}
		}
	}
	if q.Method == "roots/list" {
		return a.roots
	}
	return nil
}
