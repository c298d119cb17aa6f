// Package transport exchanges messages with one MCP server: over stdio, over Streamable
// HTTP, and over the HTTP+SSE transport of 2024-11-05.
//
// A Transport matches responses to requests, passes all other messages to an Inbox and
// records every byte with a Recorder. A Fault describes a failure and how far the request
// got. The package does not depend on sessions and protocol revisions: an Outgoing message
// contains what the revision requires of it.
package transport
