package replay

import (
	"context"
	"encoding/json"
	"testing"

	"mcpc/internal/capture/rows"
	"mcpc/internal/client"
	"mcpc/internal/wire"
)

// Each request of the server gets the recorded answer that fits best, once; the roots, which
// are the client's, again and again.
func TestServerRequestsGetBestRecordedAnswer(t *testing.T) {
	q := func(key, method, params, answer string) *question {
		one := &question{Question: Question{Key: key, Method: method, Params: json.RawMessage(params)}}
		if answer != "" {
			one.Answer = json.RawMessage(answer)
		}
		return one
	}
	type asking struct{ key, method, params, want string }
	const form, sample, roots = "elicitation/create", "sampling/createMessage", "roots/list"
	for name, c := range map[string]struct {
		during, anytime []*question
		asked           []asking
	}{
		"by key": {
			during: []*question{q("a", form, "{}", "1"), q("b", form, "{}", "2")},
			asked:  []asking{{"b", form, "{}", "2"}, {"a", form, "{}", "1"}, {"a", form, "{}", ""}},
		},
		"another key":          {during: []*question{q("a", form, `{"x":1}`, "1")}, asked: []asking{{"b", form, `{"x":2}`, ""}}},
		"another key, same":    {during: []*question{q("a", form, `{"x":1}`, "1")}, asked: []asking{{"b", form, `{"x":1}`, "1"}}},
		"by params":            {during: []*question{q("", form, `{"x":1}`, "1"), q("", form, `{"x":2}`, "2")}, asked: []asking{{"", form, `{"x":2}`, "2"}, {"", form, `{"x":3}`, "1"}}},
		"in order":             {during: []*question{q("", form, `{"x":1}`, "1"), q("", form, `{"x":2}`, "2")}, asked: []asking{{"", form, `{}`, "1"}, {"", form, `{}`, "2"}, {"", form, `{}`, ""}}},
		"keys and none":        {during: []*question{q("a", form, `{"x":1}`, "1")}, asked: []asking{{"", form, `{}`, "1"}}},
		"none and keys":        {during: []*question{q("", form, `{"x":1}`, "1")}, asked: []asking{{"a", form, `{}`, "1"}}},
		"another method":       {during: []*question{q("", form, "{}", "1")}, asked: []asking{{"", sample, "{}", ""}}},
		"at any time":          {during: []*question{q("", form, `{"x":1}`, "1")}, anytime: []*question{q("", form, `{"x":2}`, "2")}, asked: []asking{{"", form, `{"x":2}`, "2"}}},
		"during first":         {during: []*question{q("", form, `{"x":1}`, "1")}, anytime: []*question{q("", form, `{"x":2}`, "2")}, asked: []asking{{"", form, `{"x":3}`, "1"}, {"", form, `{"x":3}`, "2"}}},
		"unanswered":           {during: []*question{q("", form, "{}", "")}, asked: []asking{{"", form, "{}", ""}}},
		"roots again":          {anytime: []*question{q("", roots, "", "[]")}, asked: []asking{{"", roots, "", "[]"}, {"k", roots, "", "[]"}}},
		"no roots":             {asked: []asking{{"", roots, "", ""}, {"k", roots, "", ""}}},
		"a secret of its time": {during: []*question{q("", form, "{}", `"••••(len 40, sha256:1a2b)"`)}, asked: []asking{{"", form, "{}", ""}}},
	} {
		a := &answers{questions: map[*rows.Row][]*question{{}: c.during, nil: c.anytime}}
		for i, asked := range c.asked {
			got := a.respond(context.Background(), client.InputRequest{Key: asked.key, Method: asked.method, Params: json.RawMessage(asked.params)})
			// A request for the roots that stands alone may come at any time, and fails no request.
			fails := asked.want == "" && (asked.method != roots || asked.key != "")
			if string(got.Result) != asked.want || (got.Outcome.Kind == wire.InputRequired) != fails {
				t.Errorf("%s, %d: got %s, %q, want %s", name, i, got.Result, got.Outcome.Kind, asked.want)
			}
		}
	}
}
