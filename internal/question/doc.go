// Package question is what a server may ask a person: a form to fill in, a page
// to visit, a text to write. It reads the question and turns what a person typed
// into the answer that the server understands (client/elicitation,
// client/sampling).
//
// A question comes from a server and is hostile until shown otherwise: nothing
// here is fetched, opened or printed, and no text of it is made safe for a
// terminal. The package does not know who answers, where the answer goes, nor
// JSON Schema beyond the few shapes that a form may have; internal/validate
// judges the rest.
package question
