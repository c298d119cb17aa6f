package liveview

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live/control"
	"mcpc/internal/live/view"
	"mcpc/internal/question"
	"mcpc/internal/redact"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// group returns the connections to the running taps and proxies, or nil before the first Intercept
// or fault: other views need no connections.
func (a *Actor) group() *control.Group {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.peers
}

// Held returns the held messages with their secrets hidden; an empty slice, not nil, without such
// messages.
func (a *Actor) Held() []view.Held {
	messages := []view.Held{}
	a.eachHeld(func(h control.Held) {
		text, masked := a.Factory.Secrets.Bytes(h.Message)
		safe := a.Factory.Secrets.Text
		messages = append(
			messages,
			view.Held{
				ID:     h.ID,
				Client: safe(h.Client),
				Server: safe(serverName(h)),
				Dir:    h.Dir,
				Method: safe(h.Method),
				Name:   safe(h.Name),
				Text:   strings.ToValidUTF8(string(text), "\uFFFD"),
				Masked: masked,
				Since:  h.Since,
				Until:  h.Until,
			},
		)
	})
	return messages
}

// serverName returns the name of a held message's server, or its target if it has no name.
func serverName(h control.Held) string {
	if h.Server == "" {
		return h.Target
	}
	return h.Server
}

// eachHeld calls visit for each held message.
func (a *Actor) eachHeld(visit func(control.Held)) {
	if g := a.group(); g != nil {
		for _, h := range g.Held() {
			visit(h)
		}
	}
}

// heldQuestions returns the held requests of servers that the user can answer in place of the
// client.
func (a *Actor) heldQuestions() []view.Question {
	var all []view.Question
	a.eachHeld(func(h control.Held) {
		if q, ok := a.heldQuestion(h); ok {
			all = append(all, q)
		}
	})
	return all
}

// heldQuestion returns a held message as a question. It reports false unless the message is a
// request of a server that a user can answer.
func (a *Actor) heldQuestion(h control.Held) (q view.Question, ok bool) {
	// The user answers in place of the client, so the request must have been received from the server.
	isServerRequest := h.Kind == "request" && h.Dir == wire.Received.String()
	answerable := []string{"elicitation/create", "sampling/createMessage", "roots/list"}
	if !isServerRequest || !slices.Contains(answerable, h.Method) {
		return q, false
	}
	safe, _ := a.Factory.Secrets.Bytes(h.Message)
	params := wire.ParseMessage(safe).Params
	members, _ := jsonraw.Object(params)
	q = view.Question{
		ID:      h.ID,
		Server:  a.Factory.Secrets.Text(serverName(h)),
		Method:  h.Method,
		Message: members.Text("message"),
		Params:  params,
		Since:   h.Since,
		Until:   h.Until,
		Watched: true, // the server asked a client, not mcpc
	}
	if members.Text("mode") == "url" { // asks to visit a page; every other elicitation is a form
		q.URL = members.Text("url")
	} else {
		q.Schema, _ = members.Get("requestedSchema")
	}
	return q, true
}

// answerHeld answers a held request in place of the client that it is for. It returns errAnswered
// if the request is no longer held.
func (a *Actor) answerHeld(ctx context.Context, id string, answer view.Answer) error {
	questions := a.heldQuestions()
	i := slices.IndexFunc(questions, func(q view.Question) bool { return q.ID == id })
	if i < 0 {
		return errAnswered
	}
	result, err := resultForServer(questions[i], answer)
	if err != nil {
		return err
	}
	return a.group().Decide(ctx, id, control.Order{Do: "answer", Raw: result})
}

// resultForServer converts the user's answer to the result of the server's request. Only an
// elicitation can be declined: the results of the other methods cannot say so.
func resultForServer(q view.Question, answer view.Answer) (json.RawMessage, error) {
	isElicitation := q.Method == "elicitation/create"
	switch {
	case isElicitation && answer.Action != "accept":
		return jsonraw.With(nil, "action", jsonraw.Quote(answer.Action)), nil
	case answer.Action != "accept":
		return nil, errors.New("only a form or a page can be declined on behalf of the client; drop the message instead")
	case isElicitation && q.URL != "":
		return question.Accept(nil), nil // a page has no content
	case isElicitation:
		return question.Accept(jsonraw.OrEmpty(answer.Content)), nil
	case q.Method == "sampling/createMessage":
		return modelMessage(q.Params, answer.Content)
	}
	return answer.Content, nil // roots/list: the user enters the whole result
}

// Intercepting reports whether messages are held, and returns the filter.
func (a *Actor) Intercepting() (bool, string) {
	if g := a.group(); g != nil {
		return g.Intercepting()
	}
	return false, ""
}

// Intercept starts or stops holding messages that match a filter.
func (a *Actor) Intercept(ctx context.Context, on bool, filter string) error {
	if !a.allowed().Intercept {
		return view.NotAllowed{Power: "intercept"}
	}
	g := a.group()
	if on {
		var err error
		g, err = a.openGroup()
		if err != nil {
			return err
		}
	}
	if g == nil { // nothing to stop, or the view has ended
		return nil
	}
	defer a.Changed()
	return g.Intercept(ctx, on, filter)
}

// openGroup returns the connections to the running taps and proxies. The first call connects to them. It
// returns nil if the view has ended.
func (a *Actor) openGroup() (*control.Group, error) {
	if g := a.group(); g != nil {
		return g, nil
	}
	store, err := state.Open(a.Factory.State)
	if err != nil {
		return nil, userError(a.Factory, connect.StateFailed(err))
	}
	return a.setGroup(control.Dial(control.Options{Dirs: store.SocketDirs(state.LiveSockets), Now: a.Factory.Now})), nil
}

// setGroup stores g and returns it. If another call stored a group first, or the view has ended, it
// closes g and returns the stored group, or nil.
func (a *Actor) setGroup(g *control.Group) *control.Group {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.peers != nil || a.ctx.Err() != nil {
		g.Close()
		return a.peers
	}
	a.peers = g
	// Until the view ends, tell it about changes of the held messages.
	go func() {
		for {
			select {
			case <-g.Changed():
				a.Changed()
			case <-a.ctx.Done():
				return
			}
		}
	}()
	return g
}

// decide sends an order about a held message.
func (a *Actor) decide(ctx context.Context, id string, order control.Order) error {
	g := a.group()
	if g == nil {
		return control.ErrGone
	}
	defer a.Changed()
	return g.Decide(ctx, id, order)
}

// Release sends a held message, replaced by text unless text is empty.
func (a *Actor) Release(ctx context.Context, id, text string) error {
	if len(redact.HiddenIn(text)) > 0 { // the receiver would get the placeholder in place of the secret
		return errors.New("a secret in it is masked: reveal it before you edit the message")
	}
	if text == "" {
		return a.decide(ctx, id, control.Order{Do: "release"})
	}
	return a.decide(ctx, id, control.Order{Do: "edit", Raw: []byte(text)})
}

// Drop drops a held message.
func (a *Actor) Drop(ctx context.Context, id string) error {
	return a.decide(ctx, id, control.Order{Do: "drop"})
}

// Reveal returns a held message with its secrets, or control.ErrGone if it is no longer held.
func (a *Actor) Reveal(_ context.Context, id string) (text string, err error) {
	err = control.ErrGone // unless the message is found
	a.eachHeld(func(h control.Held) {
		if h.ID == id {
			text = string(h.Message)
			err = nil
		}
	})
	return text, err
}

var _ view.Actor = (*Actor)(nil)
