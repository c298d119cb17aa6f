// Package match decides whether two requests are the same request, and two answers the
// same answer: for replay, for a mock server made of a capture, for the comparison of
// calls and for expectations.
//
// An Index finds the recorded requests that a live one repeats, or the nearest ones. A
// Binder replaces handles (cursors, task ids ...) of a recording by those of the present
// run. Compare lists the differences of two JSON values, and counts each value that a
// matcher or the protocol let pass. Rules are the matchers of a file; Propose makes them
// from answers to one request. Which members belong to the protocol is listed in
// volatile.txt, with the definition in the official schema that says so.
//
// All input is hostile: depth, number of values and work are bounded, and nothing panics.
package match
