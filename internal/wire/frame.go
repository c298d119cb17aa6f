package wire

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"mcpc/internal/sse"
)

// A Direction is the sender of a Frame.
type Direction int

// Sent is from the client to the server, Received the other way.
const (
	Sent Direction = iota
	Received
)

var directions = [...]string{"sent", "received"}

func (d Direction) String() string { return directions[d] }

// A FrameKind is the content of a Frame.
type FrameKind int

// The kinds of frames.
const (
	// Body is one message: an HTTP body, or one line of stdio without its end.
	Body FrameKind = iota
	// Head is an HTTP request line or status line with its header fields.
	Head
	// Event is one server-sent event; Raw is its data.
	Event
	// Stderr is one line that a child process wrote to its standard error.
	Stderr
	// Noise is data in the place of a message: a line on a child's standard output, lines of a
	// stream that are no server-sent event, a truncated body.
	Noise
	// Closed is the end of a stream.
	Closed
	// Fault records the action of a fault rule. It is not part of the traffic.
	Fault
	// Held records that a message is held for a user, and then the user's decision. Raw is the
	// message before it was edited or dropped.
	Held
)

var frameKinds = [...]string{"body", "head", "event", "stderr", "noise", "closed", "fault", "held"}

func (k FrameKind) String() string { return frameKinds[k] }

// A Frame is one unit of traffic. It owns its bytes: Raw must not be changed after the frame was
// passed to a Tap.
type Frame struct {
	// Seq counts the frames of one conversation from 1.
	Seq  uint64
	Time time.Time
	Dir  Direction
	Kind FrameKind
	// Stream is the number of the HTTP request in the conversation, the same for its response. It
	// is 0 over stdio.
	Stream int
	// Conn is the number of the conversation in a recording with several, such as a proxy's. It
	// is 0 in a recording with one.
	Conn int
	Raw  []byte
	// Hidden is the number of secrets removed from Raw.
	Hidden int
	// Size is the number of bytes sent, or 0 if it equals len(Raw).
	Size int
	// DecodeError says why a body could not be decoded, or is "". The body's bytes are left out.
	DecodeError string
	// PreviousID is the id, as JSON, of the earlier request that mcpc's own client repeats with this
	// one, or "".
	PreviousID string
	HTTP       *HTTPHead
	SSE        *sse.Facts
	Close      *CloseFacts
	Fault      *FaultFacts
	Held       *HeldFacts
}

// An HTTPHead is the head of an HTTP request (Method and URL set) or response (Status set), without
// secrets.
type HTTPHead struct {
	Method, URL string
	Status      int
	Proto       string
	Fields      []Field
	// Timing is set on responses.
	Timing *Timing
}

// Field returns the value of the first field called name, in any case, or "".
func (h *HTTPHead) Field(name string) string {
	if h == nil {
		return ""
	}
	for _, f := range h.Fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// A Field is one HTTP header field.
type Field struct{ Name, Value string }

// IsToken reports whether a text is a valid name of a header field or HTTP method (RFC 9110,
// section 5.6.2).
func IsToken(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return text != "" && strings.Trim(text, "!#$%&'*+-.^_`|~0123456789"+letters) == ""
}

// MediaType returns the media type of a Content-Type in lower case without its parameters, or "".
// It does not check the parameters, because clients accept malformed ones.
func MediaType(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// Timing is the duration of each phase before a response's first byte. A phase that a reused
// connection skips is 0.
type Timing struct {
	DNS, Connect, TLS, FirstByte time.Duration
}

// CloseFacts describe the end of a stream.
type CloseFacts struct {
	// By is the side that ended it: Sent is the client, Received the server.
	By Direction
	// How is "end", "cut", "cancelled", "exit" or "signal".
	How string
	// Text is the error's text, or "".
	Text string
}

// IsUnreached reports whether the stream ended because no connection could be opened: nothing was
// sent on it.
func (c *CloseFacts) IsUnreached() bool { return c.How == "cut" && SaysUnreached(c.Text) }

const (
	exitTextStart = "the server exited ("
	exitTextEnd   = ")"
)

// ExitText returns the text of a close after which the server's process ended; how is "exit status 1" or
// "signal: killed".
func ExitText(how string) string { return exitTextStart + how + exitTextEnd }

// HowExited returns how the server's process ended, from the text of ExitText, or "" for another text.
// The formats of recordings have no member for it.
func (c *CloseFacts) HowExited() string {
	how, isExit := strings.CutPrefix(c.Text, exitTextStart)
	how, isWhole := strings.CutSuffix(how, exitTextEnd)
	if !isExit || !isWhole {
		return ""
	}
	return how
}

// SaysUnreached reports whether the text of a transport error says that no connection could be opened.
// Package net begins the text of a failed dial with "dial", and the formats of recordings have no member
// for the kind of an error, so that only its text tells.
func SaysUnreached(text string) bool { return strings.HasPrefix(text, "dial ") }

// IsRefusal reports whether an HTTP status is a 4xx that is not about authorization or load. A server
// of an older revision may send it for a request that it does not know.
func IsRefusal(status int) bool {
	switch status {
	case 401, 403, 407, 408, 429:
		return false
	}
	return status/100 == 4
}

// FaultFacts describe the action of a fault rule. The frame's direction is the message's.
type FaultFacts struct {
	// Rule is the rule's text, Source the file or flag that contains it, and Line its line.
	Rule   string `json:"rule"`
	Source string `json:"source,omitempty"`
	Line   int    `json:"line,omitempty"`
	// Action is the action, such as "cut" or "drop response".
	Action string `json:"action,omitempty"`
	// ID is the request's id as JSON, or "". Method and Name are the message's.
	ID     string `json:"id,omitempty"`
	Method string `json:"method,omitempty"`
	Name   string `json:"name,omitempty"`
	// Seed is the seed of the rule's random numbers.
	Seed uint64 `json:"seed"`
	// Text describes the outcome if it differs from the rule.
	Text string `json:"text,omitempty"`
}

// HeldFacts describe a held message. The frame's direction is the message's.
type HeldFacts struct {
	// How is "waiting" at first, and then "released", "edited", "dropped" or "answered".
	How string `json:"how"`
	// Why is the reason of a release that the user did not request.
	Why string `json:"why,omitempty"`
	// Milliseconds is the time that the message was held.
	Milliseconds int64 `json:"ms,omitempty"`
	// Kind is "request", "response" or "notification". ID is the request's id as JSON, or "".
	// Method and Name are the request's or notification's.
	Kind   string `json:"kind"`
	ID     string `json:"id,omitempty"`
	Method string `json:"method,omitempty"`
	Name   string `json:"name,omitempty"`
}

// Drops reports whether the user dropped a held message: a request sent in a direction, or its
// response.
func (f *Frame) Drops(request Direction) bool {
	if f.Held == nil || f.Held.How != "dropped" {
		return false
	}
	return f.Held.Kind == "request" && f.Dir == request || f.Held.Kind == "response" && f.Dir != request
}

// Bytes returns the number of bytes sent. It differs from len(Raw) if secrets were removed.
func (f Frame) Bytes() int {
	if f.Size > 0 {
		return f.Size
	}
	return len(f.Raw)
}

// ParseDirection parses the text of Direction.String. It returns false for any other text.
func ParseDirection(text string) (Direction, bool) {
	at := slices.Index(directions[:], text)
	return Direction(max(at, 0)), at >= 0
}

// ParseFrameKind parses the text of FrameKind.String. It returns false for any other text.
func ParseFrameKind(text string) (FrameKind, bool) {
	at := slices.Index(frameKinds[:], text)
	return FrameKind(max(at, 0)), at >= 0
}

// A Tap receives every frame, in order, as it is sent. It must be quick and must not block the
// caller.
type Tap func(Frame)

// DecodedValue returns the value of a header field as text. Values that a field must not contain are sent
// in base64 (2026-07-28 basic/transports/streamable-http, "Value encoding").
func (f Field) DecodedValue() string {
	encoded, hasStart := strings.CutPrefix(f.Value, "=?base64?")
	encoded, hasEnd := strings.CutSuffix(encoded, "?=")
	if !hasStart || !hasEnd {
		return f.Value
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return f.Value
	}
	return string(text)
}
