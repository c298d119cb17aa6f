// Package wire describes the messages between an MCP client and an MCP
// server, as it crossed: a Message is the bytes and a view of them, a Frame is
// one thing that crossed, an Exchange is a request with everything that came
// back for it, an Outcome is its one ending, a Finding is a rule that was
// broken and where.
//
// Every room of mcpc speaks in these nouns, and this package speaks of nothing
// else: it opens no socket, reads no clock and prints nothing. Bytes are never
// re-encoded; a view is decoded from them on demand.
package wire
