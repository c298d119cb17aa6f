package auth

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/oauth2"

	"mcpc/internal/wire"
)

// A Request names the server that a token is wanted for, and how to get the token.
type Request struct {
	// Endpoint is the MCP server's URL.
	Endpoint string
	// Challenge is the server's challenge. Challenged is set if the server required a token in any
	// form.
	Challenge  Challenge
	Challenged bool
	// Grant is how to obtain the token. If it is "", the grant of the stored token is used, else
	// AuthorizationCode.
	Grant Grant
	// Client is the user's client. Its ID is "" if the user has no client. ClientSecret is its
	// secret, IDPSecret the secret of its IDP.
	Client       Client
	ClientSecret string
	IDPSecret    string
	// RegistrationToken is the initial access token for registering a client (RFC 7591, section 3), or
	// "". It is not stored.
	RegistrationToken string
	// Settings replace the stored settings of the last login.
	Settings
	// Bind requests a token that is bound to a key. If it is not set, the token is bound if the last
	// one was or if the challenge requires it.
	Bind bool
	// Scopes, if not empty, replace the scopes that mcpc would choose.
	Scopes  []string
	Account string
	// Refused is the JSON-RPC error of a request without a token, or "" if it was accepted or
	// challenged.
	Refused string
	// Issuer is the authorization server to use. If it is "", Choose selects one of several unknown
	// issuers; if Choose is nil, the first is used.
	Issuer string
	Choose func(ctx context.Context, issuers []string) (string, error)
	// Visit shows the user the URL to open, ShowCode also the code to enter there.
	Visit    func(ctx context.Context, address string)
	ShowCode func(ctx context.Context, address, code string)
	// NoBrowser, if not nil, receives why no browser could be started when there is no user to open the
	// URL by hand.
	NoBrowser <-chan error
	// Paste reads the URL of the browser's redirect from the user. It is nil if there is no user to
	// ask. wrong is what was wrong with the previous URL, nil at the first call.
	Paste func(ctx context.Context, wrong *Error) (string, error)
}

// A Found is the authorization server of an MCP server.
type Found struct {
	// Resource is nil if the server has no resource metadata.
	Resource *Resource
	Server   *Server
}

// A needs is what a login requires of an authorization server.
type needs struct {
	grant Grant
	// assumesPKCE reports whether an issuer need not declare PKCE.
	assumesPKCE func(issuer string) bool
}

// needs returns what the login requires of an authorization server.
func (r Request) needs(known Records, endpoint *url.URL) needs {
	return needs{r.Grant, func(issuer string) bool {
		return isSet(r.withDefaults(known.settings(endpoint.String(), r.Account, issuer)).AssumePKCE)
	}}
}

// maxIssuers is how many authorization servers of one MCP server are tried.
const maxIssuers = 10

// Discover finds the authorization server of an MCP server: from the server's resource metadata,
// else the authorization server that the user named, else at the server's own origin. It returns an
// error if the server did not require a token and has no metadata. The error is an [Error].
func (flow *Flow) Discover(ctx context.Context, req Request, known Records) (Found, error) {
	endpoint, err := Canonical(req.Endpoint)
	if err != nil {
		return Found{}, err
	}
	last := known.namedIssuer(endpoint.String(), req.Account)
	needs := req.needs(known, endpoint)
	flow.begin(FindsResource)
	issuer := req.Issuer
	if issuer == "" {
		issuer = last
	}
	r, err := flow.findResource(ctx, endpoint, req.Challenge, issuer)
	isUserIssuer := req.Issuer != ""
	// An issuer that the user names replaces metadata that cannot be read, but not invalid metadata.
	canContinue := err == nil || isUserIssuer && isUnreadable(err)
	if !canContinue {
		return Found{}, err
	}
	hasNoMetadata := r == nil
	isProtected := req.Challenged || err != nil // metadata that cannot be read shows it too
	if hasNoMetadata && isUserIssuer && isProtected {
		flow.begin(FindsServer)
		flow.report(Step{Text: "the server names no authorization server: using the one that you named, " + req.Issuer})
		s, err := flow.findServer(ctx, req.Issuer, needs)
		return Found{Server: s}, err
	}
	if hasNoMetadata && !req.Challenged {
		return Found{}, flow.notProtected(req.Refused)
	}
	if hasNoMetadata {
		flow.report(Step{Rule: "there is resource metadata, or the server requires a token without it " +
			`(specification, page authorization, "Overview")`})
		flow.begin(FindsServer)
		s, err := flow.findOwnServer(ctx, endpoint, needs)
		return Found{Server: s}, err
	}
	issuers, err := flow.chooseIssuers(ctx, req, r, known, last)
	if err != nil {
		return Found{}, err
	}
	flow.begin(FindsServer)
	var firstErr error // the error of the best issuer
	for _, issuer := range issuers[:min(len(issuers), maxIssuers)] {
		s, err := flow.findServer(ctx, issuer, needs)
		if err == nil {
			return Found{r, s}, nil
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	return Found{}, firstErr
}

// notProtected returns the error for a server that has no resource metadata and did not require a token.
// refused is the JSON-RPC error of a request without a token, or "".
func (flow *Flow) notProtected(refused string) error {
	if refused != "" {
		return &Error{
			Rule: NotAsked,
			Text: fmt.Sprintf("the server has no resource metadata and requires no token, but answered %q", refused),
			Hint: operatorToken + "; an API key goes into -H 'NAME: VALUE'",
		}
	}
	flow.report(Step{Text: "the server requires no authorization: it accepted a request without a token " +
		"and has no resource metadata"})
	return &Error{
		Rule: NotAsked, Text: "the server has no resource metadata and requires no token",
		Hint: "use it without a login",
	}
}

// A login is the state of one login.
type login struct {
	flow   *Flow
	store  *Store
	req    Request
	known  Records
	found  Found
	scopes []string
	token  Token
	key    *ecdsa.PrivateKey // nil if the token is a bearer token
}

// Login obtains a token and stores it in place of the account's earlier token. A grant, a key and
// settings that req does not set are taken from the last login. The error is an [Error]; the
// returned token then has no secrets.
func (flow *Flow) Login(ctx context.Context, store *Store, req Request) (Token, error) {
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
	found, err := flow.Discover(ctx, req, known)
	if err != nil {
		return Token{}, err
	}
	req.Named = req.Issuer != ""
	req.Settings = req.withDefaults(known.settings(endpoint.String(), req.Account, found.Server.Issuer))
	if req.Client.ID != "" {
		req.DocumentURL = "" // the next login uses this client, not an earlier document
	}
	l := &login{flow: flow, store: store, req: req, known: known, found: found}
	l.chooseScopes(endpoint.String())
	l.token = l.newToken(endpoint)
	if err := l.bindToKey(); err != nil {
		return Token{}, err
	}
	if req.Grant.UsesBrowser() {
		err = l.runBrowser(ctx)
	} else if req.Grant == DeviceCode {
		err = l.runDevice(ctx)
	} else {
		err = l.runUnattended(ctx)
	}
	if errors.Is(err, errInvalidClient) {
		return l.token, l.forgetClient(ctx, err)
	}
	return l.token, err
}

// newToken returns the token that the login will fill in: everything but its secrets, expiry and
// granted scopes.
func (l *login) newToken(endpoint *url.URL) Token {
	s := l.found.Server
	id := endpoint.String()
	if l.found.Resource != nil {
		id = l.found.Resource.ID
	}
	return Token{
		Issuer: s.Issuer, Resource: id, OmitResource: isSet(l.req.OmitResource),
		Account: l.req.Account, Endpoint: endpoint.String(), Grant: l.req.Grant, Since: l.flow.now().UTC(),
		Requested: l.scopes, TokenEndpoint: s.Token, Methods: s.Methods, Revocation: s.Revocation,
	}
}

// forgetClient deletes the registered client that the server does not know any more, so that the next
// login registers again. It returns why, with a hint if a registered client was used, or the error of the
// store.
func (l *login) forgetClient(ctx context.Context, why error) error {
	isRegistration := func(c Client) bool {
		return c.Issuer == l.found.Server.Issuer && c.Origin == Registered && c.Grant == l.req.Grant
	}
	err := l.store.Change(ctx, func(b *Records) { b.Clients = slices.DeleteFunc(b.Clients, isRegistration) })
	if err != nil {
		return err
	}
	_, isGiven := l.known.newestClient(l.found.Server.Issuer, Given, l.req.Grant)
	if e, ok := errors.AsType[*Error](why); ok && l.req.Client.ID == "" && !isGiven {
		e.Hint = "the registered client is no longer known there and was deleted here: run " + wire.Run("login") + " again"
	}
	return why
}

// chooseScopes sets the scopes to request. It keeps the scopes that were requested before, unless
// the user names scopes.
func (l *login) chooseScopes(endpoint string) {
	var before []string
	if old, ok := l.known.Token(endpoint, l.req.Account); ok && len(l.req.Scopes) == 0 {
		before = old.Requested
	}
	l.scopes = selectScopes(l.req.Scopes, l.req.Challenge, l.found.Resource, before)
	// offline_access requests a refresh token. Without other scopes it would change what the token allows.
	const offline = "offline_access"
	isOffered := !l.req.Grant.IsUnattended() && slices.Contains(l.found.Server.Scopes, offline)
	if isOffered && len(l.req.Scopes) == 0 && len(l.scopes) > 0 {
		l.scopes = union(l.scopes, []string{offline})
	}
	if len(l.scopes) > 0 {
		l.flow.report(Step{Text: "scope " + strings.Join(l.scopes, " ")})
	}
}

// runUnattended gets a token for a program that acts without a user.
func (l *login) runUnattended(ctx context.Context) error {
	const noRedirect = "" // no browser
	p, err := l.clientWithSecret(ctx, noRedirect)
	if err != nil {
		return err
	}
	if l.req.Grant == ClientCredentials && p.secret == "" && p.client.KeyFile == "" {
		return &Error{
			Rule: NoRegistration, Text: "client_credentials needs a secret or a key",
			Hint: "--client-secret-file FILE or --private-key FILE goes with --client-id",
		}
	}
	l.flow.begin(RequestsToken)
	form, err := l.flow.unattendedForm(ctx, l.store, p.client, l.token)
	if err != nil {
		return err
	}
	return l.requestToken(ctx, p, form)
}

// clientWithSecret chooses the client for the login and returns it with its secret.
func (l *login) clientWithSecret(ctx context.Context, redirect string) (clientAt, error) {
	l.flow.begin(ChoosesClient)
	c, err := l.chooseClient(ctx, l.found.Server, redirect)
	if err != nil {
		return clientAt{}, err
	}
	secret, err := l.secretOf(&c)
	return clientAt{c, secret, l.found.Server}, err
}

// requestToken requests the token and stores it.
func (l *login) requestToken(ctx context.Context, p clientAt, form url.Values) error {
	t, err := l.flow.requestToken(ctx, &p, form, l.key)
	if err != nil {
		return err
	}
	return l.storeToken(ctx, p.client, t)
}

// secretOf returns the secret of a client. It also keeps secrets that the user provides now, for the
// client and its identity provider, in c, encrypted.
func (l *login) secretOf(c *Client) (secret string, err error) {
	if l.req.IDPSecret != "" && c.IDP != nil {
		l.flow.addSecrets(l.req.IDPSecret)
		c.IDP.Secret, err = l.store.Seal(l.req.IDPSecret)
		if err != nil {
			return "", err
		}
	}
	if l.req.ClientSecret != "" && c.Origin == Given && c.ID == l.req.Client.ID {
		l.flow.addSecrets(l.req.ClientSecret)
		c.Secret, err = l.store.Seal(l.req.ClientSecret)
		return l.req.ClientSecret, err
	}
	secret, err = l.store.Open(c.Secret)
	l.flow.addSecrets(secret)
	return secret, err
}

// runBrowser sends the user to the authorization server with a browser and waits for its redirect.
// It opens the port of the redirect URI first.
func (l *login) runBrowser(ctx context.Context) error {
	back, err := l.listen()
	if err != nil {
		return err
	}
	defer back.close()
	p, err := l.clientWithSecret(ctx, back.redirect())
	if err != nil {
		return err
	}
	if p.client.Origin == Registered && !slices.Contains(p.client.Redirects, back.redirect()) {
		back.host = "localhost" // chooseClient registered this name
	}
	code, a, err := l.authorize(ctx, p.client, back)
	// A browser that did not return may show that the server does not know the client any more.
	authErr, ok := errors.AsType[*Error](err)
	isUnanswered := ok && (authErr.Kind() == wire.Timeout || ctx.Err() != nil)
	if isUnanswered && p.client.Origin == Registered {
		p.client.Untried = true
		p.client.Unanswered = true
		_ = l.store.Change(context.WithoutCancel(ctx), func(b *Records) { b.putClient(p.client) })
	}
	if err != nil {
		return err
	}
	l.flow.begin(RequestsToken)
	form := url.Values{
		"grant_type": {string(AuthorizationCode)}, "code": {code},
		"redirect_uri": {a.redirect}, "code_verifier": {a.verifier},
	}
	return l.requestToken(ctx, p, l.token.withResource(form))
}

// listen opens the port that the user wants, else the port of the registered redirect URI if it is
// free, because servers compare the port, else a free port.
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
		return listenOn(host, wanted, path)
	}
	if c, ok := l.knownRegistration(); ok {
		for _, redirect := range c.Redirects {
			u, err := url.Parse(redirect)
			if err != nil || CheckRedirect(redirect) != nil || u.EscapedPath() != path {
				continue
			}
			if u.Hostname() != host && l.req.Redirect != "" { // the user chose the host
				continue
			}
			port, _ := strconv.Atoi(u.Port()) // without a port 0, which selects a free one
			if back, err := listenOn(u.Hostname(), port, path); err == nil {
				return back, nil
			}
		}
	}
	const anyPort = 0
	return listenOn(host, anyPort, path)
}

// authorize requests a code (authorization, "Authorization Request"): it sends the user to the
// authorization server's page, waits for the response at back and checks it. It returns the code
// and the request.
func (l *login) authorize(ctx context.Context, c Client, back *callback) (string, *authorization, error) {
	s := l.found.Server
	l.flow.begin(Authorizes)
	a := &authorization{
		state: oauth2.GenerateVerifier(), verifier: oauth2.GenerateVerifier(), issuer: s.Issuer,
		redirect: back.redirect(), namesResource: !l.token.OmitResource, issRequired: bool(s.NamesItself),
	}
	l.flow.addSecrets(a.verifier) // the state is shown in the URL, and is worthless without the verifier
	config := oauth2.Config{
		ClientID:    c.ID,
		RedirectURL: a.redirect,
		Scopes:      l.scopes,
		Endpoint:    oauth2.Endpoint{AuthURL: s.Authorization},
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(a.verifier)}
	for name, values := range l.token.withResource(url.Values{}) { // only resource, or nothing
		options = append(options, oauth2.SetAuthURLParam(name, values[0]))
	}
	if slices.Contains(l.scopes, "offline_access") {
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent")) // OpenID Connect, section 11
	}
	for name, value := range l.req.Parameters { // they may replace prompt
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	address, err := SafeURL(config.AuthCodeURL(a.state, options...))
	if err != nil {
		return "", nil, err
	}
	// If the endpoint's own URL has the same parameter, the request's value is the last one.
	query := address.Query()
	for _, name := range slices.Concat(replacedParameters, slices.Collect(maps.Keys(l.req.Parameters))) {
		if values := query[name]; len(values) > 1 {
			query.Set(name, values[len(values)-1])
		}
	}
	address.RawQuery = query.Encode()
	back.expect(a)
	l.req.Visit(ctx, address.String())
	l.flow.begin(AwaitsRedirect)
	answer, err := back.wait(ctx, a, l.req)
	if err != nil {
		return "", nil, err
	}
	code, err := l.flow.checkResponse(a, answer)
	received := Step{Method: http.MethodGet, URL: a.redirect}
	if !HasRule(err, ResponseIssuer) { // a response of another issuer must not be shown (RFC 9207, section 2.4)
		received.URL += "?" + answer.Encode()
	}
	l.flow.report(received)
	return code, a, err
}

// storeToken stores the token of a response.
func (l *login) storeToken(ctx context.Context, c Client, t *tokenResponse) error {
	l.token.Client = c.ID
	var err error
	l.token, err = l.store.tokenOf(t, l.token, l.flow.now())
	if err != nil {
		return err
	}
	return l.save(ctx, c)
}

// save stores the token, its client, which has now succeeded, and the settings. It deletes the challenge
// that the token answers.
func (l *login) save(ctx context.Context, c Client) error {
	c.Endpoint = l.token.Endpoint
	c.Untried = false
	c.Unanswered = false
	return l.store.Change(ctx, func(b *Records) {
		b.putToken(l.token)
		b.putClient(c)
		b.putSettings(Remembered{l.token.Endpoint, l.token.Account, l.token.Issuer, l.req.Settings})
		if b.Pending != nil && Covers(l.token.Resource, b.Pending.Endpoint) {
			b.Pending = nil
		}
	})
}
