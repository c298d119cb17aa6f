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

// method is how a client proves itself at the token endpoint: as it was registered,
// as it was asked for, or as the server likes it (authorization, "Token Request").
func method(c Client, secret string, supported []string) string {
	if c.Method != "" {
		return c.Method
	}
	if c.KeyFile != "" {
		return "private_key_jwt"
	}
	if secret == "" {
		return "none"
	}
	for _, how := range []string{secretInHeader, secretInBody, "none"} {
		if slices.Contains(supported, how) {
			return how
		}
	}
	return secretInHeader
}

// The methods of clients with a secret.
const (
	secretInHeader = "client_secret_basic"
	secretInBody   = "client_secret_post"
)

// redeem asks a token endpoint for a token that mcpc can use, as a client of it. It
// is bound to key, where that is not nil.
func (w *Flow) redeem(ctx context.Context, p *clientAt, form url.Values, key *ecdsa.PrivateKey) (*answer, error) {
	t, err := w.ask(ctx, p, form, key)
	if err != nil {
		return nil, err
	}
	return t, checkToken(w, t, key)
}

// ask asks for a token of any sort. The request proves key if that is not nil.
func (w *Flow) ask(ctx context.Context, p *clientAt, form url.Values, key *ecdsa.PrivateKey) (*answer, error) {
	where := p.server.Token
	web := w.Net.web
	if key != nil {
		proving := *web
		proving.Transport = prover{base: web.Transport, key: key, now: w.now, nonces: &sync.Map{}}
		web = &proving
	}
	t, err := w.request(ctx, web, where, p, form)
	if err != nil {
		return nil, err
	}
	if t.Access == "" {
		return nil, &Error{Rule: TokenRefused, Text: hostOf(where) + " sent a token response without an access_token"}
	}
	return t, w.holds(
		"the tokens contain only allowed characters (RFC 6749 appendix A)",
		isWord(t.Access) && isWord(t.Refresh),
		&Error{Rule: TokenRefused, Text: hostOf(where) + " sent a token with invalid characters"},
	)
}

// request sends a form to an endpoint and reads the answer. If the server does not accept how the client proves
// itself, and the method was chosen by mcpc, the other one is tried once, and is p's from then on if it works.
func (w *Flow) request(
	ctx context.Context, web *http.Client, where string, p *clientAt, form url.Values,
) (*answer, error) {
	a, err := w.requestOnce(ctx, web, where, *p, form)
	if !errors.Is(err, errInvalidClient) && !errors.Is(err, errInvalidRequest) || !p.maySendSecret() {
		return a, err
	}
	w.tell(Step{Text: "the client's secret in the header was not accepted: sending it in the body"})
	other := *p
	other.client.Method = secretInBody
	again, failed := w.requestOnce(ctx, web, where, other, form)
	if errors.Is(failed, errInvalidClient) || errors.Is(failed, errInvalidRequest) {
		return a, err
	}
	*p = other
	return again, failed
}

func (w *Flow) requestOnce(
	ctx context.Context, web *http.Client, where string, p clientAt, form url.Values,
) (*answer, error) {
	raw, status, err := w.submit(ctx, web, where, p, form)
	if err != nil {
		return nil, err
	}
	a, err := readAnswer(where, raw, status)
	w.learn(a.Access, a.Refresh, a.DeviceCode)
	if failed, ok := errors.AsType[*Error](err); ok {
		failed.Hint = hintFor(a.Error, a.Description, form.Has("resource"))
		if a.Error == "invalid_client" && method(p.client, p.secret, p.server.Methods) == "private_key_jwt" {
			failed.Hint = "check --private-key and --key-id; some servers want their token endpoint's URL as --audience"
		}
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// maySendSecret reports a client whose secret was sent in the header by choice, and may be sent in the body.
func (p clientAt) maySendSecret() bool {
	return p.client.Method == "" && method(p.client, p.secret, p.server.Methods) == secretInHeader &&
		(len(p.server.Methods) == 0 || slices.Contains(p.server.Methods, secretInBody))
}

// isWord reports a text without blanks and without what could end a header field.
func isWord(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// A clientAt is a client with what it proves itself by at the endpoints of a server.
type clientAt struct {
	client Client
	secret string
	server *Server
}

// clientOf returns the client that a token was issued to, with its secret.
func (w *Flow) clientOf(store *Store, book Records, t Token) (*clientAt, error) {
	c := book.of(t)
	secret, err := store.Open(c.Secret)
	w.learn(secret)
	return &clientAt{c, secret, &Server{Issuer: t.Issuer, Token: t.TokenEndpoint, Methods: t.Methods}}, err
}

// submit sends a form to an endpoint of an authorization server, where the client
// proves itself (RFC 6749, section 2.3.1), and tells of it.
func (w *Flow) submit(
	ctx context.Context,
	web *http.Client,
	where string,
	p clientAt,
	form url.Values,
) (raw []byte, status int, err error) {
	if err := w.Net.check(where); err != nil {
		return nil, 0, err
	}
	form = maps.Clone(form)
	fields := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	switch how := method(p.client, p.secret, p.server.Methods); how {
	case secretInHeader:
		basic := http.Request{Header: fields}
		basic.SetBasicAuth(url.QueryEscape(p.client.ID), url.QueryEscape(p.secret))
	case secretInBody:
		form.Set("client_id", p.client.ID)
		form.Set("client_secret", p.secret)
	case "private_key_jwt":
		assertion, err := w.assertion(p.client, p.server)
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
	raw, status, err = w.Net.send(ctx, web, http.MethodPost, where, fields, []byte(form.Encode()))
	w.tell(Step{URL: where, Status: status})
	return raw, status, err
}

// An answer is what a token endpoint says (RFC 6749, sections 5.1 and 5.2), or a device
// authorization endpoint (RFC 8628, section 3.2).
type answer struct {
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
	VerifyToo  string  `json:"verification_url"` // as some servers call it
	Interval   seconds `json:"interval"`
}

// readAnswer reads an answer. Some servers answer with a form.
func readAnswer(where string, raw []byte, status int) (*answer, error) {
	var a answer
	bad := json.Unmarshal(raw, &a)
	if form, err := url.ParseQuery(string(raw)); bad != nil && err == nil &&
		(form.Has("access_token") || form.Has("error")) {
		members := map[string]string{}
		for name := range form {
			members[name] = form.Get(name)
		}
		again, _ := json.Marshal(members)
		bad = json.Unmarshal(again, &a)
	}
	if isUnavailable(status, a.Error) {
		return &a, &Error{Rule: Unavailable,
			Text: "the authorization server could not handle the token request" + saying(a.Error, a.Description, status)}
	}
	if status/100 != 2 || a.Error != "" {
		return &a, &Error{Rule: TokenRefused, Err: causes[a.Error],
			Text: "the authorization server rejected the token request" + saying(a.Error, a.Description, status)}
	}
	if bad != nil {
		return &a, &Error{Rule: TokenRefused, Text: hostOf(where) + " sent an invalid token response"}
	}
	return &a, nil
}

// isUnavailable reports a response of an authorization server that is overloaded or broken. A code on which
// something depends counts more than the status.
func isUnavailable(status int, code string) bool {
	if causes[code] != nil {
		return false
	}
	return status >= 500 || status == http.StatusTooManyRequests ||
		code == "temporarily_unavailable" || code == "server_error"
}

// seconds are a time that a server names, as a number or, with some, as text. It is 0
// where there is none, or none that makes sense.
type seconds int64

// mostSeconds are 285 years: as a time from now on, or since 1970, Go and JSON have it.
const mostSeconds = 9e9

// UnmarshalJSON never fails.
func (s *seconds) UnmarshalJSON(raw []byte) error {
	if n, _ := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64); n > 0 { // beyond its range n is infinite
		*s = seconds(min(n, mostSeconds))
	}
	return nil
}

// A lifetime is the time for which a token is good, and what the server said of it if that is no time.
type lifetime struct {
	seconds
	odd string
}

// UnmarshalJSON never fails.
func (l *lifetime) UnmarshalJSON(raw []byte) error {
	*l = lifetime{}
	_ = l.seconds.UnmarshalJSON(raw)
	switch text := strings.Trim(string(raw), `"`); {
	case l.seconds > 0 || text == "null":
	case jsonraw.IsNumber([]byte(text)) && len(text) < 20:
		l.odd = text
	default:
		l.odd = "not a number"
	}
	return nil
}

func (s seconds) duration() time.Duration { return time.Duration(s) * time.Second }

// checkToken: a token that was to be bound to a key is, and no other one.
func checkToken(w *Flow, t *answer, key *ecdsa.PrivateKey) error {
	if key != nil {
		return w.holds(
			"\"token_type\" is DPoP (RFC 9449 section 5)",
			strings.EqualFold(t.Type, "dpop"),
			&Error{Rule: TokenType,
				Text: fmt.Sprintf("the token type is %q, not DPoP", t.Type)},
		)
	}
	if t.Type == "" {
		return w.tolerates("\"token_type\" is there (RFC 6749 section 5.1)", &Error{Rule: TokenType,
			Text: "the token response has no token_type; it is used as Bearer"})
	}
	return w.holds(
		"\"token_type\" is Bearer (RFC 6749 section 7.1)",
		strings.EqualFold(t.Type, "bearer"),
		&Error{Rule: TokenType,
			Text: fmt.Sprintf("unsupported token type %q", t.Type)},
	)
}

// The request lacks something; the grant is no longer valid; the server no longer knows the client; the user has
// not entered the code yet; and the client polls too often.
var (
	errInvalidRequest = errors.New("invalid_request")
	errInvalidGrant   = errors.New("invalid_grant")
	errInvalidClient  = errors.New("invalid_client")
	errPending        = errors.New("authorization_pending")
	errSlowDown       = errors.New("slow_down")
)

// causes are the codes on which something depends (RFC 6749, section 5.2; RFC 8628,
// section 3.5), and the codes that GitHub and Slack have in their place.
var causes = map[string]error{"invalid_request": errInvalidRequest, "invalid_grant": errInvalidGrant,
	"invalid_client": errInvalidClient, "authorization_pending": errPending, "slow_down": errSlowDown,
	"bad_refresh_token": errInvalidGrant, "bad_verification_code": errInvalidGrant,
	"invalid_refresh_token": errInvalidGrant, "incorrect_client_credentials": errInvalidClient}

// hints are for those of these codes that the user can do something about.
var hints = map[string]wire.Hint{
	"invalid_client":      wrongClient,
	"unauthorized_client": "the client may not use this grant: use another --grant, or contact the server's operator",
	"invalid_scope":       "the client may not request these scopes: reduce --scope",
	"expired_token":       "the code was not entered in time: run " + wire.Run("login --grant device") + " again",
	"access_denied":       "the request was denied",

	"incorrect_client_credentials": wrongClient,
}

const wrongClient = "the client ID or secret is wrong: --client-id ID --client-secret-file FILE"

// hintFor returns what the user can do about an error code; "" is nothing. resource is set where the request named
// the resource, which Entra ID rejects unless it is an Application ID URI of the server's.
func hintFor(code, description string, resource bool) wire.Hint {
	about := strings.ToLower(code + " " + description)
	if resource && (code == "invalid_target" || strings.Contains(about, "resource")) {
		return "--no-resource logs in without the resource parameter; " +
			"with Entra ID the server's operator can make its URL an Application ID URI instead"
	}
	return hints[code]
}

// tokenOf is what is kept of a token that was got now. Where the server names no scope
// it granted what was asked for (RFC 6749, section 5.1).
func (s *Store) tokenOf(t *answer, into Token, now time.Time) (Token, error) {
	access, err := s.Seal(t.Access)
	if err != nil {
		return Token{}, err
	}
	into.Access, into.Expires, into.Scopes = access, time.Time{}, into.Requested
	into.OddExpiry = t.Expires.odd
	if t.Expires.seconds > 0 {
		into.Expires = now.Add(t.Expires.duration()).UTC().Truncate(time.Second)
	}
	if granted, ok := t.Scope.(string); ok {
		into.Scopes = strings.Fields(granted)
	}
	if t.Refresh != "" {
		into.Refresh, err = s.Seal(t.Refresh)
		if err != nil {
			return Token{}, err
		}
	}
	return into, nil
}
