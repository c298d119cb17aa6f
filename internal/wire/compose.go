package wire

import (
	"encoding/json"
	"strconv"

	"mcpc/internal/jsonraw"
)

// The functions below copy the caller's JSON byte by byte. json.Marshal would turn <b>& into
// \u003cb\u003e\u0026, and mcpc would not send what the user typed. An empty id, result or value
// becomes null.

// ComposeRequest returns a request, without params if params is nil.
func ComposeRequest(id json.RawMessage, method string, params json.RawMessage) []byte {
	b := make([]byte, 0, len(id)+len(method)+len(params)+80)
	return appendCall(appendID(b, id), method, params)
}

// ComposeNotification returns a notification, without params if params is nil.
func ComposeNotification(method string, params json.RawMessage) []byte {
	return appendCall([]byte(`{"jsonrpc":"2.0"`), method, params)
}

func appendID(b []byte, id json.RawMessage) []byte {
	return append(append(b, `{"jsonrpc":"2.0","id":`...), jsonraw.OrNull(id)...)
}

func appendCall(b []byte, method string, params json.RawMessage) []byte {
	b = append(b, `,"method":`...)
	b = append(b, jsonraw.Quote(method)...)
	if params != nil {
		b = append(b, `,"params":`...)
		b = append(b, jsonraw.OrNull(jsonraw.OneLine(params))...)
	}
	return append(b, '}')
}

// ComposeResult returns the response to a server's request.
func ComposeResult(id, result json.RawMessage) []byte {
	b := append(appendID(nil, id), `,"result":`...)
	b = append(b, jsonraw.OrNull(jsonraw.OneLine(result))...)
	return append(b, '}')
}

// ComposeError returns the error response to a server's request.
func ComposeError(id json.RawMessage, code int64, message string) []byte {
	b := append(appendID(nil, id), `,"error":{"code":`...)
	b = strconv.AppendInt(b, code, 10)
	b = append(append(b, `,"message":`...), jsonraw.Quote(message)...)
	return append(b, `}}`...)
}
