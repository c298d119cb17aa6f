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

// A token may be bound to a key, so that a thief cannot use the token alone: each request
// that carries it proves that the sender has the key (RFC 9449). A key is made for each
// login and kept as long as its token.

// proofAlgorithm is how proofs are signed.
const proofAlgorithm = "ES256"

// bind makes the key that the token is to be bound to: because that is wanted, or
// because the server asks for it and its authorization server can do it.
func (l *login) bind() (err error) {
	listed := slices.Contains(l.found.Server.Proofs, proofAlgorithm)
	if !l.req.Bind && (l.req.Challenge.Scheme != "dpop" || !listed) {
		return nil
	}
	if err := l.w.holds("\"dpop_signing_alg_values_supported\" has "+proofAlgorithm+" (RFC 9449 section 5.1)", listed, &Error{Rule: NoProof,
		Text: "the authorization server does not declare DPoP with " + proofAlgorithm,
		Hint: wire.Run("logout") + ", then " + wire.Run("login") + " without --dpop, gets a bearer token"}); err != nil {
		return err
	}
	l.key, l.token.Key, err = newKey(l.w, l.store)
	return err
}

// newKey makes a key, and its stored form.
func newKey(w *Flow, store *Store) (*ecdsa.PrivateKey, Secret, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", keyUnusable("generating a key failed", err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, "", keyUnusable("generating a key failed", err)
	}
	text := base64.StdEncoding.EncodeToString(raw)
	w.learn(text)
	stored, err := store.Seal(text)
	return key, stored, err
}

// key opens the key that a token is bound to; nil where it is bound to none.
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
		parsed, failed := x509.ParsePKCS8PrivateKey(raw)
		if key, ok := parsed.(*ecdsa.PrivateKey); ok {
			return key, nil
		}
		err = failed
	}
	return nil, &Error{
		Rule: StoreFailed,
		Text: "the key that the token is bound to is damaged",
		Hint: wire.Run("logout") + ", then " + wire.Run("login"),
		Err:  err,
	}
}

// A prover adds a proof of its key to each request on the way to base, and once
// more where the server wants its nonce in it.
type prover struct {
	base http.RoundTripper
	key  *ecdsa.PrivateKey
	now  func() time.Time
	// nonces are those that servers gave last, by origin. They are to be in the next
	// proof for that origin.
	nonces *sync.Map
	// access is the token that is sent; "" where one is asked for.
	access string
}

func (p prover) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := p.send(req)
	if err != nil || !p.wantsNonce(resp) {
		return resp, err
	}
	drop(resp)
	return p.send(req)
}

func (p prover) send(req *http.Request) (*http.Response, error) {
	again, err := fromStart(req)
	if err != nil {
		return nil, err
	}
	proof, err := p.proof(req.Method, req.URL)
	if err != nil {
		return nil, err
	}
	again.Header.Set("DPoP", proof)
	resp, err := p.base.RoundTrip(again)
	if err == nil && resp.Header.Get("DPoP-Nonce") != "" {
		p.nonces.Store(originOf(req.URL), resp.Header.Get("DPoP-Nonce"))
	}
	return resp, err
}

// proof is good for one request (RFC 9449, section 4.2).
func (p prover) proof(method string, u *url.URL) (string, error) {
	claims := jwt.MapClaims{"jti": rand.Text(), "htm": method, "htu": originOf(u) + u.EscapedPath(), "iat": p.now().Unix()}
	if p.access != "" {
		sum := sha256.Sum256([]byte(p.access))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	if nonce, ok := p.nonces.Load(originOf(u)); ok {
		claims["nonce"] = nonce
	}
	point, err := p.key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		return "", keyUnusable("the DPoP proof failed", err)
	}
	half := (len(point) + 1) / 2
	token := jwt.NewWithClaims(jwt.GetSigningMethod(proofAlgorithm), claims)
	token.Header["typ"] = "dpop+jwt"
	token.Header["jwk"] = map[string]string{"kty": "EC", "crv": "P-256",
		"x": base64.RawURLEncoding.EncodeToString(point[1:half]), "y": base64.RawURLEncoding.EncodeToString(point[half:])}
	return token.SignedString(p.key)
}

// wantsNonce reports whether a response asks for the nonce that it brings: an
// authorization server says so in the body (RFC 9449, section 8), an MCP server in
// its challenge (section 9). The body can still be read.
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
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(raw), resp.Body), resp.Body}
	var said struct {
		Error string `json:"error"`
	}
	return err == nil && json.Unmarshal(raw, &said) == nil && said.Error == wanted
}

func originOf(u *url.URL) string { return u.Scheme + "://" + u.Host }
