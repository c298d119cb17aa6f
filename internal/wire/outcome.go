package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// An Outcome is the one ending of an exchange. It names the channel that fired
// (Kind) and keeps the evidence. There is no second error path beside it.
type Outcome struct {
	Kind Kind
	// Signal is the number of the signal that ended it, where Kind is Signal; 0 where
	// none did, or it is not known which.
	Signal int
	// Method and Name are what was asked: "tools/call", "get-sum".
	Method, Name string
	// ID is that of the request that was sent last; nil where none was.
	ID json.RawMessage
	// Many is set where the ending sums up those of many exchanges: Kind is the worst
	// of them, and Text says the rest.
	Many bool
	// Where is the server, as a person would name it.
	Where string
	// Line is the line of a script that asked, from 1; 0 where there is none.
	Line int
	// Text says what happened, in lower case and without a full stop.
	Text string
	// Hint is one command or one sentence that leads on; it may be empty.
	Hint Hint
	// Pin is a revision to try with --protocol: only the probe for the revision failed, which is then not sent. It is ""
	// elsewhere.
	Pin string
	// Phase is how far it came: "arguments", "connect", "discover",
	// "initialize", "send", "wait", "read", "result", "close".
	Phase string
	// Reached says whether the request of this exchange may have reached the server.
	Reached Reached
	// Part says what this exchange is to the request that the user asked for.
	Part Part
	// Retryable is set where doing the same again may well succeed and cannot
	// do anything twice.
	Retryable bool
	// Result is the server's own result bytes; nil where there is none.
	Result json.RawMessage
	// Message is what came back, as it crossed; nil where nothing did. Bytes
	// that were no message are in its Raw.
	Message *Message
	HTTP    *HTTPFacts
	Process *ProcessFacts
	// Input is what a user typed that could not be read; nil elsewhere.
	Input *InputFacts
	// Findings are the rules that arguments or result broke.
	Findings []Finding
	// Took is the time from sending the request to its ending.
	Took time.Duration
	// Err is the cause in the machine's words, for -v; nil where there is none.
	Err error
}

// ExitCode is the exit status of a process that ends with o.
func (o Outcome) ExitCode() int { return o.Kind.ExitCode() + o.Signal }

// Reached says whether a request reached the server.
type Reached int

// Unsent: no byte was sent. Unknown: it may have been acted upon. Answered: the
// server answered it.
const (
	Unsent Reached = iota
	Unknown
	Answered
)

func (r Reached) String() string {
	return [...]string{"not_sent", "unknown", "answered"}[r]
}

// A Part is what an exchange is to the request that the user asked for, the operation.
type Part int

// Operation: it is that request. Before: it came first, as a handshake does, and nothing
// of the operation was sent. After: the operation was sent, and this goes on from it.
const (
	Operation Part = iota
	Before
	After
)

// As says which part an exchange was that did not end well, and so whether it is safe to
// do all of it again. Where nothing of the operation was sent, nothing can be done twice;
// where it was, what follows it being safe to repeat says nothing of the operation.
func (o Outcome) As(part Part) Outcome {
	o.Part = part
	switch part {
	case Before:
		broke := o.Kind == Transport || o.Kind == Timeout
		o.Retryable = o.Retryable || broke && o.Reached == Unknown
	case After:
		o.Retryable = false
	}
	return o
}

// OperationSent reports whether what the user asked for may have reached the server,
// whichever exchange failed.
func (o Outcome) OperationSent() bool {
	return o.Part == After || o.Part == Operation && o.Reached != Unsent
}

// HTTPFacts are what an HTTP response said beside its message.
type HTTPFacts struct {
	Status      int
	URL         string
	ContentType string
	// Body is the start of a body that was no message.
	Body []byte
	// Fields are the response's header fields that a person may need:
	// Location, Retry-After, WWW-Authenticate.
	Fields []Field
}

// ProcessFacts are what is known of a stdio server that failed.
type ProcessFacts struct {
	// Ended says how the process ended: "exit status 1", "signal: killed".
	Ended string
	// Stderr is the end of what it wrote to standard error.
	Stderr string
}

// MainLines returns at most these lines of stderr: the first and the last ones, and between them lines with an error.
const (
	firstStderrLines = 5
	lastStderrLines  = 15
	maxErrorLines    = 5
)

// MainLines returns the lines of stderr that are shown, and how many lines there are: the first and the last lines,
// the first of the others with an error, and a line in place of each gap.
func (p *ProcessFacts) MainLines() (shown []string, total int) {
	stderr := strings.TrimRight(p.Stderr, "\r\n")
	if strings.TrimSpace(stderr) == "" {
		return nil, 0
	}
	lines := strings.Split(stderr, "\n")
	gap := []string{}
	errors := 0
	endGap := func() {
		switch len(gap) {
		case 0:
		case 1:
			shown = append(shown, gap[0])
		default:
			shown = append(shown, fmt.Sprintf("… %d lines", len(gap)))
		}
		gap = nil
	}
	for i, line := range lines {
		isMain := i < firstStderrLines || i >= len(lines)-lastStderrLines
		if !isMain && errors < maxErrorLines && strings.Contains(strings.ToLower(line), "error:") {
			errors++
			isMain = true
		}
		if !isMain {
			gap = append(gap, line)
			continue
		}
		endGap()
		shown = append(shown, line)
	}
	return shown, len(lines)
}

// InBrackets returns how the process ended, in brackets behind a blank; "" if that is not known.
func (p *ProcessFacts) InBrackets() string {
	if p == nil || p.Ended == "" {
		return ""
	}
	return " (" + p.Ended + ")"
}

// InputFacts are a text that a user typed and the byte at which it stops making
// sense.
type InputFacts struct {
	Raw    []byte
	Offset int64
	// Words is set on a text that is no data: its bytes are not counted.
	Words bool
}

// Good reports whether the outcome is the good answer.
func (o Outcome) Good() bool { return o.Kind == OK }

// RPC is the JSON-RPC error that came back, or nil.
func (o Outcome) RPC() *RPCError {
	if o.Message == nil {
		return nil
	}
	return o.Message.Error
}
