// Package forward observes traffic between a client and a server without changing it. A
// Watcher turns copies of the forwarded bytes into wire.Frames, for mcpc tap; a Proxy is an
// HTTP reverse proxy with a Watcher, for mcpc proxy. Forwarding never waits for the Watcher.
package forward
