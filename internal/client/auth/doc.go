// Package auth obtains and stores the tokens that protected servers require
// (basic/authorization). It parses a challenge, fetches the metadata of the server and of
// its authorization server, registers a client if necessary, sends the user to the
// browser, and exchanges the code for a token. It applies the rules of the strictest
// revision to all servers; era.go has what older servers need.
//
// A [Transport] is the http.RoundTripper between a client and the network. It adds the token
// to requests for the resource of the token, and to no others, renews it, and keeps a
// challenge that it cannot answer. The rest of the client does not deal with OAuth.
//
// The package does not know MCP messages, sessions or terminals. It starts no browser and
// prompts no user; its caller does. Texts from servers are not escaped for a terminal.
package auth
