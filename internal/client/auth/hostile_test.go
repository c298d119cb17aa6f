package auth

import (
	"fmt"
	"strings"
	"testing"
)

// A server that names issuers without end makes nobody ask them all.
func TestIssuersWithoutEnd(t *testing.T) {
	w := newWorld(t)
	var all []string
	for i := range 200 {
		all = append(all, fmt.Sprintf(`"BASE/i%d"`, i))
	}
	w.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp","authorization_servers":[` + strings.Join(all, ",") + `]}`
	_, err := w.login(newStore(), nil)
	wantRule(t, err, ServerUnreachable)
	if n := len(w.seen()); n > 3*mostIssuers+2 {
		t.Errorf("%d requests", n)
	}
}

// A hint is copied into a shell: nothing that a server wrote stands in its command.
func TestHintsAreNoShellCommandsOfAServer(t *testing.T) {
	w := newWorld(t)
	const end = "/$(touch${IFS}x)"
	w.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp","authorization_servers":["BASE` + end + `"]}`
	w.documents[serverAt+end] = strings.Replace(usualServer, `"issuer":"BASE"`, `"issuer":"BASE`+end+`/"`, 1)
	_, err := w.login(newStore(), nil)
	wantRule(t, err, IssuerMismatch)
	if e, ok := err.(*Error); ok && (strings.Contains(e.Hint, "$(") || !strings.Contains(e.Hint, "--issuer")) {
		t.Errorf("the hint is %q", e.Hint)
	}
}

// A registration that is of no use is none, and is not kept for the next login.
func TestRegistrationsOfNoUse(t *testing.T) {
	for _, answer := range []string{`{"client_id":"x","token_endpoint_auth_method":"private_key_jwt"}`, `{"client_id":"x","token_endpoint_auth_method":"tls_client_auth"}`,
		`{"client_id":"` + strings.Repeat("x", maxURL) + `"}`} {
		w, store := newWorld(t), newStore()
		w.registration = func(map[string]any) (int, string) { return 201, answer }
		_, err := w.login(store, nil)
		wantRule(t, err, RegistrationFailed)
		if len(book(t, store).Clients) != 0 || w.asked != nil {
			t.Errorf("%.80s: it is kept, or the browser was sent", answer)
		}
	}
}

// authorization 32: a client that was given is its issuer's. Where the same server names
// another one, neither its id nor its secret goes there unless the user says so.
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
