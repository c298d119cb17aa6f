// Package mock is the scripted server of mcpc mock: it plays a script to an MCP client,
// over HTTP or stdio, and can make every fault that a server, a proxy or a network makes.
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
// This package does not know the client, nor what a client should make of what it gets. It
// executes nothing but its own script.
package mock
