// Package elicit answers the requests of servers: forms, pages, sampling and roots.
package elicit

import (
	"context"
	"encoding/json"
	"net/url"
	"path/filepath"

	"mcpc/internal/client"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/question"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// A Answerer answers what the server of one conversation asks: by flags, by
// commands of the user's, or by the person at the terminal.
type Answerer struct {
	host.Answers
	A *host.Env
	C host.Server
	// person is set where the user can be asked.
	person bool
	script script
	// typed is what stood in the file of --sampling, once it was read.
	typed []byte
	read  bool
}

// New is the asker of a conversation. person is set where the user can be asked.
func New(env *host.Env, server host.Server, flags host.Answers, person bool) (client.Asker, error) {
	script, err := readScript(env, flags.Answers)
	if err != nil {
		return nil, err
	}
	return (&Answerer{Answers: flags, A: env, C: server, person: person, script: script}).answer, nil
}

// answer is the client.Asker.
func (r *Answerer) answer(ctx context.Context, q client.Asking) client.Answer {
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

func (r *Answerer) elicit(ctx context.Context, q client.Asking) client.Answer {
	members, _ := jsonraw.Object(q.Params)
	page := members.Text("mode") == "url"
	what := "form"
	if page {
		what = "page"
	}
	switch {
	case r.Decline:
		r.told(q.Method, "declined")
		return Refusal("--decline", what, client.Answer{Result: question.Decline()})
	case r.OnElicit != "":
		return Refusal("--on-elicit", what, r.elicitBy(ctx, q, page))
	case page && r.person:
		return r.byHand(what, r.A.UI.VisitPage(ctx, q, r.C.Label()))
	case !page && r.Answers.Scripted():
		if a, ok := r.fromScript(q); ok || !r.person {
			return a
		}
	}
	if !page && r.person {
		return r.byHand(what, r.A.UI.FillForm(ctx, q, r.C.Label(), r.Broken))
	}
	return client.Answer{Ending: client.Unanswered(q.Method)}
}

// byHand is the answer of a person, which is kept in case the call is saved.
func (r *Answerer) byHand(what string, a client.Answer) client.Answer {
	r.C.AddTyped(jsonraw.First(a.Result, "content"))
	return Refusal("you", what, a)
}

// Refusal says whose no an answer is, if it is one. A server that fails for it says so
// in words of its own.
func Refusal(who, what string, a client.Answer) client.Answer {
	action, _ := jsonraw.Text(jsonraw.First(a.Result, "action"))
	if said := map[string]string{"decline": " declined the ", "cancel": " cancelled the "}[action]; said != "" &&
		a.Ending.Kind == wire.OK {
		a.Ending = wire.Outcome{Kind: wire.InputRequired, Text: who + said + what}
	}
	return a
}

// told says under -v what was answered without the user.
func (r *Answerer) told(method, what string) {
	if r.A.Verbose > 0 {
		r.A.UI.Note("the server requested " + method + ": " + what)
	}
}

// listRoots shows the directories that the user named, and no others.
func (r *Answerer) listRoots() client.Answer {
	if len(r.Roots) == 0 {
		return client.Answer{Ending: client.Unanswered("roots/list")}
	}
	roots := sliceutil.Map(r.Roots, func(dir string) json.RawMessage {
		return jsonraw.With(jsonraw.With(nil, "uri", jsonraw.Quote(fileURI(dir))), "name", jsonraw.Quote(filepath.Base(dir)))
	})
	r.told("roots/list", "--root answered")
	return client.Answer{Result: jsonraw.With(nil, "roots", arguments.AsList(roots))}
}

// fileURI is an absolute path as a URI, percent-encoded (RFC 8089).
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if path[0] != '/' {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
