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

// An Answerer answers the requests of one connection's server: with flags, with commands of the
// user, or by asking the user at the terminal.
type Answerer struct {
	host.Answers
	A *host.Env
	C host.Server
	// canAskUser is set if the user can be asked.
	canAskUser bool
	script     script
	// samplingText is the content of the file of --sampling. isRead is set once it was read.
	samplingText []byte
	isRead       bool
}

// maxNoted limits the answers in notes with -v, and maxQuoted the quoted part of an invalid one, in
// bytes.
const (
	maxNoted  = 400
	maxQuoted = 80
)

// New returns the function that answers the requests of a connection's server. It returns an error
// if the values of --answer are invalid.
func New(env *host.Env, server host.Server, flags host.Answers, canAskUser bool) (client.Asker, error) {
	script, err := readScript(env, flags.Answers)
	if err != nil {
		return nil, err
	}
	return (&Answerer{Answers: flags, A: env, C: server, canAskUser: canAskUser, script: script}).respond, nil
}

// respond answers one request. It implements client.Asker.
func (r *Answerer) respond(ctx context.Context, q client.InputRequest) client.Answer {
	switch q.Method {
	case "elicitation/create":
		return r.elicit(ctx, q)
	case "sampling/createMessage":
		return r.sample(ctx, q)
	case "roots/list":
		return r.listRoots()
	}
	return client.Answer{Outcome: client.UnansweredOutcome(q.Method)}
}

// elicit answers a form or a page: by --decline, --on-elicit, --answer, or the user, in this order.
// Without any of them the answer's outcome is an unanswered request.
func (r *Answerer) elicit(ctx context.Context, q client.InputRequest) client.Answer {
	members, _ := jsonraw.Object(q.Params)
	isPage := members.Text("mode") == "url"
	what := "form"
	if isPage {
		what = "page"
	}
	if r.Decline {
		r.noteAnswer(q.Method, "declined")
		return Refusal("--decline", what, client.Answer{Result: question.Decline()})
	}
	if r.OnElicit != "" {
		return Refusal("--on-elicit", what, r.elicitByCommand(ctx, q, isPage))
	}
	if isPage && r.canAskUser {
		return r.recordUserAnswer(what, r.A.UI.VisitPage(ctx, q, r.C.Label()))
	}
	if !isPage && r.Answers.Scripted() {
		a, applies := r.answerFromScript(q)
		if applies || !r.canAskUser {
			return a
		}
	}
	if !isPage && r.canAskUser {
		return r.recordUserAnswer(what, r.A.UI.FillForm(ctx, q, r.C.Label(), r.Broken))
	}
	return client.Answer{Outcome: client.UnansweredOutcome(q.Method)}
}

// recordUserAnswer returns the user's answer, and records its content in case the call is saved.
func (r *Answerer) recordUserAnswer(what string, a client.Answer) client.Answer {
	r.C.AddTyped(jsonraw.First(a.Result, "content"))
	return Refusal("you", what, a)
}

// Refusal sets the outcome of an answer that declines or cancels a request: who refused what. The
// error that the server then ends the call with may not mention it. It returns other answers
// unchanged.
func Refusal(who, what string, a client.Answer) client.Answer {
	action, _ := jsonraw.Text(jsonraw.First(a.Result, "action"))
	if a.Outcome.Kind != wire.OK { // it failed
		return a
	}
	switch action {
	case "decline":
		a.Outcome = wire.Outcome{Kind: wire.InputRequired, Text: who + " declined the " + what}
	case "cancel":
		a.Outcome = wire.Outcome{Kind: wire.InputRequired, Text: who + " cancelled the " + what}
	}
	return a
}

// noteAnswer notes with -v what was answered without the user.
func (r *Answerer) noteAnswer(method, what string) {
	if r.A.Verbose > 0 {
		r.A.UI.Note("the server requested " + method + ": " + what)
	}
}

// listRoots answers with the directories of --root.
func (r *Answerer) listRoots() client.Answer {
	if len(r.Roots) == 0 {
		return client.Answer{Outcome: client.UnansweredOutcome("roots/list")}
	}
	roots := sliceutil.Map(r.Roots, func(dir string) json.RawMessage {
		root := jsonraw.With(nil, "uri", jsonraw.Quote(fileURI(dir)))
		return jsonraw.With(root, "name", jsonraw.Quote(filepath.Base(dir)))
	})
	r.noteAnswer("roots/list", "--root answered")
	return client.Answer{Result: jsonraw.With(nil, "roots", arguments.AsList(roots))}
}

// fileURI returns an absolute path as a percent-encoded file URI (RFC 8089).
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if path[0] != '/' { // C:/… on Windows
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
