// Package tui is the terminal view of recorded traffic: conversations, a table, a time line,
// tools, streams, secrets, and one exchange in detail. It knows recordings only as the
// documents of a view.Reader, and acts only by a view.Actor.
//
// All asking happens outside of the loop that draws. An answer carries the generation of its
// question, so that an old answer never replaces a newer one, and a Reader that does not
// answer delays nothing, not even the end.
package tui
