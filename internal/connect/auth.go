package connect

import (
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

// StepLine returns a step of a login as one line: a rule that passed or failed, a request with its
// status, or a text.
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
		line += fmt.Sprintf(" returned HTTP %d", s.Status)
	}
	if s.Text != "" {
		line += ": " + s.Text
	}
	return line
}

// SetAuthTransport sets up the authorization of HTTP requests in opt. It does nothing for a server
// without a URL, or if the user gives an empty Authorization header.
func (c *Conn) SetAuthTransport(opt *client.Options) error {
	isDisabled := slices.ContainsFunc(opt.Fields, func(f wire.Field) bool {
		return strings.EqualFold(f.Name, "Authorization") && f.Value == ""
	})
	if opt.Server.URL == "" || isDisabled {
		return nil
	}
	e := c.Env
	fixed, err := fixedToken(e)
	if err != nil {
		return err
	}
	e.Secrets.Learn(fixed)
	authTransport := &auth.Transport{
		Endpoint:  opt.Server.URL,
		Fixed:     fixed,
		Account:   e.Auth.Account,
		Now:       e.Now,
		AddSecret: e.Secrets.Learn,
		Pause:     transport.Pause,
		NewFlow:   func(ctx context.Context) *auth.Flow { return NewAuthFlow(ctx, e, opt.Server.URL) },
	}
	authTransport.Store, _ = e.Tokens() // without a state directory there are no tokens
	if e.UI.CanAsk() && !e.Auth.NoPrompt {
		authTransport.Login = e.UI.OfferLogin
	}
	e.Guard = authTransport
	opt.Through = authTransport.Wrap
	opt.Extensions = authTransport.Extensions()
	return nil
}

// fixedToken returns the token of --token-file or MCPC_TOKEN, or "". The file replaces the variable.
// It returns an error if the file cannot be read or is empty, or if the token is not one word.
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

// NewAuthFlow returns a login flow for the endpoint. With -v it shows its steps.
func NewAuthFlow(ctx context.Context, e *host.Env, endpoint string) *auth.Flow {
	route := e.Route.ForAuth()
	route.Limit = e.Limits.Idle
	flow := &auth.Flow{
		Net:       auth.NewNet(auth.NearnessOf(ctx, endpoint), route),
		Now:       e.Now,
		AddSecret: e.Secrets.Learn,
		Strict:    e.Strict,
		Read:      func(name string) ([]byte, error) { return e.ReadFile(name, host.MostSecret) },
	}
	if e.Verbose > 0 {
		flow.OnStep = func(s auth.Step) { e.UI.Note("login: " + e.Secrets.Text(StepLine(s))) }
	}
	return flow
}

// Explain adds to a failed outcome why the server refused the command or is gone, and what to do.
// It stores the challenge for mcpc login, and removes the socket of a kept server that has exited.
func Explain(e *host.Env, o wire.Outcome) wire.Outcome {
	return explainLostServer(e, ExplainAuthFailure(e, o))
}

// ExplainAuthFailure adds to the outcome of a refused request what the user can do. It stores the
// challenge for mcpc login without arguments, unless a login would not help or the URL is secret. It
// returns any other outcome unchanged.
func ExplainAuthFailure(e *host.Env, o wire.Outcome) wire.Outcome {
	if e.Guard != nil && o.Kind == wire.RPCFailed {
		return explainRefusedByRPC(e, o)
	}
	if e.Guard == nil || o.Kind != wire.Auth {
		return o
	}
	r := e.Guard.Unsolved()
	if r == nil {
		return o
	}
	if explained, ok := explainUselessLogin(e, *r, o); ok {
		return explained
	}
	grant := ""
	if r.Grant.IsUnattended() {
		grant = " --grant " + string(r.Grant) // the stored login has its client and secret
	}
	const challengeStored = true // it is stored below, unless the URL is secret
	o.Hint = composeLogin(e, challengeStored, grant)
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
	isConfiguredSecret := e.FromFile != "" && HasSecret(e.Guard.Endpoint)
	isKnownSecret := e.Secrets.Text(e.Guard.Endpoint) != e.Guard.Endpoint
	if isConfiguredSecret || isKnownSecret {
		return o // the challenge would store the URL
	}
	if err := storeChallenge(e, *r); err != nil && o.Kind != wire.LocalIO { // the hint of LocalIO comes first
		o.Hint = composeLogin(e, !challengeStored, "") + "; the challenge could not be stored: " + wire.Hint(err.Error())
	}
	return o
}

// explainUselessLogin adds to the outcome of a refused request what helps instead of a login. It
// returns false if a login may help.
func explainUselessLogin(e *host.Env, r auth.Refusal, o wire.Outcome) (wire.Outcome, bool) {
	const challengeStored = false // the challenge is stored only if a login may help
	switch {
	case r.Scheme == "" && len(r.Fields) > 0:
		o.Hint = "the challenge is not OAuth, so " + wire.Run("login") +
			" does not help: send credentials with -H 'Authorization: …' or MCPC_HEADER"
	case r.OwnField && r.Status == http.StatusForbidden:
		o.Text += ": the given token needs more scopes"
		if len(r.Scopes) > 0 {
			o.Text += ": " + jsonraw.Excerpt([]byte(strings.Join(r.Scopes, " ")), host.MostSaid)
		}
		o.Hint = "use a token with these scopes, or remove it and run " + composeLogin(e, challengeStored, "")
	case r.OwnField:
		o.Hint = "the given token was rejected: use a new one, or remove it and run " +
			composeLogin(e, challengeStored, "")
	case r.HasAllScopes:
		o.Text = "the token has every requested scope, but the server still reports insufficient_scope"
		o.Hint = "a new login will not help; contact the server's operator"
	default:
		return o, false
	}
	return o, true
}

// refusalWords matches the messages of servers that refuse a request without a token with a
// JSON-RPC error.
var refusalWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(unauthorized|unauthorised|unauthenticated|not authenticated|` +
		`(missing|invalid|no) (auth|authorization|authentication|access|bearer|api)?[ -]?(token|key)|` +
		`authentication (is )?required)\b`)
})

// explainRefusedByRPC adds a hint to a JSON-RPC error about a missing or invalid token. Such
// servers send neither a status 401 nor a code for it, so only the message can be checked. The
// message changes nothing but the hint.
func explainRefusedByRPC(e *host.Env, o wire.Outcome) wire.Outcome {
	rpc := o.RPCError()
	if rpc == nil || o.Hint != "" {
		return o
	}
	// For an unknown method or invalid params, the token or key in the message may be an argument.
	isAboutRequest := rpc.Code == -32601 || rpc.Code == -32602
	if isAboutRequest || !refusalWords().MatchString(rpc.Message) {
		return o
	}
	if e.Guard.Fixed != "" || slices.ContainsFunc(e.Headers, isAuthorization) {
		o.Hint = "the server may not know the given token: use a new one"
		return o
	}
	const challengeStored = false // a JSON-RPC error has no challenge
	o.Hint = "the server may want a token (MCPC_TOKEN, --token-file FILE) or an API key (-H 'NAME: VALUE'); " +
		composeLogin(e, challengeStored, "") + " tries OAuth"
	return o
}

// isAuthorization reports whether a field "Name: value" is an Authorization field.
func isAuthorization(field string) bool {
	name, _, _ := strings.Cut(field, ":")
	return strings.EqualFold(strings.TrimSpace(name), "Authorization")
}

// composeLogin returns the command that logs in to the server. It does not show a URL with a
// secret: if the challenge is stored, the command needs no target. flags, which begin with a space,
// are appended.
func composeLogin(e *host.Env, challengeStored bool, flags string) wire.Hint {
	command := "login"
	switch {
	case e.FromFile != "":
		command += " " + shellwords.Quote(e.FromFile)
	case !HasSecret(e.Guard.Endpoint):
		command += " " + shellwords.Quote(e.Guard.Endpoint)
	case !challengeStored:
		command += " TARGET"
	}
	if e.Auth.Account != "" && !e.AccountTyped { // the session's; hints repeat a typed --account anyway
		command += " --account " + shellwords.Quote(e.Auth.Account)
	}
	return wire.Run(command + flags)
}

// AuthFailed returns the outcome of a failed authorization; o has what else is known. A host that
// timed out or could not be reached makes it retryable. The kind stays wire.Auth if the server
// refused the request for lack of a token.
func AuthFailed(err error, o wire.Outcome) wire.Outcome {
	failed, ok := errors.AsType[*auth.Error](err)
	if !ok {
		failed = &auth.Error{Text: err.Error()}
	}
	kind := failed.Kind()
	if kind == wire.Transport || kind == wire.Timeout {
		o.Retryable = true
	}
	// An authorization server that cannot be reached is a failed authorization. A timeout is one only
	// if a refused request needed the token: mcpc login reports it as a timeout.
	requestWasRefused := o.Kind == wire.Auth
	if kind == wire.Transport || kind == wire.Timeout && requestWasRefused {
		kind = wire.Auth
	}
	o.Kind = kind
	o.Text = jsonraw.Excerpt([]byte(failed.Text), host.MostSaid)
	o.Err = failed.Err
	if o.Phase == "" {
		o.Phase = "authorization"
	}
	if failed.Hint != "" {
		o.Hint = failed.Hint
	}
	if auth.IsLocal(failed.At) { // the user's proxy may pass on the metadata of the server behind it
		if server, err := auth.SafeURL(failed.Other); err == nil {
			login := wire.Run("login " + shellwords.Quote(server.String()))
			o.Hint = "if " + wire.Hint(redact.RedactURL(failed.At)) + " is your proxy: run " + login +
				"; otherwise contact the server's operator"
		}
	}
	return o
}

// LoginRequest returns the request for a login after the server has refused a request of e, and the
// refused token, or "". It returns false if a login by the user would not help.
func LoginRequest(e *host.Env) (request auth.Request, refused auth.Secret, mayHelp bool) {
	if e.Guard == nil {
		return auth.Request{}, "", false
	}
	r := e.Guard.Unsolved()
	if r == nil || r.Grant.IsUnattended() || auth.IsTransient(r.Err) || auth.HasRule(r.Err, auth.StoreFailed) {
		return auth.Request{}, "", false
	}
	_, isUseless := explainUselessLogin(e, *r, wire.Outcome{})
	request = auth.Request{
		Endpoint: e.Guard.Endpoint, Account: e.Auth.Account, Challenge: r.Challenge, Challenged: true,
	}
	return request, r.Access, !isUseless
}

// storeChallenge stores the challenge of a refused request, so that mcpc login without arguments
// can use it. It replaces an earlier challenge.
func storeChallenge(e *host.Env, r auth.Refusal) error {
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

// HasSecret reports whether a URL contains a secret.
func HasSecret(address string) bool { return redact.RedactURL(address) != address }
