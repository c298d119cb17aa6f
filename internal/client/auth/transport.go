package auth

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Refusal is a server's response to a request without a valid token. A renewal or login may still
// solve it.
type Refusal struct {
	Status int
	// URL is the request's URL. Fields are the values of WWW-Authenticate.
	URL    string
	Fields []string
	Challenge
	// Sent is set if a stored token was sent. OwnField is set if the user had set the field, or if mcpc
	// did not obtain the token.
	Sent, OwnField bool
	// Grant is how the sent token was obtained, and Access its stored form.
	Grant  Grant
	Access Secret
	// Scopes are the scopes that the challenge requires and that were not requested for the token.
	// HasAllScopes is set if all of them were requested, so that another login does not help.
	Scopes       []string
	HasAllScopes bool
	// Err is why the token could not be renewed, or why the login failed. It is nil otherwise.
	Err error
}

// A Transport is the http.RoundTripper of one session. It sends a token only if the token was issued
// for the session's endpoint, and only to the endpoint's origin: HTTP+SSE posts to another path
// there.
type Transport struct {
	// Base sends the requests; see Over.
	Base     http.RoundTripper
	Endpoint string
	// Fixed is a token that the user provides, or "".
	Fixed string
	// Store has the other tokens; it may be nil.
	Store   *Store
	Account string
	NewFlow func(ctx context.Context) *Flow
	Now     func() time.Time
	// AddSecret is called with each stored token before it is sent.
	AddSecret func(secrets ...string)
	// Pause, if not nil, is called before a token is renewed, and its result afterwards: the renewal
	// does not count as time of the request.
	Pause func(ctx context.Context) (resume func())
	// Login asks the user to log in, and reports whether the user did. It is nil if there is no user to
	// ask.
	Login func(ctx context.Context, r Refusal) (bool, error)

	mu      sync.Mutex
	records *Records
	// renewed is set when a refusal leads to a renewal, and cleared when the server accepts a token.
	renewed atomic.Bool
	// renewAfter is when a renewal may be tried again after it failed.
	renewAfter time.Time
	logins     int
	unsolved   *Refusal
	// tokenErr is why a stored token could not be used.
	tokenErr error
	nonces   sync.Map
}

// Wrap sets Base and returns the transport.
func (g *Transport) Wrap(base http.RoundTripper) http.RoundTripper {
	g.Base = base
	return g
}

// maxLogins limits how often one command may ask the user to log in: once because there is no token,
// and twice for more scopes.
const maxLogins = 3

// Unsolved returns the last refusal that no renewal or login solved, or nil.
func (g *Transport) Unsolved() *Refusal {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.unsolved
}

// OtherAccounts returns the other accounts that have a token for the endpoint, sorted.
func (g *Transport) OtherAccounts() []string {
	if g.Store == nil {
		return nil
	}
	records, err := g.Store.Load()
	if err != nil {
		return nil
	}
	var names []string
	for _, t := range records.Tokens {
		if t.Account != g.Account && t.Account != "" && Covers(t.Resource, g.Endpoint) {
			names = append(names, t.Account)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// RoundTrip sends a request with its token, if there is one. It sends a refused request again if it
// can get a better token, because the server did not act on the request (authorization, "Error
// Handling").
func (g *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("Authorization") != "" { // the user's own field
		resp, err := g.Base.RoundTrip(req)
		if err == nil {
			const isOwn = true
			g.noteRefusal(resp, Token{}, isOwn)
		}
		return resp, err
	}
	t, c := g.tokenFor(req.Context(), req.URL) // both empty if the URL has another origin
	for isRetry := false; ; isRetry = true {
		resp, err := g.send(req, c, isRetry)
		if err != nil {
			return nil, err
		}
		isOwn := g.Fixed != "" && c.secret != ""
		refusal := g.noteRefusal(resp, t, isOwn)
		if refusal == nil || !g.isOwnOrigin(req.URL) {
			return resp, nil
		}
		if !g.replaceToken(req.Context(), refusal, &t, &c) {
			return resp, nil
		}
		drain(resp)
	}
}

// send sends a request with a credential. isRetry reports whether the request's body was read
// before.
func (g *Transport) send(req *http.Request, c credential, isRetry bool) (*http.Response, error) {
	if !isRetry && c.secret == "" && c.key == nil {
		return g.Base.RoundTrip(req)
	}
	authorized, err := rewind(req)
	if err != nil {
		return nil, err
	}
	if c.secret != "" {
		authorized.Header.Set("Authorization", c.authorization())
	}
	if c.key != nil {
		return g.prover(c).RoundTrip(authorized)
	}
	return g.Base.RoundTrip(authorized)
}

// rewind returns a copy of a request with its body from the start.
func rewind(req *http.Request) (*http.Request, error) {
	clone := req.Clone(req.Context())
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		clone.Body = body
	}
	return clone, nil
}

// drain reads the rest of a response and closes it, so that its connection can be reused.
func drain(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	resp.Body.Close()
}

// tokenFor returns the token for u and its credential, renewed if it expires soon. It returns zero
// values if no token is stored or it cannot be read: perhaps the server requires no token.
func (g *Transport) tokenFor(ctx context.Context, u *url.URL) (t Token, c credential) {
	if !g.isOwnOrigin(u) {
		return Token{}, credential{}
	}
	if g.Fixed != "" {
		return Token{}, credential{secret: g.Fixed}
	}
	if g.Store == nil {
		return Token{}, credential{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t, ok := g.storedTokenLocked()
	if !ok {
		return Token{}, credential{}
	}
	isStale := !t.Expires.IsZero() && !g.Now().Add(renewBefore).Before(t.Expires)
	if isStale && t.IsRenewable() && !g.Now().Before(g.renewAfter) {
		const refused = false
		if fresh, err := g.renewLocked(ctx, t, refused); err == nil { // else the server decides about t
			t = fresh
		}
	}
	c, err := g.credentialLocked(t)
	if err != nil {
		g.tokenErr = err
		return Token{}, credential{}
	}
	return t, c
}

// isOwnOrigin reports whether a URL has the origin of the session's endpoint.
func (g *Transport) isOwnOrigin(u *url.URL) bool {
	endpoint, err := url.Parse(g.Endpoint)
	return err == nil && sameOrigin(endpoint, u)
}

// Extensions returns the extensions of the grant of the stored token, for the client's capabilities.
func (g *Transport) Extensions() []string {
	if g.Fixed != "" || g.Store == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t, _ := g.storedTokenLocked()
	return extensions[t.Grant]
}

// storedTokenLocked returns the account's token for the endpoint. It reads the store if that was not
// read before. The caller holds mu.
func (g *Transport) storedTokenLocked() (Token, bool) {
	if g.records == nil {
		records, err := g.Store.Load()
		if err != nil {
			g.tokenErr = err
			return Token{}, false
		}
		g.records = &records
	}
	return g.records.Token(g.Endpoint, g.Account)
}

// credentialLocked returns the credential of a stored token. The caller holds mu.
func (g *Transport) credentialLocked(t Token) (credential, error) {
	secret, err := g.Store.Open(t.Access)
	if g.AddSecret != nil {
		g.AddSecret(secret)
	}
	if err != nil {
		return credential{}, err
	}
	key, err := g.Store.key(t.Key)
	return credential{secret, key}, err
}

// renewRetryDelay is how long no renewal is tried after one failed. Otherwise each request would
// wait for a token endpoint that does not answer.
const renewRetryDelay = time.Minute

// renewLocked renews a token. refused reports whether the server rejected it. The store is read
// again at the next use. It returns the zero Token if only a new login helps. The caller holds mu.
func (g *Transport) renewLocked(ctx context.Context, t Token, refused bool) (Token, error) {
	flow := g.NewFlow(ctx)
	defer flow.Net.Close()
	if g.Pause != nil {
		resume := g.Pause(ctx)
		defer resume()
	}
	fresh, err := flow.Renew(ctx, g.Store, t, refused)
	if err != nil {
		g.tokenErr = err
		g.renewAfter = g.Now().Add(renewRetryDelay)
		return Token{}, err
	}
	g.records = nil
	return fresh, nil
}

// noteRefusal returns and keeps the refusal of a response, or nil if a token would not change the
// response. A 403 without insufficient_scope is the server's policy, not a challenge
// (authorization, "Error Handling"). own reports whether the user provided the token.
func (g *Transport) noteRefusal(resp *http.Response, t Token, own bool) *Refusal {
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		if resp.StatusCode/100 == 2 && t.Access != "" {
			g.renewed.Store(false) // the token works: a later refusal may lead to a renewal again
		}
		return nil
	}
	fields := resp.Header["Www-Authenticate"]
	c, challenged := SelectChallenge(ParseChallenges(fields))
	isForbidden := resp.StatusCode == http.StatusForbidden
	needsScope := isForbidden && challenged && c.Params["error"] == "insufficient_scope"
	if isForbidden && !needsScope {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &Refusal{
		Status: resp.StatusCode, URL: resp.Request.URL.String(), Fields: slices.Clone(fields),
		Challenge: c, Sent: t.Access != "", OwnField: own, Grant: t.Grant, Access: t.Access,
		Scopes: difference(c.Scopes(), t.Requested),
	}
	if t.Access == "" && !own { // no token was sent, perhaps because it could not be read
		r.Err = g.tokenErr
	}
	hasAllScopes := len(c.Scopes()) > 0 && len(r.Scopes) == 0
	r.HasAllScopes = needsScope && hasAllScopes && t.Access != ""
	g.unsolved = r
	return r
}

// replaceToken replaces a refused token: with a token that another request stored meanwhile, with a
// renewed token, or by a login. It reports whether it did, and then sets t and c. It sets r.Err if
// a renewal or a login failed.
func (g *Transport) replaceToken(ctx context.Context, r *Refusal, t *Token, c *credential) bool {
	if r.OwnField || r.HasAllScopes || g.Store == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// The cheapest way first. Each changes t if it succeeds.
	isReplaced := g.reloadLocked(t) || g.renewRefusedLocked(ctx, r, t) || g.loginLocked(ctx, r, t)
	if !isReplaced {
		return false
	}
	*c, r.Err = g.credentialLocked(*t)
	if r.Err != nil {
		return false
	}
	g.unsolved = nil
	return true
}

// reloadLocked replaces t with the stored token, if another request or process has stored a
// different one. The caller holds mu.
func (g *Transport) reloadLocked(t *Token) bool {
	records, err := g.Store.Load()
	if err != nil {
		return false
	}
	g.records = &records
	stored, ok := records.Token(g.Endpoint, g.Account)
	if !ok || stored.Access == t.Access {
		return false
	}
	*t = stored
	return true
}

// renewRefusedLocked replaces t, a refused token, with a renewed one, and reports whether it did. It sets
// r.Err if the renewal failed. It renews only once until the server accepts a token: a server that
// refuses a new token will refuse the next one too. The caller holds mu.
func (g *Transport) renewRefusedLocked(ctx context.Context, r *Refusal, t *Token) bool {
	if r.Status != http.StatusUnauthorized || g.renewed.Load() || !t.IsRenewable() {
		return false
	}
	if g.Now().Before(g.renewAfter) {
		r.Err = g.tokenErr
		return false
	}
	g.renewed.Store(true)
	const refused = true
	fresh, err := g.renewLocked(ctx, *t, refused)
	if IsTransient(err) { // it may be tried again, after renewRetryDelay
		g.renewed.Store(false)
	}
	if err != nil || fresh.Access == "" {
		r.Err = err
		return false
	}
	*t = fresh
	return true
}

// loginLocked lets the user log in, unless the token can be renewed later, and replaces t with the token
// of the login. It reports whether it did, and sets r.Err if the login failed. The caller holds mu.
func (g *Transport) loginLocked(ctx context.Context, r *Refusal, t *Token) bool {
	if g.Login == nil || g.logins >= maxLogins || IsTransient(r.Err) {
		return false
	}
	g.logins++
	hasLoggedIn, err := g.Login(ctx, *r)
	r.Err = err
	return err == nil && hasLoggedIn && g.reloadLocked(t)
}
