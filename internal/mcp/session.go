package mcp

import (
	"slices"

	"mcpc/internal/wire"
)

// Codes of errors that are about the request itself.
var requestCodes = []int64{
	-32601, // method not found
	-32602, // invalid params
	-32603, // internal error
	-32002, // resource not found, until 2025-11-25
}

// EndsSession reports whether a response with the status 404 to a request with a session id means
// that the server does not know the session: a client then initializes again (basic/transports,
// "Session Management"). m is the body, nil if it is not a message. An error with the request's id
// and a code such as "method not found" is about the request. sure is false if the error has the
// request's id and a code of no known meaning: then a ping shows whether the session has ended.
func EndsSession(m *wire.Message) (ended, sure bool) {
	if m == nil || m.Error == nil || !m.HasID() {
		return true, true
	}
	code := m.Error.Code
	if slices.Contains(requestCodes, code) {
		return false, true
	}
	codes := wire.RangeOfCode(code)
	// Servers also use "invalid request" (-32600) and other codes, some with the request's id.
	return true, code == -32600 || codes == wire.ServerCodes || codes == wire.MCPCodes
}
