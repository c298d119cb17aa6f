package auth

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// assertionTime is how long an assertion is good: at most five minutes (oauth-client-
// credentials, "JWT Assertions").
const assertionTime = 4 * time.Minute

// assertion is a JWT with which a client proves itself (RFC 7523). It is meant for
// the issuer, by the newer text; older servers want the address of their endpoint.
func (w *Flow) assertion(c Client, s *Server) (string, error) {
	key, err := readKey(w, c.KeyFile)
	if err != nil {
		return "", err
	}
	algorithm := cmp.Or(c.Algorithm, usualAlgorithm(key))
	how := jwt.GetSigningMethod(algorithm)
	if how == nil || how == jwt.SigningMethodNone {
		return "", keyUnusable(fmt.Sprintf("unsupported signature algorithm %q", algorithm), nil)
	}
	now := w.now()
	claims := jwt.MapClaims{
		"iss": c.ID,
		"sub": c.ID,
		"aud": cmp.Or(c.Audience, s.Issuer),
		"iat": now.Unix(),
		"exp": now.Add(assertionTime).Unix(),
		"jti": rand.Text(),
	}
	token := jwt.NewWithClaims(how, claims)
	if c.KeyID != "" {
		token.Header["kid"] = c.KeyID
	}
	signed, err := token.SignedString(key)
	if err != nil {
		return "", keyUnusable("the key of "+c.KeyFile+" does not sign with "+algorithm, err)
	}
	w.learn(signed)
	return signed, nil
}

// readKey reads a private key in PEM: PKCS #8, or the older forms of RSA and EC.
func readKey(w *Flow, path string) (crypto.Signer, error) {
	raw, err := w.Read(path)
	if err != nil {
		return nil, keyUnusable("the key cannot be read: "+err.Error(), err)
	}
	if key, err := jwt.ParseRSAPrivateKeyFromPEM(raw); err == nil {
		return key, nil
	}
	if key, err := jwt.ParseECPrivateKeyFromPEM(raw); err == nil {
		return key, nil
	}
	if key, err := jwt.ParseEdPrivateKeyFromPEM(raw); err == nil {
		return key.(crypto.Signer), nil
	}
	return nil, keyUnusable(path+" contains no supported private key in PEM, or it is encrypted", nil)
}

func usualAlgorithm(key crypto.Signer) string {
	switch key := key.(type) {
	case *ecdsa.PrivateKey:
		return map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[key.Curve.Params().BitSize]
	case *rsa.PrivateKey:
		return "RS256"
	case ed25519.PrivateKey:
		return "EdDSA"
	}
	return ""
}

func keyUnusable(text string, err error) *Error {
	return &Error{Rule: KeyUnusable, Text: text, Err: err}
}
