// Package client holds a session with one MCP server: it opens the session, sends requests, waits
// for their responses, and answers the server's own requests.
//
// A Session does not depend on HTTP or on a protocol revision. A transport (client/transport)
// carries the messages and reports the traffic to a tap. An era (era.go) opens the session, adds
// the metadata of its revisions to each request, and validates the results. Each request ends in
// exactly one wire.Outcome; no function returns an error in addition to an outcome.
//
// The package prints nothing, stores nothing between two runs, and validates no value against its
// JSON schema.
package client
