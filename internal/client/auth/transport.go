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

// A Refusal is what a server said to a request that had no token, or not the right one. A
// renewal or login may yet solve it.
type Refusal struct {
	Status int
	// URL is where the request went. Fields are the values of WWW-Authenticate.
	URL    string
	Fields []string
	Challenge
	// Sent is set where a stored token was sent; OwnField where the user had set the
	// field himself, or the token is one that mcpc did not get.
	Sent, OwnField bool
	// Grant is how the token that was sent was obtained.
	Grant Grant
	// Scopes are those that the challenge asks for and the token was not asked for;
	// Again is set where it was asked for all of them, and nothing is left to try.
	Scopes []string
	Again  bool
	// Err is why the token could not be renewed, or the login failed; else nil.
	Err error
}

// A Transport is the http.RoundTripper of one conversation, see the package. A token is sent
// where it was issued for the conversation's endpoint, and to its origin only: in the
// oldest transport the endpoint names another path there to post to.
type Transport struct {
	// Base leads to the network; see Over.
	Base     http.RoundTripper
	Endpoint string
	// Fixed is a token that the user brings himself.
	Fixed string
	// Store has the others; it may be nil.
	Store   *Store
	Account string
	NewFlow func(ctx context.Context) *Flow
	Now     func() time.Time
	// AddSecret is called with each stored token before it is sent.
	AddSecret func(secrets ...string)
	// Pause is called before a token is renewed, and what it gives back afterwards: that
	// takes its own time, and none of the request's. It may be nil.
	Pause func(ctx context.Context) (resume func())
	// Login asks the user to log in, and reports whether that is done. It is nil where
	// there is no user to ask.
	Login func(ctx context.Context, r Refusal) (bool, error)

	mu   sync.Mutex
	book *Records
	// renewed is set where a refusal was answered with a renewal, until a token is taken.
	renewed atomic.Bool
	// renewAt is when a renewal that failed may be tried once more.
	renewAt  time.Time
	logins   int
	unsolved *Refusal
	// failed is why a token that may be there was not used.
	failed error
	nonces sync.Map
}

// Over sets Base and returns the transport.
func (g *Transport) Over(base http.RoundTripper) http.RoundTripper {
	g.Base = base
	return g
}

// maxLogins bounds how often one command may ask the user to log in: once because there is
// no token, and twice for more scopes.
const maxLogins = 3

// Unsolved is the last refusal that stayed one, or nil.
func (g *Transport) Unsolved() *Refusal {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.unsolved
}

// OtherAccounts returns the accounts that have a token for the endpoint, without the transport's own.
func (g *Transport) OtherAccounts() (names []string) {
	if g.Store == nil {
		return nil
	}
	book, err := g.Store.Load()
	if err != nil {
		return nil
	}
	for _, t := range book.Tokens {
		if t.Account != g.Account && t.Account != "" && Covers(t.Resource, g.Endpoint) {
			names = append(names, t.Account)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// RoundTrip sends a request with the token for it, where there is one. What the
// server refuses is sent again if a better token can be had: it was not acted upon
// (authorization, "Error Handling").
func (g *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("Authorization") != "" {
		resp, err := g.Base.RoundTrip(req)
		if err == nil {
			g.judge(resp, Token{}, true)
		}
		return resp, err
	}
	t, c := g.token(req.Context(), req.URL)
	for again := false; ; again = true {
		resp, err := g.send(req, c, again)
		if err != nil {
			return nil, err
		}
		refusal := g.judge(resp, t, g.Fixed != "" && c.secret != "")
		if refusal == nil || !g.ours(req.URL) || !g.better(req.Context(), refusal, &t, &c) {
			return resp, nil
		}
		drop(resp)
	}
}

// send sends a request with a credential, and where it was sent before with its body
// from the start.
func (g *Transport) send(req *http.Request, c credential, before bool) (*http.Response, error) {
	if !before && c.secret == "" && c.key == nil {
		return g.Base.RoundTrip(req)
	}
	again, err := fromStart(req)
	if err != nil {
		return nil, err
	}
	if c.secret != "" {
		again.Header.Set("Authorization", c.authorization())
	}
	if c.key != nil {
		return g.prover(c).RoundTrip(again)
	}
	return g.Base.RoundTrip(again)
}

// fromStart is a request that may be sent once more.
func fromStart(req *http.Request) (*http.Request, error) {
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		again.Body = body
	}
	return again, nil
}

// drop lets go of a response, so that its connection can be used again.
func drop(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	resp.Body.Close()
}

// token is the one that may be sent to u, renewed where it is about to end. What
// cannot be read is not there: perhaps the server asks for none.
func (g *Transport) token(ctx context.Context, u *url.URL) (t Token, c credential) {
	if !g.ours(u) || g.Fixed == "" && g.Store == nil {
		return Token{}, credential{}
	}
	if g.Fixed != "" {
		return Token{}, credential{secret: g.Fixed}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t, ok := g.storedLocked()
	if !ok {
		return Token{}, credential{}
	}
	isStale := !t.Expires.IsZero() && !g.Now().Add(renewBefore).Before(t.Expires)
	if isStale && t.Renewable() && !g.Now().Before(g.renewAt) {
		if fresh, err := g.renewLocked(ctx, t, false); err == nil {
			t = fresh
		}
	}
	c, err := g.openLocked(t)
	if err != nil {
		g.failed = err
		return Token{}, credential{}
	}
	return t, c
}

// ours reports whether a URL is of the conversation's own origin.
func (g *Transport) ours(u *url.URL) bool {
	at, err := url.Parse(g.Endpoint)
	return err == nil && sameOrigin(at, u)
}

// Extensions are the ids of the extensions of the grant of the token that would be
// sent now.
func (g *Transport) Extensions() []string {
	if g.Fixed != "" || g.Store == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t, _ := g.storedLocked()
	return extensions[t.Grant]
}

func (g *Transport) storedLocked() (Token, bool) {
	if g.book == nil {
		book, err := g.Store.Load()
		if err != nil {
			g.failed = err
			return Token{}, false
		}
		g.book = &book
	}
	return g.book.Token(g.Endpoint, g.Account)
}

func (g *Transport) openLocked(t Token) (credential, error) {
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

// renewAgain is how long a renewal that failed is not tried again: each request would
// wait for a token endpoint that does not answer.
const renewAgain = time.Minute

// renewLocked renews and reads the store anew.
func (g *Transport) renewLocked(ctx context.Context, t Token, refused bool) (Token, error) {
	w := g.NewFlow(ctx)
	defer w.Net.Close()
	if g.Pause != nil {
		defer g.Pause(ctx)()
	}
	fresh, err := w.Renew(ctx, g.Store, t, refused)
	if err != nil {
		g.failed, g.renewAt = err, g.Now().Add(renewAgain)
		return Token{}, err
	}
	g.book = nil
	return fresh, nil
}

// judge says whether a response is a refusal that a token could change, and keeps
// it. Any other 403 is policy, and no challenge (authorization, "Error Handling").
func (g *Transport) judge(resp *http.Response, t Token, own bool) *Refusal {
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		if resp.StatusCode/100 == 2 && t.Access != "" {
			g.renewed.Store(false)
		}
		return nil
	}
	fields := resp.Header["Www-Authenticate"]
	c, challenged := Wanted(ParseChallenges(fields))
	isForbidden := resp.StatusCode == http.StatusForbidden
	short := isForbidden && challenged && c.Params["error"] == "insufficient_scope"
	if isForbidden && !short {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &Refusal{Status: resp.StatusCode, URL: resp.Request.URL.String(), Fields: slices.Clone(fields),
		Challenge: c, Sent: t.Access != "", OwnField: own, Grant: t.Grant, Scopes: missing(c.Scopes(), t.Requested)}
	if t.Access == "" && !own {
		r.Err = g.failed
	}
	r.Again = short && t.Access != "" && len(r.Scopes) == 0 && len(c.Scopes()) > 0
	g.unsolved = r
	return r
}

// better gets another token than the one that was refused: renewed, got by another request
// meanwhile, or by a login of the user.
func (g *Transport) better(ctx context.Context, r *Refusal, t *Token, c *credential) bool {
	if r.OwnField || r.Again || g.Store == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.otherLocked(t) && !g.renewRefusedLocked(ctx, r, t) && !g.loginLocked(ctx, r, t) {
		return false
	}
	*c, r.Err = g.openLocked(*t)
	if r.Err != nil {
		return false
	}
	g.unsolved = nil
	return true
}

// otherLocked takes the token that another request, or another process, has got.
func (g *Transport) otherLocked(t *Token) bool {
	book, err := g.Store.Load()
	if err != nil {
		return false
	}
	g.book = &book
	now, ok := book.Token(g.Endpoint, g.Account)
	if !ok || now.Access == t.Access {
		return false
	}
	*t = now
	return true
}

// renewRefusedLocked renews once: a token that is refused when it is new will be
// refused again.
func (g *Transport) renewRefusedLocked(ctx context.Context, r *Refusal, t *Token) bool {
	if r.Status != http.StatusUnauthorized || g.renewed.Load() || !t.Renewable() {
		return false
	}
	if g.Now().Before(g.renewAt) {
		r.Err = g.failed
		return false
	}
	g.renewed.Store(true)
	fresh, err := g.renewLocked(ctx, *t, true)
	if IsTransient(err) {
		g.renewed.Store(false)
	}
	if err != nil || fresh.Access == "" {
		r.Err = err
		return false
	}
	*t = fresh
	return true
}

// loginLocked lets the user log in, unless the token can be renewed later.
func (g *Transport) loginLocked(ctx context.Context, r *Refusal, t *Token) bool {
	if g.Login == nil || g.logins >= maxLogins || IsTransient(r.Err) {
		return false
	}
	g.logins++
	var done bool
	done, r.Err = g.Login(ctx, *r)
	return r.Err == nil && done && g.otherLocked(t)
}
