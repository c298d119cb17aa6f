package rules

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/lint/conv"
	"mcpc/internal/loopback"
	"mcpc/internal/wire"
)

var httpChecks = []Check{
	{ID: "L058", Kind: conv.OnError, When: whenErrorIsBody(-32601), Do: checkStatus(404)},
	{ID: "L059", Kind: conv.OnError, When: whenErrorIsBody(mcpCodes...), Do: checkStatus(400)},
	{ID: "L060", Kind: conv.OnError, When: func(e *conv.Event) bool { return e.Call != nil }, Do: func(e *conv.Event) {
		if e.Message.ID == nil || string(e.Message.ID) == "null" {
			e.Hit(conv.Hit{
				Root: true, Subject: "error", Pointer: "/id", Got: "id " + e.Show(e.Message.ID),
				Want: "id " + string(e.Call.ID),
			})
		}
	}},
	{ID: "L072", Kind: conv.OnReply, When: hasHTTPResponse, Do: func(e *conv.Event) {
		if id := e.Stream.Response.Field("Mcp-Session-Id"); id != "" {
			findHeader(e, "Mcp-Session-Id: "+id, "no Mcp-Session-Id")
		}
	}},
	{ID: "L074", Kind: conv.OnMessage, Do: checkNoRequest},
	{
		ID:   "L075",
		Kind: conv.OnNotice,
		When: func(e *conv.Event) bool { return e.Stream != nil && e.Stream.Call != nil },
		Do:   checkRelated,
	},
	{ID: "L076", Kind: conv.OnEvent, When: isAnswered, Do: func(e *conv.Event) {
		if len(e.Frame.Raw) > 0 && e.Frame.SSE.MayCarryMessage() {
			e.FindMessage(e.Stream.Call.Method, "after the response: "+e.Show(e.Frame.Raw), "the end of the stream")
		}
	}},
	{ID: "L076", Kind: conv.OnClose, When: isAnswered, Do: func(e *conv.Event) {
		if late := e.Frame.Time.Sub(e.Stream.Answered); late > maxCloseDelay {
			e.FindMessage(e.Stream.Call.Method, "closed "+late.String()+" after the response", "closed at once")
		}
	}},
	{ID: "L077", Kind: conv.OnEvent, Do: func(e *conv.Event) {
		if s := e.Frame.SSE; s != nil && (s.ID != nil || s.Retry != nil) {
			e.FindMessage("event", "id or retry", "neither")
		}
	}},
	{
		ID:   "L078",
		Kind: conv.OnReply,
		When: func(e *conv.Event) bool { return e.Stream.IsEventStream() },
		Do: func(e *conv.Event) {
			if got := e.Stream.Response.Field("X-Accel-Buffering"); !strings.EqualFold(got, "no") {
				findHeader(e, "X-Accel-Buffering: "+got, "X-Accel-Buffering: no")
			}
		},
	},
	{ID: "L079", Kind: conv.OnEvent, When: isListenStream, Do: checkIdle},
	{ID: "L079", Kind: conv.OnClose, When: isListenStream, Do: checkIdle},
	{ID: "L081", Kind: conv.OnHead, When: func(e *conv.Event) bool {
		// 202 answers notifications.
		return e.Stream.Sent == wire.Request && e.Stream.Status()/100 == 2 && e.Stream.Status() != 202 && !e.SSE
	}, Do: func(e *conv.Event) {
		media := wire.MediaType(e.Stream.Response.Field("Content-Type"))
		if media != "application/json" && media != "text/event-stream" {
			findHeader(e, "Content-Type: "+media, "application/json or text/event-stream")
		}
	}},
	{
		ID:   "L087",
		Kind: conv.OnHead,
		When: func(e *conv.Event) bool { return e.Stream.Response.Field("Access-Control-Allow-Origin") != "" },
		Do: func(e *conv.Event) {
			h := e.Stream.Response
			isLocal := false // then any web page could call a server on the user's machine
			if e.Stream.Request != nil {
				u, err := url.Parse(e.Stream.Request.URL)
				isLocal = err == nil && loopback.IsHere(u.Hostname())
			}
			if h.Field("Access-Control-Allow-Origin") == "*" &&
				(h.Field("Access-Control-Allow-Credentials") == "true" || isLocal) {
				findHeader(e, "Access-Control-Allow-Origin: *", "the origins that may call")
			}
		},
	},
}

// findHeader reports a header field of the response.
func findHeader(e *conv.Event, got, want string) {
	name, _, _ := strings.Cut(got, ":")
	e.Hit(conv.Hit{Root: true, Spot: e.Stream.Head, Subject: "header " + name, Got: got, Want: want})
}

// hasHTTPResponse reports whether the event is in an HTTP exchange with a response.
func hasHTTPResponse(e *conv.Event) bool { return e.Stream != nil && e.Stream.Response != nil }

// whenErrorIsBody returns a condition: the event is an error with any of the codes, and is the
// whole body of a response. In an event stream the status is sent before the error.
func whenErrorIsBody(codes ...int64) func(*conv.Event) bool {
	return func(e *conv.Event) bool {
		for _, code := range codes {
			if errorCode(e) == code && hasHTTPResponse(e) && !e.Stream.IsEventStream() {
				return true
			}
		}
		return false
	}
}

// checkStatus returns a check that the response of an error has the status want.
func checkStatus(want int) func(*conv.Event) {
	return func(e *conv.Event) {
		if got := e.Stream.Status(); got != want {
			e.FindMessage("error "+strconv.FormatInt(errorCode(e), 10), "HTTP "+strconv.Itoa(got), "HTTP "+strconv.Itoa(want))
		}
	}
}

// subscriptionMethods are the notifications that a subscription carries.
var subscriptionMethods = map[string]bool{
	"notifications/tools/list_changed": true, "notifications/prompts/list_changed": true,
	"notifications/resources/list_changed": true, "notifications/resources/updated": true, "notifications/tasks": true,
	"notifications/subscriptions/acknowledged": true, "notifications/cancelled": true,
}

// judgedByOtherRules are notifications that other rules judge, on any stream.
var judgedByOtherRules = map[string]bool{
	"notifications/message":              true,
	"notifications/elicitation/complete": true,
	"notifications/cancelled":            true,
}

// checkRelated reports a notification on the stream of a request that it does not belong to.
func checkRelated(e *conv.Event) {
	if judgedByOtherRules[e.Method] {
		return
	}
	call := e.Stream.Call
	want := "progress or message"
	switch {
	case call.Method == listenMethod:
		if e.Method != "notifications/progress" {
			return
		}
		want = "what the subscription asked for"
	case e.Method == "notifications/progress":
		token := conv.Key(e.Raw("progressToken"))
		if token == call.Token {
			return
		}
		if other := e.CallWithToken(token); other == nil || other.Stream == e.Stream {
			return // L169 judges unknown tokens; a batch has several requests on one stream
		}
		want = "progress of this request"
	case !subscriptionMethods[e.Method]: // a notification of an extension
		return
	}
	e.FindMessage(e.Method, e.Method+" on the stream of "+call.Method, want)
}

// isAnswered reports whether the event is on an event stream whose requests are all answered.
func isAnswered(e *conv.Event) bool {
	s := e.Stream
	return s != nil && s.Call != nil && s.Open == 0 && !s.Answered.IsZero() && s.IsEventStream()
}

// maxCloseDelay is the time from the response to the end of its stream, maxIdle the time between
// two events of a subscription.
const (
	maxCloseDelay = 5 * time.Second
	maxIdle       = 60 * time.Second
)

// isListenStream reports whether an event is on the stream of a subscription.
func isListenStream(e *conv.Event) bool {
	return e.Stream != nil && e.Stream.Call != nil && e.Stream.Call.Method == listenMethod
}

// checkIdle reports a subscription on which nothing was sent for a long time: proxies close such
// connections.
func checkIdle(e *conv.Event) {
	since := e.Stream.Last
	if since.IsZero() {
		since = e.Stream.Call.Sent
	}
	if gap := e.Frame.Time.Sub(since); gap > maxIdle {
		e.FindMessage(listenMethod, "nothing for "+gap.String(), "a comment at least every 60 s")
	}
}
