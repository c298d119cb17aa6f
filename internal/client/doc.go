// Package client is a session with one MCP server: it opens the conversation,
// sends requests, waits for their responses, and answers what the server asks.
//
// A Session is independent of HTTP and of the revision. A transport (client/transport)
// moves messages and reports the traffic to a tap; an era (era.go) opens the
// conversation, stamps what is sent and settles what came back. Every way in which a
// request can end is a wire.Outcome; nothing here returns an error beside it.
//
// This package prints nothing, stores no session between two runs, and validates
// no value against its schema.
package client
