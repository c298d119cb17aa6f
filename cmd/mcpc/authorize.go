package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/client/auth"
	"mcpc/internal/question"
	"mcpc/internal/shellwords"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// authFlags are the flags of every command that say who asks.
type authFlags struct {
	account   string
	tokenFile string
	noPrompt  bool
}

// tokensName is the file of the tokens within the state's directory.
const tokensName = "auth.json"

// tokens opens the store of the tokens. Where new ones are kept is settled by who
// logs in.
func (a *env) tokens() (*auth.Store, error) {
	store, err := state.Open(a.state)
	if err != nil {
		return nil, err
	}
	return &auth.Store{File: store.Private(tokensName), Keyring: &auth.Keyring{Getenv: a.getenv}}, nil
}

// guard puts somebody between a conversation and the network who says who asks.
func (c *conversation) guard(opt *client.Options) error {
	none := slices.ContainsFunc(opt.Fields, func(f wire.Field) bool { return strings.EqualFold(f.Name, "Authorization") && f.Value == "" })
	if opt.Server.URL == "" || none {
		return nil // with -H 'Authorization:' the user wants none
	}
	a := c.a
	fixed, err := a.fixedToken()
	if err != nil {
		return err
	}
	a.secrets.Learn(fixed)
	g := &auth.Guard{Endpoint: opt.Server.URL, Fixed: fixed, Account: a.auth.account, Now: a.now, Learn: a.secrets.Learn, Pause: client.Pause,
		Walk: func(ctx context.Context) *auth.Walk { return a.walk(ctx, opt.Server.URL) }}
	g.Store, _ = a.tokens() // without a place for the state there are none
	if a.ui.canAsk() && !a.auth.noPrompt {
		g.Login = a.ui.offerLogin
	}
	a.guard = g
	opt.Through, opt.Extensions = g.Over, g.Extensions()
	return nil
}

// fixedToken is the one that the user brings himself, or "".
func (a *env) fixedToken() (string, error) {
	token := a.getenv("MCPC_TOKEN")
	if name := a.auth.tokenFile; name != "" {
		raw, err := a.readFile(name, mostSecret)
		if err != nil {
			return "", notRead("--token-file "+name, err, "")
		}
		if token = string(raw); strings.TrimSpace(token) == "" {
			return "", hinted("--token-file "+name+": the file is empty", "the file must contain the token on one line, and nothing else")
		}
	}
	token = strings.TrimSpace(token)
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", hinted("the token contains characters that are not allowed in a token", "pass one word, without \"Bearer\"")
	}
	return token, nil
}

// walk goes through a server's authorization; -v shows the steps.
func (a *env) walk(ctx context.Context, endpoint string) *auth.Walk {
	way := a.way.forAuth()
	way.Limit = a.limits.Idle
	w := &auth.Walk{Net: auth.NewNet(auth.NearnessOf(ctx, endpoint), way), Now: a.now, Learn: a.secrets.Learn,
		Read: func(name string) ([]byte, error) { return a.readFile(name, mostSecret) }}
	if a.verbose > 0 {
		w.Told = func(s auth.Step) { a.ui.note("login: " + stepLine(s)) }
	}
	return w
}

// challenged says of a refusal what is to be done about it. The challenge is kept,
// so that a bare `mcpc login` answers it.
func (a *env) challenged(o wire.Outcome) wire.Outcome {
	if a.guard == nil || o.Kind != wire.Auth {
		return o
	}
	r := a.guard.Unsolved()
	switch {
	case r == nil:
		return o
	case r.Scheme == "" && len(r.Fields) > 0:
		o.Hint = "the challenge is not OAuth, so " + wire.Run("login") + " does not help: send credentials with -H 'Authorization: …' or MCPC_HEADER"
		return o
	case r.OwnField:
		o.Hint = "the given token was rejected: use a new one, or remove it and run " + a.loginCommand(false, "")
		return o
	case r.Again:
		o.Text = "the token has every requested scope, but the server still reports insufficient_scope"
		o.Hint = "a new login will not help; contact the server's operator"
		return o
	}
	grant := ""
	if r.Grant.Alone() {
		grant = " --grant " + string(r.Grant) // with the client and the secret of last time
	}
	o.Hint = a.loginCommand(true, grant)
	switch {
	case r.Sent && r.Status == http.StatusUnauthorized:
		o.Text += ": the token was rejected and could not be refreshed"
	case r.Sent && len(r.Scopes) > 0:
		o.Text += ": more scopes are required: " + wire.Excerpt([]byte(strings.Join(r.Scopes, " ")), mostSaid)
	}
	if failed, ok := errors.AsType[*auth.Error](r.Err); ok {
		o = authFailed(failed, o)
	} else if len(r.Fields) == 0 {
		o.Hint += ", if the server uses OAuth; send an API key with -H 'NAME: VALUE' or MCPC_HEADER"
	}
	if a.fromFile != "" && hasSecret(a.guard.Endpoint) { // it is not copied
		return o
	}
	if err := a.keepChallenge(*r); err != nil && o.Kind != wire.LocalIO { // else the hint is of what has to be done first
		o.Hint = a.loginCommand(false, "") + "; the challenge could not be stored: " + wire.Hint(err.Error())
	}
	return o
}

// loginCommand is the command that answers the server's challenge. A URL that holds a
// secret is not shown: where the challenge is kept the command needs no target.
func (a *env) loginCommand(kept bool, more string) wire.Hint {
	command := "login"
	switch {
	case a.fromFile != "":
		command += " " + shellwords.Quote(a.fromFile)
	case !hasSecret(a.guard.Endpoint):
		command += " " + shellwords.Quote(a.guard.Endpoint)
	case !kept:
		command += " TARGET"
	}
	if a.auth.account != "" && !a.accountTyped { // the session's own
		command += " --account " + shellwords.Quote(a.auth.account)
	}
	return wire.Run(command + more)
}

// mostSaid is how much is shown of what a server wrote.
const mostSaid = 2000

// authFailed is the ending of what needed a token; o is what is known besides. Who
// could not be asked, or was waited for too long, may be there the next time; that a
// server refused for want of a token comes before that (design, section 6).
func authFailed(err error, o wire.Outcome) wire.Outcome {
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
	o.Kind, o.Text, o.Err = kind, wire.Excerpt([]byte(failed.Text), mostSaid), failed.Err
	o.Phase = cmp.Or(o.Phase, "authorization")
	o.Hint = cmp.Or(failed.Hint, o.Hint)
	if auth.IsLocal(failed.At) {
		if server, err := auth.SafeURL(failed.Other); err == nil {
			o.Hint = "if " + wire.Hint(wire.RedactURL(failed.At)) + " is your proxy: run " + wire.Run("login "+shellwords.Quote(server.String())) + "; otherwise contact the server's operator"
		}
	}
	return o
}

func (a *env) keepChallenge(r auth.Refusal) error {
	store, err := a.tokens()
	if err != nil {
		return err
	}
	return store.Change(context.Background(), func(b *auth.Book) {
		b.Pending = &auth.Pending{Endpoint: a.guard.Endpoint, Account: a.auth.account, Status: r.Status, Fields: r.Fields, At: a.now()}
	})
}

// offerLogin asks the person at the terminal, in the middle of a command. Nobody's
// patience runs out meanwhile.
func (a *app) offerLogin(ctx context.Context, r auth.Refusal) (bool, error) {
	defer client.Pause(ctx)()
	d := a.dialog(ctx)
	what := "requires authentication"
	if r.Sent && len(r.Scopes) > 0 {
		what = "requires more scopes: " + d.line(wire.Excerpt([]byte(strings.Join(r.Scopes, " ")), mostSaid))
	}
	d.say("%s %s.", d.line(wire.RedactURL(a.guard.Endpoint)), what)
	word, err := d.choose("Log in now? [y]es, [n]o", "", "yes", "no")
	if err != nil || word != "yes" {
		return false, nil
	}
	store, err := a.tokens()
	if err != nil {
		return false, err
	}
	store.Seals = store.Keyring.Answers()
	w := a.walk(ctx, a.guard.Endpoint)
	defer w.Net.Close()
	_, err = w.Login(ctx, store, auth.Request{Endpoint: a.guard.Endpoint, Account: a.auth.account,
		Challenge: r.Challenge, Challenged: true, Visit: a.visitor(nil), ShowCode: a.showCode, Choose: a.chooseIssuer})
	return err == nil, err
}

// chooseIssuer lets the person at the terminal say with whom to log in.
func (a *app) chooseIssuer(ctx context.Context, issuers []string) (string, error) {
	d := a.dialog(ctx)
	d.say("The server has several authorization servers:")
	var numbers []string
	for i, issuer := range issuers {
		numbers = append(numbers, strconv.Itoa(i+1))
		d.say("  %d  %s", i+1, d.line(issuer))
	}
	for {
		text, err := d.ask("Which one?")
		if err != nil {
			return "", err
		}
		if i := slices.Index(numbers, strings.TrimSpace(text)); i >= 0 {
			return issuers[i], nil
		}
		d.say("  type a number from 1 to %d", len(issuers))
	}
}

// visitor shows where to log in, and opens it. Where no browser can be started a person at
// a terminal is told, and a program gets the error.
func (a *app) visitor(unopened chan<- error) func(context.Context, string) {
	noBrowser := func(err error) {
		if !a.errStyle.Terminal && unopened != nil {
			unopened <- err
			return
		}
		a.note("cannot start a browser (" + err.Error() + "): open the URL yourself, or run mcpc login with --no-browser or --grant device")
	}
	failedLater := func(err error) {
		if a.talking.Load() { // else somebody has come back all the same
			noBrowser(err)
		}
	}
	return func(_ context.Context, address string) {
		a.note("log in here: " + a.errStyle.Line(address))
		a.warnOfAddress(address)
		if err := a.browse(address, failedLater); err != nil {
			noBrowser(err)
		}
	}
}

// warnOfAddress says in what an address may be another than it seems.
func (a *app) warnOfAddress(address string) {
	for _, odd := range question.Oddities(address) {
		a.warn(a.errStyle.Line(odd))
	}
}
