package auth

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// method is how a client proves itself at the token endpoint: as it was registered,
// as it was asked for, or as the server likes it (authorization, "Token Request").
func method(c Client, secret string, supported []string) string {
	switch {
	case c.Method != "":
		return c.Method
	case c.KeyFile != "":
		return "private_key_jwt"
	case secret == "":
		return "none"
	case len(supported) == 0 || slices.Contains(supported, "client_secret_basic"):
		return "client_secret_basic"
	case slices.Contains(supported, "client_secret_post"):
		return "client_secret_post"
	case slices.Contains(supported, "none"):
		return "none"
	}
	return "client_secret_basic"
}

// redeem asks a token endpoint for a token that mcpc can use, as a client of it. It
// is bound to key, where that is not nil.
func (w *Walk) redeem(ctx context.Context, s *Server, c Client, secret string, form url.Values, key *ecdsa.PrivateKey) (*oauth2.Token, error) {
	t, err := w.ask(ctx, s, c, secret, form, key)
	if err != nil {
		return nil, err
	}
	return t, w.isUsable(t, key)
}

// ask asks for a token of any sort. The library writes the request, and is never
// left to find out by trying how a client proves itself: it would send a code twice.
func (w *Walk) ask(ctx context.Context, s *Server, c Client, secret string, form url.Values, key *ecdsa.PrivateKey) (*oauth2.Token, error) {
	if err := w.Net.check(s.Token); err != nil {
		return nil, err
	}
	ask := clientcredentials.Config{TokenURL: s.Token, EndpointParams: form, AuthStyle: oauth2.AuthStyleInParams}
	switch how := method(c, secret, s.Methods); how {
	case "client_secret_basic":
		ask.AuthStyle, ask.ClientID, ask.ClientSecret = oauth2.AuthStyleInHeader, c.ID, secret
	case "client_secret_post":
		ask.ClientID, ask.ClientSecret = c.ID, secret
	case "private_key_jwt":
		if err := w.signed(form, c, s); err != nil {
			return nil, err
		}
	case "none":
		ask.ClientID = c.ID
	default:
		return nil, &Error{Rule: NoRegistration, Text: fmt.Sprintf("the client has to prove itself with %q, which mcpc cannot", how)}
	}
	t, err := ask.Token(context.WithValue(ctx, oauth2.HTTPClient, w.bound(key)))
	return t, w.told(s, t, err)
}

// told tells of what a token endpoint answered.
func (w *Walk) told(s *Server, t *oauth2.Token, err error) error {
	w.tell(Step{URL: s.Token, Status: statusOf(t, err)})
	if err != nil {
		return refusedToken(s, err)
	}
	w.learn(t.AccessToken, t.RefreshToken)
	return nil
}

// took is told of a token that has to be one that mcpc can use.
func (w *Walk) took(s *Server, t *oauth2.Token, key *ecdsa.PrivateKey, err error) error {
	if err := w.told(s, t, err); err != nil {
		return err
	}
	return w.isUsable(t, key)
}

// isUsable: a token that was to be bound to a key is, and no other one.
func (w *Walk) isUsable(t *oauth2.Token, key *ecdsa.PrivateKey) error {
	if key != nil {
		return w.holds("\"token_type\" is DPoP (RFC 9449 section 5)", strings.EqualFold(t.TokenType, "dpop"), &Error{Rule: TokenType,
			Text: fmt.Sprintf("the token is of the type %q, and not bound to the key", t.TokenType)})
	}
	return w.holds("\"token_type\" is Bearer (RFC 6749 section 7.1)", strings.EqualFold(t.TokenType, "bearer"), &Error{Rule: TokenType,
		Text: fmt.Sprintf("the token is of the type %q, which mcpc cannot use", t.TokenType)})
}

// styleOf is what the library calls a method without an assertion.
func styleOf(method string) oauth2.AuthStyle {
	if method == "client_secret_basic" {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

func statusOf(t *oauth2.Token, err error) int {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil {
		return refused.Response.StatusCode
	}
	if t != nil {
		return 200
	}
	return 0
}

// refusedToken says what a token endpoint answered, and nothing of the body.
func refusedToken(s *Server, err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return &Error{Rule: TokenRefused, Err: causes[refused.ErrorCode], Hint: hints[refused.ErrorCode],
			Text: "the authorization server gave no token" + saying(refused.ErrorCode, refused.ErrorDescription, statusOf(nil, err))}
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return unreachable(s.Token, err)
	}
	return &Error{Rule: TokenRefused, Text: hostOf(s.Token) + " answered the token request with what is no token"}
}

// What was redeemed is worth nothing any more, and the server does not know the
// client any more.
var (
	errInvalidGrant  = errors.New("invalid_grant")
	errInvalidClient = errors.New("invalid_client")
)

// causes are the codes on which something depends (RFC 6749, section 5.2).
var causes = map[string]error{"invalid_grant": errInvalidGrant, "invalid_client": errInvalidClient}

// hints are for those of these codes that the user can do something about.
var hints = map[string]string{
	"invalid_client":      "the client id or its secret is not what is registered there: --client-id ID --client-secret-file FILE",
	"unauthorized_client": "the client may not use this grant there: another --grant, or the server's operator",
	"invalid_scope":       "the client may not have these scopes there: --scope names fewer",
	"expired_token":       "nobody typed the code in time: mcpc login --grant device shows a new one",
	"access_denied":       "whoever was asked said no",
}

// tokenOf is what is kept of a token. Where the server names no scope it granted
// what was asked for (RFC 6749, section 5.1).
func (s *Store) tokenOf(t *oauth2.Token, into Token) (Token, error) {
	access, err := s.Seal(t.AccessToken)
	if err != nil {
		return Token{}, err
	}
	into.Access, into.Expires, into.Scopes = access, t.Expiry.UTC().Truncate(1e9), into.Requested
	if t.Expiry.IsZero() {
		into.Expires = t.Expiry
	}
	if granted, ok := t.Extra("scope").(string); ok {
		into.Scopes = strings.Fields(granted)
	}
	if t.RefreshToken != "" {
		if into.Refresh, err = s.Seal(t.RefreshToken); err != nil {
			return Token{}, err
		}
	}
	return into, nil
}
