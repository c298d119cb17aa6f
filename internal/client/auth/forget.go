package auth

import (
	"slices"
	"strings"
)

// A Forgotten is what a logout deleted.
type Forgotten struct {
	Tokens []Token
	// Clients are the deleted clients: they registered themselves, or authenticated with something that
	// was deleted. Needed are clients that were kept because they own tokens for other servers or
	// accounts.
	Clients, Needed []Client
}

// Forget deletes an account's tokens for a server and everything that could get new ones without the
// user: client secrets and the names of key and assertion files. It also deletes a client that
// registered itself if there was no token or if its last login did not succeed, because the server
// may not know it any more. It keeps other clients without a proof. It deletes the settings of the
// last login, and the pending challenge if there was a token. It does not change the elements of b's
// old lists. It returns what it deleted, and clients that are still needed.
func (b *Records) Forget(endpoint, account string) Forgotten {
	var f Forgotten
	b.Tokens = slices.DeleteFunc(slices.Clone(b.Tokens), func(t Token) bool {
		isDeleted := t.Account == account && Covers(t.Resource, endpoint)
		if isDeleted {
			f.Tokens = append(f.Tokens, t)
		}
		return isDeleted
	})
	b.Clients = slices.DeleteFunc(slices.Clone(b.Clients), func(c Client) bool {
		isIssuer := func(t Token) bool { return t.Issuer == c.Issuer }
		isForServer := c.Endpoint == endpoint || slices.ContainsFunc(f.Tokens, isIssuer)
		mayBeUnknown := c.Origin == Registered && (c.Untried || len(f.Tokens) == 0)
		isWorthKeeping := c.Proof() == "" && !mayBeUnknown // it saves a registration, and gets no token alone
		if !isForServer || isWorthKeeping {
			return false
		}
		isNeeded := slices.ContainsFunc(b.Tokens, c.owns)
		if !isNeeded {
			f.Clients = append(f.Clients, c)
		} else if c.Proof() != "" { // the caller reports that something remains that can request tokens
			f.Needed = append(f.Needed, c)
		}
		return !isNeeded
	})
	b.dropSettings(endpoint, account)
	if b.Pending != nil && b.Pending.Endpoint == endpoint && len(f.Tokens) > 0 {
		b.Pending = nil
	}
	return f
}

// owns reports whether a token was issued to the client.
func (c Client) owns(t Token) bool {
	return t.Issuer == c.Issuer && t.Client == c.ID && t.Grant == c.Grant
}

// Proof returns what the client authenticates with, such as "secret", or "".
func (c Client) Proof() string {
	var kinds []string
	add := func(kind string, isPresent bool) {
		if isPresent {
			kinds = append(kinds, kind)
		}
	}
	add("secret", c.Secret != "")
	add("private key", c.KeyFile != "")
	add("assertion", c.AssertionFile != "")
	add("sign-on", c.IDP != nil)
	return strings.Join(kinds, ", ")
}
