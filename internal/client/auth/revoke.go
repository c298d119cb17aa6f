package auth

import (
	"context"
	"net/url"
)

// Revoke revokes a token at its issuer (RFC 7009): first the refresh token, which could still get
// new tokens. It reports false if the issuer has no revocation endpoint. It does not change the
// store.
func (flow *Flow) Revoke(ctx context.Context, store *Store, records Records, t Token) (revoked bool, err error) {
	if t.Revocation == "" {
		return false, nil
	}
	p, err := flow.clientOf(store, records, t)
	if err != nil {
		return false, err
	}
	for _, kind := range []struct {
		hint   string
		stored Secret
	}{{"refresh_token", t.Refresh}, {"access_token", t.Access}} {
		if kind.stored == "" { // there is no such token
			continue
		}
		text, err := store.Open(kind.stored)
		if err != nil {
			return false, err
		}
		flow.addSecrets(text)
		// The client authenticates as at the token endpoint (RFC 7009, section 2.1). The server accepts a
		// token that it does not know.
		_, status, err := flow.submit(ctx, flow.Net.web, t.Revocation, *p,
			url.Values{"token": {text}, "token_type_hint": {kind.hint}})
		if err == nil && status/100 != 2 {
			err = &Error{Rule: TokenRefused, Text: hostOf(t.Revocation) + " returned " + statusText(status)}
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}
