package auth

import (
	"context"
	"crypto/ecdsa"
	"net/url"
	"strings"

	"mcpc/internal/wire"
)

// A Grant is a way to obtain a token.
type Grant string

// The grants that mcpc supports. The user logs in with a browser on this machine, or on another
// machine (RFC 8628). A program acts on its own account, with a secret or key (RFC 6749, section
// 4.4) or with an assertion of its platform (RFC 7523). A person's sign-on at the enterprise is
// exchanged for a token (RFC 8693).
const (
	AuthorizationCode Grant = "authorization_code"
	DeviceCode        Grant = "device"
	ClientCredentials Grant = "client_credentials"
	JWTBearer         Grant = "jwt-bearer"
	IDJAG             Grant = "id-jag"
)

// Grants are all grants.
var Grants = []Grant{AuthorizationCode, DeviceCode, ClientCredentials, JWTBearer, IDJAG}

// UsesBrowser reports whether the grant uses a browser on this machine.
func (g Grant) UsesBrowser() bool { return g == AuthorizationCode }

// IsUnattended reports whether the grant needs no user.
func (g Grant) IsUnattended() bool { return g == ClientCredentials || g == JWTBearer || g == IDJAG }

// extensions are the MCP extensions that a client declares if it obtained its token with that grant.
var extensions = map[Grant][]string{
	ClientCredentials: {"io.modelcontextprotocol/oauth-client-credentials"},
	IDJAG:             {"io.modelcontextprotocol/enterprise-managed-authorization"},
}

const (
	jwtBearerType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	exchangeType  = "urn:ietf:params:oauth:grant-type:token-exchange"
	deviceType    = "urn:ietf:params:oauth:grant-type:device_code"
)

// An IDP is the enterprise's identity provider, and the file with the person's ID token.
type IDP struct {
	TokenEndpoint string `json:"token_endpoint"`
	ClientID      string `json:"client_id"`
	Secret        Secret `json:"secret,omitempty"`
	// IDTokenFile is read for each request, because ID tokens expire and are replaced.
	IDTokenFile string `json:"id_token_file"`
}

// unattendedForm returns the form of a request for a token that needs no user, by the grant of t. It
// reads files each time, because a platform replaces them. For an ID-JAG it first gets the assertion
// from the identity provider.
func (flow *Flow) unattendedForm(ctx context.Context, store *Store, c Client, t Token) (url.Values, error) {
	form := t.withResource(url.Values{})
	if len(t.Requested) > 0 {
		form.Set("scope", strings.Join(t.Requested, " "))
	}
	switch t.Grant {
	case JWTBearer:
		assertion, err := readAssertion(flow, c.AssertionFile)
		form.Set("grant_type", jwtBearerType)
		form.Set("assertion", assertion)
		return form, err
	case IDJAG:
		// The assertion names the resource and the scopes itself.
		assertion, err := flow.exchangeIDToken(ctx, store, c, t)
		return url.Values{"grant_type": {jwtBearerType}, "assertion": {assertion}}, err
	}
	form.Set("grant_type", string(ClientCredentials))
	return form, nil
}

// exchangeIDToken exchanges the person's ID token at the identity provider for an assertion to one
// authorization server (enterprise-managed-authorization, "Token Exchange").
func (flow *Flow) exchangeIDToken(ctx context.Context, store *Store, c Client, t Token) (string, error) {
	if c.IDP == nil { // readAssertion reports that no file is stored
		c.IDP = &IDP{}
	}
	idToken, err := readAssertion(flow, c.IDP.IDTokenFile)
	if err != nil {
		return "", err
	}
	secret, err := store.Open(c.IDP.Secret)
	if err != nil {
		return "", err
	}
	flow.addSecrets(secret)
	// The user names the endpoint, so it may be in any network.
	idpFlow := *flow
	idpFlow.Net = NewNet(NearnessOf(ctx, c.IDP.TokenEndpoint), flow.Net.route)
	defer idpFlow.Net.Close()
	form := url.Values{
		"grant_type": {exchangeType}, "requested_token_type": {"urn:ietf:params:oauth:token-type:id-jag"},
		"audience": {t.Issuer}, "resource": {t.Resource}, "subject_token": {idToken},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:id_token"},
	}
	if len(t.Requested) > 0 {
		form.Set("scope", strings.Join(t.Requested, " "))
	}
	p := &clientAt{Client{ID: c.IDP.ClientID}, secret, &Server{Token: c.IDP.TokenEndpoint}}
	noKey := (*ecdsa.PrivateKey)(nil) // only the token for the MCP server is bound to a key
	assertion, err := idpFlow.requestAnyToken(ctx, p, form, noKey)
	if err != nil {
		return "", err
	}
	return assertion.Access, nil
}

// readAssertion reads an assertion, which may be an ID token, from a file, without the white space
// around it. It returns an error if the file is empty, or if name is "": then login stored no file
// for the client.
func readAssertion(flow *Flow, name string) (string, error) {
	if name == "" {
		return "", &Error{
			Rule: KeyUnusable, Text: "the client has no stored assertion",
			Hint: "use " + wire.Run("login TARGET --client-id ID") +
				" with --assertion FILE, or with all --idp-… flags and --id-token FILE",
		}
	}
	raw, err := flow.Read(name)
	if err != nil {
		return "", keyError("the assertion cannot be read: "+err.Error(), err)
	}
	text := strings.TrimSpace(string(raw))
	if text == "" {
		return "", keyError("there is no assertion in "+name+": the file is empty", nil)
	}
	flow.addSecrets(text)
	return text, nil
}
