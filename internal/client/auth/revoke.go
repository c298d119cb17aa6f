package auth

import (
	"context"
	"net/url"
)

// Revoke tells a token's issuer that it is no longer needed (RFC 7009): the refresh token
// first, with which new ones could be had. told is false where the issuer names no
// revocation endpoint. It does not touch the store.
func (w *Flow) Revoke(ctx context.Context, store *Store, book Records, t Token) (told bool, err error) {
	if t.Revocation == "" {
		return false, nil
	}
	p, err := w.clientOf(store, book, t)
	if err != nil {
		return false, err
	}
	for _, kind := range []struct {
		hint   string
		stored Secret
	}{{"refresh_token", t.Refresh}, {"access_token", t.Access}} {
		if kind.stored == "" {
			continue
		}
		text, err := store.Open(kind.stored)
		if err != nil {
			return false, err
		}
		w.learn(text)
		// The client proves itself as at the token endpoint (RFC 7009, section 2.1). A token
		// that the server does not know is no error.
		_, status, err := w.submit(ctx, w.Net.web, t.Revocation, *p,
			url.Values{"token": {text}, "token_type_hint": {kind.hint}})
		if err == nil && status/100 != 2 {
			err = &Error{Rule: TokenRefused, Text: hostOf(t.Revocation) + " answered " + statusText(status)}
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}
