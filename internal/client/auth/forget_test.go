package auth

import (
	"reflect"
	"slices"
	"testing"
)

// A logout deletes everything that could get a token without the user, and nothing of other servers
// and accounts.
func TestForgetRemovesOneLoginCompletely(t *testing.T) {
	const here, there, issuer = "https://a.example/mcp", "https://b.example/mcp", "https://as.example"
	robot := Client{Issuer: issuer, ID: "robot", Origin: Given, Grant: ClientCredentials, Secret: "plain:x"}
	of := func(endpoint, account string, c Client) Token {
		return Token{Issuer: c.Issuer, Resource: endpoint, Endpoint: endpoint, Account: account, Client: c.ID, Grant: c.Grant}
	}
	with := func(change func(*Client)) Client {
		c := robot
		c.Secret = ""
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		book                 Records
		tokens, gone, needed int
		clients              []string
	}{
		"a secret":                   {Records{Tokens: []Token{of(here, "", robot)}, Clients: []Client{robot}}, 1, 1, 0, nil},
		"a key":                      {Records{Tokens: []Token{of(here, "", robot)}, Clients: []Client{with(func(c *Client) { c.KeyFile = "k" })}}, 1, 1, 0, nil},
		"an assertion":               {Records{Tokens: []Token{of(here, "", robot)}, Clients: []Client{with(func(c *Client) { c.AssertionFile = "f" })}}, 1, 1, 0, nil},
		"a sign-on":                  {Records{Tokens: []Token{of(here, "", robot)}, Clients: []Client{with(func(c *Client) { c.IDP = &IDP{} })}}, 1, 1, 0, nil},
		"no proof":                   {Records{Tokens: []Token{of(here, "", robot)}, Clients: []Client{with(func(*Client) {})}}, 1, 0, 0, []string{"robot"}},
		"registered":                 {Records{Tokens: []Token{of(here, "", robot)}, Clients: []Client{with(func(c *Client) { c.Origin = Registered })}}, 1, 0, 0, []string{"robot"}},
		"registered, no login since": {Records{Tokens: []Token{of(here, "", robot)}, Clients: []Client{with(func(c *Client) { c.Origin, c.Untried = Registered, true })}}, 1, 1, 0, nil},
		"registered, needed":         {Records{Tokens: []Token{of(here, "", robot), of(there, "", robot)}, Clients: []Client{with(func(c *Client) { c.Origin = Registered })}}, 1, 0, 0, []string{"robot"}},
		"never logged in":            {Records{Clients: []Client{with(func(c *Client) { c.Origin, c.Endpoint = Registered, here })}}, 0, 1, 0, nil},
		"another grant's":            {Records{Tokens: []Token{of(here, "", robot)}, Clients: []Client{robot, with(func(c *Client) { c.Grant, c.Secret = JWTBearer, "plain:y" })}}, 1, 2, 0, nil},
		"no token":                   {Records{Clients: []Client{with(func(c *Client) { c.Secret, c.Endpoint = "plain:x", here })}}, 0, 1, 0, nil},
		"another server's":           {Records{Tokens: []Token{of(here, "", robot), of(there, "", robot)}, Clients: []Client{robot}}, 1, 0, 1, []string{"robot"}},
		"another account's":          {Records{Tokens: []Token{of(here, "", robot), of(here, "work", robot)}, Clients: []Client{robot}}, 1, 0, 1, []string{"robot"}},
		"elsewhere":                  {Records{Tokens: []Token{of(there, "", robot)}, Clients: []Client{robot}}, 0, 0, 0, []string{"robot"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(c.book.Clients)
			b := c.book
			b.Pending = &Pending{Endpoint: here}
			f := b.Forget(here, "")
			if kept := b.Pending != nil; kept != (c.tokens == 0) {
				t.Errorf("the challenge is kept: %v", kept)
			}
			if len(f.Tokens) != c.tokens || len(f.Clients) != c.gone || len(f.Needed) != c.needed {
				t.Errorf("got %+v", f)
			}
			var left []string
			for _, client := range b.Clients {
				left = append(left, client.ID)
			}
			if !slices.Equal(left, c.clients) || !reflect.DeepEqual(before, c.book.Clients) {
				t.Errorf("left %v, and in the old list %v", left, c.book.Clients)
			}
		})
	}
}
