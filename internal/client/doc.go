// Package client is a conversation with one MCP server: the transports that
// carry messages, the session that sends requests and waits for their answers,
// and the two eras that say what a message must look like.
//
// The session's loop knows neither HTTP nor a revision. A transport moves bytes
// and reports the traffic to a tap; an era (era.go) opens the conversation,
// stamps what is sent and settles what came back. Every way in which a request
// can end is a wire.Outcome; nothing here returns an error beside it.
//
// This package does not know what a person sees, where a session is kept
// between two runs, or whether a value fits its schema.
package client
