package demo

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// The scopes of the protected demo: one to connect, and one to call tools. The client must request
// the second scope later (step-up).
const (
	scopeRead = "mcp:read"
	scopeCall = "mcp:call"
)

// demoClient and demoSecret are the credentials for the client credentials grant.
const (
	demoClient = "demo"
	demoSecret = "demo-secret"
)

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// tokenLifetime is how long a token of the demo is valid.
const tokenLifetime = 5 * time.Minute

// Protect serves an MCP handler at /mcp that requires a login, and an authorization server. The
// server supports resource metadata, dynamic registration, authorization code with PKCE, the device
// grant, single-use refresh tokens, revocation, client credentials (client "demo", secret
// "demo-secret") and a workload's assertion ("demo-assertion"). At /idp/token an enterprise
// exchanges an id token ("demo-id-token", client "demo-sso").
//
// Its only user approves every request at once. It is for experiments and protects nothing. now
// returns the current time, for the expiry of tokens.
func Protect(mcp http.Handler, now func() time.Time) http.Handler {
	s := &authServer{
		now:           now,
		clients:       map[string][]string{},
		codes:         map[string]grant{},
		tokens:        map[string]grant{},
		refreshTokens: map[string]grant{},
		assertions:    map[string]grant{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", s.serveResourceMetadata)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.serveServerMetadata)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /device", s.issueDeviceCode)
	mux.HandleFunc("POST /token", s.serveToken)
	mux.HandleFunc("POST /revoke", s.revoke)
	mux.HandleFunc("POST /idp/token", s.exchangeIDToken)
	mux.Handle("/mcp", s.requireToken(mcp))
	return mux
}

// An authServer keeps the clients, codes and tokens that it issued until the process ends.
type authServer struct {
	now func() time.Time

	mu                           sync.Mutex
	clients                      map[string][]string // redirect URIs
	codes, tokens, refreshTokens map[string]grant
	assertions                   map[string]grant
}

// A grant is what a client was authorized to do, with the time of its expiry.
type grant struct {
	client, redirect, challenge, resource string
	scopes                                []string
	expires                               time.Time
}

// serveResourceMetadata serves the metadata of the protected resource (RFC 9728).
func (s *authServer) serveResourceMetadata(w http.ResponseWriter, req *http.Request) {
	answerJSON(
		w,
		http.StatusOK,
		map[string]any{
			"resource": baseURL(req) + "/mcp", "authorization_servers": []string{baseURL(req)},
			"scopes_supported": []string{scopeRead, scopeCall}, "resource_name": "mcpc demo server",
		},
	)
}

// serveServerMetadata serves the metadata of the authorization server (RFC 8414).
func (s *authServer) serveServerMetadata(w http.ResponseWriter, req *http.Request) {
	answerJSON(w, http.StatusOK, map[string]any{
		"issuer": baseURL(req), "authorization_endpoint": baseURL(req) + "/authorize",
		"token_endpoint":                baseURL(req) + "/token",
		"device_authorization_endpoint": baseURL(req) + "/device",
		"registration_endpoint":         baseURL(req) + "/register",
		"revocation_endpoint":           baseURL(req) + "/revoke",
		"response_types_supported":      []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"grant_types_supported": []string{
			"authorization_code",
			"refresh_token",
			"client_credentials",
			deviceGrant,
			jwtBearerGrant,
		},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic"},
		"authorization_response_iss_parameter_supported": true, "scopes_supported": []string{scopeRead, scopeCall},
	})
}

// register registers a client with its redirect URIs (RFC 7591). Only a device needs no redirect
// URI.
func (s *authServer) register(w http.ResponseWriter, req *http.Request) {
	var body struct {
		Redirects []string `json:"redirect_uris"`
		Grants    []string `json:"grant_types"`
	}
	if json.NewDecoder(http.MaxBytesReader(w, req.Body, 64<<10)).Decode(&body) != nil ||
		len(body.Redirects) == 0 && !slices.Contains(body.Grants, deviceGrant) {
		answerError(w, "invalid_redirect_uri")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := "client-" + rand.Text()
	s.clients[id] = body.Redirects
	answerJSON(w, http.StatusCreated,
		map[string]any{"client_id": id, "redirect_uris": body.Redirects, "token_endpoint_auth_method": "none"})
}

// authorize handles the authorization endpoint. The demo user approves at once. Errors that cannot
// be sent to the client are shown to the user.
func (s *authServer) authorize(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	redirect, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || !slices.Contains(s.clients[q.Get("client_id")], q.Get("redirect_uri")) {
		http.Error(w, "no such client, or another redirect_uri than it registered", http.StatusBadRequest)
		return
	}
	answer := url.Values{"state": {q.Get("state")}, "iss": {baseURL(req)}}
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" {
		answer.Set("error", "invalid_request")
	} else {
		code := rand.Text()
		s.codes[code] = grant{
			q.Get("client_id"), redirect.String(), q.Get("code_challenge"), q.Get("resource"),
			strings.Fields(q.Get("scope")), s.now().Add(time.Minute),
		}
		answer.Set("code", code)
	}
	redirect.RawQuery = answer.Encode()
	http.Redirect(w, req, redirect.String(), http.StatusFound)
}

// issueDeviceCode issues a device code (RFC 8628). The demo user approves at once, so the user code need not
// be entered.
func (s *authServer) issueDeviceCode(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	code := rand.Text()
	s.codes[code] = grant{
		client: req.PostFormValue("client_id"), resource: req.PostFormValue("resource"),
		scopes: strings.Fields(req.PostFormValue("scope")), expires: s.now().Add(tokenLifetime),
	}
	answerJSON(
		w,
		http.StatusOK,
		map[string]any{
			"device_code": code, "user_code": "DEMO-CODE", "verification_uri": baseURL(req) + "/device",
			"expires_in": int(tokenLifetime.Seconds()), "interval": 1,
		},
	)
}

// serveToken handles the token endpoint: each grant type has its own checks.
func (s *authServer) serveToken(w http.ResponseWriter, req *http.Request) {
	req.Body = http.MaxBytesReader(w, req.Body, 64<<10)
	form := func(name string) string { return req.PostFormValue(name) }
	s.mu.Lock()
	defer s.mu.Unlock()
	switch form("grant_type") {
	case "authorization_code":
		g, ok := takeOnce(s.codes, form("code"))
		sum := sha256.Sum256([]byte(form("code_verifier")))
		isProven := g.challenge == base64.RawURLEncoding.EncodeToString(sum[:]) // PKCE
		isSameRequest := g.client == form("client_id") && g.redirect == form("redirect_uri") &&
			g.resource == form("resource")
		if !ok || g.expires.Before(s.now()) || !isSameRequest || !isProven {
			answerError(w, "invalid_grant")
			return
		}
		s.issueTokenLocked(w, g, withRefresh)
	case deviceGrant:
		g, ok := takeOnce(s.codes, form("device_code"))
		isDeviceCode := ok && g.challenge == "" // the codes of authorize have a challenge
		if !isDeviceCode || g.expires.Before(s.now()) || g.client != form("client_id") {
			answerError(w, "expired_token")
			return
		}
		s.issueTokenLocked(w, g, withRefresh)
	case "refresh_token":
		g, ok := takeOnce(s.refreshTokens, form("refresh_token"))
		if !ok || g.client != form("client_id") || g.resource != form("resource") {
			answerError(w, "invalid_grant")
			return
		}
		s.issueTokenLocked(w, g, withRefresh)
	case "client_credentials":
		if id, secret, ok := req.BasicAuth(); !ok || id != demoClient || secret != demoSecret {
			answerError(w, "invalid_client")
			return
		}
		s.issueTokenLocked(w, demoGrant(form), withoutRefresh)
	case jwtBearerGrant:
		s.grantForAssertionLocked(w, req)
	default:
		answerError(w, "unsupported_grant_type")
	}
}

// revoke deletes a token of any kind. An unknown token is no error (RFC 7009, section 2.2).
func (s *authServer) revoke(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, req.PostFormValue("token"))
	delete(s.refreshTokens, req.PostFormValue("token"))
}

// takeOnce deletes and returns a grant that is valid for one use.
func takeOnce(grants map[string]grant, key string) (grant, bool) {
	g, ok := grants[key]
	delete(grants, key)
	return g, ok
}

// demoGrant returns the grant that a token request of demoClient asks for.
func demoGrant(form func(name string) string) grant {
	return grant{client: demoClient, resource: form("resource"), scopes: strings.Fields(form("scope"))}
}

// Whether a token is issued with a refresh token.
const (
	withRefresh    = true
	withoutRefresh = false
)

// issueTokenLocked responds with a new access token for g. s.mu is locked.
func (s *authServer) issueTokenLocked(w http.ResponseWriter, g grant, isRefreshable bool) {
	access := "demo-access-" + rand.Text()
	g.expires = s.now().Add(tokenLifetime)
	s.tokens[access] = g
	answer := map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": int(tokenLifetime.Seconds()),
		"scope": strings.Join(g.scopes, " "),
	}
	if isRefreshable {
		refresh := "demo-refresh-" + rand.Text()
		s.refreshTokens[refresh] = g
		answer["refresh_token"] = refresh
	}
	w.Header().Set("Cache-Control", "no-store")
	answerJSON(w, http.StatusOK, answer)
}

// requireToken returns a handler that passes requests with a token for this server to next. Tool calls
// require a token with the scope for tools.
func (s *authServer) requireToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		access, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
		s.mu.Lock()
		g, ok := s.tokens[access]
		s.mu.Unlock()
		switch {
		case access == "":
			challenge(w, req, http.StatusUnauthorized, `scope="`+scopeRead+`"`)
		case !ok || g.expires.Before(s.now()) || g.resource != baseURL(req)+"/mcp":
			challenge(w, req, http.StatusUnauthorized, `error="invalid_token"`)
		case callsTool(req) && !slices.Contains(g.scopes, scopeCall):
			challenge(w, req, http.StatusForbidden, `error="insufficient_scope", scope="`+scopeCall+`"`)
		default:
			next.ServeHTTP(w, req)
		}
	})
}

// challenge responds with a status and the WWW-Authenticate field that names the resource metadata.
func challenge(w http.ResponseWriter, req *http.Request, status int, params string) {
	w.Header().Set("WWW-Authenticate",
		`Bearer resource_metadata="`+baseURL(req)+`/.well-known/oauth-protected-resource/mcp", `+params)
	w.WriteHeader(status)
}

func baseURL(req *http.Request) string { return "http://" + req.Host }

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func answerError(w http.ResponseWriter, code string) {
	answerJSON(w, http.StatusBadRequest, map[string]string{"error": code})
}

// callsTool reports whether the body of a request has a tool call. The body can be read again after
// it.
func callsTool(req *http.Request) bool {
	if req.Method != http.MethodPost {
		return false
	}
	raw, err := io.ReadAll(io.LimitReader(req.Body, 16<<20))
	req.Body = io.NopCloser(bytes.NewReader(raw))
	var message struct {
		Method string `json:"method"`
	}
	return err == nil && json.Unmarshal(raw, &message) == nil && message.Method == "tools/call"
}
