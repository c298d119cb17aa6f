// Package match decides whether two requests or two responses are equivalent. Replay, mock servers,
// the comparison of calls and expectations use it.
//
// An Index finds the recorded requests that match a live request, or the most similar ones. A
// Binder replaces the handles (cursors, task ids ...) of a recording by the handles of the current
// run. Compare lists the differences of two JSON values, and counts the differing values that a
// matcher or the protocol accepts. Rules are the matchers of a file; Propose derives them from
// several responses to one request. The file volatile.txt lists the members that belong to the
// protocol, with their definitions in the official schema.
//
// All input is untrusted: depth, number of values and work are bounded, and no input causes a
// panic.
package match
