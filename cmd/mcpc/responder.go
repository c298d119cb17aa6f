package main

import (
	"context"
	"encoding/json"
	"net/url"
	"path/filepath"
	"reflect"

	"mcpc/internal/client"
	"mcpc/internal/question"
	"mcpc/internal/wire"
)

// A responder answers what the server of one conversation asks: by flags, by
// commands of the user's, or by the person at the terminal.
type responder struct {
	answering
	a *app
	c *conversation
	// person is set where somebody can be asked.
	person bool
	script script
	// typed is what stood in the file of --sampling, once it was read.
	typed []byte
	read  bool
	// forms counts those that the person was shown.
	forms int
}

// respondTo settles who answers in this conversation, and offers the server no
// more than that. A remembered conversation that was opened without what this
// run's flags offer stays as it is: another one is opened beside it.
func (c *conversation) respondTo(opt *client.Options, how opening) error {
	var saved *answering
	if c.saved != nil && !how.anew {
		saved = c.saved.Answering
	}
	flags, err := settle(c.a.answers, saved)
	if err != nil {
		return err
	}
	r := &responder{answering: flags, a: c.a, c: c, person: c.a.canAsk() && !how.blind}
	if r.script, err = c.a.readScript(flags.Answers); err != nil {
		return err
	}
	if opt.Capabilities = offer(flags, r.person); string(opt.Capabilities) != "{}" {
		opt.Asker = r.answer
	}
	c.answering, c.promised = flags, opt.Capabilities
	return nil
}

// isZero reports flags of which none is set.
func isZero(f answering) bool { return reflect.ValueOf(f).IsZero() }

// standBeside opens a conversation of its own where the remembered one offers the
// server less than the flags do.
func (c *conversation) standBeside(opt *client.Options) {
	offered := offer(c.answering, false)
	if c.isHeld() && !client.Stateless(c.saved.Revision) && !client.Covers(c.saved.Declared, offered) {
		c.a.note("session " + c.saved.Name + " was opened without the capabilities of these flags; mcpc init --keep " +
			c.saved.Name + " with the same flags starts its server again")
		return
	}
	if opt.Resume == nil || c.saved.Transport != string(client.StreamableHTTP) || client.Stateless(c.saved.Revision) ||
		client.Covers(c.saved.Declared, offered) {
		return
	}
	opt.Resume, c.passing = nil, true
	c.a.note("session " + c.saved.Name + " was opened without the capabilities of these flags, so this command opens a session " +
		"of its own; mcpc init " + c.saved.Name + " with the same flags opens one that is kept")
}

// mayBeAsked reports a conversation in which the server may ask: it then gets a
// stream to do that on.
func mayBeAsked(opt client.Options) bool {
	offered := opt.Capabilities
	if opt.Resume != nil {
		offered = opt.Resume.Declared
	}
	return !client.Covers(nil, offered)
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
		return r.byHand(what, r.visit(ctx, q))
	case !page && scripted(r.answering):
		if a, ok := r.fromScript(q); ok || !r.person {
			return a
		}
	}
	if !page && r.person {
		return r.byHand(what, r.fill(ctx, q))
	}
	return client.Answer{Ending: client.Unanswered(q.Method)}
}

// byHand is the answer of a person, which is kept for who saves the call.
func (r *responder) byHand(what string, a client.Answer) client.Answer {
	r.c.mu.Lock()
	r.c.typed = append(r.c.typed, wire.First(a.Result, "content"))
	r.c.mu.Unlock()
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
		r.a.note("the server requested " + method + ": " + what)
	}
}

// asker is the server that asks, as a person knows it.
func (r *responder) asker() string {
	if info := r.c.serverInfo(); info != nil {
		return serverName(info) + " (" + r.c.where + ")"
	}
	return r.c.where
}

// serverInfo is what the server called itself, in this run or when the session
// was opened; while the conversation is being opened nobody knows yet.
func (c *conversation) serverInfo() json.RawMessage {
	if c.Session != nil {
		if info := c.Info().ServerInfo; info != nil {
			return info
		}
	}
	if c.saved != nil {
		return c.saved.ServerInfo
	}
	return nil
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
