// Package auth gets and keeps the tokens that protected servers ask for
// (basic/authorization): it reads a challenge, finds the server's metadata and
// that of its authorization server, is known or registers there, walks the user
// through the browser, and redeems what comes back. The strictest revision's rules
// hold for every server; what older ones need is in era.go.
//
// A [Transport] is the http.RoundTripper between a client and the network. It adds the token to
// requests for the resource that the token was issued for, and to no others, renews it, and
// keeps the challenge where that is not enough. The rest of the client needs no OAuth.
//
// It does not know MCP: no message, no session, no terminal. It starts no browser and
// prompts no user; its caller does. What servers write is not fit for a terminal.
package auth
