package auth

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// twoServers is a world whose resource names two authorization servers.
func twoServers(t *testing.T) *world {
	w := newWorld(t)
	w.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp","authorization_servers":["BASE","BASE/t2"]}`
	w.documents[serverAt+"/t2"] = strings.Replace(usualServer, `"issuer":"BASE"`, `"issuer":"BASE/t2"`, 1)
	return w
}

// RFC 9728, section 7.6: the client selects among several servers.
//
// authorization 20
func TestClientSelectsAuthorizationServer(t *testing.T) {
	for _, c := range []struct {
		name, issuer, chosen string
		known                []Token
		want                 string
		rule                 Rule
		asked                int
	}{
		{name: "the first, where nobody can be asked", want: ""},
		{name: "who is named", issuer: "BASE/t2", want: "/t2"},
		{name: "nobody whom the server does not name", issuer: "BASE/t3", rule: NotOffered},
		{name: "nor another host", issuer: "https://evil.example", rule: NotOffered},
		{name: "who is picked", chosen: "BASE/t2", want: "/t2", asked: 1},
		{name: "nobody, where that is what is picked", chosen: "no", rule: Denied, asked: 1},
		{name: "who is known, and nobody is asked", chosen: "BASE", known: []Token{{Issuer: "BASE/t2"}}, want: "/t2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, asked := twoServers(t), 0
			here := func(s string) string { return strings.ReplaceAll(s, "BASE", w.url) }
			req := w.request()
			req.Issuer = here(c.issuer)
			if c.chosen != "" {
				req.Choose = func(_ context.Context, issuers []string) (string, error) {
					asked++
					if !slices.Equal(issuers, []string{w.url, w.url + "/t2"}) {
						t.Errorf("asked for %q", issuers)
					}
					if c.chosen == "no" {
						return "", errors.New("no")
					}
					return here(c.chosen), nil
				}
			}
			for i := range c.known {
				c.known[i].Issuer = here(c.known[i].Issuer)
			}
			found, err := w.walk().Discover(t.Context(), req, Records{Tokens: c.known})
			wantRule(t, err, c.rule)
			if err == nil && found.Server.Issuer != w.url+c.want || asked != c.asked {
				t.Errorf("got %+v, asked %d times", found.Server, asked)
			}
			if c.rule == NotOffered && w.asks(serverAt) != 0 {
				t.Error("somebody else was asked")
			}
		})
	}
}

// AUTH 3.2: a slash more or less is another issuer, until the user names it as it
// names itself; then that holds for its tokens, too.
//
// authorization 24
func TestAnIssuerByItsOwnName(t *testing.T) {
	w, store := newWorld(t), newStore()
	w.documents[serverAt] = strings.Replace(usualServer, `"issuer":"BASE"`, `"issuer":"BASE/"`, 1)
	_, err := w.login(store, nil)
	wantRule(t, err, IssuerMismatch)
	var failed *Error
	if !errors.As(err, &failed) || failed.Hint.String() != "if you trust the server: --issuer "+w.url+"/" {
		t.Errorf("got %#v", err)
	}
	for _, named := range []string{w.url + "/", "", "after the token was dropped"} {
		if strings.Contains(named, " ") {
			_ = store.Change(t.Context(), func(b *Records) { b.Drop(func(Token) bool { return true }) })
			named = ""
		}
		token, err := w.login(store, func(r *Request) { r.Issuer = named })
		if err != nil || token.Issuer != w.url+"/" {
			t.Fatalf("%q: got %+v, %v", named, token, err)
		}
	}
	if moved, err := w.walk().issuerChanged(t.Context(), book(t, store).Tokens[0]); moved || err != nil {
		t.Errorf("got %v, %v", moved, err)
	}
	// It is that server's word, and no other one's.
	other := Records{Tokens: []Token{{Issuer: w.url + "/", Resource: "https://h.example/mcp"}}}
	_, err = w.walk().Discover(t.Context(), w.request(), other)
	wantRule(t, err, IssuerMismatch)
}
