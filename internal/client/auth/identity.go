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

// A Client is mcpc's identity at one authorization server.
type Client struct {
	// Issuer is the authorization server that knows the client. It is "" if the client has a
	// metadata document, which any server can read.
	Issuer string `json:"issuer,omitempty"`
	ID     string `json:"id"`
	// Origin says how the server came to know the client.
	Origin Origin `json:"origin"`
	// Endpoint is the MCP server of the last login with the client.
	Endpoint string `json:"endpoint,omitempty"`
	// Grant is what the client is for.
	Grant  Grant  `json:"grant"`
	Secret Secret `json:"secret,omitempty"`
	// Method is how the client authenticates at the token endpoint. If it is "", mcpc chooses.
	Method string `json:"method,omitempty"`
	// KeyFile and Algorithm sign assertions. Audience replaces the issuer in them.
	KeyFile   string   `json:"key_file,omitempty"`
	KeyID     string   `json:"key_id,omitempty"`
	Algorithm string   `json:"algorithm,omitempty"`
	Audience  string   `json:"audience,omitempty"`
	Redirects []string `json:"redirects,omitempty"`
	// Scopes are the scopes of the registration. Some servers grant no others to the client.
	Scopes []string `json:"scopes,omitempty"`
	// AssertionFile has the platform's assertion about the program. IDP is where a person signs on.
	AssertionFile string `json:"assertion_file,omitempty"`
	IDP           *IDP   `json:"idp,omitempty"`
	// SecretExpires is zero if the secret does not expire.
	SecretExpires time.Time `json:"secret_expires,omitzero"`
	// Untried is set by the registration, and by a login that timed out, until a login succeeds.
	Untried bool `json:"untried,omitempty"`
	// Unanswered is set by a login whose redirect the browser did not open: the server's page may
	// have reported an unknown client.
	Unanswered bool `json:"unanswered,omitempty"`
}

// An Origin says how a server came to know a client.
type Origin string

// An operator registered a Given client. A Document client is described by its own metadata
// document. A Registered client registered itself.
const (
	Given      Origin = "given"
	Document   Origin = "document"
	Registered Origin = "registered"
)

// chooseClient returns mcpc's client at a server, in the order of authorization, "Client
// Registration Approaches": given by the user, described by a document, known from before,
// registered now. A document that the user names, now or at the last login, takes precedence over a
// client of an earlier login. redirect is "" if the grant needs no browser.
func (l *login) chooseClient(ctx context.Context, s *Server, redirect string) (Client, error) {
	if l.req.Client.ID != "" {
		c := l.req.Client
		if err := l.checkClientIssuer(c.ID, s.Issuer); err != nil {
			return Client{}, err
		}
		c.Issuer = s.Issuer
		c.Origin = Given
		c.Grant = l.req.Grant
		return l.reportClient(c, "the client id that was given")
	}
	if l.req.DocumentURL != "" && s.Documents {
		c := Client{ID: l.req.DocumentURL, Origin: Document, Method: "none"}
		return l.reportClient(c, "the client's metadata document")
	}
	if l.req.DocumentURL != "" {
		l.flow.report(Step{Text: "the authorization server declares no support for client metadata documents: " +
			"--client-metadata-url is not used", Tolerated: true})
	}
	if c, ok := l.known.newestClient(s.Issuer, Given, l.req.Grant); ok {
		return l.reportClient(c, "the client id from the last login")
	}
	if c, ok := l.knownRegistration(); ok && (redirect == "" || slices.Contains(c.Redirects, redirect)) {
		return l.reportClient(c, "registered here before")
	}
	if s.Registration == "" || l.req.Grant.IsUnattended() {
		text := "the authorization server " + s.Issuer + " has no dynamic client registration"
		if l.req.Grant.IsUnattended() {
			text = "the grant " + string(l.req.Grant) + " needs a registered client"
		}
		rule := `a client can be registered (specification, page authorization, "Client Registration Approaches")`
		return Client{}, l.flow.check(rule, notMet, &Error{
			Rule: NoRegistration, Text: text,
			Hint: "register a client at the authorization server, then use --client-id ID " +
				"(and --client-secret-file FILE), or --client-metadata-url URL",
		})
	}
	return l.registerAndStore(ctx, s, redirect)
}

// registerAndStore registers a client and stores it at once, so that a login that fails does not register
// another client each time. If the server rejects the address of this machine in the redirect URI, the
// client is registered with the name localhost.
func (l *login) registerAndStore(ctx context.Context, s *Server, redirect string) (Client, error) {
	c, err := l.register(ctx, s, redirect)
	byName := strings.Replace(redirect, "http://"+callbackHost+":", "http://localhost:", 1)
	isUsersChoice := l.req.Redirect != ""
	if errors.Is(err, errInvalidRedirect) && byName != redirect && !isUsersChoice {
		l.flow.report(Step{Text: "the redirect URI " + redirect + " was rejected: registering " + byName})
		c, err = l.register(ctx, s, byName)
	}
	if err != nil {
		return Client{}, err
	}
	c.Endpoint = l.token.Endpoint
	c.Untried = true
	if err := l.store.Change(ctx, func(b *Records) { b.putClient(c) }); err != nil {
		return Client{}, err
	}
	return l.reportClient(c, "registered just now")
}

// knownRegistration returns the newest client that registered itself for all scopes of the login and
// that the server seems to know.
func (l *login) knownRegistration() (newest Client, ok bool) {
	for _, c := range l.known.Clients { // the newest is the last
		isSame := c.Issuer == l.found.Server.Issuer && c.Origin == Registered && c.Grant == l.req.Grant
		isExpired := !c.SecretExpires.IsZero() && !l.flow.now().Before(c.SecretExpires)
		hasScopes := len(difference(l.scopes, l.known.scopesOf(c))) == 0
		if isSame && hasScopes && !isExpired && !c.Unanswered {
			newest = c
			ok = true
		}
	}
	return newest, ok
}

// checkClientIssuer returns an error if the client was given for this MCP server when the server
// named another issuer: a client belongs to one issuer (authorization, "Client Registration"). The
// new issuer gets nothing of the client unless the user names that issuer.
func (l *login) checkClientIssuer(id, issuer string) error {
	earlier := slices.IndexFunc(l.known.Clients, func(c Client) bool {
		isSameClient := c.Origin == Given && c.ID == id && c.Endpoint == l.token.Endpoint
		return isSameClient && c.Issuer != issuer && !differBySlash(c.Issuer, issuer)
	})
	_, isKnownHere := l.known.newestClient(issuer, Given, l.req.Grant)
	if earlier < 0 || isKnownHere || l.req.Issuer != "" {
		return nil
	}
	rule := `a client belongs to one issuer (specification, page authorization, "Client Registration")`
	return l.flow.check(rule, notMet, &Error{
		Rule: IssuerMismatch,
		Text: fmt.Sprintf("the server names another authorization server, %s, but the client %s belongs to %s",
			issuer, id, l.known.Clients[earlier].Issuer),
		Hint: "if the client is also registered at the new one, pass it with --issuer",
	})
}

// reportClient reports the client that the login uses, and returns it. The error is always nil, so that
// chooseClient can return both.
func (l *login) reportClient(c Client, how string) (Client, error) {
	l.flow.report(Step{Text: "client " + c.ID + ": " + how})
	return c, nil
}

// registrationRequest returns the body of a client registration (RFC 7591). It has application_type,
// because servers treat a client without it as a web site, which may not redirect to loopback.
func (l *login) registrationRequest(s *Server, redirect string) []byte {
	method := "none"
	isSupported := func(method string) bool { return slices.Contains(s.Methods, method) }
	if i := slices.IndexFunc(registrableMethods, isSupported); i >= 0 {
		method = registrableMethods[i]
	}
	about := map[string]any{"client_name": "mcpc", "token_endpoint_auth_method": method, "application_type": "native"}
	if l.req.Grant.UsesBrowser() {
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

// errInvalidRedirect is the cause of an error for a registration whose redirect URI was rejected.
var errInvalidRedirect = errors.New("invalid_redirect_uri")

// register registers a client with a redirect URI, or without a redirect URI if redirect is "", and
// returns it with its secret encrypted. It does not store the client. The error wraps
// errInvalidRedirect if the server rejected the redirect URI.
func (l *login) register(ctx context.Context, s *Server, redirect string) (Client, error) {
	fields := http.Header{"Content-Type": {"application/json"}}
	if l.req.RegistrationToken != "" {
		l.flow.addSecrets(l.req.RegistrationToken)
		fields.Set("Authorization", "Bearer "+l.req.RegistrationToken)
	}
	about := l.registrationRequest(s, redirect)
	step, err := l.flow.send(ctx, l.flow.Net.web, http.MethodPost, s.Registration, fields, about)
	l.flow.report(step)
	if err != nil {
		return Client{}, err
	}
	var answer registrationResponse
	m, parseErr := readMetadata(step.Received, &answer, "registration response", RegistrationFailed)
	l.flow.addSecrets(string(answer.Secret))
	if err := l.checkRegistration(answer, m, parseErr, step.Status); err != nil {
		failed, ok := err.(*Error)
		isNoEndpoint := s.Assumed && answer.Error == "" // no metadata, and no OAuth error either
		if ok && isNoEndpoint && failed.Rule == RegistrationFailed {
			failed.Text += "; the server has no metadata, so that it may have no authorization server"
			failed.Hint += "; " + operatorToken
		}
		return Client{}, err
	}
	secret, err := l.store.Seal(string(answer.Secret))
	c := Client{
		Issuer: s.Issuer, ID: string(answer.ID), Origin: Registered, Grant: l.req.Grant, Secret: secret,
		Method: answer.Method, Redirects: answer.Redirects, Scopes: l.scopes,
	}
	if redirect != "" { // some servers do not repeat it in the response
		c.Redirects = union(c.Redirects, []string{redirect})
	}
	if answer.Expires > 0 {
		c.SecretExpires = time.Unix(int64(answer.Expires), 0).UTC()
	}
	return c, err // of Seal
}

// A registrationResponse is the response to a registration (RFC 7591, section 3.2).
type registrationResponse struct {
	ID          looseText  `json:"client_id"`
	Secret      looseText  `json:"client_secret"`
	Method      string     `json:"token_endpoint_auth_method"`
	Redirects   stringList `json:"redirect_uris"`
	Expires     seconds    `json:"client_secret_expires_at"`
	Error       string     `json:"error"`
	Description string     `json:"error_description"`
}

// checkRegistration returns an error if a registration response contains no usable client. a is the
// response, m its members as they were sent, and parseErr the error of parsing it, or nil. A
// client_id that is a number is only an error if the flow is strict.
func (l *login) checkRegistration(a registrationResponse, m metadata, parseErr *Error, status int) error {
	failed := &Error{Rule: RegistrationFailed, Hint: "use a registered client: --client-id ID"}
	details := errorDetails(a.Error, a.Description, status)
	kind := m.kind("client_id")
	switch {
	case isUnavailable(status, a.Error):
		return &Error{Rule: Unavailable, Text: "the authorization server could not handle the registration" + details}
	case status/100 != 2 || a.Error != "":
		failed.Text = "the authorization server rejected the registration" + details
		// Servers that send a different code than RFC 7591 defines name the redirect URI only in
		// their text.
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
	case parseErr != nil:
		failed.Text = parseErr.Text
	case a.ID == "" && kind == "": // no such member
		failed.Text = "the registration response has no client_id"
	case a.ID == "":
		failed.Text = "the registration response has a client_id of type " + kind + ", which is none"
	case len(a.ID) > maxURL/4: // it becomes a part of a URL
		failed.Text = fmt.Sprintf("the registration response has a client_id of %d bytes", len(a.ID))
	case a.Method != "" && !slices.Contains(registrableMethods, a.Method):
		failed.Text = fmt.Sprintf("unsupported client authentication method %q", a.Method)
	case kind == "number":
		failed.Text = "the registration response has a client_id of type number, not string"
		return l.flow.tolerate("\"client_id\" is a string (RFC 7591 section 3.2.1)", failed)
	default:
		return nil
	}
	return failed
}

// registrableMethods are the authentication methods for a client that registers itself, the best
// first: a program on a user's machine cannot protect a secret well.
var registrableMethods = []string{"none", "client_secret_basic", "client_secret_post"}

// errorDetails returns the code and description of an OAuth error, or the HTTP status, for the end
// of a text.
func errorDetails(code, description string, status int) string {
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
