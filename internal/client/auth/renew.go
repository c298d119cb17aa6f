package auth

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"mcpc/internal/pause"
)

// renewPause is how long a renewal waits before its second attempt if the server could not handle
// the first.
const renewPause = time.Second

// renewBefore is how long before its expiry a token is renewed.
const renewBefore = 30 * time.Second

// IsRenewable reports whether a new token can be requested without the user.
func (t Token) IsRenewable() bool { return t.Refresh != "" || t.Grant.IsUnattended() }

// Renew requests a new token in place of old and stores it. It holds the store's lock, because a
// refresh token may be valid only once; if another process renewed the token meanwhile, Renew
// returns that token. refused reports whether the server rejected old; Renew then checks that the
// server still names the token's issuer. It returns the zero Token if only a new login helps.
func (flow *Flow) Renew(ctx context.Context, store *Store, old Token, refused bool) (Token, error) {
	release, err := store.File.Lock(ctx)
	if err != nil {
		return Token{}, storeError(err)
	}
	defer release()
	records, err := store.Load()
	if err != nil {
		return Token{}, err
	}
	current, ok := records.Token(old.Endpoint, old.Account)
	if !ok {
		return Token{}, nil
	}
	if current.Access != old.Access { // another process renewed it
		return current, nil
	}
	if !current.IsRenewable() {
		return Token{}, nil
	}
	if refused {
		if moved, err := flow.issuerChanged(ctx, current); moved || err != nil {
			return Token{}, err
		}
	}
	fresh, method, err := flow.requestRenewal(ctx, store, records, current)
	if errors.Is(err, errInvalidGrant) || errors.Is(err, errInvalidClient) { // the token is not valid any more
		return Token{}, store.Change(ctx, func(b *Records) {
			b.Drop(func(t Token) bool { return t.Access == current.Access })
			if errors.Is(err, errInvalidClient) { // the issuer deleted the client: the next login registers again
				isDeleted := func(c Client) bool { return c.Origin == Registered && c.owns(current) }
				b.Clients = slices.DeleteFunc(b.Clients, isDeleted)
			}
		})
	}
	if err != nil {
		return Token{}, err
	}
	return fresh, store.Change(ctx, func(b *Records) {
		b.putToken(fresh)
		for i, c := range b.Clients {
			if c.owns(fresh) {
				b.Clients[i].Method = method
			}
		}
	})
}

// issuerChanged reports whether the server's resource metadata names another authorization server
// now. The tokens and clients of the old authorization server are of no use then (authorization,
// "Client Registration"). It returns false if the server has no metadata.
func (flow *Flow) issuerChanged(ctx context.Context, t Token) (bool, error) {
	endpoint, err := Canonical(t.Endpoint)
	if err != nil {
		return false, err
	}
	r, err := flow.findResource(ctx, endpoint, Challenge{}, t.Issuer)
	if err != nil || r == nil {
		return false, err
	}
	return !offersIssuer(r, t.Issuer), nil
}

// requestRenewal requests a new token from the token's issuer, with its refresh token or else as at the
// login. It tries once more if the server could not handle the request. It returns the token, which it
// does not store, and the authentication method that worked.
func (flow *Flow) requestRenewal(
	ctx context.Context, store *Store, records Records, t Token,
) (_ Token, method string, err error) {
	p, err := flow.clientOf(store, records, t)
	if err != nil {
		return Token{}, "", err
	}
	var form url.Values
	if t.Refresh == "" {
		form, err = flow.unattendedForm(ctx, store, p.client, t)
		if err != nil {
			return Token{}, "", err
		}
	} else {
		refresh, err := store.Open(t.Refresh)
		if err != nil {
			return Token{}, "", err
		}
		flow.addSecrets(refresh)
		form = t.withResource(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
	}
	key, err := store.key(t.Key)
	if err != nil {
		return Token{}, "", err
	}
	fresh, err := flow.requestToken(ctx, p, form, key)
	if HasRule(err, Unavailable) {
		if pause.For(ctx, renewPause) != nil {
			return Token{}, "", err
		}
		fresh, err = flow.requestToken(ctx, p, form, key)
	}
	if err != nil {
		return Token{}, "", err
	}
	sameForm := *store // stores the new secrets as the old ones: encrypted or not
	sameForm.Seals = t.Access.IsSealed() || t.Refresh.IsSealed()
	// The refresh token and the granted scopes stay the same unless the response has new ones.
	renewed, err := sameForm.tokenOf(fresh, t, flow.now())
	if err == nil && fresh.Scope == nil {
		renewed.Scopes = t.Scopes
	}
	return renewed, p.client.Method, err
}
