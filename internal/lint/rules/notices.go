package rules

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/mcp"
	"mcpc/internal/recent"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

var (
	progress   = []string{"notifications/progress"}
	logMessage = []string{"notifications/message"}
	listen     = []string{listenMethod}
)

var notificationChecks = []Check{
	{ID: "L169", Kind: conv.OnNotice, Methods: progress, Do: checkProgressToken},
	{ID: "L170", Kind: conv.OnNotice, Methods: progress, Do: checkProgressIncreases},
	{ID: "L171", Kind: conv.OnNotice, Methods: progress, Do: checkProgressTotal},
	{ID: "L172", Kind: conv.OnNotice, Methods: progress, Do: func(e *conv.Event) {
		if e.Raw("message") != nil {
			e.Find("/message", e.Got("message"), "no message")
		}
	}},
	{ID: "L173", Kind: conv.OnNotice, Methods: logMessage, Do: checkLogWanted},
	{ID: "L174", Kind: conv.OnSent, Methods: []string{"logging/setLevel"}, Do: func(e *conv.Event) {
		*conv.State[string](e.Conversation, "level") = conv.TextInside(e.Value, "level")
	}},
	{ID: "L174", Kind: conv.OnNotice, Methods: logMessage, Do: func(e *conv.Event) {
		lowest := *conv.State[string](e.Conversation, "level")
		if isLevelBelow(e.Text("level"), lowest) {
			e.Find("/level", e.Text("level"), lowest+" or above")
		}
	}},
	{ID: "L176", Kind: conv.OnNotice, Methods: logMessage, Do: func(e *conv.Event) {
		var known redact.Secrets
		for _, found := range known.Find(e.Raw("data")) {
			e.Find("/data", "a secret ("+string(found.Kind)+") of "+strconv.Itoa(found.To-found.From)+" bytes", "no credentials")
			return
		}
		if e.Frame.Hidden > 0 && len(redact.HiddenIn(string(e.Raw("data")))) > 0 {
			e.Hit(conv.Hit{
				Severity: conv.Warn, Pointer: "/data", AboutHidden: true,
				Got: "a secret, or a session id, hidden in the recording", Want: "no credentials",
			})
		}
	}},
	{ID: "L178", Kind: conv.OnNotice, When: isOfSubscription, Do: checkSubscriptionTag},
	{ID: "L178", Kind: conv.OnResult, Methods: listen, Do: checkSubscriptionTag},
	{ID: "L179", Kind: conv.OnNotice, When: isOfSubscription, Do: checkFilter},
	{ID: "L180", Kind: conv.OnNotice, Methods: []string{acknowledged}, When: isOfSubscription, Do: checkAcknowledged},
	{ID: "L181", Kind: conv.OnClose, When: isListenStream, Do: func(e *conv.Event) {
		// Without a result the client cannot tell the end of a subscription from a lost connection.
		end := e.Frame.Close
		call := e.Stream.Call
		isServerEnd := end != nil && end.By == wire.Received && end.How == "end"
		isCancelled := call.CancelledAt > 0 || hasKey(e, "ended", string(call.ID)) // by the client or the server
		if !isServerEnd || isCancelled || call.Answers > 0 {
			return
		}
		e.Hit(conv.Hit{
			Root: true, Severity: conv.Info, Subject: listenMethod, Got: "the end of the stream",
			Want: "the result of the request first",
		})
	}},
	{ID: "L182", Kind: conv.OnNotice, Methods: []string{"notifications/cancelled"}, Do: func(e *conv.Event) {
		if call := e.Conversation.CallWithID(conv.Key(e.Raw("requestId"))); call == nil || call.Method != listenMethod {
			e.Find("/requestId", e.Got("requestId"), "the id of a listen request")
		}
	}},
}

// listenMethod opens a subscription.
const listenMethod = "subscriptions/listen"

const acknowledged = "notifications/subscriptions/acknowledged"

// checkProgressToken reports progress of no open request. L024 judges progress after a
// cancellation.
func checkProgressToken(e *conv.Event) {
	raw := e.Raw("progressToken")
	call := progressCall(e)
	if call == nil {
		if e.Opened {
			e.Find("/progressToken", "token "+e.Show(raw)+" of no request", "the token of a request")
		}
		return
	}
	if call.Answers > 0 && !hasKey(e, "tasks", call.Token) {
		e.Find("/progressToken", "progress after the response", "progress before it")
	}
}

// hasKey reports whether the state of this name has a key.
func hasKey(e *conv.Event, name, key string) bool {
	_, ok := conv.State[recent.Map[string, bool]](e.Conversation, name).Lookup(key)
	return ok
}

// progressCall returns the request that a progress notification belongs to, or nil. It prefers the
// request of the stream, because several clients may use the same tokens.
func progressCall(e *conv.Event) *conv.Call {
	token := conv.Key(e.Raw("progressToken"))
	if s := e.Stream; s != nil && s.Call != nil && s.Call.Token == token {
		return s.Call
	}
	return e.CallWithToken(token)
}

// parseNumber returns the value of a JSON number, or nil.
func parseNumber(raw []byte) *big.Float {
	if !jsonraw.IsNumber(raw) {
		return nil
	}
	f, _, err := big.ParseFloat(jsonraw.Excerpt(raw, 64), 10, 64, big.ToNearestEven)
	if err != nil {
		return nil
	}
	return f
}

// checkProgressIncreases reports progress that is not more than the progress before it.
func checkProgressIncreases(e *conv.Event) {
	latest := conv.State[recent.Map[*conv.Call, *big.Float]](e.Conversation, "progress")
	call := progressCall(e)
	previous, _ := latest.Lookup(call)
	progress := parseNumber(e.Raw("progress"))
	if progress != nil && previous != nil && progress.Cmp(previous) <= 0 {
		e.Find("/progress", e.Got("progress")+" after "+previous.String(), "more than "+previous.String())
	}
	latest.Put(call, progress)
}

// A progressPace is the number of progress notifications of a request in the second from start.
type progressPace struct {
	start time.Time
	count int
}

// maxPerSecond is the number of progress notifications a second that is enough for any progress
// bar.
const maxPerSecond = 20

// checkProgressTotal reports progress beyond its total, and too many notifications in a second.
func checkProgressTotal(e *conv.Event) {
	progress := parseNumber(e.Raw("progress"))
	total := parseNumber(e.Raw("total"))
	if progress != nil && total != nil && progress.Cmp(total) > 0 {
		e.Find("/progress", e.Got("progress")+" of "+e.Got("total"), "at most the total")
	}
	paces := conv.State[recent.Map[*conv.Call, progressPace]](e.Conversation, "pace")
	call := progressCall(e)
	pace, _ := paces.Lookup(call)
	if e.Frame.Time.Sub(pace.start) >= time.Second {
		pace = progressPace{start: e.Frame.Time}
	}
	pace.count++
	if pace.count == maxPerSecond+1 { // once a second
		e.Find("", "more than "+strconv.Itoa(maxPerSecond)+" in a second", "at most "+strconv.Itoa(maxPerSecond)+" a second")
	}
	paces.Put(call, pace)
}

// isLevelBelow reports whether a log level is below lowest. It reports false if a level is unknown.
func isLevelBelow(level, lowest string) bool {
	index := slices.Index(mcp.LogLevels, level)
	lowestIndex := slices.Index(mcp.LogLevels, lowest)
	isKnown := index >= 0 && lowestIndex >= 0
	return isKnown && index < lowestIndex
}

// checkLogWanted reports a log message that no request asked for. Over stdio a log message names no
// request: it may belong to any request so far.
func checkLogWanted(e *conv.Event) {
	if e.Stream == nil {
		lowest := *conv.State[string](e.Conversation, "log levels wanted")
		if lowest == "" {
			e.Find("", "a log message, and no request with logLevel", "no log message")
		} else if isLevelBelow(e.Text("level"), lowest) {
			e.Find("/level", e.Text("level"), lowest+" or above")
		}
		return
	}
	call := e.Stream.Call
	if call == nil {
		return
	}
	lowest, _ := jsonraw.Text(call.Meta(conv.MetaPrefix + "logLevel"))
	switch {
	case call.Method == listenMethod:
		e.Find("", "a log message on a listen stream", "no log message")
	case lowest == "":
		e.Find("", "a log message, and no logLevel in the request", "no log message")
	case call.Answers > 0:
		e.Find("", "a log message after the response", "log messages before it")
	case isLevelBelow(e.Text("level"), lowest):
		e.Find("/level", e.Text("level"), lowest+" or above")
	}
}

// recordLogLevels records the lowest log level that a request over stdio has asked for.
var recordLogLevels = Check{Kind: conv.OnSent, Do: func(e *conv.Event) {
	level, _ := jsonraw.Text(e.Call.Meta(conv.MetaPrefix + "logLevel"))
	lowest := conv.State[string](e.Conversation, "log levels wanted")
	if level != "" && (*lowest == "" || isLevelBelow(level, *lowest)) {
		*lowest = level
	}
}}

// subscriptionCall returns the listen request that an event belongs to, or nil.
func subscriptionCall(e *conv.Event) *conv.Call {
	if e.Call != nil && e.Call.Method == listenMethod {
		return e.Call
	}
	if e.Stream != nil && e.Stream.Call != nil && e.Stream.Call.Method == listenMethod {
		return e.Stream.Call
	}
	return nil
}

// isOfSubscription reports whether a message belongs to a subscription: on its stream, or over
// stdio by its id or by a method that only subscriptions carry.
func isOfSubscription(e *conv.Event) bool {
	if subscriptionCall(e) != nil {
		return true
	}
	return e.Stream == nil && subscriptionMethods[e.Method] && e.Method != "notifications/cancelled"
}

// checkSubscriptionTag reports a message of a subscription without the id of its listen request.
func checkSubscriptionTag(e *conv.Event) {
	id := e.Raw("_meta", conv.MetaPrefix+"subscriptionId")
	call := subscriptionCall(e)
	want := "the id of the listen request"
	if call != nil {
		want = string(call.ID)
	}
	if id == nil || call == nil || conv.Key(id) != conv.Key(call.ID) {
		e.Find("/_meta/io.modelcontextprotocol~1subscriptionId", e.Show(id), want)
	}
}

// filterKinds maps notifications to the member of a filter that asks for them.
var filterKinds = map[string]string{
	"notifications/tools/list_changed":     "toolsListChanged",
	"notifications/prompts/list_changed":   "promptsListChanged",
	"notifications/resources/list_changed": "resourcesListChanged",
	"notifications/resources/updated":      "resourceSubscriptions",
	"notifications/tasks":                  "taskIds",
}

// checkFilter reports a message of a subscription that its filter did not ask for.
func checkFilter(e *conv.Event) {
	call := subscriptionCall(e)
	if call == nil {
		return
	}
	filter, _ := jsonraw.Object(conv.Inside(call.Params, "notifications"))
	if e.Method == acknowledged {
		checkGranted(e, filter)
		return
	}
	kind := filterKinds[e.Method]
	if kind != "" && !isRequested(filter, kind) {
		e.Hit(conv.Hit{Root: true, Pointer: "/method", Got: e.Method, Want: "a filter with " + kind})
		return
	}
	if uri := e.Text("uri"); kind == "resourceSubscriptions" && !coversURI(filter.Words(kind), uri) {
		e.Find("/uri", uri, "a URI of the filter, or below one")
	}
}

// checkGranted reports an acknowledgement that grants more than the filter asked for.
func checkGranted(e *conv.Event, filter jsonraw.Members) {
	granted, _ := jsonraw.Object(e.Raw("notifications"))
	for _, m := range granted {
		requested := filter.Value(m.Name)
		isUnrequested := string(m.Value) != "false" && !isRequested(filter, m.Name)
		if isUnrequested || !isSubset(m.Value, requested) {
			e.Find(jsonraw.Pointer("/notifications", m.Name), e.Show(m.Value), "what was asked for: "+e.Show(requested))
		}
	}
}

// isRequested reports whether a filter asks for a kind of notification.
func isRequested(filter jsonraw.Members, kind string) bool {
	value := filter.Value(kind)
	return value != nil && string(value) != "false" && string(value) != "null"
}

// isSubset reports whether the strings of subset are all in set. It is true if either is not a list.
func isSubset(subset, set []byte) bool {
	if !conv.IsArray(subset) || !conv.IsArray(set) {
		return true
	}
	items, _ := jsonraw.Array(subset)
	words := jsonraw.Members{{Name: "set", Value: set}}.Words("set")
	for _, item := range items {
		if text, _ := jsonraw.Text(item); !words[text] {
			return false
		}
	}
	return true
}

// coversURI reports whether uri begins with an element of uris: an update may name a part of the
// resource.
func coversURI(uris map[string]bool, uri string) bool {
	for prefix := range uris {
		if strings.HasPrefix(uri, prefix) {
			return true
		}
	}
	return false
}

// checkAcknowledged reports kinds of the filter that the server declares but did not grant.
func checkAcknowledged(e *conv.Event) {
	filter, _ := jsonraw.Object(conv.Inside(subscriptionCall(e).Params, "notifications"))
	granted, _ := jsonraw.Object(e.Raw("notifications"))
	for kind, path := range map[string][]string{
		"toolsListChanged":      {"tools", "listChanged"},
		"promptsListChanged":    {"prompts", "listChanged"},
		"resourcesListChanged":  {"resources", "listChanged"},
		"resourceSubscriptions": {"resources", "subscribe"},
	} {
		isDenied := isRequested(filter, kind) && !isRequested(granted, kind)
		if isDenied && e.Server.Declared && e.Server.Has(path...) {
			e.Find("/notifications/"+kind, e.Got("notifications", kind), "what the server declares: "+strings.Join(path, "."))
		}
	}
}

// hasSubscription reports whether a subscription to the changes of a list is open.
func hasSubscription(e *conv.Event, method string) bool {
	for notification, list := range changedList {
		if list == method {
			return conv.State[subscriptions](e.Conversation, "subscriptions").granted[filterKinds[notification]]
		}
	}
	return false
}

// subscriptions has the filter kinds that the server granted to any subscription.
type subscriptions struct{ granted map[string]bool }

// recordSubscriptions records the kinds of notifications that the server grants.
var recordSubscriptions = Check{Kind: conv.OnNotice, Methods: []string{acknowledged}, Do: func(e *conv.Event) {
	s := conv.State[subscriptions](e.Conversation, "subscriptions")
	if s.granted == nil {
		s.granted = map[string]bool{}
	}
	granted, _ := jsonraw.Object(e.Raw("notifications"))
	for _, m := range granted {
		s.granted[m.Name] = string(m.Value) != "false"
	}
}}

// recordCancelledIDs records the ids of the requests that the server cancelled.
var recordCancelledIDs = Check{
	Kind: conv.OnNotice, Methods: []string{"notifications/cancelled"},
	Do: func(e *conv.Event) {
		conv.State[recent.Map[string, bool]](e.Conversation, "ended").Put(string(e.Raw("requestId")), true)
	},
}

// recordTaskTokens records the progress tokens of tasks, which stay active after the first response.
var recordTaskTokens = Check{Kind: conv.OnResult, Methods: []string{"tools/call"}, Do: func(e *conv.Event) {
	if conv.IsObject(e.Raw("task")) && e.Call.Token != "" {
		conv.State[recent.Map[string, bool]](e.Conversation, "tasks").Put(e.Call.Token, true)
	}
}}
