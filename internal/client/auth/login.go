package auth

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/oauth2"

	"mcpc/internal/wire"
)

// A Request says for what a token is wanted, and how.
type Request struct {
	// Endpoint is the MCP server's URL.
	Endpoint string
	// Challenge is the server's; Challenged is set where it asked for a token at all,
	// in whatever words.
	Challenge  Challenge
	Challenged bool
	// Grant is how the token is come by; "" is as for the stored token, else in the browser.
	Grant Grant
	// Client is one that the user has; its ID is "" where he has none. ClientSecret
	// goes with it, IDPSecret with its IDP.
	Client       Client
	ClientSecret string
	IDPSecret    string
	// RegistrationToken is the initial access token for the registration of a client (RFC 7591, section 3); "" is none.
	// It is not stored.
	RegistrationToken string
	// Settings are in place of those of the last login.
	Settings
	// Bind asks for a token that is bound to a key. Where it is not set that is so if
	// the last one was, or the challenge asks for it.
	Bind bool
	// Scopes replace those that would be chosen.
	Scopes  []string
	Account string
	// Refused is the error of JSON-RPC that a request without a token got, "" if it was accepted or challenged.
	Refused string
	// Issuer is the authorization server that is wanted; "" leaves it to Choose, which
	// is asked where there are several and none is known, and may be nil: the first.
	Issuer string
	Choose func(ctx context.Context, issuers []string) (string, error)
	// Visit shows the user the address to go to, ShowCode also what to type there.
	Visit    func(ctx context.Context, address string)
	ShowCode func(ctx context.Context, address, code string)
	// NoBrowser gives why no browser could be started, where there is no user to open
	// the address by hand; it may be nil.
	NoBrowser <-chan error
	// Paste reads the address that the browser ended at; nil where there is no user to
	// ask. wrong is what was wrong with the previous try; nil at the first.
	Paste func(ctx context.Context, wrong *Error) (string, error)
}

// A Found is where a server's tokens come from.
type Found struct {
	// Resource is nil for a server without such metadata.
	Resource *Resource
	Server   *Server
}

// needs are what a login needs of an authorization server.
type needs struct {
	grant Grant
	// assumesPKCE reports an issuer that need not declare PKCE.
	assumesPKCE func(issuer string) bool
}

func (r Request) needs(known Records, endpoint *url.URL) needs {
	return needs{r.Grant, func(issuer string) bool {
		return isSet(r.over(known.settings(endpoint.String(), r.Account, issuer)).AssumePKCE)
	}}
}

// mostIssuers is how many authorization servers of one server are tried.
const mostIssuers = 10

// Discover finds the authorization server of an MCP server. The error is an [Error].
func (w *Flow) Discover(ctx context.Context, req Request, known Records) (Found, error) {
	endpoint, err := Canonical(req.Endpoint)
	if err != nil {
		return Found{}, err
	}
	last := known.namedIssuer(endpoint.String(), req.Account)
	r, err := w.resource(ctx, endpoint, req.Challenge, cmp.Or(req.Issuer, last))
	if err != nil && (req.Issuer == "" || !isUnreadable(err)) {
		return Found{}, err
	}
	if r == nil {
		if req.Issuer != "" && (req.Challenged || err != nil) {
			w.tell(Step{Text: "the server names no authorization server: using the one that you named, " + req.Issuer})
			s, err := w.server(ctx, req.Issuer, req.needs(known, endpoint))
			return Found{Server: s}, err
		}
		if !req.Challenged {
			if req.Refused != "" {
				return Found{}, &Error{Rule: NotAsked,
					Text: fmt.Sprintf("the server has no resource metadata and requires no token, but answered %q", req.Refused),
					Hint: operatorToken + "; an API key goes into -H 'NAME: VALUE'"}
			}
			w.tell(
				Step{
					Text: "the server requires no authorization: it accepted a request without a token and has no resource metadata",
				},
			)
			return Found{}, &Error{
				Rule: NotAsked,
				Text: "the server has no resource metadata and requires no token",
				Hint: "use it without a login",
			}
		}
		w.tell(
			Step{
				Rule: "there is resource metadata, or the server requires a token without it (specification, page authorization, \"Overview\")",
			},
		)
		s, err := w.ownServer(ctx, endpoint, req.needs(known, endpoint))
		return Found{Server: s}, err
	}
	issuers, err := w.issuers(ctx, req, r, known, last)
	if err != nil {
		return Found{}, err
	}
	var first error
	for _, issuer := range issuers[:min(len(issuers), mostIssuers)] {
		s, err := w.server(ctx, issuer, req.needs(known, endpoint))
		if err == nil {
			return Found{r, s}, nil
		}
		if first == nil {
			first = err
		}
	}
	return Found{}, first
}

// A login is one run through all of it.
type login struct {
	w      *Flow
	store  *Store
	req    Request
	known  Records
	found  Found
	scopes []string
	token  Token
	key    *ecdsa.PrivateKey // nil where the token is to be bound to none
}

// Login gets a token and keeps it, in place of the account's earlier one. The
// error is an [Error].
func (w *Flow) Login(ctx context.Context, store *Store, req Request) (Token, error) {
	known, err := store.Load()
	if err != nil {
		return Token{}, err
	}
	endpoint, err := Canonical(req.Endpoint)
	if err != nil {
		return Token{}, err
	}
	old, _ := known.Token(endpoint.String(), req.Account)
	req.Grant = cmp.Or(req.Grant, old.Grant, AuthorizationCode)
	req.Bind = req.Bind || old.Key != ""
	found, err := w.Discover(ctx, req, known)
	if err != nil {
		return Token{}, err
	}
	req.Named = req.Issuer != ""
	req.Settings = req.over(known.settings(endpoint.String(), req.Account, found.Server.Issuer))
	if req.Client.ID != "" {
		req.DocumentURL = "" // the client that was named last counts at the next login
	}
	l := &login{w: w, store: store, req: req, known: known, found: found}
	l.chooseScopes(endpoint.String())
	l.token = l.newToken(endpoint)
	if err := l.bind(); err != nil {
		return Token{}, err
	}
	switch {
	case req.Grant.Browser():
		err = l.throughBrowser(ctx)
	case req.Grant == DeviceCode:
		err = l.elsewhere(ctx)
	default:
		err = l.alone(ctx)
	}
	if errors.Is(err, errInvalidClient) {
		return l.token, l.forget(ctx, err)
	}
	return l.token, err
}

// newToken is the token that the login is for, without its secrets.
func (l *login) newToken(endpoint *url.URL) Token {
	s := l.found.Server
	id := endpoint.String()
	if l.found.Resource != nil {
		id = l.found.Resource.ID
	}
	return Token{
		Issuer: s.Issuer, Resource: id, OmitResource: isSet(l.req.OmitResource),
		Account: l.req.Account, Endpoint: endpoint.String(), Grant: l.req.Grant, Since: l.w.now().UTC(),
		Requested: l.scopes, TokenEndpoint: s.Token, Methods: s.Methods, Revocation: s.Revocation,
	}
}

// forget drops the registration that the server does not know any more, so that the
// next login registers anew.
func (l *login) forget(ctx context.Context, why error) error {
	if err := l.store.Change(ctx, func(b *Records) {
		b.Clients = slices.DeleteFunc(b.Clients, func(c Client) bool {
			return c.Issuer == l.found.Server.Issuer && c.Origin == Registered && c.Grant == l.req.Grant
		})
	}); err != nil {
		return err
	}
	_, given := l.known.client(l.found.Server.Issuer, Given, l.req.Grant)
	if e, ok := errors.AsType[*Error](why); ok && l.req.Client.ID == "" && !given {
		e.Hint = "the registered client is no longer known there and was deleted here: run " + wire.Run("login") + " again"
	}
	return why
}

// chooseScopes keeps what was asked for before, unless the user says what he wants.
func (l *login) chooseScopes(endpoint string) {
	var before []string
	if old, ok := l.known.Token(endpoint, l.req.Account); ok && len(l.req.Scopes) == 0 {
		before = old.Requested
	}
	l.scopes = scopes(l.req.Scopes, l.req.Challenge, l.found.Resource, before)
	// A refresh token is promised for offline_access. If no scope is requested at all, requesting only that one would
	// change what the token is for.
	const offline = "offline_access"
	if !l.req.Grant.Unattended() && len(l.req.Scopes) == 0 && len(l.scopes) > 0 &&
		slices.Contains(l.found.Server.Scopes, offline) {
		l.scopes = union(l.scopes, []string{offline})
	}
	if len(l.scopes) > 0 {
		l.w.tell(Step{Text: "scope " + strings.Join(l.scopes, " ")})
	}
}

// alone gets a token for a program that acts without a user.
func (l *login) alone(ctx context.Context) error {
	p, err := l.client(ctx, "")
	if err != nil {
		return err
	}
	if l.req.Grant == ClientCredentials && p.secret == "" && p.client.KeyFile == "" {
		return &Error{Rule: NoRegistration, Text: "client_credentials needs a secret or a key",
			Hint: "--client-secret-file FILE or --private-key FILE goes with --client-id"}
	}
	form, err := l.w.byItself(ctx, l.store, p.client, l.token)
	if err != nil {
		return err
	}
	return l.redeem(ctx, p, form)
}

// client is who mcpc is at the server that was found, with what it proves itself by.
func (l *login) client(ctx context.Context, redirect string) (clientAt, error) {
	c, err := l.identity(ctx, l.found.Server, redirect)
	if err != nil {
		return clientAt{}, err
	}
	secret, err := l.secretOf(&c)
	return clientAt{c, secret, l.found.Server}, err
}

// redeem gets the token and keeps it.
func (l *login) redeem(ctx context.Context, p clientAt, form url.Values) error {
	t, err := l.w.redeem(ctx, &p, form, l.key)
	if err != nil {
		return err
	}
	return l.keep(ctx, p.client, t)
}

// secretOf is the secret of a client; one that was given is from then on kept with
// it.
func (l *login) secretOf(c *Client) (secret string, err error) {
	if l.req.IDPSecret != "" && c.IDP != nil {
		l.w.learn(l.req.IDPSecret)
		c.IDP.Secret, err = l.store.Seal(l.req.IDPSecret)
		if err != nil {
			return "", err
		}
	}
	if l.req.ClientSecret != "" && c.Origin == Given && c.ID == l.req.Client.ID {
		l.w.learn(l.req.ClientSecret)
		c.Secret, err = l.store.Seal(l.req.ClientSecret)
		return l.req.ClientSecret, err
	}
	secret, err = l.store.Open(c.Secret)
	l.w.learn(secret)
	return secret, err
}

// throughBrowser sends the user to the authorization server and waits for what comes back.
// The port is open before the browser is.
func (l *login) throughBrowser(ctx context.Context) error {
	back, err := l.listen()
	if err != nil {
		return err
	}
	defer back.close()
	p, err := l.client(ctx, back.redirect())
	if err != nil {
		return err
	}
	if p.client.Origin == Registered && !slices.Contains(p.client.Redirects, back.redirect()) {
		back.host = "localhost" // see register
	}
	code, a, err := l.authorize(ctx, p.client, back)
	late, ok := errors.AsType[*Error](err)
	if ok && (late.Kind() == wire.Timeout || ctx.Err() != nil) && p.client.Origin == Registered {
		p.client.Untried = true
		p.client.Unanswered = true
		_ = l.store.Change(context.WithoutCancel(ctx), func(b *Records) { b.putClient(p.client) })
	}
	if err != nil {
		return err
	}
	return l.redeem(ctx, p, l.token.named(url.Values{"grant_type": {string(AuthorizationCode)}, "code": {code},
		"redirect_uri": {a.redirect}, "code_verifier": {a.verifier}}))
}

// listen takes the port that was asked for, or the one that mcpc registered here with
// before, where it is free: servers compare it.
func (l *login) listen() (*callback, error) {
	host := callbackHost
	path := callbackPath
	wanted := 0
	if l.req.Port != nil {
		wanted = *l.req.Port
	}
	if u, err := url.Parse(l.req.Redirect); err == nil && l.req.Redirect != "" {
		host = u.Hostname()
		path = u.EscapedPath()
		if port, err := strconv.Atoi(u.Port()); err == nil {
			wanted = port
		}
	}
	if wanted != 0 {
		return listenAs(host, wanted, path)
	}
	if c, ok := l.registered(); ok {
		for _, redirect := range c.Redirects {
			u, err := url.Parse(redirect)
			if err != nil || CheckRedirect(redirect) != nil || u.EscapedPath() != path {
				continue
			}
			if u.Hostname() != host && l.req.Redirect != "" {
				continue
			}
			port, _ := strconv.Atoi(u.Port())
			if back, err := listenAs(u.Hostname(), port, path); err == nil {
				return back, nil
			}
		}
	}
	return listenAs(host, 0, path)
}

// authorize asks for a code (authorization, "Authorization Request").
func (l *login) authorize(ctx context.Context, c Client, back *callback) (string, *authorization, error) {
	s := l.found.Server
	a := &authorization{state: oauth2.GenerateVerifier(), verifier: oauth2.GenerateVerifier(), issuer: s.Issuer,
		redirect: back.redirect(), resource: !l.token.OmitResource, issRequired: bool(s.NamesItself)}
	l.w.learn(a.verifier) // the state has to be shown, and is worth nothing without
	ask := oauth2.Config{
		ClientID:    c.ID,
		RedirectURL: a.redirect,
		Scopes:      l.scopes,
		Endpoint:    oauth2.Endpoint{AuthURL: s.Authorization},
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(a.verifier)}
	for name, values := range l.token.named(url.Values{}) {
		options = append(options, oauth2.SetAuthURLParam(name, values[0]))
	}
	if slices.Contains(l.scopes, "offline_access") {
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent")) // OpenID Connect, section 11
	}
	for name, value := range l.req.Parameters { // prompt among them, in place of the one above
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	address, err := SafeURL(ask.AuthCodeURL(a.state, options...))
	if err != nil {
		return "", nil, err
	}
	// Of a parameter that the endpoint's own URL has too, the request's value is the last one.
	query := address.Query()
	for _, name := range slices.Concat(replacedParameters, slices.Collect(maps.Keys(l.req.Parameters))) {
		if values := query[name]; len(values) > 1 {
			query.Set(name, values[len(values)-1])
		}
	}
	address.RawQuery = query.Encode()
	back.expect(a)
	l.req.Visit(ctx, address.String())
	answer, err := back.wait(ctx, a, l.req)
	if err != nil {
		return "", nil, err
	}
	code, err := l.w.code(a, answer)
	return code, a, err
}

// keep stores what was got.
func (l *login) keep(ctx context.Context, c Client, t *answer) (err error) {
	l.token.Client = c.ID
	l.token, err = l.store.tokenOf(t, l.token, l.w.now())
	if err != nil {
		return err
	}
	return l.put(ctx, c)
}

// put stores the token and its client, and the challenge is answered.
func (l *login) put(ctx context.Context, c Client) error {
	c.Endpoint = l.token.Endpoint
	c.Untried = false
	c.Unanswered = false
	return l.store.Change(ctx, func(b *Records) {
		b.put(l.token)
		b.putClient(c)
		b.putSettings(Remembered{l.token.Endpoint, l.token.Account, l.token.Issuer, l.req.Settings})
		if b.Pending != nil && Covers(l.token.Resource, b.Pending.Endpoint) {
			b.Pending = nil
		}
	})
}
