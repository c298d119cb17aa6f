package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// A proof is what a server that knows nothing of the client reads in the field DPoP.
type proof struct {
	jti, htm, htu, ath, nonce string
	key                       string // the public one
}

// proven checks a proof as a server does (RFC 9449, section 4.3).
func proven(t *testing.T, h http.Header) (p proof) {
	t.Helper()
	if n := len(h.Values("DPoP")); n != 1 {
		t.Errorf("%d proofs", n)
		return p
	}
	claims := jwt.MapClaims{}
	token, err := jwt.ParseWithClaims(h.Get("DPoP"), claims, func(token *jwt.Token) (any, error) {
		jwk, _ := token.Header["jwk"].(map[string]any)
		if len(jwk) != 4 || jwk["kty"] != "EC" || jwk["crv"] != "P-256" || token.Header["typ"] != "dpop+jwt" {
			return nil, errors.New("not the header of a proof")
		}
		x, _ := base64.RawURLEncoding.DecodeString(jwk["x"].(string))
		y, _ := base64.RawURLEncoding.DecodeString(jwk["y"].(string))
		p.key = jwk["x"].(string)
		return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
	}, jwt.WithValidMethods([]string{"ES256"}), jwt.WithIssuedAt())
	if err != nil {
		t.Errorf("the proof: %v, %v", err, token)
	}
	said := func(name string) string { text, _ := claims[name].(string); return text }
	p.jti, p.htm, p.htu, p.ath, p.nonce = said("jti"), said("htm"), said("htu"), said("ath"), said("nonce")
	if _, dated := claims["iat"].(float64); !dated || p.jti == "" {
		t.Errorf("a proof without its date or its name: %v", claims)
	}
	return p
}

// binding makes a world's authorization server bind tokens to keys.
func binding(t *testing.T) *world {
	w := newWorld(t)
	w.documents[serverAt] = strings.Replace(usualServer, "{", `{"dpop_signing_alg_values_supported":["ES512","ES256"],`, 1)
	w.token = func(url.Values, http.Header) (int, string) { return 200, boundToken }
	return w
}

var boundToken = strings.Replace(usualToken, "Bearer", "DPoP", 1)

// AUTH 11: the request for a token is proved, and the token is then of that sort.
//
// authorization 86, 87
func TestLoginWithAKey(t *testing.T) {
	bearer := func(url.Values, http.Header) (int, string) { return 200, usualToken }
	for name, c := range map[string]struct {
		change func(*world)
		asked  bool
		scheme string
		rule   Rule
		bound  bool
		forms  int
	}{
		"wanted":                            {asked: true, bound: true, forms: 1},
		"the server asks for it":            {scheme: "dpop", bound: true, forms: 1},
		"neither":                           {change: func(w *world) { w.token = bearer }, scheme: "bearer", forms: 1},
		"asked for where nobody can":        {change: func(w *world) { w.documents[serverAt], w.token = usualServer, bearer }, scheme: "dpop", forms: 1},
		"wanted where nobody can":           {change: func(w *world) { w.documents[serverAt] = usualServer }, asked: true, rule: NoProof},
		"wanted, and the token is for all":  {change: func(w *world) { w.token = bearer }, asked: true, rule: TokenType, forms: 1},
		"bound without having been wanted":  {rule: TokenType, forms: 1},
		"a nonce is wanted":                 {change: func(w *world) { w.nonce = func(int) string { return "n-1" } }, asked: true, bound: true, forms: 2},
		"another nonce is wanted each time": {change: func(w *world) { w.nonce = func(n int) string { return strings.Repeat("n", n+1) } }, asked: true, rule: TokenRefused, forms: 2},
		"a nonce, and something else's wrong": {change: func(w *world) {
			w.nonce = func(int) string { return "n-1" }
			w.token = func(url.Values, http.Header) (int, string) { return 400, `{"error":"invalid_request"}` }
		}, asked: true, rule: TokenRefused, forms: 2},
	} {
		t.Run(name, func(t *testing.T) {
			w, store := binding(t), newStore()
			if c.change != nil {
				c.change(w)
			}
			token, err := w.login(store, func(r *Request) { r.Bind, r.Challenge.Scheme = c.asked, c.scheme })
			wantRule(t, err, c.rule)
			if len(w.forms) != c.forms || err == nil && (token.Key != "") != c.bound {
				t.Fatalf("%d requests, the token %+v", len(w.forms), token)
			}
			var seen []string
			for _, h := range w.heads {
				if !c.bound && c.rule == "" || name == "bound without having been wanted" {
					if h.Get("DPoP") != "" {
						t.Error("a proof that nobody wanted")
					}
					continue
				}
				p := proven(t, h)
				if p.htm != "POST" || p.htu != w.url+"/token" || p.ath != "" || slices.Contains(seen, p.jti) || (p.nonce != "") != (len(seen) > 0) {
					t.Errorf("got %+v after %q", p, seen)
				}
				seen = append(seen, p.jti)
			}
		})
	}
}

// AUTH 11: each request gets a new proof, for its method, its URL and its token, with the nonce
// that its origin gave last; and so is the renewal, with the same key.
//
// authorization 86, 87
func TestGuardProvesEachRequest(t *testing.T) {
	w := binding(t)
	// A server takes one token, and perhaps one nonce; with each answer it gives one.
	takes, wants, gives := "old", "", ""
	var got []proof
	var bodies []string
	mcp := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/mcp" {
			rw.WriteHeader(404) // it has no metadata
			return
		}
		body, _ := io.ReadAll(req.Body)
		p := proven(t, req.Header)
		got, bodies = append(got, p), append(bodies, string(body))
		rw.Header().Set("DPoP-Nonce", gives)
		refusal := ""
		switch {
		case wants != "" && p.nonce != wants:
			refusal = "use_dpop_nonce"
		case req.Header.Get("Authorization") != "DPoP "+takes:
			refusal = "invalid_token"
		default:
			return
		}
		rw.Header().Set("WWW-Authenticate", `Bearer, DPoP error="`+refusal+`"`)
		rw.WriteHeader(401)
	}))
	defer mcp.Close()
	store := newStore()
	_, key, err := newKey(w.walk(), store)
	if err != nil {
		t.Fatal(err)
	}
	keep := func(b *Records) {
		b.putToken(Token{
			Issuer: w.url, Resource: mcp.URL + "/mcp", Endpoint: mcp.URL + "/mcp", Client: "id", Grant: AuthorizationCode,
			Access: "plain:old", Refresh: "plain:refresh-1", Key: key, TokenEndpoint: w.url + "/token",
		})
	}
	if err := store.Change(t.Context(), keep); err != nil {
		t.Fatal(err)
	}
	g := guardFor(w, mcp.URL+"/mcp", store)
	for _, step := range []struct {
		name                string
		takes, wants, gives string
		status              int
		nonces              []string
	}{
		{"no nonce", "old", "", "", 200, []string{""}},
		{"one is wanted", "old", "n-1", "n-1", 200, []string{"", "n-1"}},
		{"it is kept, and another one given", "old", "n-1", "n-2", 200, []string{"n-1"}},
		{"the other one is taken", "old", "n-2", "n-2", 200, []string{"n-2"}},
		{"no nonce is ever right", "old", "n-3", "n-2", 401, []string{"n-2", "n-2"}},
		{"one is wanted, and none given", "old", "n-3", "", 401, []string{"n-2"}},
	} {
		got, bodies, takes, wants, gives = nil, nil, step.takes, step.wants, step.gives
		g.renewed.Store(true) // renewals are tested below
		if status := send(t, g, "POST", mcp.URL+"/mcp?a=b"); status != step.status {
			t.Errorf("%s: HTTP %d", step.name, status)
		}
		var nonces []string
		for i, p := range got {
			nonces = append(nonces, p.nonce)
			if p.htm != "POST" || p.htu != mcp.URL+"/mcp" || p.ath != s256("old") || i > 0 && p.jti == got[0].jti || bodies[i] != "the body" {
				t.Errorf("%s: got %+v with %q", step.name, p, bodies[i])
			}
		}
		if !slices.Equal(nonces, step.nonces) {
			t.Errorf("%s: the nonces %q, want %q", step.name, nonces, step.nonces)
		}
	}

	got, takes, wants = nil, "access-secret-1", ""
	g.renewed.Store(false)
	if status := send(t, g, "GET", mcp.URL+"/mcp"); status != 200 || len(got) != 2 || len(w.heads) != 1 {
		t.Fatalf("HTTP %d after %d requests and %d renewals", status, len(got), len(w.heads))
	}
	renewal := proven(t, w.heads[0])
	if renewal.key != got[0].key || got[1].key != got[0].key || got[1].ath != s256(takes) || got[1].htm != "GET" || renewal.htu != w.url+"/token" {
		t.Errorf("the renewal has %+v, the requests %+v", renewal, got)
	}
	if fields := g.HeaderFields(); len(fields) != 2 || fields[0].Value != "DPoP "+takes || proven(t, http.Header{"Dpop": {fields[1].Value}}).ath != s256(takes) {
		t.Errorf("held are %v", fields)
	}
}

// A key that cannot be read is an error, and no token is sent without its proof.
func TestDamagedKey(t *testing.T) {
	for name, key := range map[string]Secret{"no base64": "plain:?", "no key": "plain:AAAA", "sealed, and no keyring": "sealed:AAAA"} {
		w, p := newWorld(t), newProtected(t, "old")
		g := guardFor(w, p.URL+"/mcp", stored(t, w, p.URL+"/mcp", func(token *Token) { token.Key, token.Refresh = key, "" }))
		if status := send(t, g, "POST", p.URL+"/mcp"); status != 401 || p.got[0] != "" || !HasRule(g.Unsolved().Err, StoreFailed) {
			t.Errorf("%s: HTTP %d, sent %q, %v", name, status, p.got, g.Unsolved())
		}
	}
}
