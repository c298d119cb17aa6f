// Package tui is the terminal view of recorded traffic: conversations, a table, a time line,
// tools, streams, secrets, and one exchange in detail. It reads recordings only through a
// view.Reader, and acts only through a view.Actor.
//
// Reads run outside of the drawing loop. The result of a read carries a generation number, so that
// an old result never replaces a newer one. A Reader that blocks delays neither drawing nor the end
// of the view.
//
// It is a separate package, because package liveview serves it and the pages of package web from
// the same recordings: neither knows the other, nor the commands.
package tui
