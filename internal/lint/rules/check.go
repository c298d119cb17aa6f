package rules

import (
	"slices"

	"mcpc/internal/lint/conv"
	"mcpc/internal/wire"
)

// A Check applies a rule to events of one kind.
type Check struct {
	// ID is the id of the rule; "" if the check only records state, in every revision.
	ID   string
	Kind conv.Kind
	// Methods are the methods of the events; nil means all.
	Methods []string
	// When reports whether the rule applies to the event. It may be nil.
	When func(*conv.Event) bool
	Do   func(*conv.Event)
	// MissingTool names what the caller would have to provide. Most checks have "".
	MissingTool string
	// SkipsReported is set on a general check: it does not repeat what other checks reported.
	SkipsReported bool
	// NeedsEnd is set on a check of missing messages: it needs the end of the conversation.
	NeedsEnd bool
}

// Tools are functions of other packages that checks need. Each may be nil.
type Tools struct {
	// Shape compares a message with the schema of a revision. It skips the entries of lists that
	// skip accepts (package shape, CheckBut).
	Shape func(skip func(entry []byte) bool, revision, method string, m *wire.Message) []wire.Finding
	// Compile compiles a JSON Schema. The findings are warnings about what it does not check.
	Compile func(schema []byte) (Schema, []wire.Finding, *SchemaFault)
}

// A Schema checks values. An error means that it cannot decide.
type Schema interface {
	Check(value []byte) ([]wire.Finding, error)
}

// A SchemaFault says why a schema cannot be used: a stable reason ("not_a_schema",
// "external_ref"), a JSON pointer into the schema, and a sentence.
type SchemaFault struct{ Reason, Where, Text string }

// isOneOf reports whether text is in all.
func isOneOf(text string, all ...string) bool { return slices.Contains(all, text) }

// isAlnum reports whether c is an ASCII letter or digit.
func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// isFinal reports whether a result is neither a request for input nor a task.
func isFinal(e *conv.Event) bool {
	return !isOneOf(e.Text("resultType"), "input_required", "task") && !conv.IsObject(e.Raw("task"))
}

// A listPage is a recorded page of a list, with the pages before it. Several clients may read the
// same list at the same time: the cursor distinguishes their pages.
type listPage struct {
	previous *listPage
	items    map[string]uint64 // checksums, by the name or URI of the item
	cursor   string
	number   int // counts from 1
	// bytes is a sum over this page and the pages before it; the check cost-list adds to it.
	bytes int
	scope string // the cacheScope
}

// findEarlier looks for an item in the pages before this one. same reports whether it has not
// changed.
func (p *listPage) findEarlier(key string, item []byte) (found, same bool) {
	for earlier := p.previous; earlier != nil; earlier = earlier.previous {
		if sum, ok := earlier.items[key]; ok {
			return true, sum == conv.Sum("", item)
		}
	}
	return false, false
}

// repeatsCursor reports whether a page before this one had the same nextCursor.
func (p *listPage) repeatsCursor() bool {
	if p.cursor == "" {
		return false
	}
	for earlier := p.previous; earlier != nil; earlier = earlier.previous {
		if earlier.cursor == p.cursor {
			return true
		}
	}
	return false
}

// maxPages bounds the pages of a list that are compared.
const maxPages = 500

// pageOf returns the recorded page of a result of a list. All checks of the result share it. The cursor of
// the request leads to the page before it; a request without a cursor begins the list again.
func pageOf(e *conv.Event) *listPage {
	type pageState struct {
		spot    conv.Spot
		current *listPage
		// byCursor has the page that ended with a cursor, by method and cursor.
		byCursor map[string]*listPage
	}
	state := conv.State[pageState](e.Conversation, "pages")
	if state.current != nil && state.spot == e.Spot() {
		return state.current
	}
	page := &listPage{number: 1, items: map[string]uint64{}, scope: e.Text("cacheScope")}
	if cursor := conv.Inside(e.Call.Params, "cursor"); cursor != nil {
		page.previous = state.byCursor[e.Method+string(cursor)]
		if page.previous != nil {
			page.number = page.previous.number + 1
			page.bytes = page.previous.bytes
		}
	}
	member, name := conv.ListOf(e.Method)
	items, _ := e.Message.ResultItems(member)
	for _, item := range items[:min(len(items), maxNames)] {
		page.items[conv.TextInside(item, name)] = conv.Sum("", item)
	}
	if cursor := e.Raw("nextCursor"); cursor != nil && string(cursor) != "null" && page.number < maxPages {
		page.cursor = string(cursor)
		if state.byCursor == nil || len(state.byCursor) >= maxPages {
			state.byCursor = map[string]*listPage{} // bounds the memory: the next pages look like first ones
		}
		state.byCursor[e.Method+page.cursor] = page
	}
	state.spot = e.Spot()
	state.current = page
	return page
}

// maxNames bounds the names of a list that are compared.
const maxNames = 10_000
