package wire

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
)

// An Outcome is the success or failure of an exchange, with the evidence. All errors of an
// exchange are reported as an Outcome.
type Outcome struct {
	Kind Kind
	// Signal is the number of the signal that ended mcpc if Kind is Signal, or 0 if unknown.
	Signal int
	// Method and Name are the request's, such as "tools/call" and "get-sum".
	Method, Name string
	// ID is the id of the last request, or nil if no request was sent.
	ID json.RawMessage
	// IsSummary is set for the summary of many exchanges: Kind is the worst, Text the summary.
	IsSummary bool
	// ServerName is the server's name for people.
	ServerName string
	// Line is the line of the script with the request, from 1, or 0.
	Line int
	// Text describes the outcome, in lower case and without a full stop.
	Text string
	// Hint is a command or sentence with the next step, or "".
	Hint Hint
	// TryRevision is a revision to try with --protocol if only the probe for the revision failed, or "".
	// With --protocol the probe is not sent.
	TryRevision string
	// Phase is the phase that the exchange ended in: "arguments", "connect", "discover",
	// "initialize", "send", "wait", "read", "result", "close".
	Phase string
	// Reached says whether the exchange's request may have reached the server.
	Reached Reached
	// Part is the exchange's relation to the request that the user asked for.
	Part Part
	// Retryable is set if a retry may succeed and cannot execute anything twice.
	Retryable bool
	// Result is the bytes of the server's result, or nil.
	Result json.RawMessage
	// Message is the response as received, or nil. Bytes that are no message are in its Raw.
	Message *Message
	HTTP    *HTTPFacts
	Process *ProcessFacts
	// Input is the user's input that could not be read, or nil.
	Input *InputFacts
	// Findings are the violations in the arguments or the result.
	Findings []Finding
	// Took is the time from sending the request to the end of the exchange.
	Took time.Duration
	// Err is the underlying error for -v, or nil.
	Err error
}

// ExitCode returns the exit status of a process with this outcome.
func (o Outcome) ExitCode() int { return o.Kind.ExitCode() + o.Signal }

// Reached says whether a request reached the server.
type Reached int

// The values of Reached. Unsent means that no byte was sent, Unknown that the server may have
// executed the request, Answered that the server responded.
const (
	Unsent Reached = iota
	Unknown
	Answered
)

func (r Reached) String() string {
	return [...]string{"not_sent", "unknown", "answered"}[r]
}

// A Part is the relation of an exchange to the operation, the request that the user asked for.
type Part int

// The parts. Operation is the request itself. BeforeOperation is an exchange such as a handshake, when
// nothing of the operation was sent yet. AfterOperation is an exchange that follows the operation.
const (
	Operation Part = iota
	BeforeOperation
	AfterOperation
)

// WithPart sets the part of a failed exchange, and whether the whole operation can be retried. Before the
// operation a retry is safe, because nothing was executed. After it, a safe retry of this exchange
// does not make the operation safe to retry.
func (o Outcome) WithPart(part Part) Outcome {
	o.Part = part
	switch part {
	case BeforeOperation:
		isUndecided := (o.Kind == Transport || o.Kind == Timeout) && o.Reached == Unknown
		o.Retryable = o.Retryable || isUndecided
	case AfterOperation:
		o.Retryable = false
	}
	return o
}

// OperationSent reports whether the operation may have reached the server, whichever exchange
// failed.
func (o Outcome) OperationSent() bool {
	return o.Part == AfterOperation || o.Part == Operation && o.Reached != Unsent
}

// HTTPFacts are the parts of an HTTP response other than its message.
type HTTPFacts struct {
	Status      int
	URL         string
	ContentType string
	// Body is the start of a body that is not a message.
	Body []byte
	// Fields are the header fields that may help a person: Location, Retry-After, WWW-Authenticate.
	Fields []Field
}

// ProcessFacts describe the process of a stdio server that failed.
type ProcessFacts struct {
	// HowEnded says how the process ended, such as "exit status 1" or "signal: killed".
	HowEnded string
	// Stderr is the last output to standard error.
	Stderr string
}

// Limits of the lines that MainLines returns.
const (
	firstStderrLines = 5
	lastStderrLines  = 15
	maxErrorLines    = 5
)

// MainLines returns the lines of stderr to show, and the number of all lines. It shows the first and
// last lines, the first lines with "error:" between them, and "… n lines" in place of each gap. It
// returns nil and 0 if there is only white space.
func (p *ProcessFacts) MainLines() (shown []string, total int) {
	stderr := strings.TrimRight(p.Stderr, "\r\n")
	if strings.TrimSpace(stderr) == "" {
		return nil, 0
	}
	lines := strings.Split(stderr, "\n")
	gap := []string{}
	errors := 0
	endGap := func() {
		if len(gap) > 1 {
			shown = append(shown, fmt.Sprintf("… %d lines", len(gap)))
		} else { // a line in place of a single line saves nothing
			shown = append(shown, gap...)
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
	return shown, len(lines) // the last line is shown, so that no gap is left
}

// Reason returns the line of stderr that says why the process failed: the last line that an uncaught
// exception begins with its name, and its place in the source if that is known; else the first line
// that names an error, or else the last line. It returns "" without a process or a line.
func (p *ProcessFacts) Reason() string {
	if p == nil {
		return ""
	}
	if reason := p.exception(); reason != "" {
		return reason
	}
	lines, _ := p.MainLines()
	for _, line := range lines {
		if strings.Contains(strings.ToLower(line), "error") {
			return strings.TrimSpace(line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.TrimSpace(lines[len(lines)-1]) // the first ones may say that the server has started
}

var (
	// exceptionLine matches "TypeError: no such thing", as Node.js and Python print it.
	exceptionLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(Uncaught )?[\w.]*(Error|Exception)( \[\w+\])?: `)
	})
	// sourceLine matches the lines above it that name the place: "/src/server.js:14" and
	// `  File "server.py", line 3`.
	sourceLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:\s*File "([^"]+)", line (\d+).*|(?:file://)?([^\s:]+):(\d+))$`)
	})
)

// exception returns the last line of stderr that begins with the name of an exception, and the base name
// and line of the source if the lines above name them; "" if there is none.
func (p *ProcessFacts) exception() string {
	reason := ""
	place := ""
	for line := range strings.Lines(p.Stderr) {
		line = strings.TrimRight(line, "\r\n")
		if found := sourceLine().FindStringSubmatch(line); found != nil {
			place = path.Base(found[1]+found[3]) + ":" + found[2] + found[4]
		} else if exceptionLine().MatchString(line) {
			reason = line
			if place != "" {
				reason += " (" + place + ")"
			}
			place = ""
		}
	}
	return reason
}

// EndInParentheses returns how the process ended, in parentheses after a blank, or "".
func (p *ProcessFacts) EndInParentheses() string {
	if p == nil || p.HowEnded == "" {
		return ""
	}
	return " (" + p.HowEnded + ")"
}

// InputFacts are a user's input and the offset of its first invalid byte.
type InputFacts struct {
	Raw    []byte
	Offset int64
	// IsCommandLine is set for command words. Offset then has no meaning.
	IsCommandLine bool
}

// OK reports whether the exchange succeeded.
func (o Outcome) OK() bool { return o.Kind == OK }

// RPCError returns the JSON-RPC error of the response, or nil.
func (o Outcome) RPCError() *RPCError {
	if o.Message == nil {
		return nil
	}
	return o.Message.Error
}
