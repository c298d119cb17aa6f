package rules

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/lint/conv"
	"mcpc/internal/mcp"
)

var listMethods = append([]string{"tasks/list"}, mcp.ServerLists...)

var listChecks = []Check{
	{ID: "L146", Kind: conv.OnResult, Methods: listMethods, Do: checkPages},
	{ID: "L147", Kind: conv.OnResult, Methods: listMethods, Do: func(e *conv.Event) {
		if string(e.Raw("nextCursor")) == "null" {
			e.Find("/nextCursor", "null", "no nextCursor on the last page")
		}
	}},
	{ID: "L148", Kind: conv.OnResult, Methods: mcp.CacheableMethods, When: isFinal, Do: func(e *conv.Event) {
		if ttl := e.Raw("ttlMs"); conv.TypeOf(ttl) != "integer" || ttl[0] == '-' {
			e.Find("/ttlMs", e.Show(ttl), "an integer of at least 0")
		}
		if scope := e.Text("cacheScope"); scope != "public" && scope != "private" {
			e.Find("/cacheScope", e.Got("cacheScope"), `"public" or "private"`)
		}
	}},
	{
		ID:      "L149",
		Kind:    conv.OnResult,
		Methods: listMethods,
		When:    func(e *conv.Event) bool { return e.Raw("cacheScope") != nil },
		Do: func(e *conv.Event) {
			page := pageOf(e)
			if before := page.previous; before != nil && before.scope != page.scope {
				e.Find("/cacheScope", page.scope+" after "+before.scope, before.scope)
			}
		},
	},
	{
		ID:   "L151",
		Kind: conv.OnResult,
		When: func(e *conv.Event) bool { return e.Raw("ttlMs") != nil || e.Raw("cacheScope") != nil },
		Do:   checkCacheHints,
	},
	{ID: "L152", Kind: conv.OnResult, Methods: listMethods, Do: checkChangedWithinTTL},
	{
		ID:   "L152",
		Kind: conv.OnNotice,
		When: func(e *conv.Event) bool { return changedList[e.Method] != "" },
		Do: func(e *conv.Event) {
			conv.State[fetchedList](e.Conversation, "fetched "+changedList[e.Method]).announced = true
		},
	},
	{ID: "client-cursor", Kind: conv.OnResult, Methods: listMethods, Do: recordCursor},
	{ID: "client-cursor", Kind: conv.OnSent, Methods: listMethods, Do: func(e *conv.Event) {
		if cursor := conv.Inside(e.Value, "cursor"); cursor != nil {
			delete(*conv.State[unusedCursors](e.Conversation, "cursors"), e.Method+string(cursor))
		}
	}},
	{ID: "client-cursor", Kind: conv.OnEnd, NeedsEnd: true, Do: func(e *conv.Event) {
		unused := *conv.State[unusedCursors](e.Conversation, "cursors")
		for _, key := range slices.Sorted(maps.Keys(unused)) {
			c := unused[key]
			e.Hit(conv.Hit{
				Root: true, Subject: c.method, Pointer: "/result/nextCursor", Spot: c.spot,
				Got: "no request for the page at " + c.cursor, Want: c.method + " with this cursor",
			})
		}
		clear(unused)
	}},
	{ID: "client-list-changed", Kind: conv.OnNotice, When: func(e *conv.Event) bool {
		// A list_changed that the server declares.
		list := changedList[e.Method]
		capability, _, _ := strings.Cut(list, "/")
		return list != "" && (!e.Server.Declared || e.Server.Has(capability, "listChanged"))
	}, Do: func(e *conv.Event) {
		*conv.State[conv.Spot](e.Conversation, "changed "+changedList[e.Method]) = e.Spot()
	}},
	{ID: "client-list-changed", Kind: conv.OnSent, Methods: listMethods, Do: func(e *conv.Event) {
		*conv.State[conv.Spot](e.Conversation, "changed "+e.Method) = conv.Spot{}
	}},
	{
		ID: "client-list-changed", Kind: conv.OnResult, Methods: listMethods,
		Do: func(e *conv.Event) { // the request was sent before the change
			*conv.State[conv.Spot](e.Conversation, "changed "+e.Method) = conv.Spot{}
		},
	},
	{ID: "client-list-changed", Kind: conv.OnEnd, NeedsEnd: true, Do: func(e *conv.Event) {
		for _, method := range listMethods {
			if spot := *conv.State[conv.Spot](e.Conversation, "changed "+method); spot.Seq > 0 {
				e.Hit(conv.Hit{
					Root: true, Subject: method, Pointer: "/method", Spot: spot,
					Got: "no " + method + " after it", Want: method,
				})
			}
		}
	}},
}

// changedList maps a list_changed notification to the method of the list.
var changedList = map[string]string{
	"notifications/tools/list_changed":     "tools/list",
	"notifications/prompts/list_changed":   "prompts/list",
	"notifications/resources/list_changed": "resources/list",
}

// checkPages reports items that are on several pages of a list, and cursors that lead in a circle.
func checkPages(e *conv.Event) {
	page := pageOf(e)
	member, name := conv.ListOf(e.Method)
	items, _ := e.Message.ResultItems(member)
	for i, item := range items {
		key := conv.TextInside(item, name)
		if _, same := page.findEarlier(key, item); same {
			e.Hit(conv.Hit{
				Subject: e.Method + " " + key, Item: "/" + member + "/" + strconv.Itoa(i),
				Got: key + " on two pages", Want: "each item once",
			})
		}
	}
	if page.repeatsCursor() {
		e.Find("/nextCursor", e.Got("nextCursor")+" again", "a cursor that was not given before, or none")
	}
}

// maxTTL is the longest ttlMs that is plausible.
const maxTTL = 366 * 24 * time.Hour

// checkCacheHints reports caching hints that are not plausible.
func checkCacheHints(e *conv.Event) {
	if requiresInput(e) {
		e.Find("/ttlMs", "caching hints on input_required", "none")
		return
	}
	ttl, ok := new(big.Int).SetString(string(e.Raw("ttlMs")), 10)
	if !ok {
		return
	}
	if ttl.Cmp(big.NewInt(maxTTL.Milliseconds())) > 0 {
		e.Find("/ttlMs", ttl.String(), "at most a year")
		return
	}
	capability, _, _ := strings.Cut(e.Method, "/")
	announcesChanges := !e.Server.Declared || e.Server.Has(capability, "listChanged")
	// With neither a time nor an announcement a client must read the list before each use.
	if ttl.Sign() == 0 && slices.Contains(listMethods, e.Method) && !announcesChanges {
		e.Find("/ttlMs", "0, and no listChanged", "a time for which the list is valid")
	}
}

// fetchedList is the state of the first page of a list: its checksum at the last fetch, the end of
// its ttlMs, and whether a list_changed followed.
type fetchedList struct {
	checksum   uint64
	validUntil time.Time
	announced  bool
}

// checkChangedWithinTTL reports a list that changed within its ttlMs although an open subscription
// got no list_changed.
func checkChangedWithinTTL(e *conv.Event) {
	user := ""
	if e.Stream != nil {
		user = e.Stream.Request.Field("Authorization") // lists may differ by user
	}
	last := conv.State[fetchedList](e.Conversation, "fetched "+e.Method+user)
	member, _ := conv.ListOf(e.Method)
	if conv.Inside(e.Call.Params, "cursor") != nil || member == "" {
		return // only first pages are compared
	}
	sum := conv.Sum("", e.Raw(member))
	hasChanged := last.checksum != 0 && last.checksum != sum && e.Frame.Time.Before(last.validUntil)
	forAllUsers := conv.State[fetchedList](e.Conversation, "fetched "+e.Method) // a list_changed names no user
	if hasChanged && !forAllUsers.announced && hasSubscription(e, e.Method) {
		e.Find("/"+member, "a changed list within its ttlMs", "list_changed first")
	}
	ttl, _ := strconv.ParseInt(string(e.Raw("ttlMs")), 10, 64)
	forAllUsers.announced = false
	*last = fetchedList{
		checksum:   sum,
		validUntil: e.Frame.Time.Add(time.Duration(min(ttl, maxTTL.Milliseconds())) * time.Millisecond),
	}
}

// unusedCursors are the cursors whose page no client has requested yet, by method and cursor.
type unusedCursors map[string]unusedCursor

type unusedCursor struct {
	method, cursor string
	spot           conv.Spot
}

const maxCursors = 1000

// recordCursor records the cursor of the next page until the client requests that page.
func recordCursor(e *conv.Event) {
	unused := conv.State[unusedCursors](e.Conversation, "cursors")
	if *unused == nil {
		*unused = unusedCursors{}
	}
	if cursor := e.Raw("nextCursor"); conv.TypeOf(cursor) == "string" && len(*unused) < maxCursors {
		(*unused)[e.Method+string(cursor)] = unusedCursor{e.Method, e.Show(cursor), e.Spot()}
	}
}
