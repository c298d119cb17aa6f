// Package mock has the servers of mcpc mock: a Script is played to an MCP client over HTTP or stdio, and can make every
// fault that a server, a proxy or a network makes; a Player plays the server of a recording.
//
// A script says first what a well-behaved server would do, and then where this
// one differs:
//
//	# the answer to the call is cut in the middle
//	speaks 2025-11-25
//	tool echo {"type":"object"}
//
//	on tools/call
//	    status 200
//	    header Content-Type: application/json
//	    header Content-Length: 100
//	    send {"jsonrpc":"2.0",
//	    close
//
// What no rule is for is answered as a server of that revision answers it. The
// words are those of script.go; `mcpc help mock-scripts` lists them. $ID, $METHOD,
// $NAME, $TOKEN, $CURSOR, $VERSION and $PORT stand for parts of the request,
// ${Mcp-Name} for any field of its header.
//
// A Player finds the recorded exchange that a live request repeats, and plays it, in both eras of the protocol,
// whichever the recording was made in: notifications, requests of the server and the response come in the recorded
// order, with the recorded bytes. Where the live client speaks the other era, a request of the server becomes a round
// of input_required and the other way round, and members of the protocol are added or removed. What has no counterpart
// is answered with an error and reported once. A recording is hostile: nothing in it is executed or contacted.
//
// This package does not know the client, nor what a client should make of what it gets. It
// executes nothing but its own script.
package mock
