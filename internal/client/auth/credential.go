package auth

import (
	"crypto/ecdsa"
	"io"
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

// send sends a request with a credential, and where it was sent before with its body
// from the start.
func (g *Transport) send(req *http.Request, c credential, before bool) (*http.Response, error) {
	if !before && c.secret == "" && c.key == nil {
		return g.Base.RoundTrip(req)
	}
	again, err := fromStart(req)
	if err != nil {
		return nil, err
	}
	if c.secret != "" {
		again.Header.Set("Authorization", c.authorization())
	}
	if c.key != nil {
		return g.prover(c).RoundTrip(again)
	}
	return g.Base.RoundTrip(again)
}

// fromStart is a request that may be sent once more.
func fromStart(req *http.Request) (*http.Request, error) {
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		again.Body = body
	}
	return again, nil
}

// drop lets go of a response, so that its connection can be used again.
func drop(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	resp.Body.Close()
}

// Extensions are the ids of the extensions of the grant of the token that would be
// sent now.
func (g *Transport) Extensions() []string {
	if g.Fixed != "" || g.Store == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t, _ := g.storedLocked()
	return extensions[t.Grant]
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
		if c, err = g.openLocked(t); err != nil {
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
