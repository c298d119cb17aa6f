package auth

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func secretFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// AUTH 11: a program whose platform identifies it. The file is read again for the next token, and a
// refused assertion is not tried again or in a different way.
//
// authorization 88
func TestJWTBearer(t *testing.T) {
	w, store := newWorld(t), newStore()
	w.token = func(url.Values, http.Header) (int, string) {
		return 200, `{"access_token":"access-1","token_type":"Bearer"}`
	}
	name := secretFile(t, "assertion-1")
	token, err := w.login(store, func(r *Request) { r.Grant, r.Client = JWTBearer, Client{ID: "workload", AssertionFile: name} })
	if err != nil {
		t.Fatal(err)
	}
	form := w.forms[0]
	if form.Get("grant_type") != jwtBearerType || form.Get("assertion") != "assertion-1" || form.Get("client_id") != "workload" ||
		form.Get("resource") != w.url+"/mcp" || w.heads[0].Get("Authorization") != "" {
		t.Errorf("got %v", form)
	}
	if err := os.WriteFile(name, []byte("assertion-2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.walk().Renew(t.Context(), store, token, false); err != nil || w.forms[1].Get("assertion") != "assertion-2" {
		t.Errorf("got %v, %v", w.forms[1], err)
	}
	for _, code := range []string{"invalid_grant", "invalid_scope", "unauthorized_client"} {
		w.forms = nil
		w.token = func(url.Values, http.Header) (int, string) { return 400, `{"error":"` + code + `"}` }
		_, err := w.login(newStore(), func(r *Request) { r.Grant, r.Client = JWTBearer, Client{ID: "workload", AssertionFile: name} })
		wantRule(t, err, TokenRefused)
		if err == nil || !strings.Contains(err.Error(), code) || len(w.forms) != 1 {
			t.Errorf("%s: got %v after %d requests", code, err, len(w.forms))
		}
	}
}

// AUTH 10: the sign-on at the enterprise is exchanged there for an ID-JAG, which is
// redeemed at the server's own authorization server; no browser is opened.
//
// rules 233
// authorization 82, 83, 84, 85
func TestIDJAG(t *testing.T) {
	w, idp, store := newWorld(t), newWorld(t), newStore()
	idp.token = func(url.Values, http.Header) (int, string) {
		return 200, `{"access_token":"the-id-jag","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag","token_type":"N_A"}`
	}
	w.token = func(url.Values, http.Header) (int, string) {
		return 200, `{"access_token":"access-1","token_type":"Bearer"}`
	}
	signedOn := secretFile(t, "id-token-1")
	token, err := w.login(store, func(r *Request) {
		r.Grant, r.ClientSecret = IDJAG, "client-secret-1"
		r.Client = Client{ID: "enterprise", IDP: &IDP{TokenEndpoint: idp.url + "/token", ClientID: "sso", IDTokenFile: signedOn}}
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"grant_type": exchangeType, "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
		"audience": w.url, "resource": w.url + "/mcp", "subject_token": "id-token-1", "client_id": "sso",
		"subject_token_type": "urn:ietf:params:oauth:token-type:id_token", "actor_token": "",
	} {
		if got := idp.forms[0].Get(name); got != want {
			t.Errorf("exchange: %s is %q, want %q", name, got, want)
		}
	}
	form := w.forms[0]
	if form.Get("grant_type") != jwtBearerType || form.Get("assertion") != "the-id-jag" || !strings.HasPrefix(w.heads[0].Get("Authorization"), "Basic ") ||
		w.asks("/authorize") != 0 || strings.Contains(form.Encode(), "id-token-1") {
		t.Errorf("got %v", form)
	}
	// The next one comes of a new sign-on, by a new exchange, and by no refresh token.
	if err := os.WriteFile(signedOn, []byte("id-token-2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.walk().Renew(t.Context(), store, token, false); err != nil {
		t.Errorf("renewed: %v", err)
	}
	if len(idp.forms) != 2 || idp.forms[1].Get("subject_token") != "id-token-2" || len(w.forms) != 2 || w.forms[1].Get("grant_type") != jwtBearerType {
		t.Errorf("renewed by %v and %v", idp.forms, w.forms)
	}
	idp.token = func(url.Values, http.Header) (int, string) {
		return 400, `{"error":"access_denied","error_description":"not this app"}`
	}
	_, err = w.login(newStore(), func(r *Request) {
		r.Grant = IDJAG
		r.Client = Client{ID: "enterprise", IDP: &IDP{TokenEndpoint: idp.url + "/token", ClientID: "sso", IDTokenFile: secretFile(t, "x")}}
	})
	wantRule(t, err, TokenRefused)
	if err == nil || !strings.Contains(err.Error(), "not this app") {
		t.Errorf("got %v", err)
	}
}

// RFC 8628: a code that the user types on another machine.
//
// authorization 89
func TestDeviceCode(t *testing.T) {
	w, store := newWorld(t), newStore()
	w.documents[serverAt] = strings.Replace(usualServer, "{", `{"device_authorization_endpoint":"BASE/device",`, 1)
	w.documents["/device"] = `{"device_code":"device-secret-1","user_code":"ABCD","verification_uri":"BASE/verify","expires_in":60,"interval":1}`
	var registered map[string]any
	w.registration = func(body map[string]any) (int, string) {
		registered = body
		return 201, `{"client_id":"device-id"}`
	}
	asked := 0
	w.token = func(url.Values, http.Header) (int, string) {
		if asked++; asked == 1 {
			return 400, `{"error":"authorization_pending"}`
		}
		return 200, usualToken
	}
	var shown string
	_, err := w.login(store, func(r *Request) {
		r.Grant, r.ShowCode = DeviceCode, func(_ context.Context, address, code string) { shown = address + " " + code }
	})
	if err != nil || shown != w.url+"/verify ABCD" {
		t.Fatalf("got %v, shown %q", err, shown)
	}
	form := w.forms[1]
	if form.Get("grant_type") != deviceType || form.Get("device_code") != "device-secret-1" || form.Get("client_id") != "device-id" || form.Get("resource") != w.url+"/mcp" {
		t.Errorf("got %v", form)
	}
	if registered["grant_types"].([]any)[0] != deviceType || registered["redirect_uris"] != nil || registered["application_type"] != "native" {
		t.Errorf("registered with %v", registered)
	}
	if b := book(t, store); len(b.Tokens) != 1 || b.Tokens[0].Refresh == "" {
		t.Errorf("kept %+v", b)
	}
	w.documents["/device"] = strings.Replace(w.documents["/device"], "BASE/verify", "javascript:alert(1)", 1)
	_, err = w.login(store, func(r *Request) { r.Grant = DeviceCode })
	wantRule(t, err, URLBlocked)
	w.documents[serverAt] = usualServer
	_, err = w.login(newStore(), func(r *Request) { r.Grant = DeviceCode })
	wantRule(t, err, ServerInvalid)
}

// RFC 8628, section 3.5: a token endpoint that fails while the user types is asked again.
func TestDeviceCodeOutlivesFailures(t *testing.T) {
	w := newWorld(t)
	w.documents[serverAt] = strings.Replace(usualServer, "{", `{"device_authorization_endpoint":"BASE/device",`, 1)
	w.documents["/device"] = `{"device_code":"d","user_code":"ABCD","verification_uri":"BASE/verify","expires_in":60,"interval":1}`
	w.token = func(url.Values, http.Header) (int, string) {
		if len(w.forms) == 1 {
			return 503, "busy"
		}
		return 200, usualToken
	}
	_, err := w.login(newStore(), func(r *Request) {
		r.Grant, r.ShowCode = DeviceCode, func(context.Context, string, string) {}
	})
	if err != nil || len(w.forms) != 2 {
		t.Errorf("got %v after %d token requests", err, len(w.forms))
	}
}
