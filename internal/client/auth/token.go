package auth

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// authMethod returns how a client authenticates at the token endpoint: the method that it registered
// with, else the first method that the client can use and the server supports (authorization, "Token
// Request").
func authMethod(c Client, secret string, supported []string) string {
	if c.Method != "" {
		return c.Method
	}
	if c.KeyFile != "" {
		return "private_key_jwt"
	}
	if secret == "" {
		return "none"
	}
	// A server that supports only none ignores the secret.
	for _, how := range []string{secretInHeader, secretInBody, "none"} {
		if slices.Contains(supported, how) {
			return how
		}
	}
	return secretInHeader // the default of a server that lists no method (RFC 8414, section 2)
}

// The methods of clients with a secret.
const (
	secretInHeader = "client_secret_basic"
	secretInBody   = "client_secret_post"
)

// requestToken requests a token and checks its type. The token is bound to key, unless key is nil.
func (flow *Flow) requestToken(
	ctx context.Context, p *clientAt, form url.Values, key *ecdsa.PrivateKey,
) (*tokenResponse, error) {
	t, err := flow.requestAnyToken(ctx, p, form, key)
	if err != nil {
		return nil, err
	}
	return t, checkToken(flow, t, key)
}

// requestAnyToken requests a token of any type. If key is not nil, the request proves possession of
// it. It returns an error if the response has no access token, or a token with characters that a
// header field cannot contain.
func (flow *Flow) requestAnyToken(
	ctx context.Context, p *clientAt, form url.Values, key *ecdsa.PrivateKey,
) (*tokenResponse, error) {
	where := p.server.Token
	web := flow.Net.web
	if key != nil {
		proving := *web
		proving.Transport = prover{base: web.Transport, key: key, now: flow.now, nonces: &sync.Map{}}
		web = &proving
	}
	t, err := flow.post(ctx, web, where, p, form)
	if err != nil {
		return nil, err
	}
	if t.Access == "" {
		return nil, &Error{Rule: TokenRefused, Text: hostOf(where) + " sent a token response without an access_token"}
	}
	isValid := isTokenText(t.Access) && isTokenText(t.Refresh)
	return t, flow.check("the tokens contain only allowed characters (RFC 6749 appendix A)", isValid,
		&Error{Rule: TokenRefused, Text: hostOf(where) + " sent a token with invalid characters"})
}

// post sends a form to an endpoint and reads the response. If the server rejects a client secret in
// the header, and mcpc chose that method, post tries once to send the secret in the body. It keeps
// that method in p if the server accepts it.
func (flow *Flow) post(
	ctx context.Context, web *http.Client, where string, p *clientAt, form url.Values,
) (*tokenResponse, error) {
	isRejected := func(err error) bool { return errors.Is(err, errInvalidClient) || errors.Is(err, errInvalidRequest) }
	first, firstErr := flow.postOnce(ctx, web, where, *p, form)
	if !isRejected(firstErr) || !p.canSendSecretInBody() {
		return first, firstErr
	}
	flow.report(Step{Text: "the client's secret in the header was not accepted: sending it in the body"})
	other := *p
	other.client.Method = secretInBody
	second, secondErr := flow.postOnce(ctx, web, where, other, form)
	if isRejected(secondErr) { // return the error of the usual method
		return first, firstErr
	}
	*p = other
	return second, secondErr
}

// postOnce sends a form to an endpoint and reads the response. It returns an error, with a hint, if
// the server rejected the request.
func (flow *Flow) postOnce(
	ctx context.Context, web *http.Client, where string, p clientAt, form url.Values,
) (*tokenResponse, error) {
	raw, status, err := flow.submit(ctx, web, where, p, form)
	if err != nil {
		return nil, err
	}
	response, err := readTokenResponse(where, raw, status)
	flow.addSecrets(response.Access, response.Refresh, response.DeviceCode)
	if failed, ok := errors.AsType[*Error](err); ok {
		failed.Hint = hintFor(response.Error, response.Description, form.Has("resource"))
		if response.Error == "invalid_client" && authMethod(p.client, p.secret, p.server.Methods) == "private_key_jwt" {
			failed.Hint = "check --private-key and --key-id; some servers want their token endpoint's URL as --audience"
		}
	}
	if err != nil {
		return nil, err
	}
	return response, nil
}

// canSendSecretInBody reports whether mcpc chose to send the client's secret in the header and the
// server may accept it in the body.
func (p clientAt) canSendSecretInBody() bool {
	isChosenHere := p.client.Method == "" && authMethod(p.client, p.secret, p.server.Methods) == secretInHeader
	mayAccept := len(p.server.Methods) == 0 || slices.Contains(p.server.Methods, secretInBody)
	return isChosenHere && mayAccept
}

// isTokenText reports whether a text consists of visible ASCII characters, so that a header field
// can contain it.
func isTokenText(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// A clientAt is a client with its secret and the authorization server that knows it.
type clientAt struct {
	client Client
	secret string
	server *Server
}

// clientOf returns the client that a token was issued to, with its secret.
func (flow *Flow) clientOf(store *Store, records Records, t Token) (*clientAt, error) {
	c := records.clientOf(t)
	secret, err := store.Open(c.Secret)
	flow.addSecrets(secret)
	return &clientAt{c, secret, &Server{Issuer: t.Issuer, Token: t.TokenEndpoint, Methods: t.Methods}}, err
}

// submit sends a form to an endpoint of an authorization server, with the client's authentication
// (RFC 6749, section 2.3.1), and reports the request. It returns the response's body and status, whatever
// the status is. It does not change form.
func (flow *Flow) submit(
	ctx context.Context, web *http.Client, where string, p clientAt, form url.Values,
) (raw []byte, status int, err error) {
	if err := flow.Net.checkURL(where); err != nil { // before an assertion is made and reported
		return nil, 0, err
	}
	form = maps.Clone(form)
	fields := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	switch how := authMethod(p.client, p.secret, p.server.Methods); how {
	case secretInHeader:
		basic := http.Request{Header: fields} // it writes into fields
		basic.SetBasicAuth(url.QueryEscape(p.client.ID), url.QueryEscape(p.secret))
	case secretInBody:
		form.Set("client_id", p.client.ID)
		form.Set("client_secret", p.secret)
	case "private_key_jwt":
		assertion, err := flow.assertion(p.client, p.server)
		if err != nil {
			return nil, 0, err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer") // RFC 7521, section 4.2
		form.Set("client_assertion", assertion)
	case "none":
		form.Set("client_id", p.client.ID)
	default:
		return nil, 0, &Error{Rule: NoRegistration, Text: fmt.Sprintf("unsupported client authentication method %q", how)}
	}
	s, err := flow.send(ctx, web, http.MethodPost, where, fields, []byte(form.Encode()))
	flow.report(s)
	return s.Received, s.Status, err
}

// A tokenResponse is the response of a token endpoint (RFC 6749, sections 5.1 and 5.2) or of a
// device authorization endpoint (RFC 8628, section 3.2).
type tokenResponse struct {
	Access      string   `json:"access_token"`
	Type        string   `json:"token_type"`
	Refresh     string   `json:"refresh_token"`
	Expires     lifetime `json:"expires_in"`
	Scope       any      `json:"scope"`
	Error       string   `json:"error"`
	Description string   `json:"error_description"`

	DeviceCode string  `json:"device_code"`
	UserCode   string  `json:"user_code"`
	Verify     string  `json:"verification_uri"`
	VerifyToo  string  `json:"verification_url"` // some servers use this name
	Interval   seconds `json:"interval"`
}

// readTokenResponse parses a response, which some servers send as a form and not as JSON. It
// returns an error if the server rejected the request or could not handle it, or if the response
// cannot be read. The returned response is never nil: with an error it has the server's error code,
// if any.
func readTokenResponse(where string, raw []byte, status int) (*tokenResponse, error) {
	var a tokenResponse
	jsonErr := json.Unmarshal(raw, &a)
	form, formErr := url.ParseQuery(string(raw))
	if jsonErr != nil && formErr == nil && (form.Has("access_token") || form.Has("error")) {
		members := map[string]string{}
		for name := range form {
			members[name] = form.Get(name)
		}
		asJSON, _ := json.Marshal(members)
		jsonErr = json.Unmarshal(asJSON, &a)
	}
	if isUnavailable(status, a.Error) {
		return &a, &Error{
			Rule: Unavailable,
			Text: "the authorization server could not handle the token request" + errorDetails(a.Error, a.Description, status),
		}
	}
	if status/100 != 2 || a.Error != "" {
		return &a, &Error{
			Rule: TokenRefused, Err: causes[a.Error],
			Text: "the authorization server rejected the token request" + errorDetails(a.Error, a.Description, status),
		}
	}
	if jsonErr != nil {
		return &a, &Error{Rule: TokenRefused, Text: hostOf(where) + " sent an invalid token response"}
	}
	return &a, nil
}

// isUnavailable reports whether an authorization server is overloaded or broken. An error code in
// causes counts more than the status.
func isUnavailable(status int, code string) bool {
	if causes[code] != nil {
		return false
	}
	return status >= 500 || status == http.StatusTooManyRequests ||
		code == "temporarily_unavailable" || code == "server_error"
}

// seconds are a time that a server names, as a number or, from some servers, as text. It is 0 if the
// server names no usable time.
type seconds int64

// maxSeconds are 285 years. Go and JSON can represent times that far from now or from 1970.
const maxSeconds = 9e9

// UnmarshalJSON reads a number or a text with a number. It never fails.
func (s *seconds) UnmarshalJSON(raw []byte) error {
	if n, _ := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64); n > 0 { // beyond its range n is infinite
		*s = seconds(min(n, maxSeconds))
	}
	return nil
}

// A lifetime is how long a token is valid. odd is the server's value if it is no such time.
type lifetime struct {
	seconds
	odd string
}

// UnmarshalJSON reads a time. It never fails.
func (l *lifetime) UnmarshalJSON(raw []byte) error {
	*l = lifetime{}
	_ = l.seconds.UnmarshalJSON(raw)
	text := strings.Trim(string(raw), `"`)
	if l.seconds > 0 || text == "null" { // null means that the server names no time
		return nil
	}
	l.odd = "not a number"
	if jsonraw.IsNumber([]byte(text)) && len(text) < 20 { // short enough to be shown
		l.odd = text
	}
	return nil
}

// duration returns the time as a duration.
func (s seconds) duration() time.Duration { return time.Duration(s) * time.Second }

// checkToken returns an error if the type of a token is not DPoP, if key is not nil, or else not Bearer. A
// missing type counts as Bearer unless the flow is strict.
func checkToken(flow *Flow, t *tokenResponse, key *ecdsa.PrivateKey) error {
	if key != nil {
		return flow.check(`"token_type" is DPoP (RFC 9449 section 5)`, strings.EqualFold(t.Type, "dpop"),
			&Error{Rule: TokenType, Text: fmt.Sprintf("the token type is %q, not DPoP", t.Type)})
	}
	if t.Type == "" {
		return flow.tolerate("\"token_type\" is present (RFC 6749 section 5.1)", &Error{
			Rule: TokenType,
			Text: "the token response has no token_type; it is used as Bearer",
		})
	}
	return flow.check(`"token_type" is Bearer (RFC 6749 section 7.1)`, strings.EqualFold(t.Type, "bearer"),
		&Error{Rule: TokenType, Text: fmt.Sprintf("unsupported token type %q", t.Type)})
}

// Causes of token errors: the request lacks a parameter, the grant is no longer valid, the server does
// not know the client, the user has not entered the code yet, the client polls too often.
var (
	errInvalidRequest = errors.New("invalid_request")
	errInvalidGrant   = errors.New("invalid_grant")
	errInvalidClient  = errors.New("invalid_client")
	errPending        = errors.New("authorization_pending")
	errSlowDown       = errors.New("slow_down")
)

// causes maps the error codes that mcpc handles to errors (RFC 6749, section 5.2; RFC 8628, section
// 3.5), including the codes that GitHub and Slack send instead.
var causes = map[string]error{
	"invalid_request": errInvalidRequest, "invalid_grant": errInvalidGrant,
	"invalid_client": errInvalidClient, "authorization_pending": errPending, "slow_down": errSlowDown,
	"bad_refresh_token": errInvalidGrant, "bad_verification_code": errInvalidGrant,
	"invalid_refresh_token": errInvalidGrant, "incorrect_client_credentials": errInvalidClient,
}

// hints maps error codes to what the user can do.
var hints = map[string]wire.Hint{
	"invalid_client":      wrongClient,
	"unauthorized_client": "the client may not use this grant: use another --grant, or contact the server's operator",
	"invalid_scope":       "the client may not request these scopes: reduce --scope",
	"expired_token":       "the code was not entered in time: run " + wire.Run("login --grant device") + " again",
	"access_denied":       "the request was denied",

	"incorrect_client_credentials": wrongClient,
}

const wrongClient = "the client ID or secret is wrong: --client-id ID --client-secret-file FILE"

// hintFor returns what the user can do about an error code, or "". namesResource is set if the
// request named the resource, which Entra ID rejects unless it is an Application ID URI of the
// server. Entra ID has no separate code for that, so hintFor looks for the word in the description.
func hintFor(code, description string, namesResource bool) wire.Hint {
	about := strings.ToLower(code + " " + description)
	if namesResource && (code == "invalid_target" || strings.Contains(about, "resource")) {
		return "--no-resource logs in without the resource parameter; " +
			"with Entra ID, the server's operator can instead register the server's URL as an Application ID URI"
	}
	return hints[code]
}

// tokenOf returns base with the secrets, expiry and scopes of a token response that arrived at now.
// It keeps base's refresh token if the response has no refresh token. If the response names no
// scope, the server granted the requested scopes (RFC 6749, section 5.1).
func (s *Store) tokenOf(t *tokenResponse, base Token, now time.Time) (Token, error) {
	access, err := s.Seal(t.Access)
	if err != nil {
		return Token{}, err
	}
	base.Access = access
	base.Expires = time.Time{}
	base.OddExpiry = t.Expires.odd
	base.Scopes = base.Requested
	if t.Expires.seconds > 0 {
		base.Expires = now.Add(t.Expires.duration()).UTC().Truncate(time.Second)
	}
	if granted, ok := t.Scope.(string); ok {
		base.Scopes = strings.Fields(granted)
	}
	if t.Refresh != "" {
		base.Refresh, err = s.Seal(t.Refresh)
		if err != nil {
			return Token{}, err
		}
	}
	return base, nil
}
