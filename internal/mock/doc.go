// Package mock implements the servers of mcpc mock. A Script is played to an MCP client over HTTP
// or stdio and can produce any fault of a server, a proxy or a network. A Player plays the server
// of a recording.
//
// A script first describes a correct server, and then where this server differs:
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
// A request that no rule matches gets the response of a correct server of that revision. Words in
// script.go declares the actions; `mcpc help mock-scripts` lists them. In the text of an action,
// $ID, $METHOD, $NAME, $TOKEN, $CURSOR, $VERSION and $PORT are replaced by parts of the request,
// and ${Mcp-Name} by that header field; any field name works.
//
// A Player finds the recorded exchange that a live request repeats and plays it: notifications,
// requests of the server and the response follow in the recorded order, with the recorded bytes.
// The client may speak either era of the protocol, whichever era was recorded. Between the eras,
// the Player turns a request of the server into an input_required round (or a round into requests)
// and adds or removes members. A request without a counterpart in the client's era is answered with
// an error and reported once. A recording is untrusted: the Player executes nothing in it and
// contacts no address in it.
//
// The package does not import the client.
package mock
