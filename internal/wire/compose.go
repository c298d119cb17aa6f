package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Outgoing messages are written around the caller's bytes and never through a
// marshaller: json.Marshal would turn <b>& into \u003cb\u003e\u0026, and what a
// user typed would not be what was sent.

// ComposeRequest writes a request. params is left out where it is nil.
func ComposeRequest(id json.RawMessage, method string, params json.RawMessage) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	return appendCall(b, method, params)
}

// ComposeNotification writes a notification. params is left out where it is nil.
func ComposeNotification(method string, params json.RawMessage) []byte {
	return appendCall([]byte(`{"jsonrpc":"2.0"`), method, params)
}

func appendCall(b []byte, method string, params json.RawMessage) []byte {
	b = append(b, `,"method":`...)
	b = append(b, Quote(method)...)
	if params != nil {
		b = append(b, `,"params":`...)
		b = append(b, OneLine(params)...)
	}
	return append(b, '}')
}

// ComposeResult writes the answer to a server's request.
func ComposeResult(id, result json.RawMessage) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(append(b, `,"result":`...), result...)
	return append(b, '}')
}

// ComposeError writes the refusal of a server's request.
func ComposeError(id json.RawMessage, code int64, message string) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(append(b, `,"error":{"code":`...), strconv.FormatInt(code, 10)...)
	b = append(append(b, `,"message":`...), Quote(message)...)
	return append(b, `}}`...)
}

// OneLine gives JSON without raw line ends, which over stdio would end the
// message (transports, "stdio": messages contain no embedded newlines). Bytes
// that hold none are given back as they are.
func OneLine(raw []byte) []byte {
	if !bytes.ContainsAny(raw, "\r\n") {
		return raw
	}
	return Compact(raw)
}

// With gives the object with the member name set to value: in its place if it
// stands there, else behind the last. Every other byte stays as it is. An
// empty object means {}.
func With(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(object)) == 0 {
		object = json.RawMessage("{}")
	}
	members, err := Object(object)
	if err != nil {
		return object
	}
	if old, ok := members.Get(name); ok {
		return splice(object, old, value)
	}
	end := bytes.LastIndexByte(object, '}')
	out := append(json.RawMessage{}, object[:end]...)
	if len(members) > 0 {
		out = append(out, ',')
	}
	out = append(append(append(out, Quote(name)...), ':'), value...)
	return append(out, object[end:]...)
}

// splice puts value where old stands. old aliases object to the end of its
// backing array, so the difference of their capacities is old's offset.
func splice(object, old, value json.RawMessage) json.RawMessage {
	from := cap(object) - cap(old)
	out := append(json.RawMessage{}, object[:from]...)
	out = append(out, value...)
	return append(out, object[from+len(old):]...)
}
