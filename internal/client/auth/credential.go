package auth

import (
	"crypto/ecdsa"
	"net/http"
	"net/url"

	"mcpc/internal/wire"
)

// A credential authorizes a request: a token, and the key that it is bound to, else nil.
// The zero one is none.
type credential struct {
	secret string
	key    *ecdsa.PrivateKey
}

func (c credential) authorization() string {
	if c.key != nil {
		return "DPoP " + c.secret
	}
	return "Bearer " + c.secret
}

// prover proves what the credential's key is for, on the way to base.
func (g *Transport) prover(c credential) prover {
	return prover{base: g.Base, key: c.key, now: g.Now, nonces: &g.nonces, access: c.secret}
}

// Held returns the header fields that authorize a POST to the endpoint now; nil without a
// token. It neither prompts the user nor renews.
func (g *Transport) Held() []wire.Field {
	c := credential{secret: g.Fixed}
	if g.Fixed == "" && g.Store != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		t, ok := g.storedLocked()
		if !ok {
			return nil
		}
		var err error
		c, err = g.openLocked(t)
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
