package clients

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// Facts about what a client does after something that is unusual, or that it asked for.

const (
	// stops is the value if a client has ended and sent no request after something.
	stops = "stops"
	// reconnects is the value if a client has ended the conversation and begun another one: because of
	// what happened, or since it begins one for each call.
	reconnects = "reconnects"
	// early is the value if a client does not wait for as long as it should.
	early = "early"
	// not precedes a revision that a client does not work with.
	not = "not "
)

// continuesOrStops returns yes if the client continued after e. If it has ended without, it returns
// reconnects or stops.
func (c *Conversation) continuesOrStops(e *Event) (string, *Event) {
	if c.continues(e) {
		return yes, e
	}
	if c.hasEnded && c.next != nil {
		return reconnects, e
	}
	if c.hasEnded {
		return stops, e
	}
	return "", nil
}

// worksWith looks at the results of requests other than those that open the conversation, and for
// clients that leave once the server has named its revision.
func worksWith(c *Conversation, e *Event) (string, *Event) {
	if !e.isResult() {
		return "", nil
	}
	switch method := e.Request.method(); {
	case method == "initialize" && c.hasEnded && !c.continues(e) && c.next == nil:
		return not + e.Message.result.Text("protocolVersion"), e
	case method == "initialize" || method == "server/discover":
		return "", nil
	}
	return e.Request.revision, e
}

// paramHeader looks at a call, with arguments, of a tool with x-mcp-header in its schema.
func paramHeader(c *Conversation, e *Event) (string, *Event) {
	isCall := e.hasFields() && e.ownRevision() != "" && e.method() == "tools/call"
	if !isCall || !e.Message.hasArguments || !c.headerTools[e.Message.params.Text("name")] {
		return "", nil
	}
	return yesOrNo(slices.ContainsFunc(e.HTTP.Fields, func(f wire.Field) bool {
		return strings.HasPrefix(strings.ToLower(f.Name), "mcp-param-")
	})), e
}

// cancelsInFlight looks at a cancellation: the request must not have a response that the client has seen.
func cancelsInFlight(c *Conversation, e *Event) (string, *Event) {
	if e.Dir != wire.Sent || e.method() != cancelled {
		return "", nil
	}
	if c.cancelledCall(e) != nil {
		return yes, e
	}
	for _, call := range c.sent["tools/call"] {
		const underway = time.Second // the response may have been sent at the same time
		isOver := call.Exchange == e.Exchange && call.Response != nil && call.position < e.position
		if isOver && e.Time.Sub(call.Response.Time) > underway {
			return no, e
		}
	}
	return "", nil
}

// learnWait adds the cancellation of a tool call without progress to what is known about the client's
// time limit.
func (c *Conversation) learnWait(e *Event) {
	if e.isMessage(wire.Received, wire.Notification) && e.method() == "notifications/progress" {
		c.progressed[e.Exchange] = true
	}
	call := c.cancelledCall(e)
	if call == nil || c.progressed[call.Exchange] {
		return
	}
	if wait := e.Time.Sub(call.Time); c.shortestWait == 0 || wait < c.shortestWait {
		c.shortestWait = wait
	}
}

// cancelledCall returns the tool call that an event cancels, or nil.
func (c *Conversation) cancelledCall(e *Event) *Event {
	isClosed := e.isClosedBy(wire.Sent) && e.Close.How == "cancelled"
	if !isClosed && (e.Dir != wire.Sent || e.method() != cancelled) {
		return nil
	}
	for _, call := range slices.Backward(c.sent["tools/call"]) {
		if call.Exchange == e.Exchange && (call.Response == nil || call.Response.position > e.position) {
			return call
		}
	}
	return nil
}

// progressExtends looks at a tool call with progress, if it is known when the client cancels a call
// without progress.
func progressExtends(c *Conversation, e *Event) (string, *Event) {
	if c.shortestWait == 0 {
		return "", nil
	}
	if call := c.cancelledCall(e); call != nil && c.progressed[call.Exchange] {
		return no, call
	}
	const margin = 6.0 / 5
	isCall := e.isResult() && e.Request.method() == "tools/call" && c.progressed[e.Exchange]
	if !isCall || float64(e.Time.Sub(e.Request.Time)) < margin*float64(c.shortestWait) {
		return "", nil
	}
	return yes, e
}

// refusedRequest returns the request that an HTTP response refuses with a status, or nil.
func refusedRequest(e *Event, statuses ...int) *Event {
	isHead := e.Kind == wire.Head && e.Dir == wire.Received && e.HTTP != nil
	if !isHead || e.opener == nil || !e.opener.isRequest() || !slices.Contains(statuses, e.HTTP.Status) {
		return nil
	}
	return e.opener
}

// nextEqual returns the client's next request with the content of request after an event, or nil.
func (c *Conversation) nextEqual(request, e *Event) *Event {
	for _, later := range c.after(e, request.method()) {
		if later.content == request.content {
			return later
		}
	}
	return nil
}

// obeysRetryAfter looks for a request again that the server refused for a time.
func obeysRetryAfter(c *Conversation, e *Event) (string, *Event) {
	request := refusedRequest(e, 429, 503)
	if request == nil {
		return "", nil
	}
	seconds, err := strconv.Atoi(e.HTTP.Field("Retry-After"))
	if err != nil { // there is none, or it is a date
		return "", nil
	}
	again := c.nextEqual(request, e)
	if again == nil {
		return c.noIfSilent(e)
	}
	const tolerance = 50 * time.Millisecond
	if again.Time.Sub(e.Time)+tolerance < time.Duration(seconds)*time.Second {
		return early, again
	}
	return yes, again
}

// sendsAgain looks for a request again after the end of a stream that cannot be resumed and had no
// response.
func sendsAgain(c *Conversation, e *Event) (string, *Event) {
	request := e.opener
	isEnd := c.Transport == StreamableHTTP && e.isClosedBy(wire.Received) && request != nil && request.isRequest()
	isStream := e.HTTP == nil || wire.MediaType(e.HTTP.Field("Content-Type")) == "text/event-stream"
	if !isEnd || !isStream || request.hasIDs || request.isRefused || !c.waitsAt(request, e) {
		return "", nil
	}
	if again := c.nextEqual(request, e); again != nil {
		return yes, again
	}
	return c.noIfSilent(e)
}

// beginsAgain looks for another handshake after the server refused a request because its session is
// lost.
func beginsAgain(c *Conversation, e *Event) (string, *Event) {
	request := refusedRequest(e, 404)
	if request == nil || request.HTTP.Field("Mcp-Session-Id") == "" {
		return "", nil
	}
	if later := c.after(e, "initialize"); len(later) > 0 {
		return yes, later[0]
	}
	if c.next != nil && c.next.url() == c.url() && len(c.next.sent["initialize"]) > 0 {
		again := c.next.sent["initialize"][0]
		if wait := again.Time.Sub(e.Time); wait >= 0 && wait < soon {
			return yes, again
		}
	}
	return c.noIfSilent(e)
}

// The modes of elicitation.
const (
	formMode = "form"
	urlMode  = "url"
)

// inMode returns a function that finds what find finds in elicitations of a mode.
func inMode(mode string, find finder) finder {
	return func(c *Conversation, e *Event) (string, *Event) {
		for _, question := range questionsIn(e) {
			if question.method == elicit && question.mode == mode {
				return find(c, e)
			}
		}
		return "", nil
	}
}

// A question is what a server asks a client in a request, or in a result that requires input.
type question struct {
	// key is the name of the question in a result.
	key, method string
	// mode is the mode of an elicitation.
	mode string
}

// newQuestion returns the question with the params of its request.
func newQuestion(key, method string, mode string) question {
	if mode == "" {
		mode = formMode
	}
	return question{key, method, mode}
}

// questionsIn returns the questions in a message of the server.
func questionsIn(e *Event) []question {
	if e.isMessage(wire.Received, wire.Request) {
		return []question{newQuestion("", e.method(), e.Message.params.Text("mode"))}
	}
	if !e.isResult() {
		return nil
	}
	var all []question
	requests, _ := jsonraw.Object(e.Message.result.Value("inputRequests"))
	for _, request := range requests {
		method, _ := jsonraw.Text(jsonraw.First(request.Value, "method"))
		mode, _ := jsonraw.Text(jsonraw.First(jsonraw.First(request.Value, "params"), "mode"))
		all = append(all, newQuestion(request.Name, method, mode))
	}
	return all
}

// declares reports whether the client declares the capability that a question needs.
func (c *Conversation) declares(q question) bool {
	name, _, _ := strings.Cut(q.method, "/")
	capability := jsonraw.First(c.capabilities, name)
	if q.method != elicit || capability == nil {
		return capability != nil && slices.Contains([]string{"roots", "sampling"}, name)
	}
	hasURL := jsonraw.First(capability, urlMode) != nil
	if q.mode == urlMode {
		return hasURL
	}
	return !hasURL || jsonraw.First(capability, formMode) != nil
}

// keepsClaims looks for the response to a question that needs a declared capability. An error is one,
// unless it says that the client lacks what it declares.
func keepsClaims(c *Conversation, e *Event) (string, *Event) {
	for _, q := range questionsIn(e) {
		if !c.declares(q) {
			continue
		}
		if q.key != "" {
			value, proof := c.findInput(e, q.key, hasResult)
			return value, proof
		}
		if e.Response == nil {
			return c.noIfSilent(e)
		}
		return yesOrNo(e.Response.Message.code != -32601), e
	}
	return "", nil
}

// knownRequests and knownNotifications are what servers may send in some revision.
var (
	knownRequests = []string{
		"ping", "roots/list", "sampling/createMessage", elicit,
		"tasks/get", "tasks/result", "tasks/list", "tasks/cancel",
	}
	knownNotifications = []string{
		cancelled, "notifications/progress", "notifications/message", "notifications/tools/list_changed",
		"notifications/prompts/list_changed", "notifications/resources/list_changed",
		"notifications/resources/updated", "notifications/elicitation/complete", "notifications/tasks",
		"notifications/tasks/status", "notifications/subscriptions/acknowledged",
	}
)

// rejectsUnknown looks at a request of the server that no revision has.
func rejectsUnknown(c *Conversation, e *Event) (string, *Event) {
	if !e.isMessage(wire.Received, wire.Request) || slices.Contains(knownRequests, e.method()) {
		return "", nil
	}
	if e.Response == nil {
		return c.noIfSilent(e)
	}
	if code := e.Response.Message.code; code != 0 && code != -32601 {
		return "error " + strconv.FormatInt(code, 10), e
	}
	return yesOrNo(e.Response.Message.code == -32601), e
}

// afterUnknownNotification looks at a notification of the server that no revision has.
func afterUnknownNotification(c *Conversation, e *Event) (string, *Event) {
	if !e.isMessage(wire.Received, wire.Notification) || slices.Contains(knownNotifications, e.method()) {
		return "", nil
	}
	return c.continuesOrStops(e)
}

// afterLateResponse looks at a response to a request that the client cancelled before.
func afterLateResponse(c *Conversation, e *Event) (string, *Event) {
	if e.Dir != wire.Received || e.Request == nil || c.waitsAt(e.Request, e) || e.Request.Response != e {
		return "", nil
	}
	wasCancelled := slices.ContainsFunc(c.after(e.Request, cancelled), func(notification *Event) bool {
		return notification.Exchange == e.Exchange && notification.position < e.position
	})
	if !wasCancelled {
		return "", nil
	}
	return c.continuesOrStops(e)
}

// afterSecondResponse looks at another response to a request that the server has responded to.
func afterSecondResponse(c *Conversation, e *Event) (string, *Event) {
	if e.answered == nil || e.answered.Response == nil || e.answered.Response.position > e.position {
		return "", nil
	}
	return c.continuesOrStops(e)
}
