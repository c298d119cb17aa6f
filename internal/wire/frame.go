package wire

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"mcpc/internal/sse"
)

// A Direction says who sent a Frame.
type Direction int

// Sent is from the client to the server, Received the other way.
const (
	Sent Direction = iota
	Received
)

var directions = [...]string{"sent", "received"}

func (d Direction) String() string { return directions[d] }

// A FrameKind says what a Frame holds.
type FrameKind int

// What can cross.
const (
	// Body is one message: an HTTP body, or one line of stdio without its end.
	Body FrameKind = iota
	// Head is an HTTP request line or status line with its header fields.
	Head
	// Event is one server-sent event; Raw is its data.
	Event
	// Stderr is one line that a child process wrote to its standard error.
	Stderr
	// Noise is what stands where messages do and is none: a line on a child's
	// standard output, lines of a stream that are no server-sent event, a body that
	// was cut.
	Noise
	// Closed is the end of a stream, and says who ended it.
	Closed
	// Fault is what a fault rule did to the traffic, which did not cross.
	Fault
	// Held says that a message is held for a user, and then what became of it. Raw is how it
	// read on the other side of the hold, where it was edited or dropped.
	Held
)

var frameKinds = [...]string{"body", "head", "event", "stderr", "noise", "closed", "fault", "held"}

func (k FrameKind) String() string { return frameKinds[k] }

// A Frame is one thing that crossed. It owns its bytes: Raw must not be changed
// after the frame was handed to a Tap.
type Frame struct {
	// Seq counts the frames of one conversation from 1.
	Seq  uint64
	Time time.Time
	Dir  Direction
	Kind FrameKind
	// Stream tells the exchanges of one conversation apart: the n-th HTTP
	// request and what came back for it; 0 is the pipe of a stdio server.
	Stream int
	// Conn tells conversations apart where one recording holds several, as a
	// proxy's does; 0 where it holds one.
	Conn int
	Raw  []byte
	// Hidden is how many secrets were taken out of Raw, and Size how many bytes
	// crossed; Size is 0 where that is len(Raw).
	Hidden, Size int
	// Unread is the reason for which a body could not be decoded, "" elsewhere. Its bytes are withheld then.
	Unread string
	// Again is the id, as JSON, of the request that mcpc's own client sends again with this one; "" elsewhere.
	Again string
	HTTP  *HTTPHead
	SSE   *sse.Facts
	Close *CloseFacts
	Fault *FaultFacts
	Held  *HeldFacts
}

// An HTTPHead is the head of an HTTP request (Method and URL set) or of a
// response (Status set), with secrets already redacted.
type HTTPHead struct {
	Method, URL string
	Status      int
	Proto       string
	Fields      []Field
	// Timing is set on responses.
	Timing *Timing
}

// Field gives the value of the first field called name, in any case, or "".
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

// IsToken reports whether a text can be the name of a header field, or a method of HTTP (RFC 9110, section 5.6.2).
func IsToken(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return text != "" && strings.Trim(text, "!#$%&'*+-.^_`|~0123456789"+letters) == ""
}

// MediaType returns the media type of a Content-Type in lower case, without its parameters; "" if it has none. It does
// not check the parameters: clients read a response despite a malformed one.
func MediaType(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// Timing is how long each phase before a response's first byte took. A phase
// that did not happen, because a connection was reused, is 0.
type Timing struct {
	DNS, Connect, TLS, FirstByte time.Duration
}

// CloseFacts say how a stream ended.
type CloseFacts struct {
	// By is the side that ended it.
	By Direction
	// How is "end", "cut", "cancelled", "exit" or "signal".
	How string
	// Text is the error's own words, if there was one.
	Text string
}

// FaultFacts say what a fault rule did. The frame's direction is that of the message.
type FaultFacts struct {
	// Rule is the rule as it was written, Source the file or flag that has it, and Line the
	// line there.
	Rule   string `json:"rule"`
	Source string `json:"source,omitempty"`
	Line   int    `json:"line,omitempty"`
	// Action is what was done: "cut", "drop response".
	Action string `json:"action,omitempty"`
	// ID is that of the request as JSON, "" where there is none; Method and Name are those
	// of the message.
	ID     string `json:"id,omitempty"`
	Method string `json:"method,omitempty"`
	Name   string `json:"name,omitempty"`
	// Seed is that of the rule's random numbers.
	Seed uint64 `json:"seed"`
	// Text says what happened, where that is not what the rule says.
	Text string `json:"text,omitempty"`
}

// HeldFacts say that a message is held, and what became of it. The frame's direction is that of
// the message.
type HeldFacts struct {
	// How is "waiting" when it begins, and then "released", "edited", "dropped" or "answered".
	How string `json:"how"`
	// Why is why it was released where that was not the user's wish.
	Why string `json:"why,omitempty"`
	// Milliseconds are how long it was held.
	Milliseconds int64 `json:"ms,omitempty"`
	// Kind is "request", "response" or "notification". ID is that of the request as JSON, ""
	// where there is none; Method and Name are those of the request or notification.
	Kind   string `json:"kind"`
	ID     string `json:"id,omitempty"`
	Method string `json:"method,omitempty"`
	Name   string `json:"name,omitempty"`
}

// Drops reports that a user let a held message not pass: the request that was sent in a direction,
// or the response to it.
func (f *Frame) Drops(request Direction) bool {
	if f.Held == nil || f.Held.How != "dropped" {
		return false
	}
	return f.Held.Kind == "request" && f.Dir == request || f.Held.Kind == "response" && f.Dir != request
}

// Bytes is how many bytes crossed: more or less than Raw holds where secrets were
// taken out of it.
func (f Frame) Bytes() int {
	if f.Size > 0 {
		return f.Size
	}
	return len(f.Raw)
}

// ParseDirection reads what Direction.String writes; false for any other text.
func ParseDirection(text string) (Direction, bool) {
	at := slices.Index(directions[:], text)
	return Direction(max(at, 0)), at >= 0
}

// ParseFrameKind reads what FrameKind.String writes; false for any other text.
func ParseFrameKind(text string) (FrameKind, bool) {
	at := slices.Index(frameKinds[:], text)
	return FrameKind(max(at, 0)), at >= 0
}

// A Tap is called with every frame, in order, while it crosses. It must be quick and
// must not block the caller.
type Tap func(Frame)

// Plain is the value of a header field in plain text: where it holds what no field
// may hold, it crosses in base64 (2026-07-28
// basic/transports/streamable-http, "Value encoding").
func (f Field) Plain() string {
	inner, begins := strings.CutPrefix(f.Value, "=?base64?")
	inner, ends := strings.CutSuffix(inner, "?=")
	if !begins || !ends {
		return f.Value
	}
	text, err := base64.StdEncoding.DecodeString(inner)
	if err != nil {
		return f.Value
	}
	return string(text)
}
