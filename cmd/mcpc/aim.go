package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/demo"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// find settles which server is meant.
func (c *conversation) find(argv []string) wire.Outcome {
	store, err := state.Open(c.a.state)
	var remembered state.State
	if err == nil {
		c.store = store
		remembered, err = store.Load()
		c.names = remembered.Names()
	}
	if c.a.serverGiven && argv != nil {
		return usage(hinted("two servers are given: one with -s, one after --", "use only one of them"))
	}
	t, failed := target.Parse(target.Input{
		Command: argv, Flag: c.a.server, FlagGiven: c.a.serverGiven, Environment: c.a.getenv(envName("server")),
		Sessions: c.names, Current: remembered.Current(), Known: c.a.knownNames,
	})
	if failed != nil {
		return c.a.unknownTarget(failed)
	}
	// Without state a URL or a command still works; a session does not.
	if err != nil && (t.Kind == target.Session || t.Source == target.FromDefault) {
		return stateFailed(err)
	}
	if t.Kind == target.Session {
		saved, _ := remembered.Session(t.Name)
		c.saved, c.child.dir = &saved, saved.Folder
		c.a.auth.account = cmp.Or(c.a.auth.account, saved.Account)
		if saved.From != nil {
			if out := c.findOrigin(saved.From); !out.Good() {
				return out
			}
		}
	}
	if t.Kind == target.Known {
		s, out := c.a.serverNamed(t.Name)
		if !out.Good() {
			return out
		}
		c.origin = &s
	}
	c.aim(t)
	return wire.Outcome{}
}

// aim notes how the target is called and under which key its revision is
// remembered.
func (c *conversation) aim(t target.Target) {
	c.target = t
	switch t.Kind {
	case target.URL:
		c.where, c.known = wire.RedactURL(t.URL), t.Key()
	case target.Command:
		c.where, c.known = commandLine(t.Command), t.Key()
	case target.Demo:
		c.where = demoEndpoint
	case target.Known:
		c.where, c.known = t.Name, "known:"+c.origin.ID()+"\n"+c.origin.Fingerprint()
	default:
		c.where = t.Name
	}
	if c.saved == nil {
		c.oneOff = &state.Session{Endpoint: t.URL, Command: t.Command, Account: c.a.auth.account, From: originOf(c.origin)}
		if t.Kind == target.Demo {
			c.oneOff.Endpoint = demoEndpoint
		}
	} else if c.saved.Endpoint != "" && c.saved.Endpoint != demoEndpoint {
		c.where = t.Name + ", " + wire.RedactURL(c.saved.Endpoint)
	}
}

// commandLine is a command as it may be shown.
func commandLine(argv []string) string {
	return strings.Join(quotedWords(wire.RedactCommand(argv)), " ")
}

// demoEndpoint stands for the built-in demo server where a URL would stand.
const demoEndpoint = "demo"

func (c *conversation) serverOf(opt *client.Options) {
	place := cmp.Or(c.saved, c.oneOff)
	opt.Server = client.Server{Name: c.where, Command: place.Command, Transport: client.TransportName(place.Transport)}
	switch {
	case place.Endpoint == demoEndpoint:
		opt.Server.Pipe = demoPipe
	case place.Endpoint != "":
		opt.Server.URL = place.Endpoint
	}
	c.serverIn(opt)
}

// demoPipe runs the built-in demo server inside this process.
func demoPipe() (io.Reader, io.WriteCloser) {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	go func() {
		err := demo.Serve(context.Background(), serverIn, serverOut)
		serverOut.CloseWithError(err)
	}()
	return clientIn, clientOut
}

// unknownTarget is the ending of a command whose target nobody knows. It may stand in
// a file that could not be read.
func (a *env) unknownTarget(err error) wire.Outcome {
	o := usage(err)
	unknown, ok := errors.AsType[*target.UnknownError](err)
	from, text := "", a.server
	if !a.serverGiven {
		from, text = envName("server")+": ", a.getenv(envName("server"))
	}
	what, hint := a.ui.meantByPath(text)
	if what != "" {
		o.Text, o.Hint = from+"the server is neither a URL nor a name, but "+what, hint
	}
	if !ok || what != "" {
		return o
	}
	var hints []string
	if hint != "" {
		hints = append(hints, string(hint))
	}
	if near := wire.Nearest(unknown.Name, unknown.Known); near != "" {
		hints = append(hints, "did you mean "+near+"?")
	}
	if unknown.Source != target.FromSession {
		hints = append(hints, a.leftOut()...)
	}
	if len(hints) > 0 {
		o.Hint = wire.Hint(strings.Join(hints, "; "))
	}
	return o
}
