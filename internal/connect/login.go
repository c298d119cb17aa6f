package connect

import (
	"context"

	"mcpc/internal/client"
	"mcpc/internal/client/auth"
	"mcpc/internal/connect/host"
	"mcpc/internal/shellwords"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// FindLoginServer returns the server that the user selected, or the server of the URL that its command
// connects to, as mcpc serve URL. It does not connect.
func FindLoginServer(ctx context.Context, e *host.Env) (*Conn, wire.Outcome) {
	c := &Conn{Env: e}
	out := c.Find(nil)
	if out.OK() {
		out = c.SettleOrigin(ctx, false)
	}
	if !out.OK() {
		return c, out
	}
	if url := target.ServedURL(c.ServerSession().Command); url != "" {
		e.Server = url
		e.ServerGiven = true
		c = &Conn{Env: e}
		out = c.Find(nil)
	}
	return c, out
}

// LoginEndpoint returns the URL at which a user logs in to the server, or "" if the server has no login
// because it is no HTTP server.
func (c *Conn) LoginEndpoint() string {
	if endpoint := c.ServerSession().Endpoint; endpoint != DemoEndpoint {
		return endpoint
	}
	return ""
}

// OpenWithoutToken opens a session without a token and closes it. The returned transport has the
// server's challenge, if there was one.
func (c *Conn) OpenWithoutToken(ctx context.Context) (*auth.Transport, wire.Outcome) {
	transport := &auth.Transport{Now: c.Env.Now}
	opt, out := c.ClientOptions(ctx, Options{NoResume: true, RequireServerInfo: true})
	if !out.OK() {
		return transport, out
	}
	c.Env.Guard = nil
	opt.Through = transport.Wrap
	opt.Extensions = nil
	session, out := client.Open(ctx, opt)
	if out.OK() {
		session.Close(ctx, true)
	}
	return transport, out
}

// PendingRefusal returns the refusal that a stored challenge came with.
func PendingRefusal(p auth.Pending) *auth.Refusal {
	c, _ := auth.SelectChallenge(auth.ParseChallenges(p.Fields))
	return &auth.Refusal{Status: p.Status, URL: p.Endpoint, Fields: p.Fields, Challenge: c}
}

// RequestLogin returns the request for a login at a server, and the refusal that it answers: the refusal
// of pending if that is of the server, else of a request without a token, which it sends. pending may be
// nil. The refusal is nil if the server accepted the request, because it may still challenge a later
// tool call, or if it answered with a JSON-RPC error, which is then in the request.
func (c *Conn) RequestLogin(
	ctx context.Context, pending *auth.Pending,
) (auth.Request, *auth.Refusal, wire.Outcome) {
	req := auth.Request{Endpoint: c.LoginEndpoint(), Account: c.Env.Auth.Account}
	var refusal *auth.Refusal
	var out wire.Outcome
	if pending != nil && pending.Endpoint == req.Endpoint {
		refusal = PendingRefusal(*pending)
	} else {
		var transport *auth.Transport
		transport, out = c.OpenWithoutToken(ctx)
		refusal = transport.Unsolved()
	}
	if refusal != nil {
		req.Challenge = refusal.Challenge
		req.Challenged = true
		return req, refusal, wire.Outcome{}
	}
	if out.Kind == wire.RPCFailed { // some servers refuse a request without a token with a JSON-RPC error
		req.Refused = out.Text
		if req.Refused == "" {
			req.Refused = "an error"
		}
		return req, nil, wire.Outcome{}
	}
	if out.OK() || out.Kind == wire.Auth {
		return req, nil, wire.Outcome{}
	}
	return req, nil, out
}

// LoginFailed returns the outcome of a failed login. server is the server's URL without secrets.
func LoginFailed(err error, server string) wire.Outcome {
	o := wire.Outcome{ServerName: server, Hint: wire.Run("auth explain "+shellwords.Quote(server)) + " shows each step"}
	switch {
	case auth.HasRule(err, auth.StoreFailed):
		o.Reached = wire.Answered // the token or client arrived and could not be stored
	case auth.HasRule(err, auth.ResourceMissing):
		o.Hint = wire.Run("login "+shellwords.Quote(server)+" --issuer URL") + " names the authorization server; " + o.Hint
	case auth.IsTransient(err):
		o.Hint = "try again later; " + o.Hint
	case auth.HasRule(err, auth.NoResponse):
		o.Reached = wire.Answered // the server sent its metadata; the browser did not come back
		o.Hint = "without a browser use --grant device; " +
			wire.Run("login "+shellwords.Quote(server)) + " registers again, if the page reports an unknown client"
	}
	return AuthFailed(err, o)
}
