package auth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mcpc/internal/wire"
)

// proofAlgorithm is the signature algorithm of DPoP proofs.
const proofAlgorithm = "ES256"

// bindToKey creates the key that the token is bound to, if the user or the last login wants that, or
// if the server asks for DPoP and its authorization server supports it. A thief cannot use such a
// token without the key: each request proves that its sender has the key (RFC 9449). The key is kept
// as long as its token.
func (l *login) bindToKey() error {
	isDeclared := slices.Contains(l.found.Server.Proofs, proofAlgorithm)
	isRequested := l.req.Challenge.Scheme == "dpop" && isDeclared
	if !l.req.Bind && !isRequested {
		return nil
	}
	rule := `"dpop_signing_alg_values_supported" has ` + proofAlgorithm + " (RFC 9449 section 5.1)"
	err := l.flow.check(rule, isDeclared, &Error{
		Rule: NoProof,
		Text: "the authorization server does not declare DPoP with " + proofAlgorithm,
		Hint: wire.Run("auth logout") + ", then " + wire.Run("login") + " without --dpop, gets a bearer token",
	})
	if err != nil {
		return err
	}
	l.key, l.token.Key, err = newKey(l.flow, l.store)
	return err
}

// newKey creates a key. It returns the key and its stored form.
func newKey(flow *Flow, store *Store) (*ecdsa.PrivateKey, Secret, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", keyError("generating a key failed", err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, "", keyError("generating a key failed", err)
	}
	text := base64.StdEncoding.EncodeToString(raw)
	flow.addSecrets(text)
	stored, err := store.Seal(text)
	return key, stored, err
}

// key returns the key that a token is bound to, or nil if stored is "".
func (s *Store) key(stored Secret) (*ecdsa.PrivateKey, error) {
	if stored == "" {
		return nil, nil
	}
	text, err := s.Open(stored)
	if err != nil {
		return nil, err
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		var parsed any
		parsed, err = x509.ParsePKCS8PrivateKey(raw)
		if key, ok := parsed.(*ecdsa.PrivateKey); ok {
			return key, nil
		}
	}
	return nil, &Error{
		Rule: StoreFailed,
		Text: "the key that the token is bound to is damaged",
		Hint: wire.Run("auth logout") + ", then " + wire.Run("login"),
		Err:  err,
	}
}

// A prover is a round tripper that adds a proof of its key to each request. It repeats a request if
// the server requires a nonce.
type prover struct {
	base http.RoundTripper
	key  *ecdsa.PrivateKey
	now  func() time.Time
	// nonces are the latest nonces of servers, by origin. The next proof for an origin contains its
	// nonce.
	nonces *sync.Map
	// access is the token that is sent, or "" if the request goes to a token endpoint.
	access string
}

// RoundTrip sends a request with a proof, and once more if the server requires its nonce, which
// send has kept.
func (p prover) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := p.send(req)
	if err != nil || !p.wantsNonce(resp) {
		return resp, err
	}
	drain(resp)
	return p.send(req)
}

// send sends a request with a proof and keeps the nonce of the response.
func (p prover) send(req *http.Request) (*http.Response, error) {
	proven, err := rewind(req)
	if err != nil {
		return nil, err
	}
	proof, err := p.proof(req.Method, req.URL)
	if err != nil {
		return nil, err
	}
	proven.Header.Set("DPoP", proof)
	resp, err := p.base.RoundTrip(proven)
	if err == nil && resp.Header.Get("DPoP-Nonce") != "" {
		p.nonces.Store(originOf(req.URL), resp.Header.Get("DPoP-Nonce"))
	}
	return resp, err
}

// proof returns the proof for one request (RFC 9449, section 4.2).
func (p prover) proof(method string, u *url.URL) (string, error) {
	// htu is the URL without query and fragment.
	claims := jwt.MapClaims{"jti": rand.Text(), "htm": method, "htu": originOf(u) + u.EscapedPath(), "iat": p.now().Unix()}
	if p.access != "" { // the proof is for this token only
		sum := sha256.Sum256([]byte(p.access))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	if nonce, ok := p.nonces.Load(originOf(u)); ok {
		claims["nonce"] = nonce
	}
	point, err := p.key.PublicKey.Bytes() // the byte 4, then x and y
	if err != nil {
		return "", keyError("the DPoP proof failed", err)
	}
	half := (len(point) + 1) / 2 // the index of y
	token := jwt.NewWithClaims(jwt.GetSigningMethod(proofAlgorithm), claims)
	token.Header["typ"] = "dpop+jwt"
	token.Header["jwk"] = map[string]string{
		"kty": "EC", "crv": "P-256",
		"x": base64.RawURLEncoding.EncodeToString(point[1:half]), "y": base64.RawURLEncoding.EncodeToString(point[half:]),
	}
	return token.SignedString(p.key)
}

// wantsNonce reports whether a response requires the nonce that it contains. An authorization
// server requires it in the body (RFC 9449, section 8), an MCP server in its challenge (section 9).
// The body can still be read afterwards.
func (p prover) wantsNonce(resp *http.Response) bool {
	const wanted = "use_dpop_nonce"
	if resp.Header.Get("DPoP-Nonce") == "" {
		return false
	}
	if p.access != "" {
		return resp.StatusCode == http.StatusUnauthorized &&
			slices.ContainsFunc(ParseChallenges(resp.Header.Values("WWW-Authenticate")),
				func(c Challenge) bool { return c.Scheme == "dpop" && c.Params["error"] == wanted })
	}
	if resp.StatusCode != http.StatusBadRequest {
		return false
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	// The caller reads the same bytes again, and then the rest.
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(raw), resp.Body), resp.Body}
	var body struct {
		Error string `json:"error"`
	}
	return err == nil && json.Unmarshal(raw, &body) == nil && body.Error == wanted
}

// originOf returns the scheme, host and port of u, as they are written in u.
func originOf(u *url.URL) string { return u.Scheme + "://" + u.Host }
