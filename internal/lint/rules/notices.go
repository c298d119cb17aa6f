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
)

var (
	progress   = []string{"notifications/progress"}
	logMessage = []string{"notifications/message"}
	listen     = []string{"subscriptions/listen"}
)

var notices = []Check{
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
		least := *conv.State[string](e.Conversation, "level")
		if isLevelBelow(e.Text("level"), least) {
			e.Find("/level", e.Text("level"), least+" or above")
		}
	}},
	{ID: "L176", Kind: conv.OnNotice, Methods: logMessage, Do: func(e *conv.Event) {
		var known redact.Secrets
		for _, found := range known.Find(e.Raw("data")) {
			e.Find("/data", "a secret ("+string(found.Kind)+") of "+strconv.Itoa(found.To-found.From)+" bytes", "no credentials")
			return
		}
		if e.Frame.Hidden > 0 && len(redact.HiddenIn(string(e.Raw("data")))) > 0 {
			e.Hit(conv.Hit{Severity: conv.Warn, Pointer: "/data", AboutHidden: true,
				Got: "a secret, or a session id, hidden in the recording", Want: "no credentials"})
		}
	}},
	{ID: "L178", Kind: conv.OnNotice, When: isOfSubscription, Do: checkSubscriptionTag},
	{ID: "L178", Kind: conv.OnResult, Methods: listen, Do: checkSubscriptionTag},
	{ID: "L179", Kind: conv.OnNotice, When: isOfSubscription, Do: checkFilter},
	{ID: "L180", Kind: conv.OnNotice, Methods: []string{acknowledged}, When: isOfSubscription, Do: checkAcknowledged},
	{ID: "L181", Kind: conv.OnClose, When: isListenStream, Do: func(e *conv.Event) {
		// The server ended the subscription. Without a result the client cannot tell it from a lost connection.
		f := e.Frame.Close
		if f == nil || f.By == 0 || f.How != "end" || e.Stream.Call.Answers > 0 || e.Stream.Call.CancelledAt > 0 ||
			hasKey(e, "ended", string(e.Stream.Call.ID)) {
			return
		}
		e.Hit(conv.Hit{
			Root: true, Severity: conv.Info, Subject: listen[0], Got: "the end of the stream",
			Want: "the result of the request first",
		})
	}},
	{ID: "L182", Kind: conv.OnNotice, Methods: []string{"notifications/cancelled"}, Do: func(e *conv.Event) {
		if call := e.Conversation.Call(conv.Key(e.Raw("requestId"))); call == nil || call.Method != listen[0] {
			e.Find("/requestId", e.Got("requestId"), "the id of a listen request")
		}
	}},
}

const acknowledged = "notifications/subscriptions/acknowledged"

// activeToken: after a cancellation L024 speaks.
func checkProgressToken(e *conv.Event) {
	raw := e.Raw("progressToken")
	call := progressCall(e)
	switch {
	case call == nil && !e.Opened:
	case call == nil:
		e.Find("/progressToken", "token "+e.Show(raw)+" of no request", "the token of a request")
	case call.Answers > 0 && !hasKey(e, "tasks", call.Token):
		e.Find("/progressToken", "progress after the response", "progress before it")
	}
}

// has reports a key that was put under a name.
func hasKey(e *conv.Event, name, key string) bool {
	_, ok := conv.State[recent.Map[string, bool]](e.Conversation, name).Lookup(key)
	return ok
}

// progressOf is the request whose progress is told: that of the stream first, since
// several clients may use the same tokens.
func progressCall(e *conv.Event) *conv.Call {
	token := conv.Key(e.Raw("progressToken"))
	if s := e.Stream; s != nil && s.Call != nil && s.Call.Token == token {
		return s.Call
	}
	return e.CallOf(token)
}

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

// A pace is how far the progress of a token has come, and how fast.
type progressPace struct {
	last  *big.Float
	start time.Time
	count int
}

func checkProgressIncreases(e *conv.Event) {
	paces := conv.State[recent.Map[*conv.Call, progressPace]](e.Conversation, "progress")
	key := progressCall(e)
	before, _ := paces.Lookup(key)
	now := parseNumber(e.Raw("progress"))
	if now != nil && before.last != nil && now.Cmp(before.last) <= 0 {
		e.Find("/progress", e.Got("progress")+" after "+before.last.String(), "more than "+before.last.String())
	}
	paces.Put(key, progressPace{last: now})
}

// mostASecond is how many progress notifications a second are enough for any bar.
const maxPerSecond = 20

func checkProgressTotal(e *conv.Event) {
	now := parseNumber(e.Raw("progress"))
	total := parseNumber(e.Raw("total"))
	if now != nil && total != nil && now.Cmp(total) > 0 {
		e.Find("/progress", e.Got("progress")+" of "+e.Got("total"), "at most the total")
	}
	paces := conv.State[recent.Map[*conv.Call, progressPace]](e.Conversation, "pace")
	key := progressCall(e)
	p, _ := paces.Lookup(key)
	if e.Frame.Time.Sub(p.start) >= time.Second {
		p = progressPace{start: e.Frame.Time}
	}
	p.count++
	if p.count == maxPerSecond+1 {
		e.Find("", "more than "+strconv.Itoa(maxPerSecond)+" in a second", "at most "+strconv.Itoa(maxPerSecond)+" a second")
	}
	paces.Put(key, p)
}

func isLevelBelow(level, least string) bool {
	at := slices.Index(mcp.LogLevels, level)
	from := slices.Index(mcp.LogLevels, least)
	return at >= 0 && from >= 0 && at < from
}

// logWanted: over stdio a log message names no request; it belongs to any that waits.
func checkLogWanted(e *conv.Event) {
	if e.Stream == nil {
		loudest := *conv.State[string](e.Conversation, "log levels wanted")
		if loudest == "" {
			e.Find("", "a log message, and no request with logLevel", "no log message")
		} else if isLevelBelow(e.Text("level"), loudest) {
			e.Find("/level", e.Text("level"), loudest+" or above")
		}
		return
	}
	call := e.Stream.Call
	least, _ := jsonraw.Text(call.Meta(conv.MetaPrefix + "logLevel"))
	switch {
	case call == nil:
	case call.Method == listen[0]:
		e.Find("", "a log message on a listen stream", "no log message")
	case least == "":
		e.Find("", "a log message, and no logLevel in the request", "no log message")
	case call.Answers > 0:
		e.Find("", "a log message after the response", "log messages before it")
	case isLevelBelow(e.Text("level"), least):
		e.Find("/level", e.Text("level"), least+" or above")
	}
}

// notesLevels remembers the lowest level that a request over stdio has asked for.
var noteLevels = Check{Kind: conv.OnSent, Do: func(e *conv.Event) {
	want, _ := jsonraw.Text(e.Call.Meta(conv.MetaPrefix + "logLevel"))
	least := conv.State[string](e.Conversation, "log levels wanted")
	if want != "" && (*least == "" || isLevelBelow(want, *least)) {
		*least = want
	}
}}

func subscriptionCall(e *conv.Event) *conv.Call {
	if e.Call != nil && e.Call.Method == listen[0] {
		return e.Call
	}
	if e.Stream != nil && e.Stream.Call != nil && e.Stream.Call.Method == listen[0] {
		return e.Stream.Call
	}
	return nil
}

// onListen reports a message of a subscription: on its stream, or over stdio with its id
// or of a kind that only subscriptions have.
func isOfSubscription(e *conv.Event) bool {
	return subscriptionCall(e) != nil || e.Stream == nil && subscriptionMethods[e.Method] && e.Method != "notifications/cancelled"
}

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

// filterKinds are the members of a filter for what a server may send.
var filterKinds = map[string]string{
	"notifications/tools/list_changed":     "toolsListChanged",
	"notifications/prompts/list_changed":   "promptsListChanged",
	"notifications/resources/list_changed": "resourcesListChanged",
	"notifications/resources/updated":      "resourceSubscriptions",
	"notifications/tasks":                  "taskIds",
}

func checkFilter(e *conv.Event) {
	call := subscriptionCall(e)
	if call == nil {
		return
	}
	filter, _ := jsonraw.Object(conv.Inside(call.Params, "notifications"))
	if e.Method == acknowledged {
		honoured, _ := jsonraw.Object(e.Raw("notifications"))
		for _, m := range honoured {
			if string(m.Value) != "false" && !isRequested(filter, m.Name) || !isSubset(m.Value, filter.Value(m.Name)) {
				e.Find(jsonraw.Pointer("/notifications", m.Name), e.Show(m.Value),
					"what was asked for: "+e.Show(filter.Value(m.Name)))
			}
		}
		return
	}
	if kind := filterKinds[e.Method]; kind != "" && !isRequested(filter, kind) {
		e.Hit(conv.Hit{Root: true, Pointer: "/method", Got: e.Method, Want: "a filter with " + kind})
	} else if uri := e.Text("uri"); kind == "resourceSubscriptions" && !coversURI(filter.Words(kind), uri) {
		e.Find("/uri", uri, "a URI of the filter, or below one")
	}
}

func isRequested(filter jsonraw.Members, kind string) bool {
	value := filter.Value(kind)
	return value != nil && string(value) != "false" && string(value) != "null"
}

// subset compares lists of a filter; anything but two lists is a subset.
func isSubset(part, whole []byte) bool {
	if !conv.IsArray(part) || !conv.IsArray(whole) {
		return true
	}
	items, _ := jsonraw.Array(part)
	all := jsonraw.Members{{Name: "all", Value: whole}}.Words("all")
	for _, item := range items {
		if text, _ := jsonraw.Text(item); !all[text] {
			return false
		}
	}
	return true
}

// covers: an update may name a part of the resource that was subscribed to.
func coversURI(uris map[string]bool, uri string) bool {
	for u := range uris {
		if strings.HasPrefix(uri, u) {
			return true
		}
	}
	return false
}

func checkAcknowledged(e *conv.Event) {
	filter, _ := jsonraw.Object(conv.Inside(subscriptionCall(e).Params, "notifications"))
	honoured, _ := jsonraw.Object(e.Raw("notifications"))
	for kind, path := range map[string][]string{
		"toolsListChanged":      {"tools", "listChanged"},
		"promptsListChanged":    {"prompts", "listChanged"},
		"resourcesListChanged":  {"resources", "listChanged"},
		"resourceSubscriptions": {"resources", "subscribe"},
	} {
		if isRequested(filter, kind) && !isRequested(honoured, kind) && e.Server.Declared && e.Server.Has(path...) {
			e.Find("/notifications/"+kind, e.Got("notifications", kind), "what the server declares: "+strings.Join(path, "."))
		}
	}
}

// subscribed reports an open subscription to the changes of a list.
func hasSubscription(e *conv.Event, method string) bool {
	for notification, list := range changedList {
		if list == method {
			return conv.State[subscriptions](e.Conversation, "subscriptions").open[filterKinds[notification]]
		}
	}
	return false
}

// subscriptions are the kinds that some open subscription has acknowledged.
type subscriptions struct{ open map[string]bool }

var noteSubscriptions = Check{Kind: conv.OnNotice, Methods: []string{acknowledged}, Do: func(e *conv.Event) {
	s := conv.State[subscriptions](e.Conversation, "subscriptions")
	if s.open == nil {
		s.open = map[string]bool{}
	}
	honoured, _ := jsonraw.Object(e.Raw("notifications"))
	for _, m := range honoured {
		s.open[m.Name] = string(m.Value) != "false"
	}
}}

var noteEnds = Check{Kind: conv.OnNotice, Methods: []string{"notifications/cancelled"}, Do: func(e *conv.Event) {
	conv.State[recent.Map[string, bool]](e.Conversation, "ended").Put(string(e.Raw("requestId")), true)
}}

// notesTasks: the token of a task stays active after its first response.
var noteTasks = Check{Kind: conv.OnResult, Methods: []string{"tools/call"}, Do: func(e *conv.Event) {
	if conv.IsObject(e.Raw("task")) && e.Call.Token != "" {
		conv.State[recent.Map[string, bool]](e.Conversation, "tasks").Put(e.Call.Token, true)
	}
}}
