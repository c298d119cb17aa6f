// Package mcp reads the entries of a server's lists: tools, prompts, resources and URI
// templates; and the ids and tokens that messages name.
package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A Tool is one entry of a tools/list result (server/tools, "Tool"). The
// members are views; Raw is the entry as it crossed.
type Tool struct {
	Raw                      json.RawMessage
	Name, Title, Description string
	InputSchema              json.RawMessage
	OutputSchema             json.RawMessage
	// Meta is the entry's _meta; nil where it has none.
	Meta  json.RawMessage
	Hints Hints
	// UI is the URI of the page that shows the tool's results (extension MCP
	// Apps, _meta.ui.resourceUri); "" where it names none.
	UI string
	// AppOnly is set where the tool is for that page and not for a model
	// (_meta.ui.visibility without "model").
	AppOnly bool
	// TaskSupport is execution.taskSupport (2025-11-25): "forbidden", "optional"
	// or "required"; "" where the server did not say.
	TaskSupport string
}

// Hints are a tool's annotations. A nil hint was not declared. The server
// states them, and they may be wrong: they may add caution, never take it away.
type Hints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// tapes are used again: a list has many tools.
var tapes = sync.Pool{New: func() any { return new(jsonraw.Tape) }}

// ParseTool takes one entry of tools/list apart. An entry that no client could
// call gives a Finding and no tool.
func ParseTool(raw json.RawMessage) (Tool, *wire.Finding) {
	tape := tapes.Get().(*jsonraw.Tape)
	defer tapes.Put(tape)
	if !tape.Read(raw) || tape.Kind(0) != '{' {
		return Tool{}, badEntry("tool", "the entry is not an object: %s", jsonraw.Excerpt(raw, 60))
	}
	e := entry{tape: tape}
	e.find(0)
	t := Tool{Raw: raw, Name: e.text(atName), Title: e.text(atTitle), Description: e.text(atDescription),
		InputSchema: e.raw(atInputSchema), OutputSchema: e.raw(atOutputSchema), Meta: e.raw(atMeta)}
	if t.Name == "" {
		return Tool{}, lacking("tool", "name", e.raw(atName))
	}
	if len(t.InputSchema) == 0 || t.InputSchema[0] != '{' {
		return Tool{}, badEntry("tool", "the tool %q has no inputSchema object", t.Name)
	}
	t.UI, t.AppOnly = pageIn(t.Meta), AppOnly(t.Meta)
	if at := e.at[atExecution]; at > 0 {
		if support := tape.Member(at, "taskSupport"); support > 0 {
			t.TaskSupport, _ = jsonraw.Text(tape.Raw(support))
		}
	}
	if at := e.at[atAnnotations]; at > 0 && tape.Kind(at) == '{' {
		t.readAnnotations(e, at)
	}
	return t, nil
}

// An entry is an object on a tape. at has where the values of its known members stand, or 0.
type entry struct {
	tape *jsonraw.Tape
	at   [knownMembers]int
}

// The members of a tool and of its annotations.
const (
	atOther = iota
	atName
	atTitle
	atDescription
	atInputSchema
	atOutputSchema
	atMeta
	atExecution
	atAnnotations
	atReadOnly
	atDestructive
	atIdempotent
	atOpenWorld
	knownMembers
)

// find looks for the members of the object at a node. Of two with one name the first counts.
func (e *entry) find(node int) {
	e.at = [knownMembers]int{}
	for at, end := node+1, e.tape.Next(node); at < end; at = e.tape.Next(at + 1) {
		if m := memberOf(e.tape.Name(at)); e.at[m] == 0 {
			e.at[m] = at + 1
		}
	}
}

func memberOf(word []byte) int {
	switch string(word) {
	case "name":
		return atName
	case "title":
		return atTitle
	case "description":
		return atDescription
	case "inputSchema":
		return atInputSchema
	case "outputSchema":
		return atOutputSchema
	case "_meta":
		return atMeta
	case "execution":
		return atExecution
	case "annotations":
		return atAnnotations
	case "readOnlyHint":
		return atReadOnly
	case "destructiveHint":
		return atDestructive
	case "idempotentHint":
		return atIdempotent
	case "openWorldHint":
		return atOpenWorld
	}
	return atOther
}

// raw returns the value of a member; nil if it is absent or null, which servers write for absent.
func (e *entry) raw(member int) json.RawMessage {
	if at := e.at[member]; at > 0 && e.tape.Kind(at) != 'n' {
		return e.tape.Raw(at)
	}
	return nil
}

func (e *entry) text(member int) string {
	text, _ := jsonraw.Text(e.raw(member))
	return text
}

// ToolName returns the name of an entry of tools/list that ParseTool takes; false for any other.
func ToolName(raw json.RawMessage) (name string, ok bool) {
	tape := tapes.Get().(*jsonraw.Tape)
	defer tapes.Put(tape)
	if !tape.Read(raw) || tape.Kind(0) != '{' {
		return "", false
	}
	e := entry{tape: tape}
	e.find(0)
	schema := e.raw(atInputSchema)
	name = e.text(atName)
	return name, name != "" && len(schema) > 0 && schema[0] == '{'
}

// IsToolName reports a name of 1 to 128 of the characters that the specification wants.
func IsToolName(name string) bool {
	return 1 <= len(name) && len(name) <= 128 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.-", r)
	})
}

// pageIn reads the mark of MCP Apps, nested or in the flat form that it had
// before.
func pageIn(meta json.RawMessage) string {
	if len(meta) == 0 {
		return ""
	}
	if uri, ok := jsonraw.Text(jsonraw.First(jsonraw.First(meta, "ui"), "resourceUri")); ok {
		return uri
	}
	uri, _ := jsonraw.Text(jsonraw.First(meta, "ui/resourceUri"))
	return uri
}

// AppOnly reads from the _meta of a tool whether it is for its page only. Where nothing
// is said, or nothing of the right shape, it is for a model too.
func AppOnly(meta json.RawMessage) bool {
	if len(meta) == 0 {
		return false
	}
	words, err := jsonraw.Array(jsonraw.First(jsonraw.First(meta, "ui"), "visibility"))
	return err == nil && !slices.ContainsFunc(words, func(word json.RawMessage) bool {
		text, ok := jsonraw.Text(word)
		return !ok || text == "model"
	})
}

// lacking is for an entry whose member is not there, or no text.
func lacking(rule, member string, value json.RawMessage) *wire.Finding {
	if value == nil || string(value) == "null" || string(value) == `""` {
		return badEntry(rule, "the entry has no %s", member)
	}
	return badEntry(rule, "the entry's %s is not a string: %s", member, jsonraw.Excerpt(value, 40))
}

func badEntry(rule, format string, args ...any) *wire.Finding {
	return &wire.Finding{Rule: rule, Level: wire.Warning, Text: fmt.Sprintf(format, args...)}
}

// readAnnotations also gives the title its second place: the display name is
// title, then annotations.title, then name.
func (t *Tool) readAnnotations(e entry, node int) {
	e.find(node)
	t.Title = cmp.Or(t.Title, e.text(atTitle))
	t.Hints = Hints{ReadOnly: e.hint(atReadOnly), Destructive: e.hint(atDestructive), Idempotent: e.hint(atIdempotent), OpenWorld: e.hint(atOpenWorld)}
}

func (e *entry) hint(member int) *bool {
	switch string(e.raw(member)) {
	case "true":
		return &declared
	case "false":
		return &denied
	}
	return nil
}

// declared and denied are what the hints of all tools point to. They are never changed.
var declared, denied = true, false
