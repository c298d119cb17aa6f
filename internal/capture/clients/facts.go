package clients

import (
	"slices"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// A Fact is a question about what a client does.
type Fact struct {
	Name, Question string
	find           finder
}

// A finder returns the value that an event of a conversation answers a question with, and the event
// that proves it. The value is "" if the event does not answer it. It is no only if the client could
// have done otherwise later.
type finder func(c *Conversation, e *Event) (value string, proof *Event)

// A describer returns the value for the client's result of a request.
type describer func(result jsonraw.Members) string

// The values of most facts.
const (
	yes   = "yes"
	no    = "no"
	other = "other value"
	none  = "none"
)

// repeatedCalls is the name of the only fact whose yes is bad.
const repeatedCalls = "repeats-calls"

const (
	subscribe = "subscriptions/listen" // opens a stream of notifications
	cancelled = "notifications/cancelled"
	elicit    = "elicitation/create"
)

// Facts are all facts, in the order of reports.
var Facts = []Fact{
	{"asks-revision", "Which revision does it ask for?", askedRevision},
	{"revision", "Which revision does the server accept?", acceptedRevision},
	{"works-with", "Which revisions does it continue with?", worksWith},
	{"capabilities", "Which capabilities does it declare?", capabilities},
	{"user-agent", "Which User-Agent does it send?", userAgent},
	{"accept", "Does Accept name JSON and event streams?", acceptsBoth},
	{"version-header", "Does it send MCP-Protocol-Version?", versionHeader},
	{"session-header", "Does it send the Mcp-Session-Id it got?", sessionHeader},
	{"method-header", "Does it send Mcp-Method?", methodHeader},
	{"name-header", "Does it send Mcp-Name?", nameHeader},
	{"param-header", "Does it send Mcp-Param of x-mcp-header?", paramHeader},
	{"discover", "Does it begin with server/discover?", beginsWithDiscover},
	{"initialized", "Does it send notifications/initialized?", sendsInitialized},
	{"listens", "How does it listen for notifications?", listens},
	{"lists-again", "Does it list again after list_changed?", listsAgain},
	{"pages", "Does it follow nextCursor?", followsCursor(isOtherCursor)},
	{"empty-cursor", "Does it follow an empty nextCursor?", followsCursor(isEmptyCursor)},
	{"respects-ttl", "Does it wait until ttlMs is over to list again?", respectsTTL},
	{repeatedCalls, "Does it send an equal tool call again?", repeatsCalls},
	{"progress-token", "Does it ask for the progress of tool calls?", sendsProgressToken},
	{"cancels", "How does it cancel requests?", cancels},
	{"cancels-in-flight", "Does it cancel only requests without a response?", cancelsInFlight},
	{"progress-extends", "Does progress extend its time limit?", progressExtends},
	{"resumes", "Does it resume streams with Last-Event-ID?", resumes},
	{"sends-again", "Does it send a request again whose stream was cut?", sendsAgain},
	{"retry-after", "Does it wait for Retry-After, and send again?", obeysRetryAfter},
	{"begins-again", "Does it initialize again after a lost session?", beginsAgain},
	{"ping", "Does it respond to ping?", responds("ping", hasResult)},
	{"roots", "Does it respond to roots/list?", responds("roots/list", hasResult)},
	{"sampling", "Does it respond to sampling requests?", responds("sampling/createMessage", hasResult)},
	{"elicitation", "How does it respond to elicitation?", inMode(formMode, responds(elicit, elicitationAction))},
	{"elicitation-url", "How does it respond to URL elicitation?", inMode(urlMode, responds(elicit, elicitationAction))},
	{"keeps-claims", "Does it do what its capabilities declare?", keepsClaims},
	{"unknown-request", "Does it reject an unknown request with -32601?", rejectsUnknown},
	{"unknown-notification", "Does it continue after an unknown notification?", afterUnknownNotification},
	{"late-response", "Does it continue after a response to a cancelled request?", afterLateResponse},
	{"two-responses", "Does it continue after a second response?", afterSecondResponse},
	{
		"large-result", "Does it continue after a result of 1 MB?",
		afterResult(func(r resultFacts) bool { return r.isLarge }),
	},
	{
		"unknown-content", "Does it continue after content of an unknown type?",
		afterResult(func(r resultFacts) bool { return r.hasUnknownContent }),
	},
	{
		"structured-only", "Does it continue after structuredContent without content?",
		afterResult(func(r resultFacts) bool { return r.hasNoContent }),
	},
	{
		"null-members", "Does it continue after null in optional members?",
		afterResult(func(r resultFacts) bool { return r.hasNull }),
	},
	{
		"odd-text", "Does it continue after NUL and U+2028 in a text?",
		afterResult(func(r resultFacts) bool { return r.hasOddText }),
	},
	{"ends-session", "Does it end its session with DELETE?", endsSession},
}

// yesOrNo returns yes or no.
func yesOrNo(isYes bool) string {
	if isYes {
		return yes
	}
	return no
}

// orNone returns text, or none if it is empty.
func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

// noIfOver returns no, proved by e, if the client continued after e; it answers nothing otherwise.
func (c *Conversation) noIfOver(e *Event) (string, *Event) {
	if c.continues(e) {
		return no, e
	}
	return "", nil
}

// noIfSilent returns no, proved by e, if the client continued after e or has ended: then it will not
// react to e any more. It answers nothing otherwise.
func (c *Conversation) noIfSilent(e *Event) (string, *Event) {
	if c.hasEnded {
		return no, e
	}
	return c.noIfOver(e)
}

// askedRevision returns the revision that a request names.
func askedRevision(_ *Conversation, e *Event) (string, *Event) {
	if e.isRequest() && e.method() == "initialize" {
		return orNone(e.Message.params.Text("protocolVersion")), e
	}
	return e.ownRevision(), e
}

// acceptedRevision returns the revision of a request with a result.
func acceptedRevision(_ *Conversation, e *Event) (string, *Event) {
	if !e.isResult() {
		return "", nil
	}
	if e.Request.method() == "initialize" {
		return e.Message.result.Text("protocolVersion"), e
	}
	return e.Request.ownRevision(), e
}

// capabilities returns the names of the capabilities that a request declares, with their members
// after a point.
func capabilities(_ *Conversation, e *Event) (string, *Event) {
	declared := e.declaredCapabilities()
	if declared == nil {
		return "", nil
	}
	var names []string
	members, _ := jsonraw.Object(declared)
	for _, capability := range members {
		parts, _ := jsonraw.Object(capability.Value)
		for _, part := range parts {
			if string(part.Value) != "false" {
				names = append(names, capability.Name+"."+part.Name)
			}
		}
		if len(parts) == 0 {
			names = append(names, capability.Name)
		}
	}
	slices.Sort(names)
	return orNone(strings.Join(names, ", ")), e
}

// userAgent returns the User-Agent of an HTTP request.
func userAgent(_ *Conversation, e *Event) (string, *Event) {
	if !e.hasFields() {
		return "", nil
	}
	return orNone(e.HTTP.Field("User-Agent")), e
}

// acceptsBoth looks at a POST over Streamable HTTP.
func acceptsBoth(c *Conversation, e *Event) (string, *Event) {
	if c.Transport != StreamableHTTP || !e.hasFields() || e.Message == nil {
		return "", nil
	}
	accept := e.HTTP.Field("Accept")
	return yesOrNo(strings.Contains(accept, "application/json") && strings.Contains(accept, "text/event-stream")), e
}

// compareField returns whether a header field of an HTTP request is there and has the value that it
// should have.
func compareField(e *Event, name, want string) (string, *Event) {
	got := wire.Field{Value: e.HTTP.Field(name)}.DecodedValue()
	if got != "" && got != want {
		return other, e
	}
	return yesOrNo(got != ""), e
}

// versionHeader looks at an HTTP request after the handshake, or that names its revision. The revisions
// up to that with batches do not have the field.
func versionHeader(_ *Conversation, e *Event) (string, *Event) {
	if !e.hasFields() || e.method() == "initialize" || e.revision <= bridge.BatchRevision {
		return "", nil
	}
	return compareField(e, "Mcp-Protocol-Version", e.revision)
}

// sessionHeader looks at an HTTP request after the server gave a session id.
func sessionHeader(_ *Conversation, e *Event) (string, *Event) {
	if !e.hasFields() || e.method() == "initialize" || !e.hasSession {
		return "", nil
	}
	return yesOrNo(e.HTTP.Field("Mcp-Session-Id") != ""), e
}

// methodHeader looks at an HTTP request that names its revision.
func methodHeader(_ *Conversation, e *Event) (string, *Event) {
	if !e.hasFields() || e.ownRevision() == "" {
		return "", nil
	}
	return compareField(e, "Mcp-Method", e.method())
}

// nameHeader looks at an HTTP request that names its revision and a tool, a prompt, a resource or a
// task.
func nameHeader(_ *Conversation, e *Event) (string, *Event) {
	member := mcp.NameMember(e.method())
	if !e.hasFields() || e.ownRevision() == "" || member == "" {
		return "", nil
	}
	return compareField(e, "Mcp-Name", e.Message.params.Text(member))
}

// beginsWithDiscover looks at the first request of the conversation. Another request than these two
// is not the first one: the recording began later. A conversation that the client began because of
// the previous one says nothing: the client may know the revision.
func beginsWithDiscover(c *Conversation, e *Event) (string, *Event) {
	if e != c.firstRequest || !mcp.IsOpening(e.method()) || c.followsPrevious() {
		return "", nil
	}
	return yesOrNo(e.method() == "server/discover"), e
}

// sendsInitialized looks for the notification after a result of initialize.
func sendsInitialized(c *Conversation, e *Event) (string, *Event) {
	if !e.isResult() || e.Request.method() != "initialize" {
		return "", nil
	}
	if later := c.after(e, "notifications/initialized"); len(later) > 0 {
		return yes, later[0]
	}
	return c.noIfOver(e)
}

// listens looks for a GET over Streamable HTTP, which the oldest revision does not have, or a
// subscription. Other conversations with a handshake need neither.
func listens(c *Conversation, e *Event) (string, *Event) {
	isGET := func(e *Event) bool {
		return e.method() == "GET" && c.Transport == StreamableHTTP && e.HTTP.Field("Last-Event-ID") == ""
	}
	if isGET(e) {
		return "GET", e
	}
	if e.isRequest() && e.method() == subscribe {
		return "subscription", e
	}
	if e != c.firstResult || len(c.sent[subscribe]) > 0 || slices.ContainsFunc(c.sent["GET"], isGET) {
		return "", nil
	}
	revision := e.Response.revision
	isOldest := revision != "" && revision < bridge.BatchRevision
	mayListen := e.ownRevision() != "" || c.Transport == StreamableHTTP && !isOldest
	if !mayListen {
		return "", nil
	}
	return c.noIfOver(e)
}

// changedList returns the list method that a notification of the server concerns, or "".
func changedList(e *Event) string {
	name, isChange := strings.CutSuffix(strings.TrimPrefix(e.method(), "notifications/"), "/list_changed")
	if !isChange || e.Dir != wire.Received {
		return ""
	}
	return name + "/list"
}

// listsAgain looks for a list after a list_changed, if the client had read the list before.
func listsAgain(c *Conversation, e *Event) (string, *Event) {
	method := changedList(e)
	all := c.sent[method]
	later := c.after(e, method)
	if method == "" || len(all) == len(later) {
		return "", nil
	}
	if len(later) > 0 {
		return yes, later[0]
	}
	return c.noIfOver(e)
}

// followsCursor returns a function that looks for the request of the next page after a result whose
// nextCursor is selected.
func followsCursor(selects func(cursor string) bool) finder {
	return func(c *Conversation, e *Event) (string, *Event) {
		if !e.isResult() {
			return "", nil
		}
		cursor := e.Message.result.Value("nextCursor")
		if cursor == nil || !selects(string(cursor)) {
			return "", nil
		}
		if later := c.after(e, pageKey(e.Request.method(), cursor)); len(later) > 0 {
			return yes, later[0]
		}
		return c.noIfSilent(e)
	}
}

// isEmptyCursor reports whether a cursor is an empty string, which is a cursor like any other.
func isEmptyCursor(cursor string) bool { return cursor == `""` }

// isOtherCursor reports whether a cursor is neither empty nor null.
func isOtherCursor(cursor string) bool { return cursor != `""` && cursor != "null" }

// respectsTTL looks at the next equal request after a result with a time to live, unless the server
// said in between that it changed. Revisions with a handshake have no time to live.
func respectsTTL(c *Conversation, e *Event) (string, *Event) {
	if !e.isResult() || e.Request.ownRevision() == "" || !mcp.IsCacheable(e.Request.method()) {
		return "", nil
	}
	milliseconds, _ := jsonraw.Float(e.Message.result.Value("ttlMs"))
	later := c.after(e, e.Request.method())
	next := slices.IndexFunc(later, func(request *Event) bool { return request.content == e.Request.content })
	if milliseconds <= 0 || next < 0 {
		return "", nil
	}
	subject, _, _ := strings.Cut(e.Request.method(), "/")
	for _, between := range c.Events[e.position:later[next].position] {
		isUpdate := between.method() == "notifications/resources/updated" && subject == "resources"
		if changedList(between) == subject+"/list" || isUpdate {
			return "", nil
		}
	}
	age := float64(later[next].Time.Sub(e.Time)) / float64(time.Millisecond)
	return yesOrNo(age >= milliseconds), later[next]
}

// repeatsCalls compares all tool calls if the event is the last one. A call may be sent again if HTTP
// refused it, or if it had no response.
func repeatsCalls(c *Conversation, e *Event) (string, *Event) {
	calls := c.sent["tools/call"]
	if len(calls) < 2 || e != calls[len(calls)-1] {
		return "", nil
	}
	seen := map[uint64]bool{}
	for _, call := range calls {
		if seen[call.content] {
			return yes, call
		}
		hasResponse := call.Response != nil && !call.isRefused
		seen[call.content] = hasResponse
	}
	return no, e
}

// sendsProgressToken looks at a tool call.
func sendsProgressToken(_ *Conversation, e *Event) (string, *Event) {
	if !e.isRequest() || e.method() != "tools/call" {
		return "", nil
	}
	return yesOrNo(jsonraw.First(e.Message.params.Value("_meta"), "progressToken") != nil), e
}

// cancels looks for the ways to cancel a request. It never answers no: whether a client wanted to
// cancel anything is unknown. It does not count a stream that the client closes as the last thing,
// unless it then began another conversation, or after the notification, and no stream of a
// subscription, which ends in this way.
func cancels(c *Conversation, e *Event) (string, *Event) {
	if e.Dir == wire.Sent && e.method() == cancelled {
		return "notification", e
	}
	if e.Dir == wire.Sent && e.method() == "tasks/cancel" {
		return "tasks/cancel", e
	}
	request := e.opener
	isLast := c.lastHTTP < e.position && (!c.hasEnded || c.next == nil)
	isClosed := e.isClosedBy(wire.Sent) && e.Close.How == "cancelled" && !isLast
	if !isClosed || request == nil || !request.isRequest() || request.method() == subscribe || !c.waitsAt(request, e) {
		return "", nil
	}
	return "closes the stream", request
}

// waitsAt reports whether a request, or a GET, has neither been responded to nor cancelled before
// an event.
func (c *Conversation) waitsAt(request, e *Event) bool {
	isCancelled := slices.ContainsFunc(c.after(request, cancelled), func(notification *Event) bool {
		return notification.Exchange == request.Exchange && notification.position < e.position
	})
	return !isCancelled && (request.Response == nil || request.Response.position > e.position)
}

// resumes looks for a GET with Last-Event-ID, or for the end of a stream that has ids, but no
// response. The end of a resumed stream says nothing.
func resumes(c *Conversation, e *Event) (string, *Event) {
	isResumption := func(get *Event) bool { return get.HTTP.Field("Last-Event-ID") != "" }
	if e.method() == "GET" && isResumption(e) {
		return yes, e
	}
	isEnd := e.isClosedBy(wire.Received) && e.opener != nil && e.opener.hasIDs && !isResumption(e.opener)
	if !isEnd || !c.waitsAt(e.opener, e) || slices.ContainsFunc(c.after(e, "GET"), isResumption) {
		return "", nil
	}
	return c.noIfOver(e)
}

// responds returns a function that looks at a request of the server, or at a result that requires
// input by such a request.
func responds(method string, describe describer) finder {
	return func(c *Conversation, e *Event) (string, *Event) {
		if e.isMessage(wire.Received, wire.Request) && e.method() == method {
			if e.Response == nil {
				return c.noIfSilent(e)
			}
			if e.Response.Message.Kind == wire.ErrorResponse {
				return "error", e
			}
			return describe(e.Response.Message.result), e
		}
		if !e.isResult() {
			return "", nil
		}
		requests, _ := jsonraw.Object(e.Message.result.Value("inputRequests"))
		for _, request := range requests {
			if wanted, _ := jsonraw.Text(jsonraw.First(request.Value, "method")); wanted == method {
				return c.findInput(e, request.Name, describe)
			}
		}
		return "", nil
	}
}

// findInput looks for the client's response to the input request called name of a result, in a
// later request of the same exchange.
func (c *Conversation) findInput(e *Event, name string, describe describer) (string, *Event) {
	for _, retry := range c.after(e, e.Request.method()) {
		response := jsonraw.First(retry.Message.params.Value("inputResponses"), name)
		if retry.Exchange == e.Exchange && response != nil {
			members, _ := jsonraw.Object(response)
			return describe(members), retry
		}
	}
	return c.noIfSilent(e)
}

// hasResult describes any result.
func hasResult(jsonraw.Members) string { return yes }

// elicitationAction describes the result of an elicitation.
func elicitationAction(result jsonraw.Members) string {
	action := result.Text("action")
	if slices.Contains([]string{"accept", "decline", "cancel"}, action) {
		return action
	}
	return other
}

// endsSession looks for a DELETE after the server gave a session id. A client that closes its GET
// and sends nothing afterwards has left without it. A lost session needs no end.
func endsSession(c *Conversation, e *Event) (string, *Event) {
	if c.isLost {
		return "", nil
	}
	if e.method() == "DELETE" && e.hasSession {
		return yes, e
	}
	isLast := e.position == len(c.Events)-1
	if isLast && c.hasEnded && e.hasSession && c.Transport == StreamableHTTP && len(c.sent["DELETE"]) == 0 {
		return no, e
	}
	if e == c.lastClosed && !c.hasEnded && e.hasSession && c.lastHTTP < e.position && len(c.sent["DELETE"]) == 0 {
		return no, e
	}
	return "", nil
}
