// Package exchange decides how an exchange ends: a request, and everything that belongs to it. A State is given the
// frames that wire.Correlator places with one exchange, in their order, and says how the exchange stands.
package exchange

import (
	"cmp"
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

// The channels beside the names of a wire.Kind: how an exchange stands.
const (
	// ChannelOK is a good response.
	ChannelOK = "ok"
	// ChannelOpen is an exchange without a response, which may still come.
	ChannelOpen = "open"
	// ChannelCancelled is a request whose response is no longer awaited: see Cancel.
	ChannelCancelled = "cancelled"
	// ChannelProbe is a request that an older server answered as one that does not know it.
	ChannelProbe = "probe"
	// ChannelUnreadable is a body that could not be decoded, or that an imported archive lacks: how the exchange ended
	// is not known, which is no failure.
	ChannelUnreadable = "unreadable"
)

// OtherChannels are the channels that no wire.Kind has; none of them is a failure.
var OtherChannels = []string{ChannelOK, ChannelOpen, ChannelCancelled, ChannelProbe, ChannelUnreadable}

// A State is how an exchange stands after the frames that were added.
type State struct {
	// Time is when the request crossed.
	Time time.Time
	// Dir is Received if the server asked.
	Dir wire.Direction
	// Method is the request's. Name is the tool, prompt, URI, task or cursor that it is about, or "".
	Method, Name string
	// ID is the request's, as a person writes it: 7, abc; "" without one.
	ID string
	// Apart is set on a stream or pipe with messages that name no request, HTTPOnly on an HTTP request that carries no
	// message of JSON-RPC and failed. Neither is an exchange.
	Apart, HTTPOnly bool

	// Channel is the name of a wire.Kind or one of OtherChannels. Cancel says more of a cancelled exchange; it is nil
	// otherwise.
	Channel string
	Cancel  *Cancel
	// Exit is the exit status that the channel has, and that of the process if the exchange is a command's own; -1 if
	// there is none yet.
	Exit int
	// Code is that of a JSON-RPC error, 0 without one.
	Code int64
	// Status is that of the last HTTP response, 0 over a pipe.
	Status int
	// Text says what ended the exchange, if it was not the response; Text and Hint are a command's own last words if
	// the exchange is its own.
	Text, Hint string
	// Findings are what is wrong with the messages.
	Findings []wire.Finding

	// Revision and Era are those of the conversation when the request crossed; "" if nothing said so.
	Revision, Era string

	// Duration is from the request to the response, to the cancellation, or to the last frame if there is neither.
	Duration time.Duration
	// First is from the request to the first frame that came for it; 0 without one.
	First time.Duration
	// Held is for how long messages were held for a user before the response. Neither Duration nor First counts it.
	// Waiting is how many are held now. Edited is set if a user changed, dropped or answered one.
	Held    time.Duration
	Waiting int
	Edited  bool

	// Sent and Received are the bytes of all messages as they crossed, and of what came in their place. LastSent is
	// the part of Sent that the last message has.
	Sent, Received, LastSent int64
	Notes                    Notes
	// Notified are the methods of the notifications, each once, at most MaxNotified.
	Notified []string
	// Kinds are the kinds of the frames.
	Kinds Kinds
	// Orphan is set if a response came that answers nothing, or answers again.
	Orphan bool

	// Unanswered is set if Channel was decided without a response, which may still come. Reported is set if the caller
	// of the request reported the outcome, which no later response changes.
	Unanswered, Reported bool
	// WrongID is set if a response with another id came while the exchange was open, Resumable if the stream of the
	// response can be taken up again, Streamed if the last HTTP response is one of server-sent events.
	WrongID, Resumable, Streamed bool
	// ForeignType is the media type of the last HTTP response if no response may have it, else "".
	ForeignType string
}

// MaxNotified bounds State.Notified.
const MaxNotified = 16

// A Part is a frame that belongs to an exchange.
type Part struct {
	wire.Place
	Frame *wire.Frame
	// Message is nil if the frame has none or if it was not parsed.
	Message *wire.Message
	// Facts describe the message. They are not nil.
	Facts *Facts
	// Size is how many bytes crossed.
	Size int
	// BatchSize is how many messages the array has that contains the message; 0 if none does.
	BatchSize int
	// Conversation is that of the exchange.
	Conversation *Conversation
	// EndIsReported is set if the end of a pipe does not end the exchange, since the recorder reports how the server
	// ended.
	EndIsReported bool
}

// Add adds the next frame.
func (s *State) Add(p *Part) {
	if p.Role != wire.Carries {
		s.Kinds = s.Kinds.With(p.Frame.Kind)
	}
	if p.Message != nil && p.Item <= 0 && p.Role < wire.Heads {
		s.Findings = append(s.Findings, p.Message.Problems...)
	}
	if p.Message != nil && p.Message.Kind == wire.Notification && p.Role != wire.Concerns {
		s.addNotified(p.Message.Method)
	}
	s.addByRole(p)
	if s.First == 0 && s.isOfResponse(p) {
		s.First = max(p.Frame.Time.Sub(s.Time)-s.Held, 1)
	}
	if p.Frame.SSE != nil && p.Frame.SSE.ID != nil {
		s.Resumable = true
	}
	if (p.Role < wire.Heads || p.Role == wire.Cancels || p.Frame.Kind == wire.Noise) && p.Item <= 0 {
		s.Count(p.Frame.Dir, p.Size)
	}
	isOpen := (s.Open() || s.Apart) && p.Role != wire.Concerns
	isResponse := p.Role == wire.Answers && !s.Reported && s.Cancel == nil
	if isOpen || isResponse || s.Unanswered {
		s.Duration = max(s.Duration, p.Frame.Time.Sub(s.Time)-s.Held)
	}
}

// isOfResponse reports whether a frame is of the response. The head of a 202 is not: the response comes elsewhere.
func (s *State) isOfResponse(p *Part) bool {
	if s.Apart || p.Frame.Dir == s.Dir || p.Frame.HTTP != nil && p.Frame.HTTP.Status == http.StatusAccepted {
		return false
	}
	return p.Role == wire.Heads || p.Role == wire.Answers || p.Role == wire.Accompanies
}

// notified adds the method of a notification to Notified.
func (s *State) addNotified(method string) {
	if len(s.Notified) < MaxNotified && !slices.Contains(s.Notified, method) {
		s.Notified = append(s.Notified, method)
	}
}

// addByRole changes the state by what a frame is to the exchange. This switch and the methods that it calls decide how
// every exchange ends.
func (s *State) addByRole(p *Part) {
	switch p.Role {
	case wire.Asks:
		s.Ask(p.Message, p.Conversation)
	case wire.Repeats:
		s.Notes.Retries++
		s.reopen()
	case wire.Continues:
		s.Notes.Rounds++
		s.reopen()
	case wire.Answers:
		if s.Cancel != nil {
			s.Cancel.Late = true
		} else if !s.Reported {
			s.addResponse(p)
		}
	case wire.Accompanies:
		s.addAccompanying(p)
	case wire.Cancels:
		s.cancel(Cancel{By: p.Frame.Dir, Why: reasonIn(p.Message)}, p.Frame.Time)
	case wire.Ends:
		s.endConnection(p)
	case wire.Concerns:
		s.countRelated(p)
	case wire.Heads:
		if p.Frame.Dir == wire.Received {
			s.addResponseHead(p.Frame.HTTP)
		}
	case wire.Resumes:
		s.LastSent = 0 // the frames that follow are not about that message
		s.Notes.Resumed++
		if s.Unanswered || s.Cancel != nil && s.Cancel.Closed {
			s.reopen()
		}
	case wire.Surrounds:
		switch {
		case p.Frame.Unread != "":
			s.addUnreadable(p.Frame)
		case p.Frame.Kind == wire.Closed && p.Frame.Close != nil:
			s.closeStream(p.Frame, p.Conversation)
		case p.Frame.Held != nil:
			s.addHold(p.Frame)
		}
	}
}

// maxSize is larger than any message. A recording that claims more would make sums overflow.
const maxSize = 1 << 30

// Count adds the size of a message in bytes.
func (s *State) Count(dir wire.Direction, size int) {
	size = min(size, maxSize)
	if dir == wire.Received {
		s.Received += int64(size)
		return
	}
	s.LastSent = int64(size)
	s.Sent += s.LastSent
}

// Ask reads the request. A request of the modern era says which revision it speaks.
func (s *State) Ask(m *wire.Message, c *Conversation) {
	s.Method, s.Name = m.Method, NameOf(m)
	s.ID = string(m.ID)
	if strings.HasPrefix(s.ID, `"`) {
		s.ID, _ = jsonraw.Text(m.ID)
	}
	c.addRequest(s.Method, m)
	s.Era = c.Era
	s.Revision = c.Revision
}

// reopen continues an exchange whose request was sent again, or continues.
func (s *State) reopen() {
	s.Channel = ChannelOpen
	s.Exit = -1
	s.Text = ""
	s.Unanswered = false
	s.Cancel = nil
}

// Finish sets the outcome.
func (s *State) Finish(kind wire.Kind) {
	s.Channel, s.Exit, s.Text = cmp.Or(string(kind), ChannelOK), kind.ExitCode(), ""
}

// Fail ends an exchange that is open without a response: one may still come. It does nothing if the exchange
// is not open.
func (s *State) Fail(kind wire.Kind, text string) {
	if !s.Open() {
		return
	}
	s.Unanswered = true
	s.Finish(kind)
	s.Text = text
}

// answer reads the response.
func (s *State) addResponse(p *Part) {
	m := p.Message
	fault := s.resultFault(p)
	s.Unanswered = false
	switch {
	case m != nil && (s.Status == 401 || s.Status == 403):
		s.Finish(wire.Auth)
	case fault != "":
		s.Finish(wire.BadResponse)
		s.Text = fault
	case p.Facts.ToolError:
		s.Finish(wire.ToolError)
	case m == nil:
		s.Finish(wire.OK)
	case m.Kind == wire.ErrorResponse:
		s.Code = m.Error.Code
		s.Finish(wire.RPCFailed)
	case m.Kind == wire.Invalid && s.Status >= 300:
		s.Finish(wire.Transport)
	case m.Kind == wire.Invalid:
		s.Finish(wire.BadResponse)
	case p.Facts.Traits.More:
		s.Finish(wire.InputRequired)
		s.Notes.Questions += inputRequestsIn(m)
	default:
		s.Finish(wire.OK)
	}
	if s.Channel != ChannelOK || m == nil {
		return
	}
	if s.Dir == wire.Sent && p.Conversation.Server == (Implementation{}) {
		p.Conversation.Server = ServerIn(s.Method, m)
	}
	if s.Method == "initialize" {
		result, _ := m.ResultMembers()
		p.Conversation.Revision = cmp.Or(result.Text("protocolVersion"), p.Conversation.Revision)
		s.Revision = p.Conversation.Revision
	}
}

// accompany reads a message that belongs to the exchange and is neither its request nor its response. Bytes that are
// no message end an exchange that has no better ending.
func (s *State) addAccompanying(p *Part) {
	if p.Frame.Dir == wire.Sent {
		return
	}
	if p.Facts.Traits.Reply {
		s.Orphan = true
		s.WrongID = s.WrongID || s.Open()
	}
	switch p.Facts.Traits.Kind {
	case wire.Notification:
		s.Notes.Notifications++
	case wire.Invalid:
		s.Fail(wire.BadResponse, "")
	}
}

// closeStream reads the end of a stream. A response with status 200 had to bring the answer, unless it can be taken up
// again. Over HTTP+SSE a request is only accepted (202), and the answer comes elsewhere.
func (s *State) closeStream(f *wire.Frame, c *Conversation) {
	switch {
	case f.Close.How == "cut":
		s.Notes.Cuts++
		if strings.HasPrefix(f.Close.Text, "dial ") { // no byte of the request was sent
			s.Sent -= s.LastSent
			s.LastSent = 0
		}
		s.Fail(wire.Transport, f.Close.Text)
	case s.Apart:
		s.EndApart()
	case f.Close.By == wire.Sent && f.Close.How == "cancelled":
		if s.Status != http.StatusAccepted {
			s.cancel(Cancel{Why: "the client closed the stream", Closed: true}, f.Time)
		}
	case s.HTTPOnly || f.Stream == 0 || f.Close.How != "end" || s.Resumable:
	case c.Streamable && (s.Status == http.StatusAccepted || s.Status == http.StatusNoContent):
		s.Fail(wire.BadResponse, fmt.Sprintf("HTTP %d instead of the response", s.Status))
	case s.Status != http.StatusOK:
	case s.WrongID:
		s.Fail(wire.BadResponse, "the response has another id than the request")
	case s.Kinds.Has(wire.Event) || s.Kinds.Has(wire.Noise) || s.Streamed:
		s.Fail(wire.Transport, textStreamEnded)
	default:
		s.Fail(wire.BadResponse, "the HTTP response ended without a JSON-RPC response")
	}
}

const textStreamEnded = "the stream ended before the response"

// addResponseHead reads the head of a response; h may be nil.
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
		s.Fail(wire.Auth, "")
	} else if s.Status >= 300 {
		s.Fail(wire.Transport, "")
	}
}

// hold reads what became of a message that was held for a user. A message that is held after the response takes none of
// the response's time.
func (s *State) addHold(f *wire.Frame) {
	h := f.Held
	if h.How == "waiting" {
		s.Waiting++
		return
	}
	s.Waiting = max(s.Waiting-1, 0)
	s.Edited = s.Edited || h.How != "released"
	startedAfter := s.Dir == wire.Received && h.Kind == "request"
	if (s.Open() || s.Apart) && !startedAfter {
		s.Held += HeldFor(h)
	}
	if f.Drops(s.Dir) && !s.Apart {
		s.Fail(wire.Transport, "the user dropped the "+h.Kind)
	}
}

// HeldFor returns for how long a message was held.
func HeldFor(h *wire.HeldFacts) time.Duration {
	return time.Duration(min(max(h.Milliseconds, 0), 1e9)) * time.Millisecond
}

// concern counts messages of other exchanges that have to do with this one.
func (s *State) countRelated(p *Part) {
	switch {
	case p.Frame.Dir == wire.Sent:
	case p.Guess:
		s.Notes.Guessed++
	case p.Facts.Traits.Kind == wire.Request:
		s.Notes.Questions++
	}
}

// endConnection reads the end of the pipe or stream on which the response was to come.
func (s *State) endConnection(p *Part) {
	f := p.Frame
	switch {
	case f.Close == nil:
	case f.Close.By == wire.Sent && f.Stream == 0:
		s.cancel(Cancel{Why: "the client ended the connection"}, f.Time)
	case f.Close.By == wire.Sent:
		s.cancel(Cancel{Why: "the client closed the stream", Closed: true}, f.Time)
	case f.Stream > 0 || !p.EndIsReported:
		s.Fail(wire.Transport, cmp.Or(f.Close.Text, textStreamEnded))
	}
}

// unreadable ends an exchange whose response could not be decoded, unless HTTP said already that it failed. A response
// may still come on another stream.
func (s *State) addUnreadable(f *wire.Frame) {
	if s.Open() && (f.Dir != s.Dir || s.HTTPOnly) {
		s.Channel = ChannelUnreadable
		s.Exit = -1
		s.Text = f.Unread
		s.Unanswered = true
	}
}

// EndApart ends a stream or pipe that is Apart: nothing more is received on it. It does nothing to an exchange.
func (s *State) EndApart() {
	if s.Apart && s.Open() {
		s.Finish(wire.OK)
	}
}

// Open reports whether the exchange has no outcome.
func (s *State) Open() bool { return s.Channel == ChannelOpen }

// Failed reports whether the outcome is a failure. A cancelled request, a probe and a result that requires
// input are not.
func (s *State) Failed() bool {
	return s.Channel != string(wire.InputRequired) && !slices.Contains(OtherChannels, s.Channel)
}

// LostAnswer reports whether the stream ended on which the response was to come.
func (s *State) LostAnswer() bool { return s.Streamed && s.Unanswered && s.Status == http.StatusOK }

// Facts are what a State needs to know of a message.
type Facts struct {
	Traits wire.Traits
	// ToolError is set if the result's isError is true.
	ToolError bool
}

// FactsOf returns the facts of a message that was parsed.
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

// A response that no client can accept is not a good outcome, whatever it contains. Only what every client has to
// reject is judged here, and no more than one message shows.

// arrays are the members that results other than lists have to have, by method (server/tools, server/resources,
// server/prompts).
var requiredArrays = map[string]string{
	"tools/call": "content", "resources/read": "contents", "prompts/get": "messages",
}

// oneForList are the members of arrays for which clients accept one item, too.
var oneForList = []string{"content", "contents", "messages"}

// batchesUntil is before 2025-06-18, the first revision without arrays of messages.
const lastBatchRevision = "2025-06"

// resultFault returns why a client has to reject the response; "" if it need not.
func (s *State) resultFault(p *Part) string {
	m := p.Message
	isInArray := p.Item >= 0 && p.Conversation.Revision > lastBatchRevision
	if isInArray && p.BatchSize == 1 { // some clients accept it
		s.Findings = append(s.Findings, wire.Finding{Rule: "batch", Level: wire.Warning, Text: "the response is in an array"})
	}
	isResult := m != nil && m.Kind == wire.Response
	if s.ForeignType != "" && s.Status/100 == 2 && p.Frame.Kind == wire.Body {
		return "expected application/json or text/event-stream, got " + s.ForeignType
	}
	if isInArray && p.BatchSize > 1 {
		return "the response is in an array"
	}
	if p.Facts.Traits.NoID && isResult {
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
	return ""
}

// shapeFault returns what a complete result lacks that every revision requires.
func (s *State) shapeFault(result jsonraw.Members) string {
	name := requiredArrays[s.Method]
	if mcp.IsServerList(s.Method) {
		name = mcp.ListMember(s.Method)
	}
	value, there := result.Get(name)
	_, structured := result.Get("structuredContent")
	_, task := result.Get("task")
	flag, _ := result.Get("isError")
	_, isPlain := wire.ParseIsError(flag)
	tool := s.Method == "tools/call"
	switch {
	case name == "" || structured || task:
	case tool && !isPlain:
		return "isError is neither true nor false: " + jsonraw.Excerpt(flag, 40)
	case !there:
		return s.missingMember(name)
	case slices.Contains(oneForList, name) && (value[0] == '{' || tool && value[0] == '"'):
		text := "in the result of " + s.Method + " " + name + " is not an array"
		s.Findings = append(s.Findings, wire.Finding{Rule: "content", Level: wire.Warning, Text: text})
	case value[0] != '[':
		return "in the result of " + s.Method + " " + name + " is not an array: " + jsonraw.Excerpt(value, 40)
	}
	return ""
}

// missing returns the fault of a result without a member that it has to have. A tool's result without content is a
// finding and no fault: some clients accept it.
func (s *State) missingMember(name string) string {
	if s.Method == "tools/call" {
		s.Findings = append(s.Findings,
			wire.Finding{Rule: "content", Level: wire.Error, Text: "the result of the tool call has no content"})
		return ""
	}
	return "the result of " + s.Method + " has no " + name
}

// inputRequestsIn counts the requests in a result that requires input.
func inputRequestsIn(m *wire.Message) int {
	result, _ := m.ResultMembers()
	requests, _ := jsonraw.Object(result.Value("inputRequests"))
	return len(requests)
}

// A Cancel is how a request was cancelled.
type Cancel struct {
	// By is the side that did: Sent is the client.
	By wire.Direction
	// Why is the reason that it gave, or what it did.
	Why string
	// After is the time from the request to the Cancel.
	After time.Duration
	// Late is set if a response came after all.
	Late bool
	// Closed is set if a stream was closed without a message: it may be taken up again.
	Closed bool
}

// Who returns the side that cancelled: client or server.
func (c *Cancel) Who() string { return [...]string{"client", "server"}[c.By] }

// cancel ends an exchange whose response is no longer awaited. A client that closes a stream may also say why.
func (s *State) cancel(c Cancel, at time.Time) {
	before := s.Cancel
	switch {
	case before != nil && before.Closed && !c.Closed:
		before.Why = cmp.Or(c.Why, before.Why)
		before.Closed = false
	case !s.Open():
		return
	default:
		c.After = max(at.Sub(s.Time), 0)
		s.Channel = ChannelCancelled
		s.Duration = c.After
		s.Cancel = &c
	}
	s.Text = "cancelled by the " + s.Cancel.Who()
	if s.Cancel.Why != "" {
		s.Text += ": " + s.Cancel.Why
	}
}

// reasonIn returns the reason that a cancellation gives, "" without one.
func reasonIn(m *wire.Message) string {
	if m == nil {
		return ""
	}
	params, _ := m.ParamMembers()
	return params.Text("reason")
}

// Notes count what belongs to an exchange beside its request and response.
type Notes struct {
	// Notifications are the server's.
	Notifications int
	// Questions are what the server asked meanwhile, by requests of its own or in results that require input.
	Questions int
	// Guessed are notifications and questions that may belong to another request as well.
	Guessed int
	// Retries are the requests that were sent again.
	Retries int
	// Resumed are the streams that were taken up again.
	Resumed int
	// Rounds are the requests after the first that continue it.
	Rounds int
	// Cuts are the streams that broke.
	Cuts int
}

// String returns the counts as a person reads them: "2 notifications, 1 retry"; "" if there are none.
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
