package auth

import (
	"slices"
	"strings"
)

// A Forgotten is what a logout dropped.
type Forgotten struct {
	Tokens []Token
	// Clients registered themselves, or proved themselves with something that is kept no longer. Needed are those
	// that are kept, as tokens for other servers, or of other accounts, are theirs.
	Clients, Needed []Client
}

// Forget drops an account's tokens for a server and what else could get one without asking
// the user: the secrets of the clients there, the names of their keys and assertions. A
// client that registered itself goes too where there was no token, or its last login did not
// succeed: the server may not know it any more. Another one that proves itself with nothing
// stays. The settings of the last login are dropped. The challenge is kept where there was no
// token. The old lists of b stay as they are.
func (b *Records) Forget(endpoint, account string) (f Forgotten) {
	b.Tokens = slices.DeleteFunc(slices.Clone(b.Tokens), func(t Token) bool {
		gone := t.Account == account && Covers(t.Resource, endpoint)
		if gone {
			f.Tokens = append(f.Tokens, t)
		}
		return gone
	})
	b.Clients = slices.DeleteFunc(slices.Clone(b.Clients), func(c Client) bool {
		here := c.Endpoint == endpoint || slices.ContainsFunc(f.Tokens, func(t Token) bool { return t.Issuer == c.Issuer })
		doubtful := c.Origin == Registered && (c.Untried || len(f.Tokens) == 0)
		if !here || c.Proof() == "" && !doubtful {
			return false
		}
		needed := slices.ContainsFunc(b.Tokens, c.has)
		if !needed {
			f.Clients = append(f.Clients, c)
		} else if c.Proof() != "" {
			f.Needed = append(f.Needed, c)
		}
		return !needed
	})
	b.dropSettings(endpoint, account)
	if b.Pending != nil && b.Pending.Endpoint == endpoint && len(f.Tokens) > 0 {
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
