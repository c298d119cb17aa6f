package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// assertionTime is how long an assertion is valid: at most five minutes (oauth-client-credentials,
// "JWT Assertions").
const assertionTime = 4 * time.Minute

// assertion returns a JWT that authenticates a client (RFC 7523). Its audience is the issuer; older
// servers require the URL of their token endpoint, which Client.Audience can name.
func (flow *Flow) assertion(c Client, s *Server) (string, error) {
	key, err := readKey(flow, c.KeyFile)
	if err != nil {
		return "", err
	}
	algorithm := c.Algorithm
	if algorithm == "" {
		algorithm = usualAlgorithm(key)
	}
	audience := c.Audience
	if audience == "" {
		audience = s.Issuer
	}
	signing := jwt.GetSigningMethod(algorithm)
	if signing == nil || signing == jwt.SigningMethodNone { // an unsigned assertion proves nothing
		return "", keyError(fmt.Sprintf("unsupported signature algorithm %q", algorithm), nil)
	}
	now := flow.now()
	claims := jwt.MapClaims{
		"iss": c.ID,
		"sub": c.ID,
		"aud": audience,
		"iat": now.Unix(),
		"exp": now.Add(assertionTime).Unix(),
		"jti": rand.Text(),
	}
	token := jwt.NewWithClaims(signing, claims)
	if c.KeyID != "" {
		token.Header["kid"] = c.KeyID
	}
	signed, err := token.SignedString(key)
	if err != nil {
		return "", keyError("the key of "+c.KeyFile+" does not sign with "+algorithm, err)
	}
	flow.addSecrets(signed) // it is as good as the key while it is valid
	return signed, nil
}

// readKey reads a private key in PEM: PKCS #8, or the older forms of RSA and EC.
func readKey(flow *Flow, path string) (crypto.Signer, error) {
	raw, err := flow.Read(path)
	if err != nil {
		return nil, keyError("the key cannot be read: "+err.Error(), err)
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
	return nil, keyError(path+" contains no supported private key in PEM, or it is encrypted", nil)
}

// usualAlgorithm returns the default signature algorithm for a type of key, or "" if the type or
// curve is unknown.
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

// keyError returns an error about a key or an assertion.
func keyError(text string, err error) *Error {
	return &Error{Rule: KeyUnusable, Text: text, Err: err}
}
