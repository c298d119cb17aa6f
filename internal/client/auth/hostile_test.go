package auth

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A server that names issuers without end does not make mcpc ask them all.
func TestIssuersAreBounded(t *testing.T) {
	w := newWorld(t)
	var all []string
	for i := range 200 {
		all = append(all, fmt.Sprintf(`"BASE/i%d"`, i))
	}
	w.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp","authorization_servers":[` + strings.Join(all, ",") + `]}`
	_, err := w.login(newStore(), nil)
	wantRule(t, err, ServerUnreachable)
	if n := len(w.seen()); n > 3*maxIssuers+2 {
		t.Errorf("%d requests", n)
	}
}

// A hint is copied into a shell: its command contains nothing that a server wrote.
func TestHintCommandsHaveNoServerText(t *testing.T) {
	w := newWorld(t)
	const end = "/$(touch${IFS}x)"
	w.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp","authorization_servers":["BASE` + end + `"]}`
	w.documents[serverAt+end] = strings.Replace(usualServer, `"issuer":"BASE"`, `"issuer":"BASE`+end+`/"`, 1)
	_, err := w.login(newStore(), nil)
	wantRule(t, err, IssuerMismatch)
	if e, ok := err.(*Error); ok && (strings.Contains(e.Hint.String(), "$(") || !strings.Contains(e.Hint.String(), "--issuer")) {
		t.Errorf("the hint is %q", e.Hint)
	}
}

// A registration that cannot be used is an error, and is not kept for the next login.
func TestUnusableRegistrationIsNotKept(t *testing.T) {
	for _, answer := range []string{
		`{"client_id":"x","token_endpoint_auth_method":"private_key_jwt"}`, `{"client_id":"x","token_endpoint_auth_method":"tls_client_auth"}`,
		`{"client_id":"` + strings.Repeat("x", maxURL) + `"}`,
	} {
		w, store := newWorld(t), newStore()
		w.registration = func(map[string]any) (int, string) { return 201, answer }
		_, err := w.login(store, nil)
		wantRule(t, err, RegistrationFailed)
		if len(book(t, store).Clients) != 0 || w.asked != nil {
			t.Errorf("%.80s: it is kept, or the browser was sent", answer)
		}
	}
}

// A given client belongs to its issuer. If the same server names another issuer, neither the
// client's id nor its secret is sent there unless the user allows it.
func TestAGivenClientStaysAtItsIssuer(t *testing.T) {
	w, other, store := newWorld(t), newWorld(t), newStore()
	given := func(r *Request) { r.Client, r.ClientSecret = Client{ID: "given-id"}, "given-secret" }
	if _, err := w.login(store, given); err != nil {
		t.Fatal(err)
	}
	w.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp","authorization_servers":["` + other.url + `"]}`
	_, err := w.login(store, given)
	wantRule(t, err, IssuerMismatch)
	if other.asked != nil || len(other.forms) != 0 {
		t.Errorf("the other issuer got %v %v", other.asked, other.forms)
	}
	if _, err := w.login(store, func(r *Request) { given(r); r.Issuer = other.url }); err != nil {
		t.Errorf("with --issuer: %v", err)
	}
	if _, err := w.login(store, given); err != nil {
		t.Errorf("once more: %v", err)
	}
}

// The client that a grant needs may be missing: another client took its place, or no client was
// named.
func TestGrantsWithoutRequiredClientFail(t *testing.T) {
	for _, g := range []Grant{IDJAG, JWTBearer} {
		w := newWorld(t)
		_, err := w.login(newStore(), func(r *Request) { r.Grant, r.Client = g, Client{ID: "x"} })
		wantRule(t, err, KeyUnusable)
		if e, ok := err.(*Error); ok && (strings.Contains(e.Text, "no such file") || e.Hint == "") {
			t.Errorf("%s: %q, hint %q", g, e.Text, e.Hint)
		}
		store := stored(t, w, w.url+"/mcp", func(t *Token) { t.Grant, t.Refresh = g, "" })
		_, err = w.walk().Renew(t.Context(), store, book(t, store).Tokens[0], false)
		wantRule(t, err, KeyUnusable)
	}
}

// Two servers of one issuer, with a client each: either's token is renewed as its own.
func TestEachTokenKeepsItsClient(t *testing.T) {
	w, second, store := newWorld(t), newWorld(t), newStore()
	second.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp","authorization_servers":["` + w.url + `"]}`
	tokens := map[string]Token{}
	for id, at := range map[string]*world{"x": w, "y": second} {
		token, err := at.login(store, func(r *Request) { r.Client, r.ClientSecret = Client{ID: id}, "secret-of-"+id })
		if err != nil {
			t.Fatal(err)
		}
		tokens[id] = token
	}
	for id, token := range tokens {
		w.heads = nil
		if _, err := w.walk().Renew(t.Context(), store, token, false); err != nil {
			t.Fatal(err)
		}
		as, secret, _ := (&http.Request{Header: w.heads[0]}).BasicAuth()
		if as != id || secret != "secret-of-"+id {
			t.Errorf("%s is renewed as %q with %q", id, as, secret)
		}
	}
}

// The file of the tokens stays of a size that every command can read.
func TestLargeTokensAreNotStored(t *testing.T) {
	w, store := newWorld(t), stored(t, newWorld(t), "https://other.example/mcp", nil)
	w.token = func(url.Values, http.Header) (int, string) {
		return 200, `{"access_token":"` + strings.Repeat("<", 900_000) + `","token_type":"Bearer"}`
	}
	_, err := w.login(store, nil)
	wantRule(t, err, StoreFailed)
	if b := book(t, store); len(b.Tokens) != 1 || b.Tokens[0].Resource != "https://other.example/mcp" {
		t.Errorf("kept %d tokens", len(b.Tokens))
	}
}

// If the token endpoint fails, the old token is sent, and the endpoint is not asked again for each
// request. A successful renewal does not prevent the next.
func TestFailedRenewalIsNotRepeatedForEachRequest(t *testing.T) {
	w, p := newWorld(t), newProtected(t, "old")
	w.token = func(url.Values, http.Header) (int, string) { return 500, "" }
	at := now
	g := guardFor(w, p.URL+"/mcp", stored(t, w, p.URL+"/mcp", func(t *Token) { t.Expires = now }))
	g.Now = func() time.Time { return at }
	for range 3 {
		if status := send(t, g, "POST", p.URL+"/mcp"); status != 200 {
			t.Errorf("HTTP %d", status)
		}
	}
	p.takes = nil
	send(t, g, "POST", p.URL+"/mcp")
	if r := g.Unsolved(); len(w.forms) != 2 || r == nil || r.Err == nil {
		t.Errorf("%d requests for a token, %+v", len(w.forms), r)
	}
	at = at.Add(2 * renewRetryDelay)
	if send(t, g, "POST", p.URL+"/mcp"); len(w.forms) < 3 {
		t.Error("it is never tried again")
	}

	w, p = newWorld(t), newProtected(t, "old")
	given := 0
	w.token = func(url.Values, http.Header) (int, string) {
		given++
		p.takes = map[string]bool{fmt.Sprintf("Bearer t%d", given): true}
		return 200, fmt.Sprintf(`{"access_token":"t%d","token_type":"Bearer"}`, given)
	}
	p.refuse = func(rw http.ResponseWriter, _ string) { rw.WriteHeader(401); _, _ = io.WriteString(rw, "no") }
	g = guardFor(w, p.URL+"/mcp", stored(t, w, p.URL+"/mcp", nil))
	for i := range 3 {
		p.mu.Lock()
		p.takes = nil // the connection ended before without a response
		p.mu.Unlock()
		if status := send(t, g, "POST", p.URL+"/mcp"); status != 200 {
			t.Errorf("%d: HTTP %d after %d renewals", i, status, given)
		}
	}
}

// A resource with a user in it is no server's.
func TestResourceWithAUser(t *testing.T) {
	for _, user := range []string{"evil@", "evil:pw@", "@"} {
		if Covers("https://"+user+"h.example/mcp", "https://h.example/mcp") {
			t.Errorf("%q is taken", user)
		}
	}
}

// A user whose login was denied gets the hint for access_denied.
func TestDeniedHasAHint(t *testing.T) {
	w := newWorld(t)
	w.redirect = func(q url.Values) { q.Set("error", "access_denied") }
	_, err := w.login(newStore(), nil)
	if e, ok := err.(*Error); !ok || e.Hint != hints["access_denied"] {
		t.Errorf("got %v", err)
	}
}
