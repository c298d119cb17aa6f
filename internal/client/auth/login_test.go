package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// AUTH 3.3 to 3.7, from end to end: the contents of each request.
//
// rules 201, 203, 205, 218, 221
// authorization 29, 36, 37, 38, 40, 49
func TestLogin(t *testing.T) {
	w, store := newWorld(t), newStore()
	var registered map[string]any
	w.registration = func(body map[string]any) (int, string) {
		registered = body
		return 201, `{"client_id":"registered-id"}`
	}
	token, err := w.login(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	redirect := w.asked.Get("redirect_uri")
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "registered-id", "code_challenge_method": "S256",
		"resource": w.url + "/mcp", "scope": "a b", "redirect_uri": redirect,
	} {
		if got := w.asked.Get(name); got != want {
			t.Errorf("authorization request: %s is %q, want %q", name, got, want)
		}
	}
	if u, _ := url.Parse(redirect); u.Hostname() != "127.0.0.1" || u.Path != "/callback" || len(w.asked.Get("state")) < 32 {
		t.Errorf("the browser is to come back to %s with the state %q", redirect, w.asked.Get("state"))
	}
	form := w.forms[0]
	for name, want := range map[string]string{
		"grant_type": "authorization_code", "code": "code-secret-1", "redirect_uri": redirect,
		"resource": w.url + "/mcp", "client_id": "registered-id",
	} {
		if got := form.Get(name); got != want {
			t.Errorf("token request: %s is %q, want %q", name, got, want)
		}
	}
	if verifier := form.Get("code_verifier"); len(verifier) != 43 || s256(verifier) != w.asked.Get("code_challenge") {
		t.Errorf("the verifier %q does not belong to the challenge", verifier)
	}
	if registered["application_type"] != "native" || !slices.Contains(registered["grant_types"].([]any), any("refresh_token")) ||
		registered["token_endpoint_auth_method"] != "none" || registered["redirect_uris"].([]any)[0] != redirect {
		t.Errorf("registered with %v", registered)
	}
	if token.Issuer != w.url || token.Resource != w.url+"/mcp" || token.Client != "registered-id" || !slices.Equal(token.Scopes, []string{"a", "b"}) {
		t.Errorf("got %+v", token)
	}
	if b := book(t, store); len(b.Tokens) != 1 || b.Tokens[0].Access != "plain:access-secret-1" || b.Tokens[0].Refresh != "plain:refresh-secret-1" {
		t.Errorf("kept %+v", b)
	}
}

// AUTH 3.5: parameters that an endpoint's query already has remain.
//
// authorization 39
func TestQueryOfTheEndpointIsKept(t *testing.T) {
	w := newWorld(t)
	w.documents[serverAt] = strings.Replace(usualServer, "BASE/authorize", "BASE/authorize?tenant=a%26b", 1)
	_, err := w.login(newStore(), nil)
	wantRule(t, err, "")
	if w.asked.Get("tenant") != "a&b" || w.asked.Get("response_type") != "code" || w.asked.Get("resource") == "" {
		t.Errorf("asked for %v", w.asked)
	}
}

// AUTH 3.7: the granted scopes may be fewer than the requested scopes.
//
// authorization 53
func TestFewerScopesThanAskedFor(t *testing.T) {
	w, store := newWorld(t), newStore()
	w.token = func(url.Values, http.Header) (int, string) {
		return 200, `{"access_token":"x","token_type":"Bearer","scope":"a"}`
	}
	token, err := w.login(store, nil)
	if err != nil || !slices.Equal(token.Scopes, []string{"a"}) || !slices.Equal(token.Requested, []string{"a", "b"}) {
		t.Errorf("got %+v, %v", token, err)
	}
}

// AUTH 3.6 (RFC 9207): the table, with the possible differences of an issuer.
//
// rules 211, 212, 213
// authorization 36, 44, 45, 46
func TestIssuerOfAuthorizationResponseIsChecked(t *testing.T) {
	for _, c := range []struct {
		name     string
		promised bool
		iss      []string
		want     Rule
	}{
		{"promised and there", true, []string{"BASE"}, ""},
		{"promised and not there", true, nil, ResponseIssuer},
		{"promised, and another", true, []string{"https://evil.example"}, ResponseIssuer},
		{"promised, a slash more", true, []string{"BASE/"}, ResponseIssuer},
		{"promised, in capitals", true, []string{"CAPITALS"}, ResponseIssuer},
		{"promised and empty", true, []string{""}, ResponseIssuer},
		{"promised, and another as well", true, []string{"BASE", "https://evil.example"}, ResponseIssuer},
		{"promised and there twice", true, []string{"BASE", "BASE"}, ResponseIssuer},
		{"not promised and there", false, []string{"BASE"}, ""},
		{"not promised and not there", false, nil, ""},
		{"not promised, and another", false, []string{"https://evil.example"}, ResponseIssuer},
		{"not promised, a slash more", false, []string{"BASE/"}, ResponseIssuer},
		{"not promised, and another as well", false, []string{"BASE", "https://evil.example"}, ResponseIssuer},
		{"not promised and there twice", false, []string{"BASE", "BASE"}, ResponseIssuer},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			if c.promised {
				w.documents[serverAt] = strings.Replace(usualServer, "{", `{"authorization_response_iss_parameter_supported":true,`, 1)
			}
			w.redirect = func(q url.Values) {
				for _, iss := range c.iss {
					q.Add("iss", strings.NewReplacer("BASE", w.url, "CAPITALS", strings.ToUpper(w.url)).Replace(iss))
				}
			}
			_, err := w.login(newStore(), nil)
			wantRule(t, err, c.want)
			if sent := len(w.forms); c.want != "" && sent != 0 {
				t.Errorf("%d token requests were sent", sent)
			}
		})
	}
}

// AUTH 3.6: the text of an error is shown only if the issuer is right.
//
// rules 214
// authorization 46
func TestErrorsInTheBrowser(t *testing.T) {
	for _, c := range []struct {
		set   map[string]string
		want  Rule
		shown bool
	}{
		{map[string]string{"error": "access_denied", "error_description": "the user said no"}, Denied, true},
		{map[string]string{"error": "server_error", "error_description": "the user said no"}, ResponseInvalid, true},
		{map[string]string{"error": "access_denied", "error_description": "the user said no", "iss": "https://evil.example"}, ResponseIssuer, false},
		{map[string]string{"code": ""}, ResponseInvalid, false},
	} {
		w := newWorld(t)
		w.redirect = func(q url.Values) {
			for name, value := range c.set {
				q.Set(name, value)
			}
		}
		_, err := w.login(newStore(), nil)
		wantRule(t, err, c.want)
		if shown := strings.Contains(err.Error(), "the user said no"); shown != c.shown {
			t.Errorf("%v: got %v", c.set, err)
		}
		if len(w.forms) != 0 {
			t.Errorf("%v: a token was asked for", c.set)
		}
	}
}

// AUTH 3.4: which scopes are asked for.
//
// rules 207, 208, 209, 223
// authorization 33, 34, 35, 72
func TestWhichScopes(t *testing.T) {
	for _, c := range []struct {
		name               string
		resource, server   string // "scopes_supported"
		challenge          string
		asked, before      []string
		want, offlineScope string
	}{
		{name: "the challenge's", resource: `["a","b"]`, challenge: "c d", want: "c d"},
		{name: "else the resource's", resource: `["a","b"]`, want: "a b"},
		{name: "else none, and not the server's", server: `["x"]`, want: "-"},
		{name: "the user's", resource: `["a"]`, challenge: "c", asked: []string{"u"}, want: "u"},
		{name: "what was asked for before is kept", challenge: "c", before: []string{"a", "b"}, want: "a b c"},
		{name: "offline_access where the server has it", resource: `["a"]`, server: `["offline_access"]`, want: "a offline_access"},
		{name: "offline_access not where only the resource has it", resource: `["a"]`, server: `["a"]`, want: "a"},
		{name: "offline_access not alone", server: `["offline_access"]`, want: "-"},
		{name: "offline_access not where the user chose", resource: `["a"]`, server: `["offline_access"]`, asked: []string{"u"}, want: "u"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, store := newWorld(t), newStore()
			w.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp","authorization_servers":["BASE"]` + member(c.resource)
			w.documents[serverAt] = strings.TrimSuffix(usualServer, "}") + member(c.server)
			if c.before != nil {
				_ = store.Change(t.Context(), func(b *Records) {
					b.putToken(Token{Issuer: w.url, Resource: w.url + "/mcp", Endpoint: w.url + "/mcp", Requested: c.before, Access: "plain:old"})
				})
			}
			_, err := w.login(store, func(r *Request) {
				r.Scopes = c.asked
				if c.challenge != "" {
					r.Challenge = Challenge{Params: map[string]string{"scope": c.challenge}}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			got := w.asked.Get("scope")
			if !w.asked.Has("scope") {
				got = "-"
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func member(scopes string) string {
	if scopes == "" {
		return "}"
	}
	return `,"scopes_supported":` + scopes + "}"
}

// AUTH 3.3: who mcpc is, in the order of the specification.
//
// rules 196, 199, 200
// authorization 27, 28, 32
func TestClientIdentityFollowsSpecificationOrder(t *testing.T) {
	const document = "https://mcpc.example/client.json"
	withDocuments := strings.Replace(usualServer, "{", `{"client_id_metadata_document_supported":true,`, 1)
	withoutRegistration := strings.Replace(usualServer, `"registration_endpoint":"BASE/register",`, "", 1)
	for _, c := range []struct {
		name, server  string
		given, before Client
		document      string
		want          string
		rule          Rule
		registered    int
	}{
		{name: "the given one, of all", server: withDocuments, given: Client{ID: "given"}, document: document, want: "given"},
		{
			name: "the one that was given before", server: withDocuments, want: "before",
			before: Client{ID: "before", Origin: Given, Grant: AuthorizationCode},
		},
		{
			name: "the document, not the one that was given before", server: withDocuments, document: document, want: document,
			before: Client{ID: "before", Origin: Given, Grant: AuthorizationCode},
		},
		{name: "the document", server: withDocuments, document: document, want: document},
		{name: "no document where the server knows none", server: usualServer, document: document, want: "registered-id", registered: 1},
		{name: "registered now", server: usualServer, want: "registered-id", registered: 1},
		{name: "not what another issuer knows", server: usualServer, before: Client{Issuer: "https://other.example", ID: "other", Origin: Registered}, want: "registered-id", registered: 1},
		{name: "nobody", server: withoutRegistration, rule: NoRegistration},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, store := newWorld(t), newStore()
			w.documents[serverAt] = c.server
			if c.before.ID != "" {
				if c.before.Issuer == "" {
					c.before.Issuer = w.url
				}
				_ = store.Change(t.Context(), func(b *Records) { b.putClient(c.before) })
			}
			_, err := w.login(store, func(r *Request) { r.Client, r.DocumentURL = c.given, c.document })
			wantRule(t, err, c.rule)
			if got := w.asked.Get("client_id"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := w.asks("/register"); got != c.registered {
				t.Errorf("registered %d times", got)
			}
		})
	}
}

// AUTH 3.3: a registration is used again, with the port that it names.
//
// authorization 31
func TestRegistrationIsUsedAgain(t *testing.T) {
	w, store := newWorld(t), newStore()
	var redirects []string
	for range 2 {
		if _, err := w.login(store, nil); err != nil {
			t.Fatal(err)
		}
		redirects = append(redirects, w.asked.Get("redirect_uri"))
	}
	if got := w.asks("/register"); got != 1 || redirects[0] != redirects[1] {
		t.Errorf("registered %d times, for %q", got, redirects)
	}
}

// AUTH 3.3: data that is bound to one issuer is sent to no other issuer.
//
// rules 196, 197
// authorization 32, 58
func TestTheAuthorizationServerChanges(t *testing.T) {
	w, store := newWorld(t), newStore()
	w.registration = func(map[string]any) (int, string) { return 201, `{"client_id":"old-id","client_secret":"old-secret"}` }
	if _, err := w.login(store, nil); err != nil {
		t.Fatal(err)
	}
	other := newWorld(t)
	other.registration = func(map[string]any) (int, string) { return 201, `{"client_id":"new-id"}` }
	w.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp","authorization_servers":["` + other.url + `"]}`
	w.forms = nil
	if _, err := w.login(store, nil); err != nil {
		t.Fatal(err)
	}
	if got := other.forms[0]; got.Get("client_id") != "new-id" || strings.Contains(got.Encode(), "old-") || len(w.forms) != 0 {
		t.Errorf("the new server got %v, the old one %v", got, w.forms)
	}
	if b := book(t, store); len(b.Tokens) != 1 || b.Tokens[0].Issuer != other.url {
		t.Errorf("kept %+v", b.Tokens)
	}
}

// A client that was registered for a failed login is used by the next login, and does not influence
// the choice between authorization servers. A client that a server no longer accepts is forgotten.
func TestRegistrationOutlivesAFailedLogin(t *testing.T) {
	w, store := newWorld(t), newStore()
	w.redirect = func(q url.Values) { q.Set("error", "access_denied") }
	_, err := w.login(store, nil)
	wantRule(t, err, Denied)
	b := book(t, store)
	if len(b.Clients) != 1 || len(b.Tokens) != 0 {
		t.Fatalf("kept %+v", b)
	}
	if _, known := orderIssuers(&Resource{ID: w.url, AuthorizationServers: []string{w.url, "https://other.example"}}, b); known {
		t.Error("an issuer counts as chosen")
	}
	w.redirect = nil
	if _, err := w.login(store, nil); err != nil || w.asks("/register") != 1 {
		t.Errorf("got %v after %d registrations", err, w.asks("/register"))
	}
	if b := book(t, store); b.Clients[0].Untried {
		t.Error("a client that worked counts as untried")
	}
	w.redirect = func(q url.Values) { q.Set("error", "unauthorized_client") }
	if _, err = w.login(store, nil); err == nil || len(book(t, store).Clients) != 0 {
		t.Errorf("got %v, kept %+v", err, book(t, store).Clients)
	}
}

// A server that lost its registrations gets another one the next time.
func TestRegistrationIsLost(t *testing.T) {
	w, store := newWorld(t), newStore()
	if _, err := w.login(store, nil); err != nil {
		t.Fatal(err)
	}
	w.token = func(url.Values, http.Header) (int, string) { return 401, `{"error":"invalid_client"}` }
	_, err := w.login(store, nil)
	wantRule(t, err, TokenRefused)
	w.token = func(url.Values, http.Header) (int, string) { return 200, usualToken }
	if _, err := w.login(store, nil); err != nil || w.asks("/register") != 2 {
		t.Errorf("got %v after %d registrations", err, w.asks("/register"))
	}
}

// A client may request only the scopes that it registered for: for more scopes mcpc registers a new
// client, with all of them. Clients with tokens for other servers remain in use there.
func TestRegistrationForMoreScopes(t *testing.T) {
	w, store := newWorld(t), newStore()
	registered := []string{}
	w.registration = func(body map[string]any) (int, string) {
		scope, _ := body["scope"].(string)
		registered = append(registered, scope)
		return 201, fmt.Sprintf(`{"client_id":"id-%d"}`, len(registered))
	}
	w.documents[resourceAt+"/other"] = `{"resource":"BASE/other","authorization_servers":["BASE"]}`
	for _, c := range []struct{ endpoint, scope, client string }{
		{"/mcp", "a", "id-1"},
		{"/mcp", "a", "id-1"},
		{"/other", "x", "id-2"},
		{"/mcp", "b", "id-3"}, // with a, which is kept
		{"/mcp", "a b", "id-3"},
		{"/other", "x", "id-2"},
	} {
		_, err := w.login(store, func(r *Request) {
			r.Endpoint = w.url + c.endpoint
			r.Challenge = Challenge{Params: map[string]string{"scope": c.scope}}
		})
		if err != nil || w.asked.Get("client_id") != c.client {
			t.Errorf("%s %s: asked as %s, want %s: %v", c.endpoint, c.scope, w.asked.Get("client_id"), c.client, err)
		}
	}
	if want := []string{"a", "x", "a b"}; !slices.Equal(registered, want) {
		t.Errorf("registered for %q, want %q", registered, want)
	}
	// A client of an older mcpc has the scopes of its token.
	_ = store.Change(t.Context(), func(b *Records) {
		for i := range b.Clients {
			b.Clients[i].Scopes = nil
		}
	})
	if _, err := w.login(store, nil); err != nil || len(registered) != 3 {
		t.Errorf("registered for %q: %v", registered, err)
	}
}

// rules 201, 202
// authorization 30
func TestRegistrationIsRejected(t *testing.T) {
	w := newWorld(t)
	w.registration = func(map[string]any) (int, string) {
		return 400, `{"error":"invalid_redirect_uri","error_description":"no loopback"}`
	}
	_, err := w.login(newStore(), nil)
	wantRule(t, err, RegistrationFailed)
	if err == nil || !strings.Contains(err.Error(), "invalid_redirect_uri, no loopback") {
		t.Errorf("got %v", err)
	}
}

// A registration without a client reports what is missing, and whether a new attempt is worthwhile.
func TestRegistrationAnswers(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   Rule
		text   string
		hint   string
	}{
		{201, `{"client_id":12345}`, "", "", ""},
		{200, `{"client_id":"x","client_secret":null,"redirect_uris":null,"client_secret_expires_at":null}`, "", "", ""},
		{201, `{"client_id":"x","redirect_uris":"http://127.0.0.1/callback"}`, "", "", ""},
		{201, `{}`, RegistrationFailed, "the registration response has no client_id", "--client-id ID"},
		{201, `{"client_id":null}`, RegistrationFailed, "has no client_id", "--client-id ID"},
		{201, `{"client_id":""}`, RegistrationFailed, "has a client_id of type string, which is none", "--client-id ID"},
		{201, `{"client_id":{"id":"x"}}`, RegistrationFailed, "has a client_id of type object", "--client-id ID"},
		{201, `[]`, RegistrationFailed, "the registration response is not a valid JSON object", "--client-id ID"},
		{201, `{"client_id":"x","token_endpoint_auth_method":[]}`, RegistrationFailed, `"token_endpoint_auth_method" of type array`, "--client-id ID"},
		{200, `{"error":"invalid_client_metadata"}`, RegistrationFailed, "rejected the registration: invalid_client_metadata", "--client-id ID"},
		{403, `{"error":"access_denied"}`, RegistrationFailed, "rejected the registration: access_denied", "programs may not register there"},
		{401, `<html>`, RegistrationFailed, "(HTTP 401 Unauthorized)", "programs may not register there"},
		{429, `{"error":"too_many"}`, Unavailable, "could not handle the registration: too_many", ""},
		{503, `busy`, Unavailable, "could not handle the registration (HTTP 503", ""},
	} {
		w := newWorld(t)
		w.registration = func(map[string]any) (int, string) { return c.status, c.body }
		_, err := w.login(newStore(), nil)
		wantRule(t, err, c.want)
		if failed, ok := errors.AsType[*Error](err); ok &&
			(!strings.Contains(failed.Text, c.text) || !strings.Contains(failed.Hint.String(), c.hint)) {
			t.Errorf("%d %s: got %s, hint %s", c.status, c.body, failed.Text, failed.Hint)
		}
		if c.status == 201 && c.body == `{"client_id":12345}` && w.asked.Get("client_id") != "12345" {
			t.Errorf("asked as %q", w.asked.Get("client_id"))
		}
	}
}

// AUTH 3.7: how a client proves itself, and that it does so in one way only.
//
// authorization 50
func TestClientAuthenticationMethods(t *testing.T) {
	for _, c := range []struct {
		name, registered, methods, want string
	}{
		{"as registered", `{"client_id":"a b","client_secret":"s%1","token_endpoint_auth_method":"client_secret_post"}`, `["client_secret_basic"]`, "post"},
		{"basic where it is listed", `{"client_id":"a b","client_secret":"s%1"}`, `["client_secret_post","client_secret_basic"]`, "basic"},
		{"basic where nothing is", `{"client_id":"a b","client_secret":"s%1"}`, "", "basic"},
		{"post where that is all", `{"client_id":"a b","client_secret":"s%1"}`, `["client_secret_post"]`, "post"},
		{"not at all without a secret", `{"client_id":"a b"}`, `["client_secret_basic"]`, "none"},
		{"not at all where nothing else is listed", `{"client_id":"a b","client_secret":"s%1"}`, `["none"]`, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.registration = func(map[string]any) (int, string) { return 201, c.registered }
			if c.methods != "" {
				w.documents[serverAt] = strings.TrimSuffix(usualServer, "}") + `,"token_endpoint_auth_methods_supported":` + c.methods + "}"
			}
			if _, err := w.login(newStore(), nil); err != nil {
				t.Fatal(err)
			}
			form, head := w.forms[0], w.heads[0].Get("Authorization")
			got := "none"
			switch {
			case head != "" && form.Has("client_secret"):
				got = "both"
			case head == "Basic "+base64.StdEncoding.EncodeToString([]byte("a+b:s%251")) && !form.Has("client_id"):
				got = "basic"
			case form.Get("client_secret") == "s%1" && form.Get("client_id") == "a b" && head == "":
				got = "post"
			case form.Get("client_id") != "a b" || head != "":
				got = "nobody"
			}
			if got != c.want || len(w.forms) != 1 {
				t.Errorf("got %s in %d requests, want %s: %v %q", got, len(w.forms), c.want, form, head)
			}
		})
	}
}

// A server that lists both methods may accept only one: the other is tried once, and remembered.
func TestOtherMethodIsTriedOnce(t *testing.T) {
	both := strings.TrimSuffix(usualServer, "}") + `,"token_endpoint_auth_methods_supported":["client_secret_basic","client_secret_post"]}`
	for _, c := range []struct {
		name, server string
		client       Client
		takes        string // the method that is accepted
		code         string // of the refusal
		forms        int
		want         Rule
	}{
		{"both listed", both, Client{ID: "x"}, "post", "invalid_client", 2, ""},
		{"none listed", usualServer, Client{ID: "x"}, "post", "invalid_client", 2, ""},
		{"no client_id", both, Client{ID: "x"}, "post", "invalid_request", 2, ""},
		{"the first one works", both, Client{ID: "x"}, "basic", "invalid_client", 1, ""},
		{"the secret is wrong", both, Client{ID: "x"}, "neither", "invalid_client", 2, TokenRefused},
		{"another refusal", both, Client{ID: "x"}, "post", "invalid_grant", 1, TokenRefused},
		{"the other is not listed", strings.Replace(both, `,"client_secret_post"`, "", 1), Client{ID: "x"}, "post", "invalid_client", 1, TokenRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, store := newWorld(t), newStore()
			w.documents[serverAt] = c.server
			w.token = func(form url.Values, h http.Header) (int, string) {
				how := "post"
				if h.Get("Authorization") != "" {
					how = "basic"
				}
				if how == "basic" && (form.Has("client_id") || form.Has("client_secret")) || how == "post" && form.Get("client_secret") != "s" {
					t.Errorf("%s: got %v", how, form)
				}
				if how == c.takes {
					return 200, usualToken
				}
				return 401, `{"error":"` + c.code + `"}`
			}
			token, err := w.login(store, func(r *Request) { r.Client, r.ClientSecret = c.client, "s" })
			wantRule(t, err, c.want)
			if len(w.forms) != c.forms {
				t.Errorf("%d token requests, want %d", len(w.forms), c.forms)
			}
			if c.want != "" {
				return
			}
			before := len(w.forms)
			if _, err := w.walk().Renew(t.Context(), store, token, false); err != nil || len(w.forms) != before+1 {
				t.Errorf("renewed with %d requests: %v", len(w.forms)-before, err)
			}
			if _, err := w.login(store, nil); err != nil || len(w.forms) != before+2 {
				t.Errorf("logged in again with %d requests: %v", len(w.forms)-before, err)
			}
		})
	}
}

// A renewal also finds the method if the client was stored without a method.
func TestRenewalRemembersTheMethod(t *testing.T) {
	w, p := newWorld(t), newProtected(t)
	w.token = func(_ url.Values, h http.Header) (int, string) {
		if h.Get("Authorization") != "" {
			return 401, `{"error":"invalid_client"}`
		}
		return 200, usualToken
	}
	store := stored(t, w, p.URL+"/mcp", nil)
	_ = store.Change(t.Context(), func(b *Records) {
		b.putClient(Client{Issuer: w.url, ID: "id", Origin: Given, Grant: AuthorizationCode, Secret: "plain:s"})
	})
	for n := range 2 {
		if _, err := w.walk().Renew(t.Context(), store, book(t, store).Tokens[0], false); err != nil || len(w.forms) != n+2 {
			t.Errorf("%d requests after %d renewals: %v", len(w.forms), n+1, err)
		}
	}
}

// AUTH 3.7: the responses.
//
// rules 222
// authorization 51, 52, 54, 70
func TestTokenAnswers(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   Rule
		text   string
	}{
		{200, usualToken, "", ""},
		{200, `{"access_token":"x","token_type":"bEARER"}`, "", ""},
		{200, `{"access_token":"x"}`, "", ""},
		{200, `{"access_token":"x","token_type":null}`, "", ""},
		{200, `{"access_token":"x","token_type":"mac"}`, TokenType, `"mac"`},
		{200, `{"token_type":"Bearer"}`, TokenRefused, "without an access_token"},
		{200, `{"data":` + usualToken + `}`, TokenRefused, "without an access_token"},
		{200, `<html>secret of a page`, TokenRefused, ""},
		{400, `{"error":"invalid_grant","error_description":"too late"}`, TokenRefused, "invalid_grant, too late"},
		{500, `secret of a page`, Unavailable, "HTTP 500"},
		{429, `{"error":"too_many_requests"}`, Unavailable, "too_many_requests"},
		{200, `{"error":"temporarily_unavailable"}`, Unavailable, "temporarily_unavailable"},
		{500, `{"error":"invalid_grant"}`, TokenRefused, "invalid_grant"},
		{302, ``, TokenRefused, ""},
	} {
		w, store := newWorld(t), newStore()
		w.token = func(url.Values, http.Header) (int, string) { return c.status, c.body }
		_, err := w.login(store, nil)
		wantRule(t, err, c.want)
		if err != nil && (!strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("got %v, want %q in it", err, c.text)
		}
		if kept := len(book(t, store).Tokens); (kept == 1) != (c.want == "") || len(w.forms) != 1 {
			t.Errorf("%s: %d tokens are kept after %d requests", c.body, kept, len(w.forms))
		}
	}
}

// S05, S10: the page repeats nothing of its parameters, a wrong state does not end the login, and a
// right state counts once.
//
// rules 215
// authorization 43, 47
func TestCallback(t *testing.T) {
	back, err := listenOn(callbackHost, 0, callbackPath)
	if err != nil {
		t.Fatal(err)
	}
	defer back.close()
	a := &authorization{state: "right-state", redirect: back.redirect()}
	back.expect(a)
	get := func(method, address, host string) (int, string) {
		req, _ := http.NewRequest(method, address, nil)
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		if !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("no policy: %v", resp.Header)
		}
		return resp.StatusCode, string(body)
	}
	u, _ := url.Parse(back.redirect())
	const evil = "&error=<script>alert(1)</script>&error_description=reflected"
	for _, c := range []struct {
		name, method, address, host string
		want                        int
	}{
		{"no state", "GET", a.redirect + "?code=x" + evil, u.Host, 400},
		{"a wrong state", "GET", a.redirect + "?state=bad&code=x" + evil, u.Host, 400},
		{"another path", "GET", "http://" + u.Host + "/other?state=right-state", u.Host, 400},
		{"another method", "POST", a.redirect + "?state=right-state", u.Host, 400},
		{"a name that was made to point here", "GET", a.redirect + "?state=right-state", "evil.example", 400},
		{"the right one", "GET", a.redirect + "?state=right-state&code=y" + evil, u.Host, 200},
		{"the right one again", "GET", a.redirect + "?state=right-state&code=z", u.Host, 400},
	} {
		status, body := get(c.method, c.address, c.host)
		if status != c.want || strings.Contains(body, "script") || strings.Contains(body, "reflected") || strings.Contains(body, "state") {
			t.Errorf("%s: HTTP %d, want %d: %s", c.name, status, c.want, body)
		}
	}
	answer, err := back.wait(t.Context(), a, Request{})
	if err != nil || answer.Get("code") != "y" {
		t.Errorf("got %v, %v", answer, err)
	}
	if len(back.answers) != 0 {
		t.Error("a second answer was taken")
	}
}

// AUTH 3.5: a pasted redirect is checked like a received redirect.
//
// rules 215
// authorization 48
func TestPastedAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		pasted func(redirect, state string) string
		want   Rule
	}{
		{"the address", func(r, s string) string { return r + "?code=c&state=" + s }, ""},
		{"another state", func(r, s string) string { return r + "?code=c&state=x" }, ResponseInvalid},
		{"another place", func(r, s string) string { return "https://evil.example/callback?code=c&state=" + s }, ResponseInvalid},
		{"the code alone", func(r, s string) string { return "c" }, ResponseInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			var asked url.Values
			_, err := w.login(newStore(), func(r *Request) {
				r.Visit = func(_ context.Context, address string) {
					u, _ := url.Parse(address)
					asked = u.Query()
				}
				r.Paste = func(context.Context, *Error) (string, error) {
					return c.pasted(asked.Get("redirect_uri"), asked.Get("state")), nil
				}
			})
			wantRule(t, err, c.want)
		})
	}
}

// A login that the user does not finish ends with its context.
func TestUnfinishedLoginEndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	req := w.request()
	req.Visit = func(context.Context, string) { stop() }
	_, err := w.walk().Login(ctx, newStore(), req)
	wantRule(t, err, NoResponse)
}

// AUTH 9: a program's own token, by a secret and by a key.
//
// rules 231
// authorization 71, 80
func TestClientCredentials(t *testing.T) {
	w, store := newWorld(t), newStore()
	own := func(r *Request) {
		r.Grant, r.Client, r.ClientSecret = ClientCredentials, Client{ID: "robot"}, "robot-secret"
	}
	token, err := w.login(store, own)
	if err != nil {
		t.Fatal(err)
	}
	form := w.forms[0]
	if form.Get("grant_type") != "client_credentials" || form.Get("resource") != w.url+"/mcp" || form.Get("scope") != "a b" ||
		!strings.HasPrefix(w.heads[0].Get("Authorization"), "Basic ") || w.asks("/register") != 0 {
		t.Errorf("got %v %v", form, w.heads[0])
	}
	// The next one is obtained without giving the secret again.
	w.token = func(url.Values, http.Header) (int, string) {
		return 200, `{"access_token":"access-2","token_type":"Bearer"}`
	}
	fresh, err := w.walk().Renew(t.Context(), store, token, false)
	if err != nil || fresh.Access != "plain:access-2" || w.heads[1].Get("Authorization") != w.heads[0].Get("Authorization") {
		t.Errorf("got %+v, %v", fresh, err)
	}
	_, err = w.login(newStore(), func(r *Request) { r.Grant, r.Client = ClientCredentials, Client{ID: "robot"} })
	wantRule(t, err, NoRegistration)
	_, err = w.login(newStore(), func(r *Request) { r.Grant = ClientCredentials })
	wantRule(t, err, NoRegistration)
}

// AUTH 9 (RFC 7523): the assertion, with each sort of key.
//
// rules 231
// authorization 80
func TestAssertions(t *testing.T) {
	ec, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	rsaKey, _ := rsa.GenerateKey(rand.Reader, 2048)
	_, edKey, _ := ed25519.GenerateKey(rand.Reader)
	for _, c := range []struct {
		name, algorithm, want string
		key, public           any
	}{
		{"ES256", "", "ES256", ec, &ec.PublicKey},
		{"RS256", "", "RS256", rsaKey, &rsaKey.PublicKey},
		{"PS256", "PS256", "PS256", rsaKey, &rsaKey.PublicKey},
		{"EdDSA", "", "EdDSA", edKey, edKey.Public()},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			path := writeKey(t, c.key)
			_, err := w.login(newStore(), func(r *Request) {
				r.Grant, r.Client = ClientCredentials, Client{ID: "robot", KeyFile: path, KeyID: "k1", Algorithm: c.algorithm}
			})
			if err != nil {
				t.Fatal(err)
			}
			form := w.forms[0]
			if form.Get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" || form.Has("client_id") ||
				form.Has("client_secret") || w.heads[0].Get("Authorization") != "" {
				t.Errorf("got %v", form)
			}
			claims := jwt.MapClaims{}
			token, err := jwt.ParseWithClaims(form.Get("client_assertion"), claims, func(*jwt.Token) (any, error) { return c.public, nil },
				jwt.WithValidMethods([]string{c.want}), jwt.WithAudience(w.url), jwt.WithIssuer("robot"), jwt.WithSubject("robot"), jwt.WithExpirationRequired())
			if err != nil {
				t.Fatal(err)
			}
			expires, _ := claims.GetExpirationTime()
			issued, _ := claims.GetIssuedAt()
			if token.Header["kid"] != "k1" || claims["jti"] == "" || expires.Sub(issued.Time) > 5*time.Minute {
				t.Errorf("got %v %v", token.Header, claims)
			}
		})
	}
}

// If a server rejects the assertion, the hint has the assertion's contents, and no secret.
func TestHintsOfAssertions(t *testing.T) {
	ec, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	for key, want := range map[string]string{writeKey(t, ec): "--audience", "": "--client-secret-file"} {
		w := newWorld(t)
		w.token = func(url.Values, http.Header) (int, string) { return 401, `{"error":"invalid_client"}` }
		_, err := w.login(newStore(), func(r *Request) {
			r.Grant, r.Client = ClientCredentials, Client{ID: "robot", KeyFile: key}
			if key == "" {
				r.ClientSecret = "s"
			}
		})
		if failed, ok := errors.AsType[*Error](err); !ok || !strings.Contains(failed.Hint.String(), want) {
			t.Errorf("got %v", err)
		}
	}
}

func writeKey(t *testing.T, key any) string {
	t.Helper()
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInvalidKeysAreRefused(t *testing.T) {
	w := newWorld(t)
	ec, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	for name, c := range map[string]Client{
		"no file":           {ID: "x", KeyFile: filepath.Join(t.TempDir(), "none.pem")},
		"another algorithm": {ID: "x", KeyFile: writeKey(t, ec), Algorithm: "RS256"},
		"none at all":       {ID: "x", KeyFile: writeKey(t, ec), Algorithm: "none"},
	} {
		_, err := w.walk().assertion(c, &Server{})
		if !HasRule(err, KeyUnusable) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Every secret is learned before it is sent or received, so that it can be hidden.
//
// authorization 61
func TestSecretsAreLearnt(t *testing.T) {
	w := newWorld(t)
	w.registration = func(map[string]any) (int, string) { return 201, `{"client_id":"id","client_secret":"client-secret-1"}` }
	walk, learnt := w.walk(), []string{}
	walk.AddSecret = func(secrets ...string) { learnt = append(learnt, secrets...) }
	if _, err := walk.Login(t.Context(), newStore(), w.request()); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{
		"client-secret-1", "code-secret-1", "access-secret-1", "refresh-secret-1",
		w.forms[0].Get("code_verifier"),
	} {
		if !slices.Contains(learnt, secret) {
			t.Errorf("%q was not told", secret)
		}
	}
}

// An initial access token goes to the registration endpoint and nowhere else, and is not stored. The hint at a rejected
// registration names it.
func TestInitialAccessToken(t *testing.T) {
	w, store := newWorld(t), newStore()
	if _, err := w.login(store, func(r *Request) { r.RegistrationToken = "initial-secret" }); err != nil {
		t.Fatal(err)
	}
	if len(w.registrars) != 1 || w.registrars[0].Get("Authorization") != "Bearer initial-secret" {
		t.Errorf("registered with %v", w.registrars)
	}
	for _, h := range append(w.heads, w.fetchers...) {
		if h.Get("Authorization") != "" {
			t.Errorf("sent %v", h)
		}
	}
	if raw, _ := store.File.Read(); strings.Contains(string(raw), "initial-secret") {
		t.Errorf("stored %s", raw)
	}
	for _, status := range []int{401, 403} {
		w.registration = func(map[string]any) (int, string) { return status, `{"error":"invalid_token"}` }
		for token, want := range map[string]string{
			"":  "--registration-token-file FILE",
			"x": "the initial access token (--registration-token-file, MCPC_REGISTRATION_TOKEN) was not accepted",
		} {
			_, err := w.login(newStore(), func(r *Request) { r.RegistrationToken = token })
			wantRule(t, err, RegistrationFailed)
			if failed, ok := errors.AsType[*Error](err); !ok || !strings.Contains(failed.Hint.String(), want) {
				t.Errorf("%d, %q: got %+v", status, token, err)
			}
		}
	}
}
