package rules

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/lint/check"
	"mcpc/internal/lint/conv"
)

var (
	listMethods = []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list", "tasks/list"}
	cacheable   = []string{"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"}
)

var lists = []check.Check{
	{ID: "L146", Kind: conv.OnResult, Methods: listMethods, Do: pages},
	{ID: "L147", Kind: conv.OnResult, Methods: listMethods, Do: func(e *conv.Event) {
		if string(e.Raw("nextCursor")) == "null" {
			e.Find("/nextCursor", "null", "no nextCursor on the last page")
		}
	}},
	{ID: "L148", Kind: conv.OnResult, Methods: cacheable, When: check.Final, Do: cacheMembers},
	{ID: "L149", Kind: conv.OnResult, Methods: listMethods, When: func(e *conv.Event) bool { return e.Raw("cacheScope") != nil }, Do: sameScope},
	{ID: "L151", Kind: conv.OnResult, When: func(e *conv.Event) bool { return e.Raw("ttlMs") != nil || e.Raw("cacheScope") != nil }, Do: plausibleHints},
	{ID: "L152", Kind: conv.OnResult, Methods: listMethods, Do: changedInside},
	{ID: "L152", Kind: conv.OnNotice, When: func(e *conv.Event) bool { return listOf[e.Method] != "" }, Do: func(e *conv.Event) {
		conv.State[fetched](e.Conversation, "fetched "+listOf[e.Method]).told = true
	}},
	{ID: "client-cursor", Kind: conv.OnResult, Methods: listMethods, Do: cursorGiven},
	{ID: "client-cursor", Kind: conv.OnEnd, Do: cursorLeft},
	{ID: "client-list-changed", Kind: conv.OnNotice, When: announced, Do: func(e *conv.Event) {
		*conv.State[uint64](e.Conversation, "changed "+listOf[e.Method]) = e.Frame.Seq
	}},
	{ID: "client-list-changed", Kind: conv.OnSent, Methods: listMethods, Do: func(e *conv.Event) {
		*conv.State[uint64](e.Conversation, "changed "+e.Method) = 0
	}},
	{ID: "client-list-changed", Kind: conv.OnResult, Methods: listMethods, Do: func(e *conv.Event) { // it was on its way
		*conv.State[uint64](e.Conversation, "changed "+e.Method) = 0
	}},
	{ID: "client-list-changed", Kind: conv.OnEnd, Do: notHeeded},
}

// listOf is the list that a notification says has changed.
var listOf = map[string]string{"notifications/tools/list_changed": "tools/list", "notifications/prompts/list_changed": "prompts/list",
	"notifications/resources/list_changed": "resources/list"}

// announced reports a change of a list whose changes the server declares.
func announced(e *conv.Event) bool {
	list := listOf[e.Method]
	capability, _, _ := strings.Cut(list, "/")
	return list != "" && (!e.Server.Declared || e.Server.Has(capability, "listChanged"))
}

// A listing is a list as far as its pages have come.
type listing struct {
	cursors map[string]bool
	items   map[string]string
	scope   string
}

func listingOf(e *conv.Event, use string) *listing {
	l := conv.State[listing](e.Conversation, use+" "+e.Method)
	if !check.Continues(e) || l.items == nil {
		*l = listing{cursors: map[string]bool{}, items: map[string]string{}}
	}
	return l
}

func pages(e *conv.Event) {
	l := listingOf(e, "pages")
	member, name := conv.ListOf(e.Method)
	items, _ := e.Message.ResultItems(member)
	page := map[string]string{}
	for i, item := range items {
		key := conv.TextInside(item, name)
		if before, again := l.items[key]; again && before == string(item) {
			e.Hit(conv.Hit{Subject: e.Method + " " + key, Item: "/" + member + "/" + strconv.Itoa(i), Got: key + " on two pages", Want: "each item once"})
		}
		page[key] = string(item)
	}
	for key, item := range page {
		if len(l.items) < check.MostNames {
			l.items[key] = item
		}
	}
	cursor := e.Raw("nextCursor")
	if cursor == nil || string(cursor) == "null" {
		return
	}
	if l.cursors[string(cursor)] || string(cursor) == string(conv.Inside(e.Call.Params, "cursor")) {
		e.Find("/nextCursor", conv.Show(cursor)+" again", "a cursor that was not given before, or none")
	}
	if len(l.cursors) < check.MostNames {
		l.cursors[string(cursor)] = true
	}
}

func cacheMembers(e *conv.Event) {
	if ttl := e.Raw("ttlMs"); conv.TypeOf(ttl) != "integer" || ttl[0] == '-' {
		e.Find("/ttlMs", conv.Show(ttl), "an integer of at least 0")
	}
	if scope := e.Text("cacheScope"); scope != "public" && scope != "private" {
		e.Find("/cacheScope", e.Got("cacheScope"), `"public" or "private"`)
	}
}

func sameScope(e *conv.Event) {
	l := listingOf(e, "scope")
	scope := e.Text("cacheScope")
	if l.scope != "" && l.scope != scope {
		e.Find("/cacheScope", scope+" after "+l.scope, l.scope)
	}
	l.scope = scope
}

const longestTTL = 366 * 24 * time.Hour

func plausibleHints(e *conv.Event) {
	if e.Text("resultType") == "input_required" {
		e.Find("/ttlMs", "caching hints on input_required", "none")
		return
	}
	if ttl, ok := new(big.Int).SetString(string(e.Raw("ttlMs")), 10); ok {
		capability, _, _ := strings.Cut(e.Method, "/")
		switch {
		case ttl.Cmp(big.NewInt(longestTTL.Milliseconds())) > 0:
			e.Find("/ttlMs", ttl.String(), "at most a year")
		case ttl.Sign() == 0 && slices.Contains(listMethods, e.Method) && e.Server.Declared && !e.Server.Has(capability, "listChanged"):
			e.Find("/ttlMs", "0, and no listChanged", "a time for which the list holds")
		}
	}
}

// fetched is the first page of a list as it came last.
type fetched struct {
	raw   string
	until time.Time
	told  bool
}

// changedInside compares lists while a subscription is open that would have told.
func changedInside(e *conv.Event) {
	last := conv.State[fetched](e.Conversation, "fetched "+e.Method)
	member, _ := conv.ListOf(e.Method)
	if check.Continues(e) || member == "" {
		return
	}
	now := string(e.Raw(member))
	if last.raw != "" && last.raw != now && e.Frame.Time.Before(last.until) && !last.told && subscribed(e, e.Method) {
		e.Find("/"+member, "a changed list within its ttlMs", "list_changed first")
	}
	ttl, _ := strconv.ParseInt(string(e.Raw("ttlMs")), 10, 64)
	*last = fetched{raw: now, until: e.Frame.Time.Add(time.Duration(min(ttl, longestTTL.Milliseconds())) * time.Millisecond)}
}

// A cursorSeen is the last cursor that the server gave, and where.
type cursorSeen struct {
	seq    uint64
	cursor string
}

func cursorGiven(e *conv.Event) {
	last := conv.State[map[string]cursorSeen](e.Conversation, "cursors given")
	if *last == nil {
		*last = map[string]cursorSeen{}
	}
	delete(*last, e.Method)
	if cursor := e.Raw("nextCursor"); conv.TypeOf(cursor) == "string" {
		(*last)[e.Method] = cursorSeen{e.Frame.Seq, conv.Show(cursor)}
	}
}

func cursorLeft(e *conv.Event) {
	for _, method := range listMethods {
		if c, ok := (*conv.State[map[string]cursorSeen](e.Conversation, "cursors given"))[method]; ok {
			e.Hit(conv.Hit{Root: true, Subject: method, Pointer: "/result/nextCursor", Seq: c.seq, Got: "no request for the page at " + c.cursor, Want: method + " with this cursor"})
		}
	}
}

func notHeeded(e *conv.Event) {
	for _, method := range listMethods {
		if seq := *conv.State[uint64](e.Conversation, "changed "+method); seq > 0 {
			e.Hit(conv.Hit{Root: true, Subject: method, Pointer: "/method", Seq: seq, Got: "no " + method + " after it", Want: method})
		}
	}
}
