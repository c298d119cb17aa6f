package auth

import (
	"crypto/ecdsa"
	"net/http"
	"net/url"

	"mcpc/internal/wire"
)

// A credential authorizes a request: a token, and the key that the token is bound to, or nil. The
// zero value authorizes nothing.
type credential struct {
	secret string
	key    *ecdsa.PrivateKey
}

// authorization returns the value of the Authorization field.
func (c credential) authorization() string {
	if c.key != nil {
		return "DPoP " + c.secret
	}
	return "Bearer " + c.secret
}

// prover returns a round tripper that proves possession of the credential's key and sends to Base.
func (g *Transport) prover(c credential) prover {
	return prover{base: g.Base, key: c.key, now: g.Now, nonces: &g.nonces, access: c.secret}
}

// HeaderFields returns the header fields that authorize a POST to the endpoint, or nil without a token
// that can be read. It neither prompts the user nor renews the token.
func (g *Transport) HeaderFields() []wire.Field {
	c := credential{secret: g.Fixed}
	if g.Fixed == "" && g.Store != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		t, ok := g.storedTokenLocked()
		if !ok {
			return nil
		}
		var err error
		c, err = g.credentialLocked(t)
		if err != nil {
			return nil
		}
	}
	if c.secret == "" {
		return nil
	}
	fields := []wire.Field{{Name: "Authorization", Value: c.authorization()}}
	if u, err := url.Parse(g.Endpoint); err == nil && c.key != nil {
		if proof, err := g.prover(c).proof(http.MethodPost, u); err == nil {
			fields = append(fields, wire.Field{Name: "DPoP", Value: proof})
		}
	}
	return fields
}
