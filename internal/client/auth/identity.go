package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A Client is who mcpc is at one authorization server.
type Client struct {
	// Issuer is the server that knows the client; "" is any, only for a client with a
	// document of its own.
	Issuer string `json:"issuer,omitempty"`
	ID     string `json:"id"`
	// Origin says how it came to be.
	Origin Origin `json:"origin"`
	// Endpoint is the server that was last logged in to with it.
	Endpoint string `json:"endpoint,omitempty"`
	// Grant is what the client is for.
	Grant  Grant  `json:"grant"`
	Secret Secret `json:"secret,omitempty"`
	// Method is how it proves itself at the token endpoint; "" is to be chosen.
	Method string `json:"method,omitempty"`
	// KeyFile and Algorithm sign assertions, Audience replaces the issuer in them.
	KeyFile   string   `json:"key_file,omitempty"`
	KeyID     string   `json:"key_id,omitempty"`
	Algorithm string   `json:"algorithm,omitempty"`
	Audience  string   `json:"audience,omitempty"`
	Redirects []string `json:"redirects,omitempty"`
	// Scopes are those that a client registered for: some servers grant no others to it.
	Scopes []string `json:"scopes,omitempty"`
	// AssertionFile is what a platform says of the program, IDP where a person signs on.
	AssertionFile string `json:"assertion_file,omitempty"`
	IDP           *IDP   `json:"idp,omitempty"`
	// SecretExpires is zero where it never does.
	SecretExpires time.Time `json:"secret_expires,omitzero"`
	// Untried is set from the registration, and from a login that timed out, until a login
	// has succeeded.
	Untried bool `json:"untried,omitempty"`
	// Unanswered is set by a login to which the browser did not come back: its page may have reported an unknown
	// client.
	Unanswered bool `json:"unanswered,omitempty"`
}

// An Origin says how a client came to be known to a server.
type Origin string

// Given is one that an operator registered, Document one that is described at its
// own address, Registered one that registered itself.
const (
	Given      Origin = "given"
	Document   Origin = "document"
	Registered Origin = "registered"
)

// identity is who mcpc is at a server, in the order of authorization, "Client
// Registration Approaches": known before, described by a document, registered now. A document that the user names, now
// or at the last login, counts more than a client of an earlier one.
func (l *login) identity(ctx context.Context, s *Server, redirect string) (Client, error) {
	if l.req.Client.ID != "" {
		c := l.req.Client
		if err := l.staysAtItsIssuer(c.ID, s.Issuer); err != nil {
			return Client{}, err
		}
		c.Issuer = s.Issuer
		c.Origin = Given
		c.Grant = l.req.Grant
		return l.tellClient(c, "the client id that was given")
	}
	if l.req.DocumentURL != "" && s.Documents {
		return l.tellClient(Client{ID: l.req.DocumentURL, Origin: Document, Method: "none"}, "the client's metadata document")
	}
	if l.req.DocumentURL != "" {
		l.w.tell(Step{Text: "the authorization server declares no support for client metadata documents: " +
			"--client-metadata-url is not used", Tolerated: true})
	}
	if c, ok := l.known.client(s.Issuer, Given, l.req.Grant); ok {
		return l.tellClient(c, "the client id from the last login")
	}
	if c, ok := l.registered(); ok && (redirect == "" || slices.Contains(c.Redirects, redirect)) {
		return l.tellClient(c, "registered here before")
	}
	if s.Registration == "" || l.req.Grant.Unattended() {
		text := "the authorization server " + s.Issuer + " has no dynamic client registration"
		if l.req.Grant.Unattended() {
			text = "the grant " + string(l.req.Grant) + " needs a registered client"
		}
		return Client{}, l.w.holds(
			"a client can be registered (specification, page authorization, \"Client Registration Approaches\")",
			false,
			&Error{Rule: NoRegistration, Text: text,
				Hint: "register a client at the authorization server, then use --client-id ID (and --client-secret-file FILE), or --client-metadata-url URL"},
		)
	}
	c, err := l.register(ctx, s, redirect)
	if named := strings.Replace(redirect, "http://"+callbackHost+":", "http://localhost:", 1); errors.Is(err, errInvalidRedirect) &&
		named != redirect &&
		l.req.Redirect == "" { // some servers accept the name of the host in place of its address
		l.w.tell(Step{Text: "the redirect URI " + redirect + " was rejected: registering " + named})
		c, err = l.register(ctx, s, named)
	}
	if err != nil {
		return Client{}, err
	}
	// Kept at once: logins that fail must not leave one more client there each time.
	c.Endpoint = l.token.Endpoint
	c.Untried = true
	if err := l.store.Change(ctx, func(b *Records) { b.putClient(c) }); err != nil {
		return Client{}, err
	}
	return l.tellClient(c, "registered just now")
}

// registered returns the newest client that registered itself at the server, for all scopes of the login, and which
// the server seems to know.
func (l *login) registered() (newest Client, ok bool) {
	for _, c := range l.known.Clients {
		here := c.Issuer == l.found.Server.Issuer && c.Origin == Registered && c.Grant == l.req.Grant
		isExpired := !c.SecretExpires.IsZero() && !l.w.now().Before(c.SecretExpires)
		if here && !c.Unanswered && !isExpired && len(missing(l.scopes, l.known.scopesOf(c))) == 0 {
			newest = c
			ok = true
		}
	}
	return newest, ok
}

// staysAtItsIssuer: a client that was given for this MCP server belongs to the issuer that
// the server named then (authorization, "Client Registration"). Another one gets nothing of
// it, unless the user names that one.
func (l *login) staysAtItsIssuer(id, issuer string) error {
	moved := slices.IndexFunc(l.known.Clients, func(c Client) bool {
		return c.Origin == Given && c.ID == id && c.Endpoint == l.token.Endpoint && c.Issuer != issuer &&
			!nearly(c.Issuer, issuer)
	})
	if _, here := l.known.client(issuer, Given, l.req.Grant); here || moved < 0 || l.req.Issuer != "" {
		return nil
	}
	return l.w.holds(
		"a client belongs to one issuer (specification, page authorization, \"Client Registration\")",
		false,
		&Error{Rule: IssuerMismatch,
			Text: fmt.Sprintf(
				"the server names another authorization server, %s, but the client %s belongs to %s",
				issuer,
				id,
				l.known.Clients[moved].Issuer,
			),
			Hint: "if the client is also registered at the new one, pass it with --issuer"},
	)
}

func (l *login) tellClient(c Client, how string) (Client, error) {
	l.w.tell(Step{Text: "client " + c.ID + ": " + how})
	return c, nil
}

// registration is what mcpc says of itself (RFC 7591). application_type is there
// because without it a client counts as a web site, which may not redirect to
// loopback.
func (l *login) registration(s *Server, redirect string) []byte {
	method := "none"
	if at := slices.IndexFunc(registered, func(one string) bool { return slices.Contains(s.Methods, one) }); at >= 0 {
		method = registered[at]
	}
	about := map[string]any{"client_name": "mcpc", "token_endpoint_auth_method": method, "application_type": "native"}
	if l.req.Grant.Browser() {
		about["redirect_uris"] = []string{redirect}
		about["response_types"] = []string{"code"}
		about["grant_types"] = []string{"authorization_code", "refresh_token"}
	} else {
		about["grant_types"] = []string{deviceType, "refresh_token"}
	}
	if len(l.scopes) > 0 {
		about["scope"] = strings.Join(l.scopes, " ")
	}
	body, _ := json.Marshal(about)
	return body
}

// errInvalidRedirect is the cause of a registration that was rejected for its redirect URI.
var errInvalidRedirect = errors.New("invalid_redirect_uri")

// register asks for a client id.
func (l *login) register(ctx context.Context, s *Server, redirect string) (Client, error) {
	fields := http.Header{"Content-Type": {"application/json"}}
	if l.req.RegistrationToken != "" {
		l.w.learn(l.req.RegistrationToken)
		fields.Set("Authorization", "Bearer "+l.req.RegistrationToken)
	}
	about := l.registration(s, redirect)
	raw, status, err := l.w.Net.send(ctx, l.w.Net.web, http.MethodPost, s.Registration, fields, about)
	l.w.tell(Step{URL: s.Registration, Status: status})
	if err != nil {
		return Client{}, err
	}
	var answer registrationAnswer
	m, bad := readMetadata(raw, &answer, "registration response", RegistrationFailed)
	l.w.learn(string(answer.Secret))
	if err := l.checkRegistration(answer, m, bad, status); err != nil {
		if failed, ok := err.(*Error); ok && s.Assumed && failed.Rule == RegistrationFailed && answer.Error == "" {
			failed.Text += "; the server has no metadata, so that it may have no authorization server"
			failed.Hint += "; " + operatorToken
		}
		return Client{}, err
	}
	secret, err := l.store.Seal(string(answer.Secret))
	c := Client{Issuer: s.Issuer, ID: string(answer.ID), Origin: Registered, Grant: l.req.Grant, Secret: secret,
		Method: answer.Method, Redirects: answer.Redirects, Scopes: l.scopes}
	if redirect != "" {
		c.Redirects = union(c.Redirects, []string{redirect})
	}
	if answer.Expires > 0 {
		c.SecretExpires = time.Unix(int64(answer.Expires), 0).UTC()
	}
	return c, err
}

// A registrationAnswer is a response to a registration (RFC 7591, section 3.2).
type registrationAnswer struct {
	ID          label   `json:"client_id"`
	Secret      label   `json:"client_secret"`
	Method      string  `json:"token_endpoint_auth_method"`
	Redirects   words   `json:"redirect_uris"`
	Expires     seconds `json:"client_secret_expires_at"`
	Error       string  `json:"error"`
	Description string  `json:"error_description"`
}

// checkRegistration returns the error of a registration that brought no usable client. bad is why the answer could
// not be read as a whole; nil if it could.
func (l *login) checkRegistration(a registrationAnswer, m metadata, bad *Error, status int) error {
	failed := &Error{Rule: RegistrationFailed, Hint: "use a registered client: --client-id ID"}
	said := saying(a.Error, a.Description, status)
	switch kind := m.kind("client_id"); {
	case isUnavailable(status, a.Error):
		return &Error{Rule: Unavailable, Text: "the authorization server could not handle the registration" + said}
	case status/100 != 2 || a.Error != "":
		failed.Text = "the authorization server rejected the registration" + said
		if a.Error == "invalid_redirect_uri" || strings.Contains(strings.ToLower(a.Error+a.Description), "redirect") {
			failed.Err = errInvalidRedirect
			failed.Hint = "--redirect-uri URI registers another one; a registered client needs none: --client-id ID"
		}
		if status == http.StatusUnauthorized || status == http.StatusForbidden {
			failed.Hint = "programs may not register there: get a client from the server's operator, then use --client-id ID, " +
				"or an initial access token, then use --registration-token-file FILE"
			if l.req.RegistrationToken != "" {
				failed.Hint = "the initial access token (--registration-token-file, MCPC_REGISTRATION_TOKEN) was not accepted: " +
					"get another one from the server's operator, or a client for --client-id ID"
			}
		}
	case bad != nil:
		failed.Text = bad.Text
	case a.ID == "" && kind == "":
		failed.Text = "the registration response has no client_id"
	case a.ID == "":
		failed.Text = "the registration response has a client_id of type " + kind + ", which is none"
	case len(a.ID) > maxURL/4:
		failed.Text = fmt.Sprintf("the registration response has a client_id of %d bytes", len(a.ID))
	case a.Method != "" && !slices.Contains(registered, a.Method):
		failed.Text = fmt.Sprintf("unsupported client authentication method %q", a.Method)
	case kind == "number":
		failed.Text = "the registration response has a client_id of type number, not string"
		return l.w.tolerates("\"client_id\" is a string (RFC 7591 section 3.2.1)", failed)
	default:
		return nil
	}
	return failed
}

// registered are the methods of clients that register themselves, the best one first: what a program on a
// user's machine can honour best is no secret.
var registered = []string{"none", "client_secret_basic", "client_secret_post"}

// saying is what an OAuth error says.
func saying(code, description string, status int) string {
	if code != "" && description != "" {
		return fmt.Sprintf(": %s, %s", code, description)
	}
	if code != "" {
		return ": " + code
	}
	if status != 0 {
		return " (" + statusText(status) + ")"
	}
	return ""
}
