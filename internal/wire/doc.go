// Package wire describes the traffic between an MCP client and an MCP server: a Message is the
// bytes of one message and their parsed form, a Frame is one unit of traffic, an Exchange is a
// request with all frames that belong to it, an Outcome is its success or failure, a Finding is one
// violation of a rule.
//
// The package opens no socket, reads no clock and prints nothing. Bytes are never re-encoded.
package wire
