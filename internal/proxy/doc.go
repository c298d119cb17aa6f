// Package proxy forwards messages between a client and a server: Proxy over HTTP, Pipe over stdio.
// A Desk may change a message by a fault rule, or hold it until a user decides. A Watcher receives a
// copy of the forwarded bytes and makes wire.Frames of it. Without rules and held messages, bytes are
// forwarded unchanged, and forwarding never waits for the Watcher.
//
// A Judge reads the frames of a recording and reports what the client did after each fault.
package proxy
