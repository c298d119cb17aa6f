package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// A MessageKind says which of JSON-RPC's shapes a Message has.
type MessageKind int

// The shapes of a message. Invalid is everything that is none of the others.
const (
	Invalid MessageKind = iota
	Request
	Notification
	Response      // carries "result"
	ErrorResponse // carries "error"
	Batch         // an array of messages; legal in one revision only
)

func (k MessageKind) String() string {
	return [...]string{"invalid", "request", "notification", "response", "error", "batch"}[k]
}

// A Message is the bytes of one JSON-RPC message and a view of them. The view
// rejects nothing that it can show: what is wrong stands in Problems, beside
// the bytes.
type Message struct {
	// Raw is the message as it crossed; the other fields alias it.
	Raw  []byte
	Kind MessageKind
	// ID is the id's own token: 7, "7" and 7.0 are three different ids. It is
	// nil where there is none.
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *RPCError
	// Items are the messages of a Batch.
	Items []*Message
	// Problems are the ways in which Raw breaks JSON-RPC 2.0. A message whose
	// Kind is Invalid has at least one of level Error.
	Problems []Finding
}

// An RPCError is the "error" member of a response (JSON-RPC 2.0, section 5.1).
type RPCError struct {
	Code    int64
	Message string
	// Data is the member's own bytes; nil where there is none.
	Data json.RawMessage
	// Raw is the whole error object as it crossed.
	Raw json.RawMessage
}

// ParseMessage looks at raw as one JSON-RPC message. It never fails: bytes that
// are no message come back as Invalid with the reason in Problems.
func ParseMessage(raw []byte) *Message {
	m := &Message{Raw: raw}
	text := bytes.TrimLeft(raw, " \t\r\n")
	if len(text) > 0 && text[0] == '[' {
		m.parseBatch(raw)
		return m
	}
	members, err := Object(raw)
	if err != nil {
		m.invalid(err.Rule, "%s", describe(raw, err))
		return m
	}
	m.parseEnvelope(members)
	return m
}

func describe(raw []byte, err *SyntaxError) string {
	if len(bytes.TrimSpace(raw)) == 0 {
		return "empty, where a JSON-RPC message was expected"
	}
	if err.Rule == "not_object" {
		return "JSON, but not a JSON-RPC message"
	}
	return err.Error()
}

func (m *Message) invalid(rule, format string, args ...any) {
	m.Kind = Invalid
	m.Problems = append(m.Problems, Finding{Rule: rule, Level: Error, Text: fmt.Sprintf(format, args...)})
}

func (m *Message) warn(rule, format string, args ...any) {
	m.Problems = append(m.Problems, Finding{Rule: rule, Level: Warning, Text: fmt.Sprintf(format, args...)})
}

func (m *Message) parseBatch(raw []byte) {
	items, err := Array(raw)
	if err != nil {
		m.invalid(err.Rule, "%s", err.Error())
		return
	}
	m.Kind = Batch
	for _, item := range items {
		m.Items = append(m.Items, ParseMessage(item))
	}
}

func (m *Message) parseEnvelope(members Members) {
	m.ID, _ = members.Get("id")
	m.Params, _ = members.Get("params")
	m.Result, _ = members.Get("result")
	method, hasMethod := members.Get("method")
	failure, hasError := members.Get("error")
	if name := members.Duplicate(); name != "" {
		m.invalid("duplicate_member", "the member %q stands twice in the envelope", name)
		return
	}
	if version, ok := members.Get("jsonrpc"); !ok || string(version) != `"2.0"` {
		m.invalid("jsonrpc", "not a JSON-RPC 2.0 message: \"jsonrpc\" is %s", orMissing(version))
		return
	}
	switch {
	case hasMethod && m.Result == nil && !hasError:
		m.parseCall(method)
	case hasMethod:
		m.invalid("shape", "neither request nor response: \"method\" stands beside a result or an error")
	case m.Result != nil && hasError:
		m.invalid("shape", "both \"result\" and \"error\" stand in one response")
	case m.Result != nil:
		m.Kind = Response
	case hasError:
		m.Kind = ErrorResponse
		m.parseError(failure)
	default:
		m.invalid("shape", "neither \"method\" nor \"result\" nor \"error\"")
	}
	m.checkID()
}

func orMissing(raw json.RawMessage) string {
	if raw == nil {
		return "missing"
	}
	return Excerpt(raw, 40)
}

func (m *Message) parseCall(method json.RawMessage) {
	name, ok := Text(method)
	if !ok {
		m.invalid("method", "\"method\" is no string")
		return
	}
	m.Method = name
	m.Kind = Notification
	if m.ID != nil {
		m.Kind = Request
	}
}

func (m *Message) parseError(raw json.RawMessage) {
	members, err := Object(raw)
	if err != nil {
		m.invalid("error", "\"error\" is no object: %s", Excerpt(raw, 80))
		return
	}
	code, _ := members.Get("code")
	number, failed := strconv.ParseInt(string(code), 10, 64)
	if failed != nil {
		m.invalid("error_code", "the error's \"code\" is no integer: %s", orMissing(code))
	}
	message, _ := members.Get("message")
	text, ok := Text(message)
	if !ok {
		m.warn("error_message", "the error's \"message\" is no string: %s", orMissing(message))
	}
	data, _ := members.Get("data")
	m.Error = &RPCError{Code: number, Message: text, Data: data, Raw: raw}
}

// checkID records an id that JSON-RPC or MCP forbids. A null id is input that
// real servers send with errors, so it is only a warning.
func (m *Message) checkID() {
	if m.ID == nil || m.Kind == Invalid {
		return
	}
	switch c := m.ID[0]; {
	case c == '"':
	case string(m.ID) == "null":
		m.warn("id", "the id is null")
	case c == '-' || c >= '0' && c <= '9':
		if bytes.ContainsAny(m.ID, ".eE") {
			m.warn("id", "the id is no integer: %s", Excerpt(m.ID, 40))
		}
	default:
		m.warn("id", "the id is neither string nor number: %s", Excerpt(m.ID, 40))
	}
}

// Answers reports whether m is a response to the request with the given id. The
// type counts, as JSON-RPC demands: "7" does not answer 7; 7.0 does, being the
// same number.
func (m *Message) Answers(id json.RawMessage) bool {
	if m.Kind != Response && m.Kind != ErrorResponse {
		return false
	}
	if bytes.Equal(m.ID, id) {
		return true
	}
	return sameNumber(m.ID, id)
}

func sameNumber(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 || a[0] == '"' || b[0] == '"' {
		return sameText(a, b)
	}
	trim := func(n json.RawMessage) []byte { return bytes.TrimSuffix(n, []byte(".0")) }
	return bytes.Equal(trim(a), trim(b))
}

func sameText(a, b json.RawMessage) bool {
	left, ok := Text(a)
	right, also := Text(b)
	return ok && also && left == right
}

// Problem is the first reason why m is Invalid, or "".
func (m *Message) Problem() string {
	for _, p := range m.Problems {
		if p.Level == Error {
			return p.Text
		}
	}
	return ""
}

// Excerpt gives at most n bytes of raw, cut at a character, with the number of
// bytes left out: what an error says of bytes that it cannot show whole.
func Excerpt(raw []byte, n int) string {
	if len(raw) <= n {
		return string(raw)
	}
	cut := n
	for cut > 0 && raw[cut]&0xC0 == 0x80 {
		cut--
	}
	return fmt.Sprintf("%s… +%d bytes", raw[:cut], len(raw)-cut)
}
