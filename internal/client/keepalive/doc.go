// Package keepalive keeps a stdio server running between commands.
//
// Run is the supervisor: a process of its own that starts the server and listens at a unix
// socket. Open is the transport of a command that speaks with the server through that
// socket, as if it had started it. Several commands may do so at a time: the supervisor
// knows which message belongs to which of them.
package keepalive
