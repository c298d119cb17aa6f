package auth

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// Revoke tells a token's issuer that nobody wants it any more (RFC 7009): the
// refresh token first, with which new ones could be had. Told is false where the
// issuer names no place for that. It does not touch the store.
func (w *Walk) Revoke(ctx context.Context, store *Store, book Book, t Token) (told bool, err error) {
	if t.Revocation == "" {
		return false, nil
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
		if err := w.revoke(ctx, store, book.of(t), t, url.Values{"token": {text}, "token_type_hint": {kind.hint}}); err != nil {
			return false, err
		}
	}
	return true, nil
}

// revoke sends one request, in which the client proves itself as at the token
// endpoint (RFC 7009, section 2.1). A token that the server does not know is no error.
func (w *Walk) revoke(ctx context.Context, store *Store, c Client, t Token, form url.Values) error {
	if err := w.Net.check(t.Revocation); err != nil {
		return err
	}
	secret, err := store.Open(c.Secret)
	if err != nil {
		return err
	}
	w.learn(secret)
	fields := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}, "User-Agent": {"mcpc"}}
	switch method(c, secret, t.Methods) {
	case "client_secret_basic":
		basic := http.Request{Header: fields}
		basic.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(secret))
	case "client_secret_post":
		form.Set("client_id", c.ID)
		form.Set("client_secret", secret)
	case "private_key_jwt":
		if err := w.signed(form, c, &Server{Issuer: t.Issuer}); err != nil {
			return err
		}
	default:
		form.Set("client_id", c.ID)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return blocked("not a URL: " + t.Revocation)
	}
	req.Header = fields
	_, status, err := w.Net.do(w.Net.web, req)
	w.tell(Step{URL: t.Revocation, Status: status})
	if err == nil && status/100 != 2 {
		err = &Error{Rule: TokenRefused, Text: hostOf(t.Revocation) + " answered " + statusText(status)}
	}
	return err
}
