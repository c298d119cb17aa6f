package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A world is a protected server and an authorization server on one port, with all
// that the two may get wrong. Each test changes what it is about.
type world struct {
	t   *testing.T
	url string

	mu sync.Mutex
	// documents are what is served, by path; a missing one is a 404.
	documents map[string]string
	// redirect changes the answer in the browser, by adding or replacing parameters.
	redirect func(q url.Values)
	// token answers a token request; registration one to register.
	token        func(form url.Values, h http.Header) (int, string)
	registration func(body map[string]any) (int, string)

	// revoke answers requests to revoke a token.
	revoke func(form url.Values) (int, string)

	// nonce returns the nonce that the proof of the nth token request must have; nil requires no
	// nonce.
	nonce func(n int) string

	hits  []string
	named string     // the revision that the last request for metadata named
	asked url.Values // the last authorization request
	forms []url.Values
	heads []http.Header
	// fetchers are the fields of requests for documents.
	fetchers []http.Header
	// registrars are the fields of the requests to register.
	registrars []http.Header
	// revoked are the requests for that, with their fields.
	revoked  []url.Values
	revokers []http.Header
}

// the usual metadata; BASE is the world's origin.
const (
	usualResource = `{"resource":"BASE/mcp","authorization_servers":["BASE"],"scopes_supported":["a","b"]}`
	usualServer   = `{"issuer":"BASE","authorization_endpoint":"BASE/authorize","token_endpoint":"BASE/token",` +
		`"registration_endpoint":"BASE/register","code_challenge_methods_supported":["S256"]}`
	usualToken = `{"access_token":"access-secret-1","token_type":"Bearer","expires_in":3600,"refresh_token":"refresh-secret-1"}`

	resourceAt = "/.well-known/oauth-protected-resource"
	serverAt   = "/.well-known/oauth-authorization-server"
)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, documents: map[string]string{resourceAt + "/mcp": usualResource, serverAt: usualServer}}
	w.token = func(url.Values, http.Header) (int, string) { return 200, usualToken }
	w.registration = func(map[string]any) (int, string) { return 201, `{"client_id":"registered-id"}` }
	w.revoke = func(url.Values) (int, string) { return 200, "" }
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

func (w *world) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hits = append(w.hits, req.URL.Path)
	answer := func(status int, body string) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, strings.ReplaceAll(body, "BASE", w.url))
	}
	switch req.URL.Path {
	case "/authorize":
		w.asked = req.URL.Query()
		back, _ := url.Parse(w.asked.Get("redirect_uri"))
		q := url.Values{"state": {w.asked.Get("state")}, "code": {"code-secret-1"}}
		if w.redirect != nil {
			w.redirect(q)
		}
		back.RawQuery = q.Encode()
		http.Redirect(rw, req, back.String(), http.StatusFound)
	case "/token":
		_ = req.ParseForm()
		w.forms, w.heads = append(w.forms, req.PostForm), append(w.heads, req.Header.Clone())
		if w.nonce != nil {
			wanted := w.nonce(len(w.forms))
			rw.Header().Set("DPoP-Nonce", wanted)
			if proven(w.t, req.Header).nonce != wanted {
				answer(400, `{"error":"use_dpop_nonce"}`)
				return
			}
		}
		answer(w.token(req.PostForm, req.Header))
	case "/revoke":
		_ = req.ParseForm()
		w.revoked, w.revokers = append(w.revoked, req.PostForm), append(w.revokers, req.Header.Clone())
		answer(w.revoke(req.PostForm))
	case "/register":
		body := map[string]any{}
		_ = json.NewDecoder(req.Body).Decode(&body)
		w.registrars = append(w.registrars, req.Header.Clone())
		answer(w.registration(body))
	default:
		w.named, w.fetchers = req.Header.Get("MCP-Protocol-Version"), append(w.fetchers, req.Header.Clone())
		doc, ok := w.documents[req.URL.Path]
		switch {
		case !ok:
			answer(404, "nothing here")
		case strings.HasPrefix(doc, "status "):
			status, _ := strconv.Atoi(doc[len("status "):])
			answer(status, "secret of a page")
		case strings.HasPrefix(doc, "to "):
			http.Redirect(rw, req, strings.ReplaceAll(doc[3:], "BASE", w.url), http.StatusFound)
		default:
			answer(200, doc)
		}
	}
}

// seen are the paths that were asked for since the last call.
func (w *world) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	hits := w.hits
	w.hits = nil
	return hits
}

func (w *world) asks(path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, hit := range w.hits {
		if hit == path {
			n++
		}
	}
	return n
}

// now is the clock of the tests.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func (w *world) walk() *Flow {
	return &Flow{Net: NewNet(Loopback, Network{}), Now: time.Now, Read: os.ReadFile}
}

// browse is a browser without a user.
func (w *world) browse(_ context.Context, address string) {
	resp, err := http.Get(address)
	if err != nil {
		w.t.Errorf("the browser: %v", err)
		return
	}
	resp.Body.Close()
}

func (w *world) request() Request {
	return Request{Endpoint: w.url + "/mcp", Challenged: true, Grant: AuthorizationCode, Visit: w.browse}
}

func (w *world) login(store *Store, change func(*Request)) (Token, error) {
	w.t.Helper()
	req := w.request()
	if change != nil {
		change(&req)
	}
	ctx, stop := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer stop()
	return w.walk().Login(ctx, store, req)
}

// A memory is a File that lasts as long as the test.
type memory struct {
	mu, held sync.Mutex
	raw      []byte
}

func (m *memory) Read() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.raw), nil
}

func (m *memory) Update(_ context.Context, change func([]byte) ([]byte, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	raw, err := change(m.raw)
	if err == nil {
		m.raw = raw
	}
	return err
}

func (m *memory) Lock(context.Context) (func(), error) {
	m.held.Lock()
	return m.held.Unlock, nil
}

func newStore() *Store { return &Store{File: &memory{}} }

func book(t *testing.T, s *Store) Records {
	t.Helper()
	b, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wantRule checks that a login failed for the right reason.
func wantRule(t *testing.T, err error, want Rule) {
	t.Helper()
	var failed *Error
	if want == "" && err == nil || errors.As(err, &failed) && failed.Rule == want {
		return
	}
	t.Errorf("got %v, want the rule %q", err, want)
}

func s256(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
