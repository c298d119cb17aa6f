package auth

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// A token that is exported from one store and imported into another is the same: bound to a key or
// not, with a secret or without.
func TestTransfer(t *testing.T) {
	for _, c := range []struct {
		name   string
		world  *world
		change func(*Request)
		final  bool
	}{
		{"registered", newWorld(t), func(*Request) {}, false},
		{"bound", binding(t), func(r *Request) { r.Bind = true }, false},
		{"secret", newWorld(t), func(r *Request) { r.Client, r.ClientSecret = Client{ID: "ours"}, "client-secret-1" }, false},
		{"account", newWorld(t), func(r *Request) { r.Account = "work" }, false},
		{"key", newWorld(t), func(r *Request) { r.Client = Client{ID: "ours", KeyFile: "key.pem", Method: "none"} }, true},
	} {
		here, there := newStore(), newStore()
		token, err := c.world.login(here, c.change)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		sent, final, err := here.Export(t.Context(), token.Endpoint, token.Account)
		if err != nil || final != c.final || sent.RefreshToken != "refresh-secret-1" {
			t.Errorf("%s: %v, final %v, %q", c.name, err, final, sent.RefreshToken)
		}
		raw, _ := json.Marshal(sent)
		read, err := ReadTransfer(raw)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		requests := len(c.world.forms)
		got, err := Import(t.Context(), c.world.walk(), there, Request{Endpoint: read.Server, Account: read.Account}, read)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if len(c.world.forms) != requests {
			t.Errorf("%s: a token was asked for", c.name)
		}
		again, _, err := there.Export(t.Context(), got.Endpoint, got.Account)
		if second, _ := json.Marshal(again); err != nil || string(second) != string(raw) {
			t.Errorf("%s: %v, exported again:\n%s\n%s", c.name, err, second, raw)
		}
		if sent.DPoPKey != "" != strings.HasPrefix(c.name, "bound") {
			t.Errorf("%s: the key %q", c.name, sent.DPoPKey)
		}
		if fresh, err := c.world.walk().Renew(t.Context(), there, got, false); err != nil || fresh.Access == "" {
			t.Errorf("%s: not renewed there: %v", c.name, err)
		}
	}
}

func TestTransferOfAnotherServer(t *testing.T) {
	w, store := newWorld(t), newStore()
	good := Transfer{ClientID: "ours", AccessToken: "access-secret-2", GrantType: AuthorizationCode, ExpiresAt: time.Now()}
	for name, c := range map[string]struct {
		change func(*Transfer)
		want   Rule
	}{
		"issuer": {func(t *Transfer) { t.Issuer = w.url + "/other" }, NotOffered},
		"slash":  {func(t *Transfer) { t.Issuer = w.url + "/" }, IssuerMismatch},
		"type":   {func(t *Transfer) { t.TokenType = "mac" }, TokenType},
		"no key": {func(t *Transfer) { t.TokenType = "DPoP" }, TokenType},
		"key":    {func(t *Transfer) { t.DPoPKey = "AAAA" }, StoreFailed},
	} {
		from := good
		c.change(&from)
		_, err := Import(t.Context(), w.walk(), store, w.request(), from)
		wantRule(t, err, c.want)
		if b := book(t, store); len(b.Tokens)+len(b.Clients) > 0 {
			t.Errorf("%s: stored %v", name, b)
		}
	}
}
