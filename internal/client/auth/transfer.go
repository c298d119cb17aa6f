package auth

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"mcpc/internal/wire"
)

// A Transfer is a stored token with its client, in the format of a file for another machine: a JSON
// object whose members are named as in a token response and a client registration (RFC 6749, section
// 5.1; RFC 7591), with all secrets in plain text. Other programs may write such a file.
type Transfer struct {
	// Server is the URL of the MCP server, Issuer of the authorization server.
	Server       string `json:"server,omitempty"`
	Issuer       string `json:"issuer,omitempty"`
	Account      string `json:"account,omitempty"`
	GrantType    Grant  `json:"grant_type,omitempty"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret,omitempty"`
	AccessToken  string `json:"access_token,omitempty"`
	TokenType    string `json:"token_type,omitempty"`
	RefreshToken string `json:"refresh_token,omitempty"`
	// ExpiresAt is when the access token expires, or zero if that is unknown. expires_in is not read,
	// because a file does not say when it was written.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Scope     string    `json:"scope,omitempty"`
	// OmitResource is set if requests do not name the resource (RFC 8707).
	OmitResource bool `json:"omit_resource,omitempty"`
	// DPoPKey is the private key that the token is bound to: PKCS #8 in base64.
	DPoPKey string `json:"dpop_key,omitempty"`
}

// transferable are the grants whose tokens can be renewed without a file of the machine that
// obtained them.
var transferable = []Grant{AuthorizationCode, DeviceCode, ClientCredentials}

// ReadTransfer parses and checks a file for [Import]. A missing grant_type is authorization_code, a
// missing token_type Bearer.
func ReadTransfer(raw []byte) (Transfer, error) {
	var t Transfer
	damaged := func(text string) error {
		return &Error{
			Rule: KeyUnusable, Text: "not a token file: " + text,
			Hint: `it is one JSON object: {"access_token":…,"refresh_token":…,"client_id":…}; ` +
				wire.Run("auth export TARGET -o FILE") + " writes one",
		}
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return t, damaged("it is not a JSON object of strings, with expires_at in the form of RFC 3339")
	}
	if t.GrantType == "" {
		t.GrantType = AuthorizationCode
	}
	if t.TokenType == "" {
		t.TokenType = "Bearer"
	}
	if t.ClientID == "" {
		return t, damaged("it has no client_id")
	}
	if t.AccessToken == "" && t.RefreshToken == "" {
		return t, damaged("it has neither access_token nor refresh_token")
	}
	if !isTokenText(t.AccessToken + t.RefreshToken) {
		return t, damaged("a token has a character that is not allowed")
	}
	if !slices.Contains(transferable, t.GrantType) {
		return t, damaged("a token of this grant_type cannot be imported: log in with " + wire.Run("login --grant").String())
	}
	return t, nil
}

// Secrets returns the values that must not be shown. Some may be "".
func (t Transfer) Secrets() []string {
	return []string{t.ClientSecret, t.AccessToken, t.RefreshToken, t.DPoPKey}
}

// Import stores the token of a transfer for req.Endpoint, in place of the account's token for that
// server, under the lock of [Flow.Renew]. It discovers the authorization server as a login does,
// and returns an error if that is not the transfer's issuer. A transfer without an access token is
// stored as expired.
func Import(ctx context.Context, flow *Flow, store *Store, req Request, from Transfer) (Token, error) {
	known, err := store.Load()
	if err != nil {
		return Token{}, err
	}
	endpoint, err := Canonical(req.Endpoint)
	if err != nil {
		return Token{}, err
	}
	if from.Issuer != "" {
		req.Issuer = from.Issuer
	}
	req.Grant = from.GrantType
	found, err := flow.Discover(ctx, req, known)
	if err != nil {
		return Token{}, err
	}
	if from.Issuer != "" && found.Server.Issuer != from.Issuer {
		return Token{}, &Error{
			Rule: NotOffered,
			Text: "the token is from " + from.Issuer + ", and the server's authorization server is " + found.Server.Issuer,
			Hint: wire.Run("login") + " gets a token from there",
		}
	}
	req.Settings = req.withDefaults(known.settings(endpoint.String(), req.Account, found.Server.Issuer))
	l := &login{flow: flow, store: store, req: req, known: known, found: found}
	l.token = l.newToken(endpoint)
	l.token.OmitResource = l.token.OmitResource || from.OmitResource
	l.token.Requested = strings.Fields(from.Scope)
	l.token.Key, err = store.Seal(from.DPoPKey)
	if err != nil {
		return Token{}, err
	}
	l.key, err = store.key(l.token.Key) // nil if the token is bound to no key
	if err != nil {
		return Token{}, err
	}
	response := &tokenResponse{Access: from.AccessToken, Refresh: from.RefreshToken, Type: from.TokenType}
	if err := checkToken(flow, response, l.key); err != nil {
		return Token{}, err
	}
	// A Document client is not stored: without a secret, its id in the token is all that is needed.
	c := Client{Issuer: found.Server.Issuer, ID: from.ClientID, Origin: Document, Grant: req.Grant}
	if from.ClientSecret != "" {
		c.Origin = Given
		c.Secret, err = store.Seal(from.ClientSecret)
		if err != nil {
			return Token{}, err
		}
	}
	l.token.Client = c.ID
	l.token, err = store.tokenOf(response, l.token, flow.now())
	if err != nil {
		return Token{}, err
	}
	l.token.Expires = from.ExpiresAt.UTC()
	if from.AccessToken == "" { // the first use renews it
		l.token.Expires = flow.now().UTC()
	}
	release, err := store.File.Lock(ctx)
	if err != nil {
		return Token{}, storeError(err)
	}
	defer release()
	return l.token, l.save(ctx, c)
}

// Export returns a stored token and its client for another machine, under the lock of [Flow.Renew].
// The files with a client's key and assertion stay on this machine. final reports that the token
// cannot be renewed there.
func (s *Store) Export(ctx context.Context, endpoint, account string) (t Transfer, final bool, err error) {
	release, err := s.File.Lock(ctx)
	if err != nil {
		return Transfer{}, false, storeError(err)
	}
	defer release()
	records, err := s.Load()
	if err != nil {
		return Transfer{}, false, err
	}
	token, ok := records.Token(endpoint, account)
	if !ok {
		return Transfer{}, false, &Error{
			Rule: KeyUnusable,
			Text: "no token is stored for this server",
			Hint: wire.Run("auth") + " lists the tokens",
		}
	}
	c := records.clientOf(token)
	t = Transfer{
		Server:       token.Endpoint,
		Issuer:       token.Issuer,
		Account:      token.Account,
		GrantType:    token.Grant,
		ClientID:     token.Client,
		TokenType:    "Bearer",
		ExpiresAt:    token.Expires,
		Scope:        strings.Join(token.Scopes, " "),
		OmitResource: token.OmitResource,
	}
	if token.Key != "" {
		t.TokenType = "DPoP"
	}
	for _, secret := range []struct {
		stored Secret
		into   *string
	}{
		{c.Secret, &t.ClientSecret},
		{token.Access, &t.AccessToken},
		{token.Refresh, &t.RefreshToken},
		{token.Key, &t.DPoPKey},
	} {
		*secret.into, err = s.Open(secret.stored)
		if err != nil {
			return Transfer{}, false, err
		}
	}
	if !slices.Contains(transferable, t.GrantType) { // ReadTransfer accepts no other grant
		t.GrantType = AuthorizationCode
	}
	isRenewable := t.RefreshToken != "" || token.Grant == ClientCredentials && c.Secret != ""
	needsKeyFile := c.KeyFile != ""
	return t, !isRenewable || needsKeyFile, nil
}
