package auth

import (
	"fmt"
	"slices"
	"testing"
)

// AUTH 3.8: of several tokens that may go to a URL, the one for the narrowest
// resource is sent, in whatever order they were stored.
func TestNarrowestTokenIsSent(t *testing.T) {
	for _, c := range []struct {
		at, want  string
		resources []string
	}{
		{"https://h.example/a/b", "https://h.example/a/b", []string{"https://h.example", "https://h.example/a", "https://h.example/a/b"}},
		{"https://h.example/a/c", "https://h.example/a", []string{"https://h.example", "https://h.example/a", "https://h.example/a/b"}},
		{"https://h.example/c", "https://h.example", []string{"https://h.example", "https://h.example/a", "https://other.example/c"}},
		{"https://h.example/a", "https://h.example/a", []string{"https://h.example:443/", "https://h.example/a"}},
		{"https://h.example/a?t=1", "https://h.example/a?t=1", []string{"https://h.example/a", "https://h.example/a?t=1", "https://h.example/a?t=2"}},
		{"https://other.example/a", "", []string{"https://h.example", "https://h.example/a"}},
	} {
		var b Records
		for _, resource := range c.resources {
			b.putToken(Token{Resource: resource, Account: "work"})
			b.putToken(Token{Resource: c.at + "/", Account: "private"})
		}
		for range 2 {
			if got, ok := b.Token(c.at, "work"); got.Resource != c.want || ok != (c.want != "") {
				t.Errorf("%s: got the token for %q, want the one for %q", c.at, got.Resource, c.want)
			}
			slices.Reverse(b.Tokens)
		}
	}
}

// A slash at the end makes no other resource: the token of the last login is sent.
func TestNewerTokenOfAResourceIsSent(t *testing.T) {
	for _, resources := range [][]string{{"https://h.example/a", "https://h.example/a/"}, {"https://h.example/a/", "https://h.example/a"}} {
		var b Records
		for _, resource := range resources {
			b.putToken(Token{Resource: resource})
		}
		if got, _ := b.Token("https://h.example/a", ""); got.Resource != resources[1] {
			t.Errorf("%q: got the token for %q", resources, got.Resource)
		}
	}
}

// A login replaces the token of the same account only.
func TestPutKeepsOtherAccounts(t *testing.T) {
	var b Records
	for _, token := range []Token{
		{Resource: "r", Account: "work", Issuer: "old"},
		{Resource: "r", Account: "private"},
		{Resource: "s", Account: "work"},
		{Resource: "r", Account: "work", Issuer: "new"},
	} {
		b.putToken(token)
	}
	var kept []string
	for _, token := range b.Tokens {
		kept = append(kept, token.Resource+" "+token.Account+" "+token.Issuer)
	}
	if want := []string{"r private ", "s work ", "r work new"}; !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
}

// A client is known to one issuer, by one way to become known, for one grant.
func TestClientIsForOneGrant(t *testing.T) {
	var b Records
	clients := []Client{
		{Issuer: "i", Origin: Registered, Grant: AuthorizationCode},
		{Issuer: "other", Origin: Registered, Grant: AuthorizationCode},
		{Issuer: "i", Origin: Given, Grant: AuthorizationCode},
		{Issuer: "i", Origin: Registered, Grant: DeviceCode},
	}
	for _, prefix := range []string{"old", "new"} {
		for i, c := range clients {
			c.ID = fmt.Sprint(prefix, i)
			b.putClient(c)
		}
	}
	for i, c := range clients {
		if got, ok := b.newestClient(c.Issuer, c.Origin, c.Grant); !ok || got.ID != fmt.Sprint("new", i) {
			t.Errorf("%v: got %q, want new%d", c, got.ID, i)
		}
	}
	if _, ok := b.newestClient("i", Registered, ClientCredentials); ok || len(b.Clients) != len(clients) {
		t.Errorf("got a client for a grant that none has, or kept old ones: %v", b.Clients)
	}
}

// A store that a newer mcpc wrote is neither used nor overwritten.
func TestStoreOfNewerVersion(t *testing.T) {
	file := &memory{raw: []byte(`{"version":2,"tokens":[]}`)}
	store := &Store{File: file}
	_, err := store.Load()
	wantRule(t, err, StoreFailed)
	err = store.Change(t.Context(), func(*Records) { t.Error("changed") })
	wantRule(t, err, StoreFailed)
	if got := string(file.raw); got != `{"version":2,"tokens":[]}` {
		t.Errorf("the store became %s", got)
	}
}
