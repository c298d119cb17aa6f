package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"mcpc/internal/capture/filter"
	"mcpc/internal/live/view"
)

// An act is something that the page can ask to be done: the power it needs, how --allow names
// it, and how it is done with the JSON that was posted.
type act struct {
	may   func(p view.Powers) bool
	allow string
	calls bool // it waits for a server
	do    func(ctx context.Context, a view.Actor, p posted) (any, error)
}

// posted is the JSON of all acts; each reads its own members.
type posted struct {
	view.Answer
	view.Call
	view.Export
	ID      string          `json:"id"`
	Text    string          `json:"text"`
	On      bool            `json:"on"`
	Key     string          `json:"key"`
	Message json.RawMessage `json:"message"`
	Mark    bool            `json:"mark"`
	Note    string          `json:"note"`
}

type text struct {
	Text string `json:"text"`
}

// acts are the addresses below /api/do/.
var acts = sync.OnceValue(func() map[string]act {
	always := func(view.Powers) bool { return true }
	intercept := func(p view.Powers) bool { return p.Intercept }
	export := func(p view.Powers) bool { return p.Export }
	return map[string]act{
		"answer": {func(p view.Powers) bool { return p.Call || p.Resend || p.Intercept }, "call, resend or intercept", false,
			func(ctx context.Context, a view.Actor, p posted) (any, error) {
				return okay, a.Answer(ctx, p.ID, p.Answer)
			}},
		"intercept": {intercept, "intercept", false,
			func(ctx context.Context, a view.Actor, p posted) (any, error) {
				return okay, a.Intercept(ctx, p.On, p.Filter)
			}},
		"release": {intercept, "intercept", false,
			func(ctx context.Context, a view.Actor, p posted) (any, error) {
				return okay, a.Release(ctx, p.ID, p.Text)
			}},
		"drop": {intercept, "intercept", false,
			func(ctx context.Context, a view.Actor, p posted) (any, error) { return okay, a.Drop(ctx, p.ID) }},
		"reveal": {intercept, "intercept", false,
			func(ctx context.Context, a view.Actor, p posted) (any, error) {
				shown, err := a.Reveal(ctx, p.ID)
				return text{shown}, err
			}},
		"resend": {func(p view.Powers) bool { return p.Resend }, "resend", true,
			func(ctx context.Context, a view.Actor, p posted) (any, error) {
				if string(p.Message) == "null" {
					p.Message = nil
				}
				return a.Resend(ctx, p.Key, p.Message, p.Confirmed)
			}},
		"call": {func(p view.Powers) bool { return p.Call }, "call", true,
			func(ctx context.Context, a view.Actor, p posted) (any, error) { return a.Call(ctx, p.Call) }},
		"mark": {func(p view.Powers) bool { return p.Mark }, "", false,
			func(_ context.Context, a view.Actor, p posted) (any, error) {
				return okay, a.Mark(p.Key, p.Mark, p.Note)
			}},
		"copy": {always, "", false,
			func(ctx context.Context, a view.Actor, p posted) (any, error) {
				made, err := a.Copy(ctx, p.Key, p.Form)
				return text{made}, err
			}},
		"preview": {
			export,
			"",
			false,
			func(ctx context.Context, a view.Actor, p posted) (any, error) { return a.Preview(ctx, p.Export) },
		},
		"export": {
			export,
			"",
			false,
			func(ctx context.Context, a view.Actor, p posted) (any, error) { return a.Export(ctx, p.Export) },
		},
	}
})

// powers are what the page may do.
func (s *Server) powers() view.Powers {
	if s.Actor == nil {
		return view.Powers{}
	}
	return s.Actor.Powers()
}

// act does what the page asks for, where it may. An export is the file itself where the
// browser has to save it.
func (s *Server) act(w http.ResponseWriter, r *http.Request, do act) error {
	var p posted
	if err := s.read(w, r, &p); err != nil {
		return err
	}
	if s.Actor == nil || !do.may(s.powers()) {
		why := "this page cannot do that here"
		if do.allow != "" {
			why = "this page may only read: start mcpc inspect with --allow for " + do.allow
		}
		return refusal{http.StatusForbidden, why}
	}
	// A call may wait for an answer that is an act of its own, so it must not take that one's place.
	if do.calls {
		select {
		case s.calls <- struct{}{}:
			defer func() { <-s.calls }()
		default:
			return refusal{http.StatusTooManyRequests, "too many calls are under way"}
		}
	}
	made, err := do.do(r.Context(), s.Actor, p)
	if file, ok := made.(view.Exported); ok && err == nil && file.Data != nil {
		attach(w, file.File)
		return s.write(w, file.Type, file.Data)
	}
	return s.answer(w)(made, unable(err))
}

// unable gives an error of an Actor, which is for the user, its status.
func unable(err error) error {
	var refused refusal
	var wrong *filter.Error
	if err == nil || errors.As(err, &refused) || errors.As(err, &wrong) || errors.Is(err, view.ErrGone) {
		return err
	}
	return refusal{http.StatusUnprocessableEntity, err.Error()}
}
