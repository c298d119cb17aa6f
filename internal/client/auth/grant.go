package auth

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"mcpc/internal/wire"
)

// A Grant is how a token is come by.
type Grant string

// The grants that mcpc speaks: the user goes through a browser here, or through one on
// another machine (RFC 8628); a program acts on its own account, by what it knows (RFC
// 6749, section 4.4) or by what its platform says of it (RFC 7523); a person's sign-on at
// the enterprise is exchanged (RFC 8693).
const (
	AuthorizationCode Grant = "authorization_code"
	DeviceCode        Grant = "device"
	ClientCredentials Grant = "client_credentials"
	JWTBearer         Grant = "jwt-bearer"
	IDJAG             Grant = "id-jag"
)

// Grants are all of them.
var Grants = []Grant{AuthorizationCode, DeviceCode, ClientCredentials, JWTBearer, IDJAG}

// Browser reports whether the user goes through a browser on this machine.
func (g Grant) Browser() bool { return g == AuthorizationCode }

// Unattended reports whether the grant needs no user.
func (g Grant) Unattended() bool { return g == ClientCredentials || g == JWTBearer || g == IDJAG }

// extensions are those that a client declares whose token was come by like that.
var extensions = map[Grant][]string{
	ClientCredentials: {"io.modelcontextprotocol/oauth-client-credentials"},
	IDJAG:             {"io.modelcontextprotocol/enterprise-managed-authorization"},
}

const (
	jwtBearerType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	exchangeType  = "urn:ietf:params:oauth:grant-type:token-exchange"
	deviceType    = "urn:ietf:params:oauth:grant-type:device_code"
)

// An IDP is where a person signs on at the enterprise, and the token that says so.
type IDP struct {
	TokenEndpoint string `json:"token_endpoint"`
	ClientID      string `json:"client_id"`
	Secret        Secret `json:"secret,omitempty"`
	// IDTokenFile is read anew each time: what it holds ends, and is replaced.
	IDTokenFile string `json:"id_token_file"`
}

// byItself returns the request for a token that needs no user. What is in files is read
// anew, because a platform replaces it.
func (w *Flow) byItself(ctx context.Context, store *Store, c Client, t Token) (url.Values, error) {
	form := t.named(url.Values{})
	if len(t.Requested) > 0 {
		form.Set("scope", strings.Join(t.Requested, " "))
	}
	switch t.Grant {
	case JWTBearer:
		assertion, err := secretIn(w, c.AssertionFile)
		form.Set("grant_type", jwtBearerType)
		form.Set("assertion", assertion)
		return form, err
	case IDJAG:
		assertion, err := w.exchange(ctx, store, c, t)
		return url.Values{"grant_type": {jwtBearerType}, "assertion": {assertion}}, err
	}
	form.Set("grant_type", string(ClientCredentials))
	return form, nil
}

// exchange gets an identity assertion for one authorization server from the
// enterprise's (enterprise-managed-authorization, "Token Exchange").
func (w *Flow) exchange(ctx context.Context, store *Store, c Client, t Token) (string, error) {
	c.IDP = cmp.Or(c.IDP, &IDP{})
	idToken, err := secretIn(w, c.IDP.IDTokenFile)
	if err != nil {
		return "", err
	}
	secret, err := store.Open(c.IDP.Secret)
	if err != nil {
		return "", err
	}
	w.learn(secret)
	// The address is the user's own, whatever network it is in.
	there := *w
	there.Net = NewNet(NearnessOf(ctx, c.IDP.TokenEndpoint), w.Net.way)
	defer there.Net.Close()
	form := url.Values{"grant_type": {exchangeType}, "requested_token_type": {"urn:ietf:params:oauth:token-type:id-jag"},
		"audience": {t.Issuer}, "resource": {t.Resource}, "subject_token": {idToken},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:id_token"}}
	if len(t.Requested) > 0 {
		form.Set("scope", strings.Join(t.Requested, " "))
	}
	p := &clientAt{Client{ID: c.IDP.ClientID}, secret, &Server{Token: c.IDP.TokenEndpoint}}
	got, err := there.ask(ctx, p, form, nil)
	if err != nil {
		return "", err
	}
	return got.Access, nil
}

// secretIn reads a token from a file.
func secretIn(w *Flow, name string) (string, error) {
	if name == "" {
		return "", &Error{
			Rule: KeyUnusable,
			Text: "the client has no stored assertion",
			Hint: "use " + wire.Run(
				"login TARGET --client-id ID",
			) + " with --assertion FILE, or with all --idp-… flags and --id-token FILE",
		}
	}
	raw, err := w.Read(name)
	if err != nil {
		return "", keyUnusable("the assertion cannot be read: "+err.Error(), err)
	}
	text := strings.TrimSpace(string(raw))
	if text == "" {
		return "", keyUnusable("there is no assertion in "+name+": the file is empty", nil)
	}
	w.learn(text)
	return text, nil
}
