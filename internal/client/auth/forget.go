package auth

import (
	"slices"
	"strings"
)

// A Forgotten is what a logout dropped.
type Forgotten struct {
	Tokens []Token
	// Clients proved themselves with something that is kept no longer. Needed are those
	// that are kept, as tokens for other servers, or of other accounts, are theirs.
	Clients, Needed []Client
}

// Forget drops an account's tokens for a server and what else could get one without
// asking anybody: the secrets of the clients there, the names of their keys and
// assertions. A client that proves itself with nothing stays. The old lists of b are
// not written to.
func (b *Book) Forget(endpoint, account string) (f Forgotten) {
	b.Tokens = slices.DeleteFunc(slices.Clone(b.Tokens), func(t Token) bool {
		gone := t.Account == account && Covers(t.Resource, endpoint)
		if gone {
			f.Tokens = append(f.Tokens, t)
		}
		return gone
	})
	b.Clients = slices.DeleteFunc(slices.Clone(b.Clients), func(c Client) bool {
		here := c.Endpoint == endpoint || slices.ContainsFunc(f.Tokens, func(t Token) bool { return t.Issuer == c.Issuer })
		if !here || c.Proof() == "" {
			return false
		}
		needed := slices.ContainsFunc(b.Tokens, c.has)
		if needed {
			f.Needed = append(f.Needed, c)
		} else {
			f.Clients = append(f.Clients, c)
		}
		return !needed
	})
	if b.Pending != nil && b.Pending.Endpoint == endpoint {
		b.Pending = nil
	}
	return f
}

// has reports whether a token was issued to the client.
func (c Client) has(t Token) bool {
	return t.Issuer == c.Issuer && t.Client == c.ID && t.Grant == c.Grant
}

// Proof names what the client proves itself with, as in "secret"; "" is nothing.
func (c Client) Proof() string {
	var kinds []string
	add := func(kind string, there bool) {
		if there {
			kinds = append(kinds, kind)
		}
	}
	add("secret", c.Secret != "")
	add("private key", c.KeyFile != "")
	add("assertion", c.AssertionFile != "")
	add("sign-on", c.IDP != nil)
	return strings.Join(kinds, ", ")
}
