package rules

import (
	"encoding/json"
	"strconv"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/lint/poison"
	"mcpc/internal/sliceutil"
)

// ruleByKind maps the kinds of package poison to rules.
var ruleByKind = map[poison.Kind]string{
	poison.Hidden: "L129", poison.Instruction: "L129", poison.OtherTool: "poison-names",
	poison.Secret: "poison-secrets", poison.Size: "poison-size",
}

var poisonChecks = []Check{
	{ID: "L129", Kind: conv.OnTool, Do: findMarks("L129")},
	{ID: "L129", Kind: conv.OnPrompt, Do: findMarks("L129")},
	{ID: "poison-names", Kind: conv.OnTool, Do: findMarks("poison-names")},
	{ID: "poison-secrets", Kind: conv.OnTool, Do: findMarks("poison-secrets")},
	{ID: "poison-secrets", Kind: conv.OnPrompt, Do: findMarks("poison-secrets")},
	{ID: "poison-size", Kind: conv.OnTool, Do: findMarks("poison-size")},
	{ID: "poison-size", Kind: conv.OnPrompt, Do: findMarks("poison-size")},
}

// findMarks returns a check that reports the marks of one rule.
func findMarks(rule string) func(*conv.Event) {
	return func(e *conv.Event) {
		for _, m := range poisonMarks(e) {
			if ruleByKind[m.Kind] == rule {
				e.Find(m.Pointer, string(m.Kind)+": "+m.Words, "text about what the tool does")
			}
		}
	}
}

// poisonMarks returns the marks of a definition. The rules share them.
func poisonMarks(e *conv.Event) []poison.Mark {
	type cache struct {
		spot  conv.Spot
		at    string
		marks []poison.Mark
	}
	c := conv.State[cache](e.Conversation, "poison")
	if c.spot != e.Spot() || c.at != e.Pointer {
		var own poison.Names
		if e.Kind == conv.OnTool {
			own = toolNames(e)
		}
		*c = cache{e.Spot(), e.Pointer, poison.Scan(e.Value, own)}
	}
	return c.marks
}

// toolNames returns the names of the server's tools; nil if the page has only some of them: if a page
// precedes or follows it. The tools of the page share the result.
func toolNames(e *conv.Event) poison.Names {
	type cache struct {
		spot conv.Spot
		own  poison.Names
	}
	c := conv.State[cache](e.Conversation, "names")
	if c.spot != e.Spot() {
		*c = cache{spot: e.Spot()}
		page, _ := e.Message.ResultMembers()
		cursor := page.Value("nextCursor")
		isLast := cursor == nil || string(cursor) == "null"
		if isLast && e.Call != nil && conv.Inside(e.Call.Params, "cursor") == nil {
			items, _ := e.Message.ResultItems("tools")
			c.own = poison.NamesOf(sliceutil.Map(items, func(item json.RawMessage) string {
				return conv.TextInside(item, "name")
			}))
		}
	}
	return c.own
}

// The number of bytes of definitions that a model may read without a finding.
const (
	maxToolBytes = 8 << 10
	maxListBytes = 100 << 10
)

// costChecks checks the size of definitions: each conversation of a host begins with the definitions of
// all tools.
var costChecks = []Check{
	{ID: "cost-tool", Kind: conv.OnTool, Do: func(e *conv.Event) {
		if n := modelBytes(e.Value); n > maxToolBytes {
			e.Find("", describeCost(n), "at most "+strconv.Itoa(maxToolBytes)+" bytes")
		}
	}},
	{ID: "cost-list", Kind: conv.OnResult, Methods: []string{"tools/list"}, Do: func(e *conv.Event) {
		page := pageOf(e)
		items, _ := e.Message.ResultItems("tools")
		for _, item := range items {
			page.bytes += modelBytes(item)
		}
		if page.bytes > maxListBytes {
			e.Hit(conv.Hit{
				Subject: "tools", Pointer: "/tools", Got: describeCost(page.bytes),
				Want: "at most " + strconv.Itoa(maxListBytes) + " bytes",
			})
		}
	}},
}

// modelBytes returns the number of bytes of a tool's definition that hosts show to a model: name,
// description and inputSchema.
func modelBytes(tool json.RawMessage) int {
	members, _ := jsonraw.Object(tool)
	n := 0
	for _, name := range []string{"name", "description", "inputSchema"} {
		n += len(members.Value(name))
	}
	return n
}

// describeCost returns the size of JSON in bytes and, as an estimate, in tokens.
func describeCost(bytes int) string {
	return strconv.Itoa(bytes) + " bytes, about " + strconv.Itoa((bytes+3)/4) + " tokens"
}
