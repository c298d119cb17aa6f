package rules

import (
	"slices"

	"mcpc/internal/lint/conv"
	"mcpc/internal/wire"
)

// A Check applies a rule to events of one kind.
type Check struct {
	// ID is that of the rule; "" for what only remembers, for any revision.
	ID   string
	Kind conv.Kind
	// Methods are those of the events; nil means all.
	Methods []string
	// When is false for events that the rule says nothing about; it may be nil.
	When func(*conv.Event) bool
	Do   func(*conv.Event)
	// Lacks says what the caller would have to provide, "" for most checks.
	Lacks string
	// Yields is set on a general check, which leaves alone what others reported.
	Yields bool
	// Whole is set on a check of what did not come, which needs the end of the conversation.
	Whole bool
}

// Tools are what checks need of other packages.
type Tools struct {
	// Shape says where a message is not as a revision has it, but for entries of lists
	// that it is told to skip (package shape, CheckBut).
	Shape func(skip func(entry []byte) bool, revision, method string, m *wire.Message) []wire.Finding
	// Compile makes a checker of a JSON Schema. Warnings tell what it will not check.
	Compile func(schema []byte) (Schema, []wire.Finding, *SchemaFault)
}

// A Schema says where a value does not keep to it; an error means that it cannot tell.
type Schema interface {
	Check(value []byte) ([]wire.Finding, error)
}

// A SchemaFault is why a schema cannot be used: a short stable reason ("not_a_schema",
// "external_ref"), a JSON pointer into the schema, and a sentence.
type SchemaFault struct{ Reason, Where, Text string }

// isOneOf reports a text that is one of several.
func isOneOf(text string, all ...string) bool { return slices.Contains(all, text) }

// isAlnum reports a letter or a digit of ASCII.
func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// isFinal reports a result that is neither a question nor a task.
func isFinal(e *conv.Event) bool {
	return !isOneOf(e.Text("resultType"), "input_required", "task") && !conv.IsObject(e.Raw("task"))
}

// A listPage is a page of a list as it came, with the pages before it. Several clients may
// read the same list at the same time: what tells their pages apart is the cursor.
type listPage struct {
	before *listPage
	items  map[string]uint64 // sums of them
	cursor string
	// Number counts from 1, Bytes is what a caller adds up over the pages.
	number, bytes int
	// Scope is the cacheScope.
	scope string
}

// Before finds an item in the pages before this one, and whether it was the same there.
func (p *listPage) findEarlier(key string, item []byte) (found, same bool) {
	for q := p.before; q != nil; q = q.before {
		if sum, ok := q.items[key]; ok {
			return true, sum == conv.Sum("", item)
		}
	}
	return false, false
}

// Previous is the page before this one; nil for the first.
func (p *listPage) previous() *listPage { return p.before }

// Repeats reports a cursor that this page or one before it has led to.
func (p *listPage) repeatsCursor() bool {
	for q := p.before; q != nil && p.cursor != ""; q = q.before {
		if q.cursor == p.cursor {
			return true
		}
	}
	return false
}

// mostPages bounds the pages of a list that are compared.
const maxPages = 500

// pageOf is the page that a result is, the same for all checks of it. The key of an item
// is the member by which it is known: a name, a URI.
func pageOf(e *conv.Event) *listPage {
	type book struct {
		spot  conv.Spot
		now   *listPage
		after map[string]*listPage
	}
	b := conv.State[book](e.Conversation, "pages")
	if b.now != nil && b.spot == e.Spot() {
		return b.now
	}
	page := &listPage{number: 1, items: map[string]uint64{}, scope: e.Text("cacheScope")}
	if asked := conv.Inside(e.Call.Params, "cursor"); asked != nil {
		page.before = b.after[e.Method+string(asked)]
		if page.before != nil {
			page.number, page.bytes = page.before.number+1, page.before.bytes
		}
	}
	member, name := conv.ListOf(e.Method)
	items, _ := e.Message.ResultItems(member)
	for _, item := range items[:min(len(items), maxNames)] {
		page.items[conv.TextInside(item, name)] = conv.Sum("", item)
	}
	if cursor := e.Raw("nextCursor"); cursor != nil && string(cursor) != "null" && page.number < maxPages {
		page.cursor = string(cursor)
		if b.after == nil || len(b.after) >= maxPages {
			b.after = map[string]*listPage{}
		}
		b.after[e.Method+page.cursor] = page
	}
	b.spot = e.Spot()
	b.now = page
	return page
}

// mostNames bounds the names of a list that are compared.
const maxNames = 10_000
