package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/client"
	"mcpc/internal/client/auth"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// StepLine is a step in one line.
func StepLine(s auth.Step) string {
	if s.Rule != "" && s.Broken {
		return "fail  " + s.Rule + ": " + s.Text
	}
	if s.Rule != "" {
		return "pass  " + s.Rule
	}
	if s.URL == "" {
		return "      " + s.Text
	}
	line := "      " + s.URL
	if s.Status != 0 {
		line += fmt.Sprintf(" answered HTTP %d", s.Status)
	}
	if s.Text != "" {
		line += ": " + s.Text
	}
	return line
}

// SetAuthTransport sets up the authorization of HTTP requests in opt, except for a server without
// a URL, or where the user gives an empty Authorization header.
func (c *Conn) SetAuthTransport(opt *client.Options) error {
	none := slices.ContainsFunc(
		opt.Fields,
		func(f wire.Field) bool { return strings.EqualFold(f.Name, "Authorization") && f.Value == "" },
	)
	if opt.Server.URL == "" || none {
		return nil // with -H 'Authorization:' the user wants none
	}
	e := c.Env
	fixed, err := fixedToken(e)
	if err != nil {
		return err
	}
	e.Secrets.Learn(fixed)
	g := &auth.Transport{
		Endpoint:  opt.Server.URL,
		Fixed:     fixed,
		Account:   e.Auth.Account,
		Now:       e.Now,
		AddSecret: e.Secrets.Learn,
		Pause:     transport.Pause,
		NewFlow:   func(ctx context.Context) *auth.Flow { return NewAuthFlow(ctx, e, opt.Server.URL) },
	}
	g.Store, _ = e.Tokens() // without a place for the state there are none
	if e.UI.CanAsk() && !e.Auth.NoPrompt {
		g.Login = e.UI.OfferLogin
	}
	e.Guard = g
	opt.Through, opt.Extensions = g.Over, g.Extensions()
	return nil
}

// fixedToken is the one that the user brings himself, or "".
func fixedToken(e *host.Env) (string, error) {
	token := e.Getenv("MCPC_TOKEN")
	if name := e.Auth.TokenFile; name != "" {
		raw, err := e.ReadFile(name, host.MostSecret)
		if err != nil {
			return "", usage.NotRead("--token-file "+name, err, "")
		}
		token = string(raw)
		if strings.TrimSpace(token) == "" {
			return "", usage.New(
				"--token-file "+name+": the file is empty",
				"the file must contain the token on one line, and nothing else",
			)
		}
	}
	token = strings.TrimSpace(token)
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usage.New(
			"the token contains characters that are not allowed in a token",
			"pass one word, without \"Bearer\"",
		)
	}
	return token, nil
}

// NewAuthFlow returns the authorization of a server; -v shows its steps.
func NewAuthFlow(ctx context.Context, e *host.Env, endpoint string) *auth.Flow {
	way := e.Route.ForAuth()
	way.Limit = e.Limits.Idle
	w := &auth.Flow{Net: auth.NewNet(auth.NearnessOf(ctx, endpoint), way), Now: e.Now, AddSecret: e.Secrets.Learn,
		Strict: e.Strict,
		Read:   func(name string) ([]byte, error) { return e.ReadFile(name, host.MostSecret) }}
	if e.Verbose > 0 {
		w.OnStep = func(s auth.Step) { e.UI.Note("login: " + StepLine(s)) }
	}
	return w
}

// Explain adds to the ending of a command why a server refused it or has gone, and what to
// do. It stores the challenge for mcpc login, and removes the socket of a kept server that
// has exited.
func Explain(e *host.Env, o wire.Outcome) wire.Outcome {
	return explainLostServer(e, ExplainAuthFailure(e, o))
}

// ExplainAuthFailure says of a refusal what is to be done about it. The challenge is kept,
// so that a bare `mcpc login` answers it.
func ExplainAuthFailure(e *host.Env, o wire.Outcome) wire.Outcome {
	if e.Guard != nil && o.Kind == wire.RPCFailed {
		return explainRefusedByRPC(e, o)
	}
	if e.Guard == nil || o.Kind != wire.Auth {
		return o
	}
	r := e.Guard.Unsolved()
	switch {
	case r == nil:
		return o
	case r.Scheme == "" && len(r.Fields) > 0:
		o.Hint = "the challenge is not OAuth, so " + wire.Run(
			"login",
		) + " does not help: send credentials with -H 'Authorization: …' or MCPC_HEADER"
		return o
	case r.OwnField && r.Status == http.StatusForbidden:
		o.Text += ": the given token needs more scopes"
		if len(r.Scopes) > 0 {
			o.Text += ": " + jsonraw.Excerpt([]byte(strings.Join(r.Scopes, " ")), host.MostSaid)
		}
		o.Hint = "use a token with these scopes, or remove it and run " + loginCommand(e, false, "")
		return o
	case r.OwnField:
		o.Hint = "the given token was rejected: use a new one, or remove it and run " + loginCommand(e, false, "")
		return o
	case r.Again:
		o.Text = "the token has every requested scope, but the server still reports insufficient_scope"
		o.Hint = "a new login will not help; contact the server's operator"
		return o
	}
	grant := ""
	if r.Grant.Unattended() {
		grant = " --grant " + string(r.Grant) // with the client and the secret of last time
	}
	o.Hint = loginCommand(e, true, grant)
	if accounts := e.Guard.OtherAccounts(); !r.Sent && len(accounts) > 0 {
		o.Hint = wire.Hint(fmt.Sprintf("tokens of other accounts are stored (%s): add --account %s, or run ",
			strings.Join(accounts, ", "), shellwords.Quote(accounts[0]))) + o.Hint
	}
	if r.Sent && r.Status == http.StatusUnauthorized {
		o.Text += ": the token was rejected and could not be refreshed"
	} else if r.Sent && len(r.Scopes) > 0 {
		o.Text += ": more scopes are required: " + jsonraw.Excerpt([]byte(strings.Join(r.Scopes, " ")), host.MostSaid)
	}
	if failed, ok := errors.AsType[*auth.Error](r.Err); ok {
		o = AuthFailed(failed, o)
		if r.Sent && auth.IsTransient(failed) {
			o.Hint = "try again later: the stored login is kept"
			return o
		}
	} else if len(r.Fields) == 0 {
		o.Hint += " (OAuth), a token from the operator in MCPC_TOKEN, or -H 'NAME: VALUE' with an API key"
	} else if !r.Sent && !r.Challenge.NamesMetadata() {
		o.Hint += " (OAuth), or a token from the operator in MCPC_TOKEN"
	}
	if e.FromFile != "" && HasSecret(e.Guard.Endpoint) ||
		e.Secrets.Text(e.Guard.Endpoint) != e.Guard.Endpoint { // it is not copied
		return o
	}
	if err := keepChallenge(e, *r); err != nil && o.Kind != wire.LocalIO { // else the hint is of what has to be done first
		o.Hint = loginCommand(e, false, "") + "; the challenge could not be stored: " + wire.Hint(err.Error())
	}
	return o
}

// refusing are words of servers that refuse a request without a token by an error of JSON-RPC.
var refusing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(unauthorized|unauthorised|unauthenticated|not authenticated|` +
		`(missing|invalid|no) (auth|authorization|authentication|access|bearer|api)?[ -]?(token|key)|authentication (is )?required)\b`)
})

// explainRefusedByRPC adds a hint to an error of JSON-RPC that says that the request had no token, and no good one.
func explainRefusedByRPC(e *host.Env, o wire.Outcome) wire.Outcome {
	rpc := o.RPC()
	if rpc == nil || o.Hint != "" || rpc.Code == -32601 || rpc.Code == -32602 || !refusing().MatchString(rpc.Message) {
		return o
	}
	if e.Guard.Fixed != "" || slices.ContainsFunc(e.Headers, isAuthorization) {
		o.Hint = "the server may not know the given token: use a new one"
		return o
	}
	o.Hint = "the server may want a token (MCPC_TOKEN, --token-file FILE) or an API key (-H 'NAME: VALUE'); " +
		loginCommand(e, false, "") + " tries OAuth"
	return o
}

// isAuthorization reports a header field of the user that has a token.
func isAuthorization(field string) bool {
	name, _, _ := strings.Cut(field, ":")
	return strings.EqualFold(strings.TrimSpace(name), "Authorization")
}

// loginCommand is the command that answers the server's challenge. A URL that holds a
// secret is not shown: where the challenge is kept the command needs no target.
func loginCommand(e *host.Env, kept bool, more string) wire.Hint {
	command := "login"
	switch {
	case e.FromFile != "":
		command += " " + shellwords.Quote(e.FromFile)
	case !HasSecret(e.Guard.Endpoint):
		command += " " + shellwords.Quote(e.Guard.Endpoint)
	case !kept:
		command += " TARGET"
	}
	if e.Auth.Account != "" && !e.AccountTyped { // the session's own
		command += " --account " + shellwords.Quote(e.Auth.Account)
	}
	return wire.Run(command + more)
}

// AuthFailed is the ending of what needed a token; o is what is known besides. A host that
// could not be reached or timed out makes it retryable; that a server refused for want of
// a token comes before that (design, section 6).
func AuthFailed(err error, o wire.Outcome) wire.Outcome {
	failed, ok := errors.AsType[*auth.Error](err)
	if !ok {
		failed = &auth.Error{Text: err.Error()}
	}
	kind := failed.Kind()
	if kind == wire.Transport || kind == wire.Timeout {
		o.Retryable = true
	}
	if kind == wire.Transport || kind == wire.Timeout && o.Kind == wire.Auth {
		kind = wire.Auth
	}
	o.Kind, o.Text, o.Err = kind, jsonraw.Excerpt([]byte(failed.Text), host.MostSaid), failed.Err
	o.Phase = cmp.Or(o.Phase, "authorization")
	o.Hint = cmp.Or(failed.Hint, o.Hint)
	if auth.IsLocal(failed.At) {
		if server, err := auth.SafeURL(failed.Other); err == nil {
			o.Hint = "if " + wire.Hint(
				redact.RedactURL(failed.At),
			) + " is your proxy: run " + wire.Run(
				"login "+shellwords.Quote(server.String()),
			) + "; otherwise contact the server's operator"
		}
	}
	return o
}

func keepChallenge(e *host.Env, r auth.Refusal) error {
	store, err := e.Tokens()
	if err != nil {
		return err
	}
	return store.Change(context.Background(), func(b *auth.Records) {
		b.Pending = &auth.Pending{
			Endpoint: e.Guard.Endpoint,
			Account:  e.Auth.Account,
			Status:   r.Status,
			Fields:   r.Fields,
			At:       e.Now(),
		}
	})
}

func HasSecret(address string) bool { return redact.RedactURL(address) != address }
