// Package mcp parses the entries of a server's lists (tools, prompts, resources, URI templates),
// and the ids and tokens in messages.
package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A Tool is one entry of a tools/list result (server/tools, "Tool"). Raw is the JSON of the entry,
// which the other fields alias.
type Tool struct {
	Raw                      json.RawMessage
	Name, Title, Description string
	InputSchema              json.RawMessage
	OutputSchema             json.RawMessage
	// Meta is the entry's _meta; nil if it is missing.
	Meta  json.RawMessage
	Hints Hints
	// UI is the URI of the page that shows the tool's results (extension MCP Apps,
	// _meta.ui.resourceUri); "" if the tool has no page.
	UI string
	// AppOnly is set if the tool is for its page and not for a model (_meta.ui.visibility without
	// "model").
	AppOnly bool
	// TaskSupport is execution.taskSupport (2025-11-25): "forbidden", "optional" or "required"; "" if
	// the server does not declare it.
	TaskSupport string
}

// Hints are a tool's annotations. A nil hint is not declared. Servers may state wrong hints: mcpc
// becomes more careful by a hint, never less.
type Hints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// OnlyReads reports whether the tool is marked as read-only and not as destructive.
func (h Hints) OnlyReads() bool { return isTrue(h.ReadOnly) && !h.IsDestructive() }

// IsDestructive reports whether the tool is marked as destructive.
func (h Hints) IsDestructive() bool { return isTrue(h.Destructive) }

// MayBeRepeated reports whether, by its hints, a second call of the tool changes nothing.
func (h Hints) MayBeRepeated() bool { return h.OnlyReads() || isTrue(h.Idempotent) }

func isTrue(hint *bool) bool { return hint != nil && *hint }

// ParseTool parses one entry of tools/list. It returns a Finding for an entry that no client could
// call.
func ParseTool(raw json.RawMessage) (Tool, *wire.Finding) {
	var room [16]jsonraw.Member // on the stack: a list can have many thousand tools
	members, err := jsonraw.AppendMembers(room[:0], raw)
	if err != nil {
		return Tool{}, badEntry("tool", "the entry is not an object: %s", jsonraw.Excerpt(raw, 60))
	}
	t := Tool{
		Raw:          raw,
		Name:         members.Text("name"),
		Title:        members.Text("title"),
		Description:  members.Text("description"),
		InputSchema:  presentMember(members, "inputSchema"),
		OutputSchema: presentMember(members, "outputSchema"),
		Meta:         presentMember(members, "_meta"),
	}
	if t.Name == "" {
		return Tool{}, missingMember("tool", "name", members.Value("name"))
	}
	if len(t.InputSchema) == 0 || t.InputSchema[0] != '{' {
		return Tool{}, badEntry("tool", "the tool %q has no inputSchema object", t.Name)
	}
	t.UI = pageURI(t.Meta)
	t.AppOnly = AppOnly(t.Meta)
	if execution := members.Value("execution"); execution != nil {
		t.TaskSupport, _ = jsonraw.Text(jsonraw.First(execution, "taskSupport"))
	}
	if annotations := presentMember(members, "annotations"); annotations != nil {
		var room [8]jsonraw.Member
		hints, err := jsonraw.AppendMembers(room[:0], annotations)
		if err != nil {
			return t, nil
		}
		if t.Title == "" { // the display name is title, then annotations.title, then name
			t.Title = hints.Text("title")
		}
		t.Hints = hintsIn(hints)
	}
	return t, nil
}

// ToolHints returns the hints of an entry of tools/list, even if ParseTool refuses the entry.
func ToolHints(entry json.RawMessage) Hints {
	hints, err := jsonraw.Object(jsonraw.First(entry, "annotations"))
	if err != nil {
		return Hints{}
	}
	return hintsIn(hints)
}

// hintsIn returns the hints in the members of annotations.
func hintsIn(annotations jsonraw.Members) Hints {
	return Hints{
		ReadOnly:    parseHint(annotations.Value("readOnlyHint")),
		Destructive: parseHint(annotations.Value("destructiveHint")),
		Idempotent:  parseHint(annotations.Value("idempotentHint")),
		OpenWorld:   parseHint(annotations.Value("openWorldHint")),
	}
}

// presentMember returns the value of a member; nil if it is missing or null, which servers write
// for missing.
func presentMember(members jsonraw.Members, name string) json.RawMessage {
	if value := members.Value(name); string(value) != "null" {
		return value
	}
	return nil
}

// parseHint returns the value of a hint, nil if it is not a boolean.
func parseHint(value json.RawMessage) *bool {
	switch string(value) {
	case "true":
		return &trueHint
	case "false":
		return &falseHint
	}
	return nil
}

// trueHint and falseHint are the values that the hints of all tools point to. They never change.
var (
	trueHint  = true
	falseHint = false
)

// ToolName returns the name of an entry of tools/list; ok is false if ParseTool refuses the entry.
func ToolName(raw json.RawMessage) (name string, ok bool) {
	members, err := jsonraw.Object(raw)
	schema := members.Value("inputSchema")
	name = members.Text("name")
	return name, err == nil && name != "" && len(schema) > 0 && schema[0] == '{'
}

// IsToolName reports whether name has the 1 to 128 characters that the specification allows.
func IsToolName(name string) bool {
	return 1 <= len(name) && len(name) <= 128 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.-", r)
	})
}

// pageURI returns the URI of a tool's page, also from the older flat form of the member.
func pageURI(meta json.RawMessage) string {
	if len(meta) == 0 {
		return ""
	}
	if uri, ok := jsonraw.Text(jsonraw.First(jsonraw.First(meta, "ui"), "resourceUri")); ok {
		return uri
	}
	uri, _ := jsonraw.Text(jsonraw.First(meta, "ui/resourceUri"))
	return uri
}

// AppOnly reports whether the _meta of a tool reserves the tool for its page. It reports false if
// the visibility is missing or invalid.
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

// missingMember returns the finding for an entry whose member is missing or not a string.
func missingMember(rule, member string, value json.RawMessage) *wire.Finding {
	if value == nil || string(value) == "null" || string(value) == `""` {
		return badEntry(rule, "the entry has no %s", member)
	}
	return badEntry(rule, "the entry's %s is not a string: %s", member, jsonraw.Excerpt(value, 40))
}

// badEntry returns a warning about an entry of a list.
func badEntry(rule, format string, args ...any) *wire.Finding {
	return &wire.Finding{Rule: rule, Severity: wire.Warning, Text: fmt.Sprintf(format, args...)}
}
