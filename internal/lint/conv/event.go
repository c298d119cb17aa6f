package conv

import (
	"encoding/json"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A Kind is the subject of an Event. It selects the checks for the event.
type Kind int

// The kinds of events.
const (
	OnFrame    Kind = iota // any frame from the server with bytes of a message or of noise
	OnNoise                // bytes that are not JSON in the place of a message
	OnBatch                // an array of messages
	OnMessage              // a message from the server
	OnReply                // a result or an error; Call is nil if its request is unknown
	OnResult               // a result whose request is known
	OnError                // an error; Call may be nil
	OnNotice               // a notification from the server
	OnAsk                  // a JSON-RPC request from the server
	OnQuestion             // a request to the client, or an entry of inputRequests
	OnTool                 // an entry of tools/list
	OnResource             // an entry of resources/list
	OnTemplate             // an entry of resources/templates/list
	OnPrompt               // an entry of prompts/list
	OnIcon                 // an icon of an entry or of the server
	OnContent              // a content block
	OnContents             // the contents of a resource
	OnDone                 // a message, after the events for its parts
	OnHead                 // the head of an HTTP response
	OnEvent                // a server-sent event, including comments
	OnClose                // the end of a stream
	OnSent                 // a message from the client
	OnOther                // a body of an HTTP exchange that is not MCP: metadata, tokens
	OnEnd                  // the end of the conversation, once per revision
	Kinds                  // the number of kinds
)

// triggers describe the kinds. A rule is not applicable if no such event occurred.
var triggers = [Kinds]string{
	"message", "line or body", "batch", "message", "response", "result", "error", "notification",
	"request of the server", "request for input", "tool", "resource", "resource template", "prompt", "icon",
	"content block", "resource contents", "message", "HTTP response", "server-sent event", "end of a stream",
	"message of the client", "exchange with an authorization server", "conversation",
}

func (k Kind) String() string { return triggers[k] }

// A Severity is the weight of a finding: Error, Warn or Info. "" is the rule's severity.
type Severity string

// The severities.
const (
	Error Severity = "error"
	Warn  Severity = "warn"
	Info  Severity = "info"
)

// A Hit is one violation of a rule.
type Hit struct {
	// Severity is "" if the rule's severity applies.
	Severity Severity
	// Subject and Pointer identify a finding of the rule: "tool get-sum" and a JSON pointer into
	// it. The event's are used for empty ones.
	Subject, Pointer string
	// Got and Want are the actual and the expected value.
	Got, Want string
	// Item is the JSON pointer of the subject in its list. It comes before Pointer and does not
	// identify the finding.
	Item string
	// Root is set if Pointer begins at the whole message, not at the event's value.
	Root bool
	// AboutHidden is set if the hidden value itself breaks the rule.
	AboutHidden bool
	// Spot is the frame; the zero Spot is the event's frame.
	Spot Spot
}

// A Spot identifies a frame by its number and its connection.
type Spot struct {
	Conn int
	Seq  uint64
}

// An Event is one part of a conversation that checks judge.
type Event struct {
	*Conversation
	Kind Kind
	// Method is the JSON-RPC method; for a result or an error, the request's method.
	Method  string
	Frame   *wire.Frame
	Message *wire.Message
	// Call is the client's request that the message belongs to, or nil if it is unknown.
	Call   *Call
	Stream *Stream
	Rev    Rev
	// Value is the JSON value that the event is about, Pointer its JSON pointer in the message, Members
	// its members if it is an object.
	Value   json.RawMessage
	Pointer string
	Members jsonraw.Members
	// Subject names the value independently of its place, such as "tool get-sum".
	Subject string
	// IsJoined is set on an OnNoise of several lines that form one JSON value.
	IsJoined bool
	// Hit reports a violation.
	Hit func(Hit)
}

// Spot returns the event's frame.
func (e *Event) Spot() Spot { return Spot{e.Frame.Conn, e.Frame.Seq} }

// Find reports a violation at a pointer below the event's value.
func (e *Event) Find(pointer, got, want string) { e.Hit(Hit{Pointer: pointer, Got: got, Want: want}) }

// FindAs reports a violation like Find, with a severity other than the rule's.
func (e *Event) FindAs(s Severity, pointer, got, want string) {
	e.Hit(Hit{Severity: s, Pointer: pointer, Got: got, Want: want})
}

// FindMessage reports a violation by the whole message. The subject identifies the finding.
func (e *Event) FindMessage(subject, got, want string) {
	e.Hit(Hit{Root: true, Subject: subject, Got: got, Want: want})
}

// Raw returns the value at a path of names, or nil.
func (e *Event) Raw(names ...string) json.RawMessage {
	if len(names) == 0 {
		return e.Value
	}
	return Inside(e.Members.Value(names[0]), names[1:]...)
}

// Text returns the string at a path of names, or "".
func (e *Event) Text(names ...string) string {
	text, _ := jsonraw.Text(e.Raw(names...))
	return text
}

// Got returns an excerpt of the value at a path of names, or "missing".
func (e *Event) Got(names ...string) string { return e.Show(e.Raw(names...)) }

// Show returns an excerpt of a value for a finding, or "missing" for nil. It hides secrets first.
func (e *Event) Show(raw []byte) string {
	if raw != nil && e.Hide != nil {
		raw = e.Hide(raw)
	}
	return Show(raw)
}

// Show returns an excerpt of a value that has no secrets, "missing" for nil.
func Show(raw []byte) string {
	if raw == nil {
		return "missing"
	}
	return jsonraw.Excerpt(raw, 160)
}

// Inside returns the value at a path of names in raw, or nil.
func Inside(raw json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		raw = jsonraw.First(raw, name)
	}
	return raw
}

// TextInside returns the string at a path of names in raw, or "".
func TextInside(raw json.RawMessage, names ...string) string {
	text, _ := jsonraw.Text(Inside(raw, names...))
	return text
}

// IsObject reports whether a value is a JSON object.
func IsObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// IsArray reports whether a value is a JSON array.
func IsArray(raw []byte) bool { return len(raw) > 0 && raw[0] == '[' }

// TypeOf returns the JSON type of a value, or "nothing" for no bytes.
func TypeOf(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if strings.ContainsAny(string(raw), ".eE") {
		return "number"
	}
	return "integer"
}
