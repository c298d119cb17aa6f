package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/url"
	"strings"
	"testing"
)

// withRevocation is a server that wants to know of tokens that are over.
var withRevocation = strings.Replace(usualServer, "{", `{"revocation_endpoint":"BASE/revoke",`, 1)

// RFC 7009: both tokens are named, by the client that they were issued to, and with the method that
// this client authenticates with elsewhere.
//
// authorization 90
func TestRevoke(t *testing.T) {
	for _, c := range []struct{ name, registered, methods, head, form string }{
		{"a client without a secret", `{"client_id":"id"}`, `["none"]`, "", "client_id=id&"},
		{"one that sends it", `{"client_id":"id","client_secret":"s"}`, `["client_secret_post"]`, "", "client_id=id&client_secret=s&"},
		{"one with a field of its own", `{"client_id":"i d","client_secret":"s"}`, `["client_secret_basic"]`, "Basic aStkOnM=", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, store := newWorld(t), newStore()
			w.documents[serverAt] = strings.Replace(withRevocation, "{", `{"token_endpoint_auth_methods_supported":`+c.methods+",", 1)
			w.registration = func(map[string]any) (int, string) { return 201, c.registered }
			token, err := w.login(store, nil)
			if err != nil {
				t.Fatal(err)
			}
			told, err := w.walk().Revoke(t.Context(), store, book(t, store), token)
			if err != nil || !told || len(w.revoked) != 2 {
				t.Fatalf("got %v, %v, %v", told, err, w.revoked)
			}
			for i, want := range []string{"token=refresh-secret-1&token_type_hint=refresh_token", "token=access-secret-1&token_type_hint=access_token"} {
				if got := w.revoked[i].Encode(); got != c.form+want || w.revokers[i].Get("Authorization") != c.head {
					t.Errorf("got %q and %q, want %q and %q", got, w.revokers[i].Get("Authorization"), c.form+want, c.head)
				}
			}
		})
	}
}

func TestRevokeByAKey(t *testing.T) {
	w, store := newWorld(t), newStore()
	w.documents[serverAt] = withRevocation
	ec, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	key := writeKey(t, ec)
	token, err := w.login(store, func(r *Request) { r.Grant, r.Client = ClientCredentials, Client{ID: "robot", KeyFile: key} })
	if err != nil {
		t.Fatal(err)
	}
	if told, err := w.walk().Revoke(t.Context(), store, book(t, store), token); err != nil || !told || w.revoked[0].Get("client_assertion") == "" {
		t.Errorf("got %v, %v, %v", told, err, w.revoked)
	}
}

// authorization 90
func TestRevokeThatFails(t *testing.T) {
	w, store := newWorld(t), newStore()
	w.documents[serverAt] = withRevocation
	token, err := w.login(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.revoke = func(url.Values) (int, string) { return 503, "secret of a page" }
	_, err = w.walk().Revoke(t.Context(), store, book(t, store), token)
	wantRule(t, err, TokenRefused)
	if err == nil || strings.Contains(err.Error(), "secret") || len(w.revoked) != 1 {
		t.Errorf("got %v after %d requests", err, len(w.revoked))
	}
	for address, want := range map[string]Rule{"": "", "http://as.example/revoke": URLBlocked, "https://169.254.169.254/": URLBlocked} {
		token.Revocation = address
		told, err := w.walk().Revoke(t.Context(), store, book(t, store), token)
		wantRule(t, err, want)
		if told {
			t.Errorf("%q was told", address)
		}
	}
}
