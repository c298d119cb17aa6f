package auth

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
)

// A protected server accepts some tokens and refuses the others as the test sets it.
type protected struct {
	*httptest.Server
	mu     sync.Mutex
	takes  map[string]bool
	refuse func(rw http.ResponseWriter, token string)
	got    []string // Authorization, request by request
	bodies []string
}

func newProtected(t *testing.T, takes ...string) *protected {
	p := &protected{takes: map[string]bool{}}
	for _, token := range takes {
		p.takes["Bearer "+token] = true
	}
	p.refuse = func(rw http.ResponseWriter, _ string) { rw.WriteHeader(401) }
	p.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		body, _ := io.ReadAll(req.Body)
		token := req.Header.Get("Authorization")
		p.got, p.bodies = append(p.got, token), append(p.bodies, string(body))
		if !p.takes[token] {
			p.refuse(rw, token)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// stored puts a token for a server into a store; its issuer is w.
func stored(t *testing.T, w *world, endpoint string, change func(*Token)) *Store {
	t.Helper()
	store := newStore()
	token := Token{
		Issuer: w.url, Resource: endpoint, Endpoint: endpoint, Client: "id", Grant: AuthorizationCode, Access: "plain:old",
		Refresh: "plain:refresh-1", TokenEndpoint: w.url + "/token", Requested: []string{"a"},
	}
	if change != nil {
		change(&token)
	}
	if err := store.Change(t.Context(), func(b *Records) { b.putToken(token) }); err != nil {
		t.Fatal(err)
	}
	return store
}

func guardFor(w *world, endpoint string, store *Store) *Transport {
	g := &Transport{
		Endpoint: endpoint, Store: store, Now: func() time.Time { return now },
		NewFlow: func(context.Context) *Flow {
			return &Flow{Net: NewNet(Loopback, Network{}), Now: func() time.Time { return now }, Read: os.ReadFile}
		},
	}
	g.Wrap(http.DefaultTransport)
	return g
}

func send(t *testing.T, g *Transport, method, to string, fields ...string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, to, strings.NewReader("the body"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := g.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// AUTH 3.8: the token is sent with every request to its server, and never to another server.
//
// rules 216, 217
// authorization 55, 56, 57
func TestTokenIsSentToItsServerOnly(t *testing.T) {
	w, p, other := newWorld(t), newProtected(t, "old"), newProtected(t, "old")
	store := stored(t, w, p.URL+"/mcp", nil)
	g := guardFor(w, p.URL+"/mcp", store)
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if status := send(t, g, method, p.URL+"/mcp"); status != 200 {
			t.Errorf("%s: HTTP %d", method, status)
		}
	}
	send(t, g, "POST", p.URL+"/messages?session=1") // the oldest transport's second URL
	send(t, g, "POST", other.URL+"/mcp")
	send(t, guardFor(w, other.URL+"/mcp", store), "POST", other.URL+"/mcp") // a name that points elsewhere now
	send(t, guardFor(w, p.URL+"/mcpx", store), "POST", p.URL+"/mcpx")
	if want := slices.Concat(slices.Repeat([]string{"Bearer old"}, 4), []string{""}); !slices.Equal(p.got, want) {
		t.Errorf("got %q, want %q", p.got, want)
	}
	if !slices.Equal(other.got, []string{"", ""}) {
		t.Errorf("another server got %q", other.got)
	}
}

// AUTH 2: the effect of each refusal.
//
// rules 191, 209, 210
// authorization 2, 3, 4, 72, 74
func TestRefusals(t *testing.T) {
	answer := func(status int, challenge string) func(http.ResponseWriter, string) {
		return func(rw http.ResponseWriter, _ string) {
			if challenge != "" {
				rw.Header().Set("WWW-Authenticate", challenge)
			}
			rw.WriteHeader(status)
		}
	}
	for _, c := range []struct {
		name     string
		refuse   func(http.ResponseWriter, string)
		unsolved bool
		again    bool
		scopes   []string
		logins   int
	}{
		{"401", answer(401, ""), true, false, nil, 3},
		{"401 with a challenge", answer(401, `Bearer scope="a b"`), true, false, []string{"b"}, 3},
		{"403 for scopes", answer(403, `Bearer error="insufficient_scope", scope="b c"`), true, false, []string{"b", "c"}, 3},
		{"403 for scopes that it has", answer(403, `Bearer error="insufficient_scope", scope="a"`), true, true, nil, 0},
		{"403 for another reason", answer(403, `Bearer error="access_denied"`), false, false, nil, 0},
		{"403 without a reason", answer(403, ""), false, false, nil, 0},
		{"400", answer(400, `Bearer error="invalid_request"`), false, false, nil, 0},
		{"404", answer(404, ""), false, false, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, p := newWorld(t), newProtected(t)
			p.refuse = c.refuse
			store := stored(t, w, p.URL+"/mcp", func(t *Token) { t.Refresh = "" })
			g, logins := guardFor(w, p.URL+"/mcp", store), 0
			g.Login = func(ctx context.Context, r Refusal) (bool, error) {
				logins++
				return true, store.Change(ctx, func(b *Records) { b.Tokens[0].Access += "+" })
			}
			send(t, g, "POST", p.URL+"/mcp")
			r := g.Unsolved()
			if (r != nil) != c.unsolved || logins != c.logins || r != nil && (r.HasAllScopes != c.again || !slices.Equal(r.Scopes, c.scopes)) {
				t.Errorf("got %+v after %d logins", r, logins)
			}
			if len(p.got) != logins+1 {
				t.Errorf("%d requests", len(p.got))
			}
		})
	}
}

// A login in the middle of a command: the request is sent again as it was.
//
// authorization 1, 6, 7
func TestLoginDuringCommandRepeatsRequest(t *testing.T) {
	for _, method := range []string{"POST", "GET", "DELETE"} {
		w, p := newWorld(t), newProtected(t, "new")
		store := newStore()
		g := guardFor(w, p.URL+"/mcp", store)
		g.Login = func(ctx context.Context, r Refusal) (bool, error) {
			return true, store.Change(ctx, func(b *Records) {
				b.putToken(Token{Resource: p.URL + "/mcp", Endpoint: p.URL + "/mcp", Access: "plain:new"})
			})
		}
		if status := send(t, g, method, p.URL+"/mcp"); status != 200 || g.Unsolved() != nil {
			t.Errorf("%s: HTTP %d, %+v", method, status, g.Unsolved())
		}
		if !slices.Equal(p.bodies, []string{"the body", "the body"}) || !slices.Equal(p.got, []string{"", "Bearer new"}) {
			t.Errorf("%s: got %q %q", method, p.got, p.bodies)
		}
	}
}

// A token that the user provides is sent unchanged, and never replaced by a login.
//
// rules 217
// authorization 57
func TestTokensOfTheUsersOwn(t *testing.T) {
	w, p, other := newWorld(t), newProtected(t, "mine"), newProtected(t)
	g := guardFor(w, p.URL+"/mcp", stored(t, w, p.URL+"/mcp", nil))
	g.Fixed = "mine"
	g.Login = func(context.Context, Refusal) (bool, error) { t.Error("a login was offered"); return false, nil }
	send(t, g, "POST", p.URL+"/mcp")
	send(t, g, "POST", p.URL+"/mcp", "Authorization", "Basic eDp5")
	if !slices.Equal(p.got, []string{"Bearer mine", "Basic eDp5"}) || !g.Unsolved().OwnField {
		t.Errorf("got %q, %+v", p.got, g.Unsolved())
	}
	g.Endpoint = p.URL + "/mcp"
	send(t, g, "POST", other.URL+"/mcp")
	if other.got[0] != "" {
		t.Errorf("another server got %q", other.got)
	}
	g.Fixed = "wrong"
	send(t, g, "POST", p.URL+"/mcp")
	if r := g.Unsolved(); r == nil || !r.OwnField {
		t.Errorf("got %+v", r)
	}
}

// AUTH 6: a token that is about to expire is renewed before a request, a refused token after it;
// the request for the new token, and the parts of the old token that remain.
//
// rules 205
// authorization 2, 66, 67, 68
func TestRenewal(t *testing.T) {
	for _, c := range []struct {
		name    string
		expires time.Time
		takes   string
		sent    []string
	}{
		{"before the end", now.Add(10 * time.Second), "access-secret-1", []string{"Bearer access-secret-1"}},
		{"after a refusal", now.Add(time.Hour), "access-secret-1", []string{"Bearer old", "Bearer access-secret-1"}},
		{"not without need", now.Add(time.Hour), "old", []string{"Bearer old"}},
		{"not a second time", now.Add(time.Hour), "nothing", []string{"Bearer old", "Bearer access-secret-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, p := newWorld(t), newProtected(t, c.takes)
			w.token = func(url.Values, http.Header) (int, string) {
				return 200, `{"access_token":"access-secret-1","token_type":"Bearer"}`
			}
			store := stored(t, w, p.URL+"/mcp", func(t *Token) { t.Expires, t.Scopes = c.expires, []string{"granted"} })
			send(t, guardFor(w, p.URL+"/mcp", store), "POST", p.URL+"/mcp")
			if got := tokensOf(p.got); !slices.Equal(got, c.sent) {
				t.Errorf("got %q, want %q", got, c.sent)
			}
			for _, form := range w.forms {
				if form.Get("grant_type") != "refresh_token" || form.Get("refresh_token") != "refresh-1" || form.Get("resource") != p.URL+"/mcp" ||
					form.Get("client_id") != "id" || form.Has("scope") {
					t.Errorf("got %v", form)
				}
			}
			if kept := book(t, store).Tokens[0]; kept.Refresh != "plain:refresh-1" || !slices.Equal(kept.Scopes, []string{"granted"}) {
				t.Errorf("kept %+v", kept)
			}
		})
	}
}

// tokensOf leaves out the requests for metadata, which carry no token.
func tokensOf(got []string) (sent []string) {
	for _, token := range got {
		if token != "" {
			sent = append(sent, token)
		}
	}
	return sent
}

// A renewal that the authorization server could not handle is tried once more.
func TestRenewalIsTriedOnceMore(t *testing.T) {
	for _, c := range []struct {
		name     string
		failures int
		status   int
		body     string
		forms    int
		sent     []string
	}{
		{"503 once", 1, 503, "", 2, []string{"Bearer old", "Bearer access-secret-1"}},
		{"502 once", 1, 502, "<html>", 2, []string{"Bearer old", "Bearer access-secret-1"}},
		{"429 once", 1, 429, `{"error":"slow"}`, 2, []string{"Bearer old", "Bearer access-secret-1"}},
		{"a code once", 1, 400, `{"error":"temporarily_unavailable"}`, 2, []string{"Bearer old", "Bearer access-secret-1"}},
		{"500 always", 9, 500, "", 2, []string{"Bearer old", "Bearer old"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, p := newWorld(t), newProtected(t, "access-secret-1")
			w.token = func(url.Values, http.Header) (int, string) {
				if len(w.forms) <= c.failures {
					return c.status, c.body
				}
				return 200, usualToken
			}
			store := stored(t, w, p.URL+"/mcp", nil)
			g := guardFor(w, p.URL+"/mcp", store)
			g.Login = func(context.Context, Refusal) (bool, error) { t.Error("a login was offered"); return false, nil }
			send(t, g, "POST", p.URL+"/mcp")
			if c.failures > 1 {
				send(t, g, "POST", p.URL+"/mcp") // not tried again within a minute
				if r := g.Unsolved(); r == nil || !IsTransient(r.Err) {
					t.Errorf("got %+v", r)
				}
			}
			if got := tokensOf(p.got); !slices.Equal(got, c.sent) || len(w.forms) != c.forms {
				t.Errorf("got %q, want %q, %d token requests", got, c.sent, len(w.forms))
			}
			if len(book(t, store).Tokens) != 1 {
				t.Error("the token was deleted")
			}
		})
	}
}

// AUTH 6: a refresh token that is good for nothing any more is forgotten.
//
// authorization 69
func TestRefreshTokenIsRevoked(t *testing.T) {
	for _, answer := range []struct {
		status int
		body   string
	}{
		{400, `{"error":"invalid_grant"}`},
		{200, `{"error":"bad_refresh_token","error_description":"The refresh token passed is incorrect or expired."}`},
		{400, `{"error":"bad_refresh_token"}`},
		{200, "error=bad_refresh_token&error_description=The+refresh+token+passed+is+incorrect+or+expired."},
		{200, `{"ok":false,"error":"invalid_refresh_token"}`},
	} {
		w, p := newWorld(t), newProtected(t)
		w.token = func(url.Values, http.Header) (int, string) { return answer.status, answer.body }
		store := stored(t, w, p.URL+"/mcp", nil)
		g := guardFor(w, p.URL+"/mcp", store)
		send(t, g, "POST", p.URL+"/mcp")
		if r := g.Unsolved(); r == nil || len(book(t, store).Tokens) != 0 || len(w.forms) != 1 {
			t.Errorf("%s: got %+v, kept %+v, %d token requests", answer.body, r, book(t, store), len(w.forms))
		}
	}
}

// A registered client that the server has forgotten is deleted with its token, and the next login registers again.
// A client that the user has stays.
func TestClientIsForgottenByTheServer(t *testing.T) {
	for _, c := range []struct {
		origin Origin
		code   string
		kept   int
	}{
		{Registered, "invalid_client", 0},
		{Registered, "incorrect_client_credentials", 0},
		{Registered, "invalid_grant", 1},
		{Given, "invalid_client", 1},
	} {
		w, p := newWorld(t), newProtected(t)
		w.token = func(url.Values, http.Header) (int, string) { return 401, `{"error":"` + c.code + `"}` }
		store := stored(t, w, p.URL+"/mcp", nil)
		other := Client{Issuer: w.url, ID: "other", Origin: Registered, Grant: DeviceCode}
		_ = store.Change(t.Context(), func(b *Records) {
			b.putClient(Client{Issuer: w.url, ID: "id", Origin: c.origin, Grant: AuthorizationCode})
			b.putClient(other)
		})
		send(t, guardFor(w, p.URL+"/mcp", store), "POST", p.URL+"/mcp")
		if b := book(t, store); len(b.Tokens) != 0 || len(b.Clients) != c.kept+1 {
			t.Errorf("%s, %s: kept %+v", c.origin, c.code, b)
		}
	}
}

// AUTH 3.3, 6: a server that has another authorization server now gets nothing
// renewed at the old one.
//
// rules 197
// authorization 32, 62, 66
func TestMovedServerIsNotRenewedAtOldIssuer(t *testing.T) {
	w, moved := newWorld(t), newWorld(t)
	moved.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp","authorization_servers":["BASE"]}`
	store := stored(t, w, moved.url+"/mcp", nil)
	fresh, err := w.walk().Renew(t.Context(), store, book(t, store).Tokens[0], true)
	if err != nil || fresh.Access != "" || len(w.forms) != 0 {
		t.Errorf("got %+v, %v, and the old issuer %v", fresh, err, w.forms)
	}
}

// AUTH 6, S33: a rotating refresh token is used once, by however many.
//
// authorization 60, 68
func TestConcurrentRenewalsUseRefreshTokenOnce(t *testing.T) {
	w, p := newWorld(t), newProtected(t, "access-2")
	var used atomic.Int32
	w.token = func(form url.Values, _ http.Header) (int, string) {
		if form.Get("refresh_token") != "refresh-1" || used.Add(1) > 1 {
			return 400, `{"error":"invalid_grant"}`
		}
		return 200, `{"access_token":"access-2","token_type":"Bearer","refresh_token":"refresh-2"}`
	}
	store := stored(t, w, p.URL+"/mcp", nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if status := send(t, guardFor(w, p.URL+"/mcp", store), "POST", p.URL+"/mcp"); status != 200 {
				t.Errorf("HTTP %d", status)
			}
		})
	}
	all.Wait()
	if kept := book(t, store).Tokens; len(w.forms) != 1 || len(kept) != 1 || kept[0].Refresh != "plain:refresh-2" {
		t.Errorf("%d token requests, kept %+v", len(w.forms), kept)
	}
}

// Accounts are separate.
//
// authorization 58
func TestAccountsHaveSeparateTokens(t *testing.T) {
	w, p := newWorld(t), newProtected(t, "old")
	store := stored(t, w, p.URL+"/mcp", func(t *Token) { t.Account = "work" })
	g := guardFor(w, p.URL+"/mcp", store)
	send(t, g, "POST", p.URL+"/mcp")
	g = guardFor(w, p.URL+"/mcp", store)
	g.Account = "work"
	send(t, g, "POST", p.URL+"/mcp")
	if !slices.Equal(p.got, []string{"", "Bearer old"}) {
		t.Errorf("got %q", p.got)
	}
}

// An unreadable store stops no request to a server that asks for no token.
func TestDamagedStore(t *testing.T) {
	w, p := newWorld(t), newProtected(t, "")
	p.takes[""] = true
	store := &Store{File: &memory{raw: []byte("{broken")}}
	g := guardFor(w, p.URL+"/mcp", store)
	if status := send(t, g, "POST", p.URL+"/mcp"); status != 200 {
		t.Errorf("HTTP %d", status)
	}
	p.takes[""] = false
	send(t, g, "POST", p.URL+"/mcp")
	if r := g.Unsolved(); r == nil || !HasRule(r.Err, StoreFailed) {
		t.Errorf("got %+v", r)
	}
	if err := store.Reset(t.Context()); err != nil || len(book(t, store).Tokens) != 0 {
		t.Errorf("got %v", err)
	}
}

// With a keyring the file holds no secret, and without it the secrets are lost.
//
// rules 220
// authorization 59
func TestKeyring(t *testing.T) {
	keyring.MockInit()
	here := func(name string) string {
		return map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:abstract=x"}[name]
	}
	w, file := newWorld(t), &memory{}
	ring := &Keyring{Getenv: here}
	if !ring.IsAvailable() {
		t.Fatal("the keyring does not answer")
	}
	store := &Store{File: file, Keyring: ring, Seals: true}
	w.registration = func(map[string]any) (int, string) { return 201, `{"client_id":"id","client_secret":"client-secret-1"}` }
	token, err := w.login(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"access-secret-1", "refresh-secret-1", "client-secret-1"} {
		if strings.Contains(string(file.raw), secret) {
			t.Errorf("the file holds %s", secret)
		}
	}
	again := &Store{File: file, Keyring: &Keyring{Getenv: here}}
	if got, err := again.Open(book(t, again).Tokens[0].Access); err != nil || got != "access-secret-1" || !token.Access.IsSealed() {
		t.Errorf("got %q, %v", got, err)
	}
	if runtime.GOOS != "windows" && runtime.GOOS != "darwin" { // they have a keyring without a bus
		nobody := &Store{File: file, Keyring: &Keyring{Getenv: func(string) string { return "" }}}
		if nobody.Keyring.IsAvailable() {
			t.Error("a keyring was asked where no bus runs")
		}
		if _, err := nobody.Open(token.Access); !HasRule(err, StoreFailed) {
			t.Errorf("got %v", err)
		}
	}
	// Not at the end, where some bits have no meaning.
	at := len(token.Access) - 6
	other := map[bool]string{true: "B", false: "A"}[token.Access[at] == 'A']
	tampered := token.Access[:at] + Secret(other) + token.Access[at+1:]
	if _, err := again.Open(tampered); !HasRule(err, StoreFailed) {
		t.Errorf("got %v", err)
	}
}
