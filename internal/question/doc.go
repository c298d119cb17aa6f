// Package question parses a server's request to the user: a form to fill in, a page to visit, a
// text to write. It turns what the user typed into the response for the server (client/elicitation,
// client/sampling).
//
// A request is untrusted: the package fetches, opens and prints nothing, and does not sanitize its
// texts. Of JSON Schema it knows only the few forms that a field may have; internal/validate checks
// the rest.
package question
