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

// An act is an action that the page can request: whether it is allowed, the power that allows it, and the
// function that carries it out.
type act struct {
	isAllowed   func(p view.Powers) bool
	power       string // its value of --allow; "" if there is none
	callsServer bool   // the action waits for a server
	do          func(ctx context.Context, a view.Actor, p actionInput) (any, error)
}

// The values of act.callsServer.
const (
	local       = false
	callsServer = true
)

// An actionInput has the members of the JSON of all actions. Each action reads its own members.
type actionInput struct {
	view.Answer
	view.Request
	view.Export
	App     view.AppRequest `json:"app"`
	Fault   view.Fault      `json:"fault"`
	ID      string          `json:"id"`
	Text    string          `json:"text"`
	On      bool            `json:"on"`
	Key     string          `json:"key"`
	Message json.RawMessage `json:"message"`
	Schema  json.RawMessage `json:"schema"`
	Mark    bool            `json:"mark"`
	// Responses holds responses too.
	Responses bool   `json:"responses"`
	Note      string `json:"note"`
	// Tool is the tool of an app.
	Tool     string `json:"tool"`
	Argument string `json:"argument"`
	Value    string `json:"value"`
	File     string `json:"file"`
}

// A textResult is the JSON of an action that returns a text.
type textResult struct {
	Text string `json:"text"`
}

// acts maps the addresses below /api/do/ to actions.
var acts = sync.OnceValue(func() map[string]act {
	always := func(view.Powers) bool { return true }
	intercept := func(p view.Powers) bool { return p.Intercept }
	call := func(p view.Powers) bool { return p.Call }
	export := func(p view.Powers) bool { return p.Export }
	return map[string]act{
		"answer": {
			func(p view.Powers) bool { return p.Call || p.Resend || p.Intercept }, "call", local,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) {
				return okResponse, a.Answer(ctx, p.ID, p.Answer)
			},
		},
		"intercept": {
			intercept, "intercept", local,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) {
				wanted := p.Filter
				if p.On && !p.Responses {
					wanted = view.RequestsOnly(wanted)
				}
				return okResponse, a.Intercept(ctx, p.On, wanted)
			},
		},
		"release": {
			intercept, "intercept", local,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) {
				return okResponse, a.Release(ctx, p.ID, p.Text)
			},
		},
		"drop": {
			intercept, "intercept", local,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) {
				return okResponse, a.Drop(ctx, p.ID)
			},
		},
		"reveal": {
			intercept, "intercept", local,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) {
				message, err := a.Reveal(ctx, p.ID)
				return textResult{message}, err
			},
		},
		"fault": {
			intercept, "intercept", local,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) {
				done, err := a.SetFault(ctx, p.Fault)
				return textResult{done}, err
			},
		},
		"resend": {
			func(p view.Powers) bool { return p.Resend }, "resend", callsServer,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) {
				if string(p.Message) == "null" { // the recorded request is sent unchanged
					p.Message = nil
				}
				return a.Resend(ctx, p.Key, p.Message, p.Confirmed)
			},
		},
		"catalog": {
			call, "call", callsServer,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) { return a.Catalog(ctx, p.Target) },
		},
		"request": {
			call, "call", callsServer,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) { return a.Request(ctx, p.Request) },
		},
		"complete": {
			call, "call", callsServer,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) {
				return a.Complete(ctx, view.Completion{
					Target: p.Target, Kind: p.Kind, Name: p.Name,
					Argument: p.Argument, Value: p.Value, Arguments: p.Arguments,
				})
			},
		},
		"subscribe": {
			call, "call", callsServer,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) {
				return okResponse, a.Subscribe(ctx, p.Target, p.Name, p.On)
			},
		},
		"cancel": {
			call, "call", local,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) {
				return okResponse, a.Cancel(ctx, view.Cancellation{Target: p.Target, Kind: p.Kind, Name: p.Name})
			},
		},
		"step": {
			call, "call", callsServer,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) {
				return a.Step(ctx, p.Request, p.File)
			},
		},
		"app": {
			call, "call", callsServer,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) {
				return a.App(ctx, view.AppOpening{Target: p.Target, Tool: p.Tool, Confirmed: p.Confirmed})
			},
		},
		"apprequest": {
			call, "call", callsServer,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) { return a.AppRequest(ctx, p.App) },
		},
		"check": {
			call, "call", local,
			func(_ context.Context, a view.Actor, _ actionInput) (any, error) { return okResponse, a.CheckServers() },
		},
		"login": {
			call, "call", local,
			func(_ context.Context, a view.Actor, p actionInput) (any, error) {
				return a.Login(p.Target, p.Confirmed)
			},
		},
		"login-cancel": {
			call, "call", local,
			func(_ context.Context, a view.Actor, p actionInput) (any, error) {
				return okResponse, a.CancelLogin(p.Target)
			},
		},
		"validate": {
			always, "", local,
			func(_ context.Context, _ view.Actor, p actionInput) (any, error) {
				return problemsOf(p.Schema, p.Arguments), nil
			},
		},
		"mark": {
			func(p view.Powers) bool { return p.Mark }, "", local,
			func(_ context.Context, a view.Actor, p actionInput) (any, error) {
				return okResponse, a.Mark(p.Key, p.Mark, p.Note)
			},
		},
		"copy": {
			always, "", local,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) {
				exchange, err := a.Copy(ctx, p.Key, p.Form)
				return textResult{exchange}, err
			},
		},
		"preview": {
			export, "", local,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) { return a.Preview(ctx, p.Export) },
		},
		"export": {
			export, "", local,
			func(ctx context.Context, a view.Actor, p actionInput) (any, error) { return a.Export(ctx, p.Export) },
		},
	}
})

// powers returns what the page may do.
func (s *Server) powers() view.Powers {
	if s.Actor == nil {
		return view.Powers{}
	}
	return s.Actor.Powers()
}

// serveAct carries out an action if it is allowed, and writes its result as JSON. The data of an export is
// written as a file instead, which the browser saves.
func (s *Server) serveAct(w http.ResponseWriter, r *http.Request, action act) error {
	var input actionInput
	if err := s.readJSON(w, r, &input); err != nil {
		return err
	}
	if s.Actor == nil || !action.isAllowed(s.powers()) {
		if action.power != "" {
			return view.NotAllowed{Power: action.power}
		}
		return refusal{http.StatusForbidden, "this page cannot do that here"}
	}
	// Calls have their own slots: a call may wait for an answer, which is an action too.
	if action.callsServer {
		done, err := s.takeCallSlot()
		if err != nil {
			return err
		}
		defer done()
	}
	result, err := action.do(r.Context(), s.Actor, input)
	if file, ok := result.(view.Exported); ok && err == nil && file.Data != nil {
		setFileName(w, file.File)
		return s.write(w, file.Type, file.Data)
	}
	if app, ok := result.(view.App); ok && err == nil && app.Declared.Page != nil {
		if s.sandbox == nil {
			return refusal{http.StatusForbidden, "this page shows no apps"}
		}
		app.Allow = allowedFeatures(app.Declared.Page.Permissions)
		app.Frame = s.sandbox.add(app, r.Header.Get("Origin"))
		result = app
	}
	return s.jsonResponder(w)(result, errorWithStatus(err))
}

// takeCallSlot reserves a slot for a request that may wait for long. The caller calls done at its end. It
// returns an error if all slots are taken.
func (s *Server) takeCallSlot() (done func(), err error) {
	select {
	case s.calls <- struct{}{}:
		return func() { <-s.calls }, nil
	default:
		return nil, refusal{http.StatusTooManyRequests, "too many calls are under way"}
	}
}

// serveAllow asks the user at the terminal for a power, and responds after the answer. Nothing in the
// request can be an answer.
func (s *Server) serveAllow(w http.ResponseWriter, r *http.Request) error {
	var input struct {
		Power string `json:"power"`
	}
	if err := s.readJSON(w, r, &input); err != nil {
		return err
	}
	if s.Ask == nil {
		return refusal{http.StatusForbidden, "there is no terminal to ask at: " + view.NotAllowed(input).Error()}
	}
	done, err := s.takeCallSlot()
	if err != nil {
		return err
	}
	defer done()
	if err := s.Ask(r.Context(), input.Power); err != nil {
		return refusal{http.StatusForbidden, err.Error()}
	}
	return s.writeJSON(w, okResponse)
}

// errorWithStatus gives an error of an Actor an HTTP status, so that the user sees its text.
func errorWithStatus(err error) error {
	var refused refusal
	var wrong *filter.Error
	var notAllowed view.NotAllowed
	hasStatus := errors.As(err, &refused) || errors.As(err, &notAllowed) || errors.As(err, &wrong)
	if err == nil || hasStatus || errors.Is(err, view.ErrGone) {
		return err
	}
	return refusal{http.StatusUnprocessableEntity, err.Error()}
}
