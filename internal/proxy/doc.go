// Package proxy passes messages on between a client and a server of others: Proxy over HTTP, Pipe on stdio.
// Each message takes one way: a Desk may change it by its fault rules or hold it until a user decides, and a
// Watcher makes wire.Frames of a copy of the bytes that pass. Without rules and without held messages the
// bytes pass as they come, and passing never waits for the Watcher.
//
// A Judge reads the frames of a recording and says what the client did after each fault.
package proxy
