// Package transport carries messages to one MCP server and back: over stdio, over
// Streamable HTTP, and over the HTTP+SSE transport of 2024-11-05.
//
// A Transport matches responses to requests, reports everything else to an Inbox and
// every byte to a Recorder. What goes wrong is a Fault, which says how far the request
// got. The package is independent of sessions and revisions: what a revision wants on a
// request is in the Outgoing message.
package transport
