package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// The user's settings for a login apply to the next login there, even after the token was dropped:
// for the same server, account and issuer, and until a logout.
func TestSettingsAreRemembered(t *testing.T) {
	const document = "https://mcpc.example/client.json"
	w, store := newWorld(t), newStore()
	w.documents[serverAt] = strings.Replace(usualServer, "{", `{"client_id_metadata_document_supported":true,`, 1)
	login := func(change func(*Request)) {
		t.Helper()
		if _, err := w.login(store, change); err != nil {
			t.Fatal(err)
		}
	}
	login(func(r *Request) { r.DocumentURL = document })
	login(nil)
	if w.asked.Get("client_id") != document {
		t.Errorf("the next login asked %v", w.asked)
	}
	_ = store.Change(t.Context(), func(b *Records) { b.Drop(func(Token) bool { return true }) })
	login(nil)
	if w.asked.Get("client_id") != document {
		t.Errorf("a login after the token was dropped asked %v", w.asked)
	}
	login(func(r *Request) { r.DocumentURL = document + "?2" })
	login(nil)
	if w.asked.Get("client_id") != document+"?2" {
		t.Errorf("the settings were not replaced: %v", w.asked)
	}
	login(func(r *Request) { r.Account = "other" })
	if w.asked.Get("client_id") != "registered-id" {
		t.Error("another account has the settings")
	}
	_ = store.Change(t.Context(), func(b *Records) { b.Forget(w.url+"/mcp", "") })
	login(nil)
	if w.asked.Get("client_id") != "registered-id" || len(book(t, store).Settings) != 0 {
		t.Error("a logout keeps the settings")
	}
}

// The client that the user named last counts: a metadata document in place of a stored client, and a client in place of
// a remembered document. A server that does not know documents is used with the stored client, and a warning.
func TestLastNamedClientCounts(t *testing.T) {
	const document = "https://mcpc.example/client.json"
	w, store := newWorld(t), newStore()
	w.documents[serverAt] = strings.Replace(usualServer, "{", `{"client_id_metadata_document_supported":true,`, 1)
	named := func(r *Request) { r.Client.ID = "named" }
	described := func(r *Request) { r.DocumentURL = document }
	for i, c := range []struct {
		change func(*Request)
		want   string
	}{{named, "named"}, {nil, "named"}, {described, document}, {nil, document}, {named, "named"}, {nil, "named"}} {
		if _, err := w.login(store, c.change); err != nil {
			t.Fatal(err)
		}
		if got := w.asked.Get("client_id"); got != c.want {
			t.Errorf("login %d: the client is %s, want %s", i, got, c.want)
		}
	}
	w.documents[serverAt] = usualServer
	warned := false
	walk := w.walk()
	walk.OnStep = func(s Step) { warned = warned || s.Tolerated && strings.Contains(s.Text, "--client-metadata-url") }
	req := w.request()
	described(&req)
	if _, err := walk.Login(t.Context(), store, req); err != nil || w.asked.Get("client_id") != "named" || !warned {
		t.Errorf("without documents: %v, asked %v, warned %v", err, w.asked, warned)
	}
}

// A server that declares no PKCE is used if the user trusts it, for that server and issuer only;
// PKCE is sent nevertheless. A server that declares another method is not used.
func TestPKCEIsAssumed(t *testing.T) {
	yes, no := true, false
	w, store := newWorld(t), newStore()
	w.documents[serverAt] = strings.Replace(usualServer, `,"code_challenge_methods_supported":["S256"]`, "", 1)
	_, err := w.login(store, nil)
	wantRule(t, err, NoPKCE)
	if failed, ok := errors.AsType[*Error](err); !ok || !strings.Contains(failed.Hint.String(), "--assume-pkce") {
		t.Errorf("got %v", err)
	}
	for _, choice := range []*bool{&yes, nil} {
		if _, err := w.login(store, func(r *Request) { r.AssumePKCE = choice }); err != nil {
			t.Fatal(err)
		}
		if w.asked.Get("code_challenge_method") != "S256" || s256(w.forms[0].Get("code_verifier")) == "" {
			t.Errorf("asked %v", w.asked)
		}
	}
	_, err = w.login(store, func(r *Request) { r.AssumePKCE = &no })
	wantRule(t, err, NoPKCE)
	_, err = w.login(store, func(r *Request) { r.Account = "other" })
	wantRule(t, err, NoPKCE)
	w.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp","authorization_servers":["BASE/t1"]}`
	w.documents[serverAt+"/t1"] = strings.Replace(w.documents[serverAt], `"issuer":"BASE"`, `"issuer":"BASE/t1"`, 1)
	_, err = w.login(store, nil)
	wantRule(t, err, NoPKCE)
	w.documents[serverAt+"/t1"] = strings.Replace(w.documents[serverAt+"/t1"], "{", `{"code_challenge_methods_supported":["plain"],`, 1)
	_, err = w.login(store, func(r *Request) { r.AssumePKCE = &yes })
	wantRule(t, err, NoPKCE)
	if failed, ok := errors.AsType[*Error](err); !ok || strings.Contains(failed.Hint.String(), "--assume-pkce") {
		t.Errorf("got %v", err)
	}
}

// A server that rejects the resource parameter does not get it, with any grant, at refreshes and at
// the next login. The hint of its error is the flag, unless that was given.
func TestResourceIsOmitted(t *testing.T) {
	yes := true
	w, store := newWorld(t), newStore()
	w.documents[serverAt] = strings.Replace(usualServer, "{", `{"device_authorization_endpoint":"BASE/device",`, 1)
	w.documents["/device"] = `{"device_code":"d","user_code":"ABCD","verification_uri":"BASE/verify","interval":1}`
	w.token = func(form url.Values, _ http.Header) (int, string) {
		if form.Has("resource") {
			return 400, `{"error":"invalid_request","error_description":"AADSTS901002: The 'resource' request parameter is not supported."}`
		}
		return 200, usualToken
	}
	hintOf := func(err error) string {
		failed, _ := errors.AsType[*Error](err)
		if failed == nil {
			return ""
		}
		return failed.Hint.String()
	}
	if _, err := w.login(store, nil); !strings.Contains(hintOf(err), "--no-resource logs in without") {
		t.Errorf("got %v, hint %s", err, hintOf(err))
	}
	for _, grant := range []Grant{AuthorizationCode, DeviceCode, ClientCredentials} {
		t.Run(string(grant), func(t *testing.T) {
			store := newStore()
			for _, choice := range []*bool{&yes, nil} {
				w.asked = nil
				token, err := w.login(store, func(r *Request) {
					r.Grant, r.OmitResource, r.ShowCode = grant, choice, func(context.Context, string, string) {}
					if grant == ClientCredentials {
						r.Client, r.ClientSecret = Client{ID: "x"}, "s"
					}
				})
				if err != nil || w.asked.Has("resource") || token.Resource != w.url+"/mcp" {
					t.Fatalf("got %+v, %v, asked %v", token, err, w.asked)
				}
				if _, err := w.walk().Renew(t.Context(), store, token, false); err != nil {
					t.Errorf("renewed: %v", err)
				}
			}
			file, _, err := store.Export(t.Context(), w.url+"/mcp", "")
			if err != nil || !file.OmitResource {
				t.Errorf("exported %+v, %v", file, err)
			}
		})
	}
	w.redirect = func(q url.Values) {
		q.Set("error", "invalid_target")
		q.Set("error_description", "AADSTS9010010: The resource parameter provided in the request does not match with the requested scopes.")
	}
	for choice, want := range map[*bool]bool{nil: true, &yes: false} {
		_, err := w.login(newStore(), func(r *Request) { r.OmitResource = choice })
		if got := strings.Contains(hintOf(err), "--no-resource"); got != want {
			t.Errorf("got %v, hint %s", err, hintOf(err))
		}
	}
}

// Parameters of the user's are in the URL that the browser opens, in place of mcpc's prompt, and the next time, too.
func TestAuthorizeParameters(t *testing.T) {
	w, store := newWorld(t), newStore()
	given := map[string]string{"access_type": "offline", "prompt": "select_account"}
	for _, parameters := range []map[string]string{given, nil, {"x": "a b&c"}, nil} {
		if _, err := w.login(store, func(r *Request) {
			r.Parameters, r.Scopes = parameters, []string{"a", "offline_access"}
		}); err != nil {
			t.Fatal(err)
		}
		if parameters != nil {
			given = parameters
		}
		for name, value := range given {
			if got := w.asked[name]; !slices.Equal(got, []string{value}) {
				t.Errorf("%s is %q, want %q", name, got, value)
			}
		}
		if _, old := given["access_type"]; !old && w.asked.Has("access_type") {
			t.Errorf("asked %v", w.asked)
		}
	}
}

// The redirect URI may be a different URI on this machine, with or without a port, and is
// remembered.
func TestRedirectURIs(t *testing.T) {
	for given, want := range map[string]string{
		"http://localhost/callback":       "http://localhost:PORT/callback",
		"http://localhost":                "http://localhost:PORT",
		"http://127.0.0.1/oauth/back":     "http://127.0.0.1:PORT/oauth/back",
		"http://localhost/a%2Fb/callback": "http://localhost:PORT/a%2Fb/callback",
		"":                                "http://127.0.0.1:PORT/callback",
	} {
		for _, pasted := range []bool{false, true} {
			// Another process may have taken the port of the first login before the second one: then it is tried again.
			registrations := 0
			for try := 0; try < 5 && registrations != 1; try++ {
				w, store := newWorld(t), newStore()
				for _, choice := range []string{given, ""} {
					_, err := w.login(store, func(r *Request) {
						r.Redirect = choice
						if !pasted {
							return
						}
						address := ""
						r.Visit = func(_ context.Context, a string) { address = a }
						r.Paste = func(context.Context, *Error) (string, error) {
							u, _ := url.Parse(address)
							w.asked = u.Query()
							back, _ := url.Parse(w.asked.Get("redirect_uri"))
							back.RawQuery = url.Values{"state": {w.asked.Get("state")}, "code": {"c"}}.Encode()
							return strings.Replace(back.String(), "?", strings.Repeat("/", btoi(back.Path == ""))+"?", 1), nil
						}
					})
					redirect := w.asked.Get("redirect_uri")
					u, _ := url.Parse(redirect)
					if err != nil || strings.Replace(redirect, u.Port(), "PORT", 1) != want {
						t.Errorf("%q: redirected to %s, want %s: %v", given, redirect, want, err)
					}
				}
				registrations = w.asks("/register")
			}
			if registrations != 1 {
				t.Errorf("%q: registered %d times", given, registrations)
			}
		}
	}
	for _, uri := range []string{
		"https://localhost/cb", "http://evil.example/", "http://127.0.0.1/?a=b", "http://localhost/#x", "localhost:1",
		"http://u@localhost/", "urn:ietf:wg:oauth:2.0:oob", "http://127.0.0.1.evil.example/",
	} {
		if CheckRedirect(uri) == nil {
			t.Errorf("%s was accepted", uri)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A server that rejects the address of this machine in a redirect URI gets its name, once, and at later logins.
func TestRegistrationOfLocalhost(t *testing.T) {
	for _, c := range []struct {
		takes, refusal string
		registrations  int
		want           Rule
	}{
		{"localhost", `{"error":"invalid_redirect_uri"}`, 2, ""},
		{"localhost", `{"error":"invalid_client_metadata","error_description":"redirect_uris must use localhost"}`, 2, ""},
		{"nothing", `{"error":"invalid_redirect_uri"}`, 2, RegistrationFailed},
		{"localhost", `{"error":"access_denied"}`, 1, RegistrationFailed},
	} {
		w, store := newWorld(t), newStore()
		w.registration = func(body map[string]any) (int, string) {
			redirect := body["redirect_uris"].([]any)[0].(string)
			if !strings.Contains(redirect, c.takes) {
				return 400, c.refusal
			}
			return 201, `{"client_id":"x"}`
		}
		for range 2 {
			_, err := w.login(store, nil)
			wantRule(t, err, c.want)
			if c.want != "" {
				break
			}
			if redirect := w.asked.Get("redirect_uri"); !strings.HasPrefix(redirect, "http://localhost:") ||
				w.forms[len(w.forms)-1].Get("redirect_uri") != redirect {
				t.Errorf("asked %v, then %v", w.asked, w.forms)
			}
		}
		if n := w.asks("/register"); n != c.registrations {
			t.Errorf("%s: registered %d times, want %d", c.refusal, n, c.registrations)
		}
	}
}

// A port of 0 is a choice, too.
func TestZeroPortOverridesLastSettings(t *testing.T) {
	some, none := 8976, 0
	last := Settings{Port: &some}
	for _, c := range []struct {
		given *int
		want  int
	}{{nil, some}, {&none, none}, {&some, some}} {
		if got := (Settings{Port: c.given}).withDefaults(last); *got.Port != c.want {
			t.Errorf("got %d, want %d", *got.Port, c.want)
		}
	}
}
