// Package proxy passes messages on between a client and a server of others: Proxy over HTTP, Pipe on stdio. Each message
// takes one way: the fault rules (Rules) may change it, a Desk may hold it until a user decides, and a Watcher makes
// wire.Frames of a copy of the bytes that pass. Without rules and without held messages the bytes pass as they come, and
// passing never waits for the Watcher.
//
// A Judge reads the frames of a recording and says what the client did after each fault.
package proxy
