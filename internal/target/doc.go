// Package target chooses the server: it turns what the user typed (a command after "--", --server,
// MCPC_SERVER), or the lack of it, into a Target.
//
// It only parses. It does not know whether the server exists, how to connect to it or where
// sessions are stored. It reads no file and no environment and resolves no name: callers pass texts
// and names.
//
// It also knows other programs' configurations: their paths, their servers, and how to change one
// server without a change of the rest. Callers pass their bytes too, and only [Server.Resolved]
// asks for the values of their variables.
//
// A URL is checked before mcpc sends anything, and normalised so that one server has one spelling.
// An error names the part of a URL and never quotes the whole URL: it may have a password.
package target
