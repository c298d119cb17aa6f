package conv

import (
	"encoding/json"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A Kind says what an Event is about, and so which checks look at it.
type Kind int

// The kinds of events.
const (
	OnFrame    Kind = iota // any frame of the server's that has bytes of a message or of noise
	OnNoise                // bytes that are not JSON where a message should be
	OnBatch                // an array of messages
	OnMessage              // a message of the server
	OnReply                // a result or an error; Call is nil where it answers nothing
	OnResult               // a result whose request is known
	OnError                // an error; Call may be nil
	OnNotice               // a notification of the server
	OnAsk                  // a JSON-RPC request of the server
	OnQuestion             // what the server asks of the client: a request, or an entry of inputRequests
	OnTool                 // an entry of tools/list
	OnResource             // an entry of resources/list
	OnTemplate             // an entry of resources/templates/list
	OnPrompt               // an entry of prompts/list
	OnIcon                 // an icon of any of those
	OnContent              // a content block
	OnContents             // the contents of a resource
	OnDone                 // a message, after all that it contains
	OnHead                 // the head of an HTTP response
	OnEvent                // a server-sent event, of comments as well
	OnClose                // the end of a stream
	OnSent                 // a message of the client
	OnOther                // a body of an HTTP exchange that is not MCP: metadata, tokens
	OnEnd                  // the end of the conversation, once for each revision that was spoken
	Kinds                  // how many there are
)

// trigger says in words what a kind of event is; a rule none of whose events occurred
// is not applicable for the want of it.
var triggers = [Kinds]string{
	"message", "line or body", "batch", "message", "response", "result", "error", "notification",
	"request of the server", "request for input", "tool", "resource", "resource template", "prompt", "icon",
	"content block", "resource contents", "message", "HTTP response", "server-sent event", "end of a stream",
	"message of the client", "exchange with an authorization server", "conversation",
}

func (k Kind) String() string { return triggers[k] }

// A Severity is how much a finding weighs: Error, Warn or Info. "" is that of the rule.
type Severity string

// The severities.
const (
	Error Severity = "error"
	Warn  Severity = "warn"
	Info  Severity = "info"
)

// A Hit is a place where a rule was not kept.
type Hit struct {
	// Severity is "" for that of the rule.
	Severity Severity
	// Subject and Pointer tell findings of one rule apart: "tool get-sum" and a JSON
	// pointer into it. Where they are empty those of the event are taken.
	Subject, Pointer string
	// Got and Want are what was found and what should have come.
	Got, Want string
	// Item is a pointer before Pointer that is the place of the subject in a list, which
	// does not tell findings apart.
	Item string
	// Root is set where Pointer counts from the whole message, not from the event's value.
	Root bool
	// AboutHidden is set where what was hidden is what broke the rule.
	AboutHidden bool
	// Spot is the frame, its zero value that of the event.
	Spot Spot
}

// A Spot is a frame: its number, and the connection in which it has that number.
type Spot struct {
	Conn int
	Seq  uint64
}

// An Event is one thing in a conversation that checks look at.
type Event struct {
	*Conversation
	Kind Kind
	// Method is the JSON-RPC method, for a result or an error that of its request.
	Method  string
	Frame   *wire.Frame
	Message *wire.Message
	// Call is the request of the client to which the message belongs; nil where none is known.
	Call   *Call
	Stream *Stream
	Rev    Rev
	// Value is what the event is about, At its JSON pointer in the message, Members its
	// members where it is an object.
	Value   json.RawMessage
	At      string
	Members jsonraw.Members
	// Subject names it independently of its place: "tool get-sum".
	Subject string
	// Flag is set on an OnNoise of several lines that together are one JSON value.
	Flag bool
	// Hit receives what a check found.
	Hit func(Hit)
}

// Spot is the frame of the event.
func (e *Event) Spot() Spot { return Spot{e.Frame.Conn, e.Frame.Seq} }

// Find reports a violation at a pointer below the event's value.
func (e *Event) Find(pointer, got, want string) { e.Hit(Hit{Pointer: pointer, Got: got, Want: want}) }

// FindAs is Find with another severity than that of the rule.
func (e *Event) FindAs(s Severity, pointer, got, want string) {
	e.Hit(Hit{Severity: s, Pointer: pointer, Got: got, Want: want})
}

// FindMessage reports a violation by the message as a whole. The subject tells the findings of a rule apart.
func (e *Event) FindMessage(subject, got, want string) {
	e.Hit(Hit{Root: true, Subject: subject, Got: got, Want: want})
}

// Raw gives the value under a path of names, or nil.
func (e *Event) Raw(names ...string) json.RawMessage {
	if len(names) == 0 {
		return e.Value
	}
	return Inside(e.Members.Value(names[0]), names[1:]...)
}

// Text gives the string under a path of names, or "".
func (e *Event) Text(names ...string) string {
	text, _ := jsonraw.Text(e.Raw(names...))
	return text
}

// Got shows what stands under a path of names: its bytes, or "missing".
func (e *Event) Got(names ...string) string { return e.Show(e.Raw(names...)) }

// Show returns an excerpt of a value for a finding, "missing" for nil. Secrets are hidden before it is cut.
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

// Inside gives the value in raw under a path of names, or nil.
func Inside(raw json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		raw = jsonraw.First(raw, name)
	}
	return raw
}

// TextInside is the string there, or "".
func TextInside(raw json.RawMessage, names ...string) string {
	text, _ := jsonraw.Text(Inside(raw, names...))
	return text
}

// IsObject reports a JSON object.
func IsObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// IsArray reports a JSON array.
func IsArray(raw []byte) bool { return len(raw) > 0 && raw[0] == '[' }

// TypeOf is the JSON type of a value, or "nothing".
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
