package auth

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"mcpc/internal/pause"
)

// renewPause is how long a renewal waits before it is tried once more, if the server could not handle it.
const renewPause = time.Second

// renewBefore is how long before its end a token is renewed.
const renewBefore = 30 * time.Second

// Renewable reports whether a new token can be had without asking the user.
func (t Token) Renewable() bool { return t.Refresh != "" || t.Grant.Unattended() }

// Renew gets a new token in place of an old one, under a lock, because a refresh token may
// be good only once: a process that waited for the lock takes the token that the other one
// got. refused is set where the server did not take the old one; then Renew checks whether
// the issuer is still the server's. The zero Token means that only a new login helps.
func (w *Flow) Renew(ctx context.Context, store *Store, old Token, refused bool) (Token, error) {
	release, err := store.File.Lock(ctx)
	if err != nil {
		return Token{}, storeFailed(err)
	}
	defer release()
	book, err := store.Load()
	if err != nil {
		return Token{}, err
	}
	now, ok := book.Token(old.Endpoint, old.Account)
	if !ok || !now.Renewable() && now.Access == old.Access {
		return Token{}, nil
	}
	if now.Access != old.Access {
		return now, nil
	}
	if refused {
		if moved, err := w.moved(ctx, now); moved || err != nil {
			return Token{}, err
		}
	}
	fresh, method, err := w.renew(ctx, store, book, now)
	if errors.Is(err, errInvalidGrant) || errors.Is(err, errInvalidClient) {
		return Token{}, store.Change(ctx, func(b *Records) {
			b.Drop(func(t Token) bool { return t.Access == now.Access })
			if errors.Is(err, errInvalidClient) { // the issuer has forgotten it: the next login registers again
				b.Clients = slices.DeleteFunc(b.Clients, func(c Client) bool { return c.Origin == Registered && c.has(now) })
			}
		})
	}
	if err != nil {
		return Token{}, err
	}
	return fresh, store.Change(ctx, func(b *Records) {
		b.put(fresh)
		for i, c := range b.Clients {
			if c.has(fresh) {
				b.Clients[i].Method = method
			}
		}
	})
}

// moved reports whether the server has another authorization server now: nothing
// that belongs to the old one is of use then (authorization, "Client Registration").
func (w *Flow) moved(ctx context.Context, t Token) (bool, error) {
	endpoint, err := Canonical(t.Endpoint)
	if err != nil {
		return false, err
	}
	r, err := w.resource(ctx, endpoint, Challenge{}, t.Issuer)
	if err != nil || r == nil {
		return false, err
	}
	return !slices.ContainsFunc(
		r.AuthorizationServers,
		func(issuer string) bool { return issuer == t.Issuer || nearly(issuer, t.Issuer) },
	), nil
}

// renew asks the token's own issuer, as the token's own client, and returns how the client proved itself.
func (w *Flow) renew(ctx context.Context, store *Store, book Records, t Token) (_ Token, method string, err error) {
	p, err := w.clientOf(store, book, t)
	if err != nil {
		return Token{}, "", err
	}
	var form url.Values
	if t.Refresh == "" {
		form, err = w.byItself(ctx, store, p.client, t)
		if err != nil {
			return Token{}, "", err
		}
	} else {
		refresh, err := store.Open(t.Refresh)
		if err != nil {
			return Token{}, "", err
		}
		w.learn(refresh)
		form = t.named(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
	}
	key, err := store.key(t.Key)
	if err != nil {
		return Token{}, "", err
	}
	fresh, err := w.redeem(ctx, p, form, key)
	if Is(err, Unavailable) {
		if pause.For(ctx, renewPause) != nil {
			return Token{}, "", err
		}
		fresh, err = w.redeem(ctx, p, form, key)
	}
	if err != nil {
		return Token{}, "", err
	}
	// What is not said stays: the refresh token, and what was granted.
	granted := t.Scopes
	into := t
	same := *store
	same.Seals = t.Access.Sealed() || t.Refresh.Sealed()
	t, err = same.tokenOf(fresh, into, w.now())
	if err == nil && fresh.Scope == nil {
		t.Scopes = granted
	}
	return t, p.client.Method, err
}
