// Package target says which server is meant: it turns what the user typed (a
// command after "--", --server, MCPC_SERVER), or did not type, into a Target.
//
// It is pure parsing. It does not know whether the server exists, what speaks
// to it, where sessions are stored or what the environment holds: names and
// texts are handed in. It opens nothing and resolves nothing.
//
// It also knows other programs' configurations: where they lie, which servers they
// name, and how to change one without touching the rest. Their bytes are handed in
// too, and the values of their variables are asked for only by [Server.Resolved].
//
// A URL is checked before anything is sent anywhere, and normalised so that one
// server has one spelling. What is refused is named by its part and never
// quoted whole: a URL may carry a password.
package target
