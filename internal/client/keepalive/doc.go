// Package keepalive keeps a stdio server running between commands.
//
// Run is the supervisor: a process that starts the server and listens at a unix socket. Open
// returns the transport of a command that uses the server through that socket, as if the command
// had started it. Several commands can use the server at the same time: the supervisor routes each
// message to the right one.
package keepalive
