// Package exchange decides the outcome of an exchange: a request and all frames that belong to it.
// A State receives the frames that wire.Correlator assigns to one exchange, in their order, and
// holds the current outcome.
package exchange

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// The channels that no wire.Kind has.
const (
	// ChannelOK is a good response.
	ChannelOK = "ok"
	// ChannelOpen is an exchange without a response. The response may still come.
	ChannelOpen = "open"
	// ChannelCancelled is a request whose response is no longer awaited: see Cancel.
	ChannelCancelled = "cancelled"
	// ChannelProbe is a request that an older server rejected because it does not know the method.
	ChannelProbe = "probe"
	// ChannelUnreadable is a response body that could not be decoded, or that an imported archive
	// lacks. The outcome is unknown, and not a failure.
	ChannelUnreadable = "unreadable"
)

// OtherChannels are the channels that no wire.Kind has. They are not failures.
var OtherChannels = []string{ChannelOK, ChannelOpen, ChannelCancelled, ChannelProbe, ChannelUnreadable}

// A State is the state of an exchange after the frames added until now.
type State struct {
	// Time is the time of the request.
	Time time.Time
	// Dir is the direction of the request: Received if the server sent it.
	Dir wire.Direction
	// Method is the method of the request. Name is the tool, prompt, URI, task or cursor that the
	// request names, or "".
	Method, Name string
	// ID is the id of the request as a person writes it: 7, abc. It is "" if the request has no id.
	ID string
	// IsSeparate is set for a stream or pipe with messages that name no request. HTTPOnly is set for a
	// failed HTTP request without a JSON-RPC message. Neither is an exchange.
	IsSeparate, IsHTTPOnly bool

	// Channel is the name of a wire.Kind or an element of OtherChannels. Cancel describes a
	// cancellation; it is nil if the exchange was not cancelled.
	Channel string
	Cancel  *Cancel
	// Exit is the exit status of the channel, and of the process if a command made the exchange. It is
	// -1 until the exchange has an outcome.
	Exit int
	// Code is the code of a JSON-RPC error, or 0.
	Code int64
	// Status is the status of the last HTTP response, or 0 over a pipe.
	Status int
	// Text is the reason if the exchange ended without the response. If a command made the exchange,
	// Text and Hint are the error that the command printed.
	Text, Hint string
	// Findings are the faults of the messages.
	Findings []wire.Finding

	// Revision and Era are the revision and the era of the conversation at the time of the request, or
	// "" if unknown.
	Revision, Era string

	// Duration is the time from the request to the response or the cancellation. Without either, it is
	// the time to the last frame.
	Duration time.Duration
	// TimeToFirst is the time from the request to the first frame of the response, or 0 before that frame.
	TimeToFirst time.Duration
	// Held is how long messages were held for a user before the response. Duration and TimeToFirst
	// exclude it. Waiting is the number of messages held now. Edited is set if a user changed,
	// dropped or answered a message.
	Held    time.Duration
	Waiting int
	Edited  bool

	// Sent and Received are the total bytes of the messages and of noise in each direction. LastSent
	// is the size of the last sent message.
	Sent, Received, LastSent int64
	Notes                    Notes
	// Notified are the methods of the notifications, each once. It has at most MaxNotified entries.
	Notified []string
	// Kinds is the set of kinds of the frames.
	Kinds Kinds
	// Orphan is set if a response was received that belongs to no request, or to a request that
	// already has a response.
	Orphan bool

	// Unanswered is set if Channel was decided without a response, which may still come. Reported is
	// set if the sender of the request reported the outcome. A later response does not change a
	// reported outcome.
	Unanswered, Reported bool
	// WrongID is set if a response with a different id was received while the exchange was open.
	// Resumable is set if the client can resume the stream of the response. Streamed is set if the
	// last HTTP response has server-sent events.
	WrongID, Resumable, Streamed bool
	// ForeignType is the media type of the last HTTP response if MCP does not allow it, else "".
	ForeignType string
}

// MaxNotified bounds State.Notified.
const MaxNotified = 16

// A PlacedFrame is a frame that belongs to an exchange.
type PlacedFrame struct {
	wire.Place
	Frame *wire.Frame
	// Message is nil if the frame has no message or if the message was not parsed.
	Message *wire.Message
	// Facts describe the message. They are not nil.
	Facts *Facts
	// Size is the number of bytes of the frame.
	Size int
	// BatchSize is the length of the array that contains the message, or 0 outside an array.
	BatchSize int
	// Conversation is the conversation of the exchange.
	Conversation *Conversation
	// EndIsReported is set if the recorder reports how the server ended. The end of a pipe does not
	// end the exchange then.
	EndIsReported bool
}

// Add updates the state with the next frame of the exchange. Frames must be added in their order.
func (s *State) Add(p *PlacedFrame) {
	if p.Role != wire.RoleCarrier {
		s.Kinds = s.Kinds.With(p.Frame.Kind)
	}
	// The roles before RoleHead are for the messages of the exchange, except its cancellation.
	isMessage := p.Role < wire.RoleHead
	// Each item of a batch has the whole batch as its Message: the problems and the size of the batch
	// count once, with its first item.
	isFirstItem := p.Item <= 0
	if p.Message != nil && isFirstItem && isMessage {
		s.Findings = append(s.Findings, p.Message.Problems...)
	}
	if p.Message != nil && p.Message.Kind == wire.Notification && p.Role != wire.RoleRelated {
		s.addNotified(p.Message.Method)
	}
	s.addByRole(p)
	if s.TimeToFirst == 0 && s.belongsToResponse(p) {
		s.TimeToFirst = max(p.Frame.Time.Sub(s.Time)-s.Held, 1) // 0 would mean no such frame yet
	}
	if p.Frame.SSE != nil && p.Frame.SSE.ID != nil {
		s.Resumable = true
	}
	hasSize := isMessage || p.Role == wire.RoleCancellation || p.Frame.Kind == wire.Noise
	if isFirstItem && hasSize {
		s.AddSize(p.Frame.Dir, p.Size)
	}
	// An exchange lasts until its response, which may come after a failure without one (Unanswered). A
	// response after the reported outcome or after the cancellation does not count. A separate stream
	// lasts until its last frame.
	isOpen := (s.IsOpen() || s.IsSeparate) && p.Role != wire.RoleRelated
	isResponse := p.Role == wire.RoleResponse && !s.Reported && s.Cancel == nil
	if isOpen || isResponse || s.Unanswered {
		s.Duration = max(s.Duration, p.Frame.Time.Sub(s.Time)-s.Held)
	}
}

// belongsToResponse reports whether a frame belongs to the response. The head of a 202 does not: the
// response is on a different stream.
func (s *State) belongsToResponse(p *PlacedFrame) bool {
	if s.IsSeparate || p.Frame.Dir == s.Dir || p.Frame.HTTP != nil && p.Frame.HTTP.Status == http.StatusAccepted {
		return false
	}
	return p.Role == wire.RoleHead || p.Role == wire.RoleResponse || p.Role == wire.RoleOtherMessage
}

// addNotified adds the method of a notification to Notified, unless it is already there or Notified
// is full.
func (s *State) addNotified(method string) {
	if len(s.Notified) < MaxNotified && !slices.Contains(s.Notified, method) {
		s.Notified = append(s.Notified, method)
	}
}

// addByRole updates the state by the role of a frame in the exchange. This switch and the methods
// that it calls decide the outcome of every exchange.
func (s *State) addByRole(p *PlacedFrame) {
	switch p.Role {
	case wire.RoleRequest:
		s.SetRequest(p.Message, p.Conversation)
	case wire.RoleRepeat:
		s.Notes.Retries++
		s.reopen()
	case wire.RoleContinuation:
		s.Notes.Rounds++
		s.reopen()
	case wire.RoleResponse:
		if s.Cancel != nil {
			s.Cancel.IsLate = true
		} else if !s.Reported { // else the sender has reported the outcome, which does not change
			s.addResponse(p)
		}
	case wire.RoleOtherMessage:
		s.addAccompanying(p)
	case wire.RoleCancellation:
		s.cancel(Cancel{By: p.Frame.Dir, Why: parseReason(p.Message)}, p.Frame.Time)
	case wire.RoleStreamEnd:
		s.endConnection(p)
	case wire.RoleRelated:
		s.countRelated(p)
	case wire.RoleHead:
		if p.Frame.Dir == wire.Received {
			s.addResponseHead(p.Frame.HTTP)
		}
	case wire.RoleResumption:
		// The GET has no message. If its connection cannot be opened, the request was sent nevertheless.
		s.LastSent = 0
		s.Notes.Resumed++
		isStreamClosed := s.Cancel != nil && s.Cancel.ByClosedStream
		if s.Unanswered || isStreamClosed { // the response may come on the new stream
			s.reopen()
		}
	case wire.RoleNonMessage:
		switch {
		case p.Frame.DecodeError != "":
			s.addUnreadable(p.Frame)
		case p.Frame.Kind == wire.Closed && p.Frame.Close != nil:
			s.closeStream(p.Frame, p.Conversation)
		case p.Frame.Held != nil:
			s.addHold(p.Frame)
		}
	}
}

// maxSize limits the size of a message in the sums, so that a damaged recording cannot make them
// overflow.
const maxSize = 1 << 30

// AddSize adds the size of a message, in bytes, to Sent or Received.
func (s *State) AddSize(dir wire.Direction, size int) {
	size = min(size, maxSize)
	if dir == wire.Received {
		s.Received += int64(size)
		return
	}
	s.LastSent = int64(size)
	s.Sent += s.LastSent
}

// SetRequest sets the method, name and id from the request, and the revision and era from the
// conversation. A request of the modern era updates the revision of the conversation.
func (s *State) SetRequest(m *wire.Message, c *Conversation) {
	s.Method = m.Method
	s.Name = NameOf(m)
	s.ID = string(m.ID)
	if strings.HasPrefix(s.ID, `"`) {
		s.ID, _ = jsonraw.Text(m.ID)
	}
	c.addRequest(s.Method, m)
	s.Era = c.Era
	s.Revision = c.Revision
}

// reopen clears the outcome, because the request was sent again or continues.
func (s *State) reopen() {
	s.Channel = ChannelOpen
	s.Exit = -1
	s.Text = ""
	s.Unanswered = false
	s.Cancel = nil
}

// SetOutcome sets Channel and Exit to the outcome, and clears Text.
func (s *State) SetOutcome(kind wire.Kind) {
	s.Channel = string(kind)
	if kind == wire.OK {
		s.Channel = ChannelOK
	}
	s.Exit = kind.ExitCode()
	s.Text = ""
}

// FailIfOpen sets the outcome of an open exchange without a response. The response may still come. It
// does nothing if the exchange is not open.
func (s *State) FailIfOpen(kind wire.Kind, text string) {
	if !s.IsOpen() {
		return
	}
	s.Unanswered = true
	s.SetOutcome(kind)
	s.Text = text
}

// addResponse sets the outcome by the response. A good response also sets the conversation's server,
// if that is unknown, and the response to initialize its revision.
func (s *State) addResponse(p *PlacedFrame) {
	m := p.Message
	fault := s.resultFault(p)
	s.Unanswered = false
	// The message is nil if it was not parsed: its facts say enough then.
	switch {
	case m != nil && (s.Status == 401 || s.Status == 403):
		s.SetOutcome(wire.Auth)
	case fault != "":
		s.SetOutcome(wire.BadResponse)
		s.Text = fault
	case p.Facts.ToolError:
		s.SetOutcome(wire.ToolError)
	case m == nil:
		s.SetOutcome(wire.OK)
	case m.Kind == wire.ErrorResponse:
		s.Code = m.Error.Code
		s.SetOutcome(wire.RPCFailed)
	case m.Kind == wire.Invalid && s.Status >= 300: // the body of an HTTP error need not be JSON-RPC
		s.SetOutcome(wire.Transport)
	case m.Kind == wire.Invalid:
		s.SetOutcome(wire.BadResponse)
	case p.Facts.Traits.RequiresInput:
		s.SetOutcome(wire.InputRequired)
		s.Notes.Questions += countInputRequests(m)
	default:
		s.SetOutcome(wire.OK)
	}
	if s.Channel != ChannelOK || m == nil {
		return
	}
	isServerUnknown := p.Conversation.Server == (Implementation{})
	if s.Dir == wire.Sent && isServerUnknown {
		p.Conversation.Server = ParseServer(s.Method, m)
	}
	if s.Method == "initialize" {
		result, _ := m.ResultMembers()
		if revision := result.Text("protocolVersion"); revision != "" {
			p.Conversation.Revision = revision
		}
		s.Revision = p.Conversation.Revision
	}
}

// addAccompanying updates the state with a message of the exchange that is neither its request nor
// its response. An invalid message of the server fails an open exchange.
func (s *State) addAccompanying(p *PlacedFrame) {
	if p.Frame.Dir == wire.Sent {
		return
	}
	if p.Facts.Traits.IsReply {
		s.Orphan = true
		s.WrongID = s.WrongID || s.IsOpen() // it may have been meant for this request
	}
	switch p.Facts.Traits.Kind {
	case wire.Notification:
		s.Notes.Notifications++
	case wire.Invalid:
		s.FailIfOpen(wire.BadResponse, "")
	}
}

// closeStream updates the state at the end of a stream. A stream with status 200 must have the
// response before its end, unless the client can resume the stream. Over HTTP+SSE the status is
// 202, and the response is on a different stream.
func (s *State) closeStream(f *wire.Frame, c *Conversation) {
	if f.Close.How == "cut" {
		s.addCut(f.Close)
		return
	}
	if s.IsSeparate {
		s.FinishSeparate()
		return
	}
	if f.Close.By == wire.Sent && f.Close.How == "cancelled" {
		if s.Status != http.StatusAccepted { // after a 202 the response comes on a different stream
			s.cancel(Cancel{Why: "the client closed the stream", ByClosedStream: true}, f.Time)
		}
		return
	}
	endsResponse := f.Stream > 0 && f.Close.How == "end" && !s.IsHTTPOnly
	if !endsResponse || s.Resumable {
		return
	}
	isWithoutBody := s.Status == http.StatusAccepted || s.Status == http.StatusNoContent
	if c.IsStreamable && isWithoutBody { // over HTTP+SSE both are allowed
		s.FailIfOpen(wire.BadResponse, fmt.Sprintf("HTTP %d instead of the response", s.Status))
		return
	}
	if s.Status != http.StatusOK {
		return // the head of the response has decided the outcome
	}
	if s.WrongID {
		s.FailIfOpen(wire.BadResponse, "the response has another id than the request")
	} else if s.Kinds.Has(wire.Event) || s.Kinds.Has(wire.Noise) || s.Streamed {
		s.FailIfOpen(wire.Transport, textStreamEnded)
	} else {
		s.FailIfOpen(wire.BadResponse, "the HTTP response ended without a JSON-RPC response")
	}
}

// addCut updates the state after a broken connection, or after a connection that could not be
// opened: then no byte of the request was sent.
func (s *State) addCut(end *wire.CloseFacts) {
	s.Notes.Cuts++
	if end.IsUnreached() {
		s.Sent -= s.LastSent
		s.LastSent = 0
	}
	s.FailIfOpen(wire.Transport, end.Text)
}

const textStreamEnded = "the stream ended before the response"

// addResponseHead updates the state with the head of a response. A status of 300 or more fails an
// open exchange. h may be nil. A head without any fields says nothing about the media type.
func (s *State) addResponseHead(h *wire.HTTPHead) {
	if h == nil {
		return
	}
	s.ForeignType = ""
	s.Streamed = false
	if len(h.Fields) > 0 {
		contentType := h.Field("Content-Type")
		kind := wire.MediaType(contentType)
		s.Streamed = kind == "text/event-stream"
		switch {
		case contentType == "":
			s.ForeignType = "no Content-Type"
		case kind == "":
			s.ForeignType = contentType
		case kind != "application/json" && !s.Streamed:
			s.ForeignType = kind
		}
	}
	s.Status = h.Status
	if s.Status == 401 || s.Status == 403 {
		s.FailIfOpen(wire.Auth, "")
	} else if s.Status >= 300 {
		s.FailIfOpen(wire.Transport, "")
	}
}

// addHold updates the state with a message that is or was held for a user. The time of a message
// held after the response does not count. A dropped message fails an open exchange.
func (s *State) addHold(f *wire.Frame) {
	h := f.Held
	if h.How == "waiting" {
		s.Waiting++
		return
	}
	s.Waiting = max(s.Waiting-1, 0)
	s.Edited = s.Edited || h.How != "released"
	// The time of a server's request begins when it was released: the hold was before it.
	startedAfter := s.Dir == wire.Received && h.Kind == "request"
	if (s.IsOpen() || s.IsSeparate) && !startedAfter {
		s.Held += HeldFor(h)
	}
	if f.Drops(s.Dir) && !s.IsSeparate {
		s.FailIfOpen(wire.Transport, "the user dropped the "+h.Kind)
	}
}

// HeldFor returns how long a message was held. It limits the time to 0 to 1e9 ms, so that a damaged
// recording cannot make sums overflow.
func HeldFor(h *wire.HeldFacts) time.Duration {
	return time.Duration(min(max(h.Milliseconds, 0), 1e9)) * time.Millisecond
}

// countRelated counts a message of a different exchange that concerns this exchange. The client's
// messages do not count.
func (s *State) countRelated(p *PlacedFrame) {
	if p.Frame.Dir == wire.Sent {
		return
	}
	if p.IsGuess {
		s.Notes.Guessed++
	} else if p.Facts.Traits.Kind == wire.Request {
		s.Notes.Questions++
	}
}

// endConnection ends an open exchange, because the pipe or stream for its response ended. It does
// nothing at the end of a pipe that the recorder reports in another way.
func (s *State) endConnection(p *PlacedFrame) {
	f := p.Frame
	if f.Close == nil {
		return
	}
	isPipe := f.Stream == 0
	if f.Close.By == wire.Sent {
		why := "the client closed the stream"
		if isPipe {
			why = "the client ended the connection"
		}
		s.cancel(Cancel{Why: why, ByClosedStream: !isPipe}, f.Time)
		return
	}
	if isPipe && p.EndIsReported {
		return
	}
	text := f.Close.Text
	if text == "" {
		text = textStreamEnded
	}
	s.FailIfOpen(wire.Transport, text)
}

// addUnreadable ends an open exchange because its response could not be decoded. The response may
// still come on a different stream.
func (s *State) addUnreadable(f *wire.Frame) {
	isOfResponse := f.Dir != s.Dir || s.IsHTTPOnly // in an HTTPOnly exchange every body counts
	if s.IsOpen() && isOfResponse {
		s.Channel = ChannelUnreadable
		s.Exit = -1
		s.Text = f.DecodeError
		s.Unanswered = true
	}
}

// FinishSeparate sets the outcome of an open separate stream or pipe to OK. It does nothing to an
// exchange.
func (s *State) FinishSeparate() {
	if s.IsSeparate && s.IsOpen() {
		s.SetOutcome(wire.OK)
	}
}

// IsOpen reports whether the exchange has no outcome.
func (s *State) IsOpen() bool { return s.Channel == ChannelOpen }

// Failed reports whether the outcome is a failure. A cancelled request, a probe and a result that
// requires input are not failures.
func (s *State) Failed() bool {
	return s.Channel != string(wire.InputRequired) && !slices.Contains(OtherChannels, s.Channel)
}

// HasLostResponse reports whether the stream for the response ended before the response.
func (s *State) HasLostResponse() bool {
	return s.Streamed && s.Unanswered && s.Status == http.StatusOK
}

// Facts are the properties of a message that decide the outcome.
type Facts struct {
	Traits wire.Traits
	// ToolError is set if the result's isError is true.
	ToolError bool
}

// FactsOf returns the facts of a parsed message.
func FactsOf(m *wire.Message) Facts {
	facts := Facts{Traits: m.Traits()}
	if m.Kind == wire.Response {
		result, _ := m.ResultMembers()
		facts.ToolError, _ = wire.ParseIsError(result.Value("isError"))
	}
	return facts
}

// NoFacts describes a frame without a message.
var NoFacts Facts

// A response that every client must reject is a failure, whatever it contains. resultFault finds
// only these faults, and only faults that show in a single message.

// requiredArrays are the members that results other than lists must have, by method (server/tools,
// server/resources, server/prompts).
var requiredArrays = map[string]string{
	"tools/call": "content", "resources/read": "contents", "prompts/get": "messages",
}

// arraysOrItems are the members that clients accept with a single item in place of an array.
var arraysOrItems = []string{"content", "contents", "messages"}

// lastBatchRevision sorts before 2025-06-18, the first revision without batches, and after the
// earlier ones.
const lastBatchRevision = "2025-06"

// resultFault returns why every client must reject the response, or "" if it is valid. It adds a
// finding for a fault that some clients accept.
func (s *State) resultFault(p *PlacedFrame) string {
	m := p.Message
	isInArray := p.Item >= 0 && p.Conversation.Revision > lastBatchRevision // a batch is not allowed
	if isInArray && p.BatchSize == 1 {                                      // some clients accept it
		s.Findings = append(s.Findings,
			wire.Finding{Rule: "batch", Severity: wire.Warning, Text: "the response is in an array"})
	}
	isResult := m != nil && m.Kind == wire.Response
	if s.ForeignType != "" && s.Status/100 == 2 && p.Frame.Kind == wire.Body {
		return "expected application/json or text/event-stream, got " + s.ForeignType
	}
	if isInArray && p.BatchSize > 1 {
		return "the response is in an array"
	}
	if p.Facts.Traits.LacksID && isResult {
		return "the response has no id"
	}
	if !isResult {
		return ""
	}
	result, err := m.ResultMembers()
	if err != nil {
		return "the result is not an object: " + jsonraw.Excerpt(m.Result, 60)
	}
	if kind := result.Text("resultType"); kind == "" || kind == "complete" {
		return s.shapeFault(result)
	}
	return "" // only a complete result has required members
}

// shapeFault returns the fault of a complete result that lacks a required member or has it with the
// wrong type, or a tool result with an isError of no clear meaning, or "". It adds a finding for a
// fault that some clients accept. A result needs no member if it has structuredContent, or if it is
// a task.
func (s *State) shapeFault(result jsonraw.Members) string {
	required := requiredArrays[s.Method]
	if mcp.IsServerList(s.Method) {
		required = mcp.ListMember(s.Method)
	}
	_, isStructured := result.Get("structuredContent")
	_, isTask := result.Get("task")
	if required == "" || isStructured || isTask {
		return ""
	}
	isTool := s.Method == "tools/call"
	isError, _ := result.Get("isError")
	if _, isPlain := wire.ParseIsError(isError); isTool && !isPlain {
		return "isError is neither true nor false: " + jsonraw.Excerpt(isError, 40)
	}
	value, hasMember := result.Get(required)
	if !hasMember {
		return s.missingMember(required)
	}
	text := "in the result of " + s.Method + " " + required + " is not an array"
	isItem := value[0] == '{' || isTool && value[0] == '"' // a text stands for an item of text
	if isItem && slices.Contains(arraysOrItems, required) {
		s.Findings = append(s.Findings, wire.Finding{Rule: "content", Severity: wire.Warning, Text: text})
		return ""
	}
	if value[0] != '[' {
		return text + ": " + jsonraw.Excerpt(value, 40)
	}
	return ""
}

// missingMember returns the fault of a result without the required member. A tool result without
// content is a finding and no fault, because some clients accept it.
func (s *State) missingMember(name string) string {
	if s.Method == "tools/call" {
		s.Findings = append(s.Findings,
			wire.Finding{Rule: "content", Severity: wire.Error, Text: "the result of the tool call has no content"})
		return ""
	}
	return "the result of " + s.Method + " has no " + name
}

// countInputRequests returns the number of requests in a result that requires input.
func countInputRequests(m *wire.Message) int {
	result, _ := m.ResultMembers()
	requests, _ := jsonraw.Object(result.Value("inputRequests"))
	return len(requests)
}

// A Cancel describes how a request was cancelled.
type Cancel struct {
	// By is the side that cancelled: Sent is the client.
	By wire.Direction
	// Why is the reason in the cancellation, or a description of what the side did.
	Why string
	// After is the time from the request to the cancellation.
	After time.Duration
	// IsLate is set if a response was received after the cancellation.
	IsLate bool
	// ByClosedStream is set if the client closed the stream without a message. The client may resume the
	// stream.
	ByClosedStream bool
}

// Side returns the side that cancelled: client or server.
func (c *Cancel) Side() string { return [...]string{"client", "server"}[c.By] }

// cancel ends an open exchange, because its sender ignores the response from now on. A client that
// closed the stream may give its reason in a later message. In any other case cancel does nothing to
// an exchange that has an outcome.
func (s *State) cancel(c Cancel, at time.Time) {
	isReason := s.Cancel != nil && s.Cancel.ByClosedStream && !c.ByClosedStream
	if !isReason && !s.IsOpen() {
		return
	}
	if isReason {
		if c.Why != "" {
			s.Cancel.Why = c.Why
		}
		s.Cancel.ByClosedStream = false
	} else {
		c.After = max(at.Sub(s.Time), 0)
		s.Channel = ChannelCancelled
		s.Duration = c.After
		s.Cancel = &c
	}
	s.Text = "cancelled by the " + s.Cancel.Side()
	if s.Cancel.Why != "" {
		s.Text += ": " + s.Cancel.Why
	}
}

// parseReason returns the reason in a cancellation, or "".
func parseReason(m *wire.Message) string {
	if m == nil {
		return ""
	}
	params, _ := m.ParamMembers()
	return params.Text("reason")
}

// Notes count the frames of an exchange other than its request and response.
type Notes struct {
	// Notifications counts the notifications of the server.
	Notifications int
	// Questions counts the requests of the server during the exchange, in messages or in results that
	// require input.
	Questions int
	// Guessed counts notifications and questions that may belong to a different request.
	Guessed int
	// Retries counts the repetitions of the request.
	Retries int
	// Resumed counts the streams that the client resumed.
	Resumed int
	// Rounds counts the requests that continue the first request.
	Rounds int
	// Cuts counts the broken streams.
	Cuts int
}

// String returns the counts as a person reads them: "2 notifications, 1 retry". It returns "" if
// all counts are zero.
func (n Notes) String() string {
	var parts []string
	for _, note := range []struct {
		count     int
		one, many string
	}{
		{n.Notifications, "notification", "notifications"},
		{n.Questions, "server request", "server requests"},
		{n.Guessed, "message assigned by guess", "messages assigned by guess"},
		{n.Rounds, "further round", "further rounds"},
		{n.Retries, "retry", "retries"},
		{n.Cuts, "connection error", "connection errors"},
		{n.Resumed, "resume attempt", "resume attempts"},
	} {
		if note.count == 1 {
			parts = append(parts, "1 "+note.one)
		} else if note.count > 1 {
			parts = append(parts, strconv.Itoa(note.count)+" "+note.many)
		}
	}
	return strings.Join(parts, ", ")
}

// Kinds is a set of wire.FrameKind.
type Kinds uint8

// With returns the set with k added.
func (s Kinds) With(k wire.FrameKind) Kinds { return s | 1<<k }

// Has reports whether k is in the set.
func (s Kinds) Has(k wire.FrameKind) bool { return s&(1<<k) != 0 }
