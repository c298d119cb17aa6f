package main

import (
	"context"
	"encoding/json"
	"net/url"
	"path/filepath"

	"mcpc/internal/client"
	"mcpc/internal/question"
	"mcpc/internal/wire"
)

// A responder answers what the server of one conversation asks: by flags, by
// commands of the user's, or by the person at the terminal.
type responder struct {
	answering
	a *env
	c *conversation
	// person is set where somebody can be asked.
	person bool
	script script
	// typed is what stood in the file of --sampling, once it was read.
	typed []byte
	read  bool
}

// newResponder is the asker of a conversation. person is set where the user can be asked.
func newResponder(c *conversation, flags answering, person bool) (client.Asker, error) {
	script, err := c.a.readScript(flags.Answers)
	if err != nil {
		return nil, err
	}
	return (&responder{answering: flags, a: c.a, c: c, person: person, script: script}).answer, nil
}

// answer is the client.Asker.
func (r *responder) answer(ctx context.Context, q client.Asking) client.Answer {
	switch q.Method {
	case "elicitation/create":
		return r.elicit(ctx, q)
	case "sampling/createMessage":
		return r.sample(ctx, q)
	case "roots/list":
		return r.listRoots()
	}
	return client.Answer{Ending: client.Unanswered(q.Method)}
}

func (r *responder) elicit(ctx context.Context, q client.Asking) client.Answer {
	members, _ := wire.Object(q.Params)
	page, what := members.Text("mode") == "url", "form"
	if page {
		what = "page"
	}
	switch {
	case r.Decline:
		r.told(q.Method, "declined")
		return refusal("--decline", what, client.Answer{Result: question.Decline()})
	case r.OnElicit != "":
		return refusal("--on-elicit", what, r.elicitBy(ctx, q, page))
	case page && r.person:
		return r.byHand(what, r.a.ui.visitPage(ctx, q, r.asker()))
	case !page && scripted(r.answering):
		if a, ok := r.fromScript(q); ok || !r.person {
			return a
		}
	}
	if !page && r.person {
		return r.byHand(what, r.a.ui.fillForm(ctx, q, r.asker(), r.broken))
	}
	return client.Answer{Ending: client.Unanswered(q.Method)}
}

// byHand is the answer of a person, which is kept for who saves the call.
func (r *responder) byHand(what string, a client.Answer) client.Answer {
	r.c.addTyped(wire.First(a.Result, "content"))
	return refusal("you", what, a)
}

// refusal says whose no an answer is, if it is one. A server that fails for it says so
// in words of its own.
func refusal(who, what string, a client.Answer) client.Answer {
	action, _ := wire.Text(wire.First(a.Result, "action"))
	if said := map[string]string{"decline": " declined the ", "cancel": " cancelled the "}[action]; said != "" && a.Ending.Kind == wire.OK {
		a.Ending = wire.Outcome{Kind: wire.InputRequired, Text: who + said + what}
	}
	return a
}

// told says under -v what was answered without anybody seeing it.
func (r *responder) told(method, what string) {
	if r.a.verbose > 0 {
		r.a.ui.note("the server requested " + method + ": " + what)
	}
}

// asker is the server that asks, as a person knows it.
func (r *responder) asker() string {
	if info := r.c.serverInfo(); info != nil {
		return serverName(info) + " (" + r.c.where + ")"
	}
	return r.c.where
}

// listRoots shows the directories that the user named, and no others.
func (r *responder) listRoots() client.Answer {
	if len(r.Roots) == 0 {
		return client.Answer{Ending: client.Unanswered("roots/list")}
	}
	roots := mapped(r.Roots, func(dir string) json.RawMessage {
		return wire.With(wire.With(nil, "uri", wire.Quote(fileURI(dir))), "name", wire.Quote(filepath.Base(dir)))
	})
	r.told("roots/list", "--root answered")
	return client.Answer{Result: wire.With(nil, "roots", asList(roots))}
}

// fileURI is an absolute path as a URI, percent-encoded (RFC 8089).
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if path[0] != '/' {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
