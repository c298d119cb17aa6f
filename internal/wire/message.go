package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/sse"
)

// A MessageKind says which of JSON-RPC's shapes a Message has.
type MessageKind int

// The shapes of a message. Invalid is everything else.
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

// A Message is the bytes of one JSON-RPC message and their parsed form. Parsing rejects nothing
// that can be shown: Problems lists what is wrong.
type Message struct {
	// Raw are the bytes that were sent; the other fields alias them.
	Raw  []byte
	Kind MessageKind
	// ID is the JSON of the id: 7, "7" and 7.0 are three different ids. It is nil if the message has
	// no id.
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	// Result is nil if the message has no result; null is a result.
	Result json.RawMessage
	Error  *RPCError
	// Items are the messages of a Batch.
	Items []*Message
	// Problems are the violations of JSON-RPC 2.0 in Raw. A message whose Kind is Invalid has at
	// least one problem of severity Error.
	Problems []Finding
	// HasOtherVersion is set for a response with an id whose "jsonrpc" is missing or not "2.0". If a
	// request has this id, it is the response; otherwise it may be a log line.
	HasOtherVersion bool
	// reply is set if the message has a result or an error and no method, even if Kind is Invalid.
	reply bool
	// index is the index of the members of Params or Result.
	index jsonraw.Index
}

// An RPCError is the "error" member of a response (JSON-RPC 2.0, section 5.1).
type RPCError struct {
	Code    int64
	Message string
	// Data is the JSON of the member data; nil if it is missing.
	Data json.RawMessage
	// Raw is the JSON of the whole error object.
	Raw json.RawMessage
}

// HasOwnText reports whether the message says more than "internal error".
func (e *RPCError) HasOwnText() bool {
	text := strings.ToLower(strings.Trim(e.Message, " \t\n.!"))
	return text != "" && text != "internal error" && text != "internal server error"
}

// IsByTap reports whether mcpc tap made the error, because no server was ready or it was restarted.
func (e *RPCError) IsByTap() bool {
	by, _ := jsonraw.Text(jsonraw.First(e.Data, "by"))
	return by == "mcpc"
}

// TapErrorPrefix begins the message of an error that mcpc tap made.
const TapErrorPrefix = "mcpc tap: "

// TapReason returns why mcpc tap refused the request, and what the server wrote to standard error. It returns "" for
// the error of another program.
func (e *RPCError) TapReason() (why, stderr string) {
	why, hasPrefix := strings.CutPrefix(e.Message, TapErrorPrefix)
	if !hasPrefix || !e.IsByTap() {
		return "", ""
	}
	stderr, _ = jsonraw.Text(jsonraw.First(e.Data, "stderr"))
	return why, stderr
}

// BlamesResult reports whether the error is about the server's own invalid result, which some SDKs
// report as invalid params. It reports false for an error about a result that the client sent
// (sampling, elicitation, roots).
func (e *RPCError) BlamesResult() bool {
	return e.Code == -32602 && invalidResult().MatchString(e.Message)
}

// invalidResult matches the start of a message about a server's own result.
var invalidResult = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)^(?:MCP error -32602: )?` +
			`(?:Invalid (?:(?:tools|prompts|resources|tasks|completion)/[\w/]+|task creation) result\b|` +
			`Output validation error\b)`,
	)
})

// ParseMessage parses raw as one JSON-RPC message. It never fails: bytes that are no message give
// an Invalid message with the reason in Problems.
func ParseMessage(raw []byte) *Message {
	m := &Message{}
	m.Parse(raw)
	return m
}

// Parse parses raw into m as ParseMessage does, and overwrites m. It saves an allocation.
func (m *Message) Parse(raw []byte) {
	*m = Message{Raw: raw}
	text := bytes.TrimPrefix(raw, []byte(sse.ByteOrderMark))
	if len(text) < len(raw) {
		m.addWarning("bom", "a byte order mark before the JSON")
	}
	if bytes.HasPrefix(bytes.TrimLeft(text, jsonraw.WhiteSpace), []byte("[")) {
		m.parseBatch(text)
		return
	}
	var room [4]jsonraw.Member // most messages have at most four members
	members, unpaired, err := jsonraw.Envelope(text, &m.index, room[:])
	if err != nil {
		m.addSyntaxError(text, err)
		return
	}
	if unpaired {
		m.addWarning("surrogate", "a string contains half a surrogate pair")
	}
	m.parseEnvelope(members)
}

// addSyntaxError records why text, the end of m.Raw, is not a JSON object or array.
func (m *Message) addSyntaxError(text []byte, err *jsonraw.SyntaxError) {
	err.Offset += int64(len(m.Raw) - len(text))
	switch {
	case len(bytes.Trim(text, jsonraw.WhiteSpace)) == 0:
		m.addError(err.Rule, "empty instead of a JSON-RPC message")
	case err.Rule == "not_object":
		m.addError(err.Rule, "JSON, but not a JSON-RPC message")
	case err.Rule == "too_many":
		m.addError(err.Rule, "%s", err.Text)
	default:
		m.addError(err.Rule, "%s", err.Error())
	}
}

func (m *Message) addError(rule, format string, args ...any) {
	m.Kind = Invalid
	m.Problems = append(m.Problems, Finding{Rule: rule, Severity: Error, Text: fmt.Sprintf(format, args...)})
}

func (m *Message) addWarning(rule, format string, args ...any) {
	m.Problems = append(m.Problems, Finding{Rule: rule, Severity: Warning, Text: fmt.Sprintf(format, args...)})
}

// parseBatch parses an array. An empty array is no batch, and a batch contains no batches (JSON-RPC
// 2.0, section 6).
func (m *Message) parseBatch(text []byte) {
	items, err := jsonraw.ArrayUpTo(text, jsonraw.MaxParts)
	if err != nil {
		m.addSyntaxError(text, err)
		return
	}
	if len(items) == 0 {
		m.addError("empty_batch", "an empty array, but not a JSON-RPC message")
		return
	}
	m.Kind = Batch
	for _, item := range items {
		if item[0] != '[' {
			m.Items = append(m.Items, ParseMessage(item))
			continue
		}
		inner := &Message{Raw: item}
		inner.addError("nested_batch", "an array in a batch, but not a JSON-RPC message")
		m.Items = append(m.Items, inner)
	}
}

// parseEnvelope sets the fields of m from the members of the message, and its Kind and Problems. The
// fields are set even if the message is Invalid.
func (m *Message) parseEnvelope(members jsonraw.Members) {
	var version, method, failure json.RawMessage
	for i := len(members) - 1; i >= 0; i-- { // of duplicates the first counts
		switch value := members[i].Value; members[i].Name {
		case "jsonrpc":
			version = value
		case "id":
			m.ID = value
		case "method":
			method = value
		case "params":
			m.Params = value
		case "result":
			m.Result = value
		case "error":
			failure = value
		}
	}
	hasMethod := method != nil
	hasResult := m.Result != nil
	hasError := failure != nil
	m.reply = !hasMethod && (hasResult || hasError)
	if !m.index.HasNoDuplicates {
		if name, twice := members.Duplicate(); twice {
			m.addError("duplicate_member", "the member %q is duplicated", name)
			return
		}
	}
	if !isVersion2(version) {
		text := "not a JSON-RPC 2.0 message: \"jsonrpc\" is " + excerptOrMissing(version)
		if !m.reply || !m.HasID() {
			m.addError("jsonrpc", "%s", text)
			return
		}
		m.HasOtherVersion = true // clients accept a response that names their request
		m.addWarning("jsonrpc", "%s", text)
	}
	switch {
	case hasMethod && !hasResult && !hasError:
		m.parseCall(method)
	case hasMethod:
		m.addError("shape", "neither request nor response: \"method\" with a result or an error")
	case hasResult && string(failure) == "null":
		m.Kind = Response
		m.addWarning("shape", "\"error\" is null next to a result")
	case hasError && string(m.Result) == "null":
		m.Kind = ErrorResponse
		m.Result = nil
		m.addWarning("shape", "\"result\" is null next to an error")
		m.parseError(failure)
	case hasResult && hasError:
		m.addError("shape", "both \"result\" and \"error\" in one response")
	case hasResult:
		m.Kind = Response
	case hasError:
		m.Kind = ErrorResponse
		m.parseError(failure)
	default:
		m.addError("shape", "neither \"method\" nor \"result\" nor \"error\"")
	}
	m.checkID()
}

// isVersion2 reports whether version is "2.0", however the string is escaped.
func isVersion2(version json.RawMessage) bool {
	if string(version) == `"2.0"` {
		return true
	}
	text, _ := jsonraw.Text(version)
	return text == "2.0"
}

func excerptOrMissing(raw json.RawMessage) string {
	if raw == nil {
		return "missing"
	}
	return jsonraw.Excerpt(raw, 40)
}

// parseCall sets the method and the Kind of a request or notification. A method that is not a string
// makes m Invalid.
func (m *Message) parseCall(method json.RawMessage) {
	name, ok := jsonraw.Text(method)
	if !ok {
		m.addError("method", "\"method\" is not a string")
		return
	}
	m.Method = name
	m.Kind = Notification
	if m.ID != nil {
		m.Kind = Request
	}
	if m.Params != nil && m.Params[0] != '{' && m.Params[0] != '[' {
		m.addWarning("params", "\"params\" is neither an object nor an array: %s", jsonraw.Excerpt(m.Params, 40))
	}
}

// parseError parses an error object. It keeps what it can read of an invalid one.
func (m *Message) parseError(raw json.RawMessage) {
	members, err := jsonraw.Object(raw)
	if err != nil {
		m.addError("error", "\"error\" is not an object: %s", jsonraw.Excerpt(raw, 80))
		return
	}
	code, _ := members.Get("code")
	number, failed := strconv.ParseInt(string(code), 10, 64)
	if errors.Is(failed, strconv.ErrRange) {
		m.addError("error_code", "the error's \"code\" is too large for an integer: %s", jsonraw.Excerpt(code, 40))
	} else if failed != nil {
		m.addError("error_code", "the error's \"code\" is not an integer: %s", excerptOrMissing(code))
	}
	message, _ := members.Get("message")
	text, ok := jsonraw.Text(message)
	if !ok {
		m.addError("error_message", "the error's \"message\" is not a string: %s", excerptOrMissing(message))
	}
	m.Error = &RPCError{Code: number, Message: text, Data: members.Value("data"), Raw: raw}
}

// checkID records an id that JSON-RPC or MCP forbids. Real servers send a null id with errors, so
// it is only a warning.
func (m *Message) checkID() {
	if m.Kind == Invalid {
		return
	}
	if m.ID == nil {
		if m.Kind == Response {
			m.addWarning("id", "the response has no id")
		}
		return
	}
	if m.ID[0] == '"' { // any string is allowed
		return
	}
	switch {
	case string(m.ID) == "null":
		m.addWarning("id", "the id is null")
	case !jsonraw.IsNumber(m.ID):
		m.addWarning("id", "the id is neither a string nor a number: %s", jsonraw.Excerpt(m.ID, 40))
	case bytes.ContainsAny(m.ID, ".eE"):
		m.addWarning("id", "the id is not an integer: %s", jsonraw.Excerpt(m.ID, 40))
	}
}

// Problem returns the first reason why m is Invalid, or "".
func (m *Message) Problem() string {
	for _, p := range m.Problems {
		if p.Severity == Error {
			return p.Text
		}
	}
	return ""
}

// ParseIsError parses the isError of a tool's result. A missing member and null are false. Servers
// also write isError as a string or as 1 and 0. ok is false if the value has no clear meaning.
func ParseIsError(flag json.RawMessage) (isError, ok bool) {
	text := jsonraw.TextOrRaw(flag)
	switch strings.ToLower(text) {
	case "true", "1":
		return true, true
	case "", "false", "0", "null":
		return false, true
	}
	return false, false
}

// IsToolError reports whether a tool's result has isError set, so that the tool failed.
func IsToolError(result json.RawMessage) bool {
	isError, _ := ParseIsError(jsonraw.First(result, "isError"))
	return isError
}
