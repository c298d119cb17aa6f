package tui

import (
	"cmp"
	"encoding/json"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// The largest numbers of lines of the request and the response in the summary.
const (
	maxAsked    = 4
	maxAnswered = 8
	maxJSON     = 3
)

// A summaryLine is a line of the summary: a name, and a text of at most lines rows.
type summaryLine struct {
	name, text string
	role       cells.Role
	lines      int
	more       string // the tab that has the whole text
}

// messageFacts returns the parts of the request and the response that the summary shows.
func messageFacts(doc *view.Detail) (facts []summaryLine) {
	if name, text := asked(doc); text != "" {
		facts = append(facts, summaryLine{name, text, cells.Plain, maxAsked, tabNames[tabRequest]})
	}
	name, text := answered(doc)
	if text != "" && strings.TrimSpace(text) != strings.TrimSpace(doc.Row.Text) {
		role := cells.Plain
		if doc.Row.Failed {
			role = cells.Bad
		}
		most := maxAnswered
		if strings.HasPrefix(text, "{") {
			most = maxJSON
		}
		facts = append(facts, summaryLine{name, text, role, most, tabNames[tabAnswer]})
	}
	return facts
}

// asked returns the part of the request that its method and name do not show.
func asked(doc *view.Detail) (name, text string) {
	params := jsonraw.First(messageOf(doc.Request), "params")
	if doc.Row.Method == "tools/call" {
		return "arguments", without(jsonraw.First(params, "arguments"))
	}
	return "params", without(params, "_meta")
}

// answered returns the text of a tool's result, or else the members of the result or the error.
func answered(doc *view.Detail) (name, text string) {
	message := messageOf(doc.Response)
	if message == nil && doc.Response != nil {
		return "answer", doc.Response.Text // not JSON, or only the start of it
	}
	if failure := jsonraw.First(message, "error"); failure != nil {
		return "error", without(failure)
	}
	result := jsonraw.First(message, "result")
	blocks, _ := jsonraw.Array(jsonraw.First(result, "content"))
	var texts []string
	for _, block := range blocks {
		members, _ := jsonraw.Object(block)
		if text := cmp.Or(members.Text("text"), "["+members.Text("type")+"]"); text != "[]" {
			texts = append(texts, text)
		}
	}
	if texts != nil {
		return "result", strings.Join(texts, "\n")
	}
	return "result", cmp.Or(without(jsonraw.First(result, "structuredContent")), without(result, "_meta"))
}

// messageOf returns the JSON of a body, or nil if it is not complete JSON.
func messageOf(b *view.Body) json.RawMessage {
	if b == nil || b.Hex || b.Cut || jsonraw.Valid([]byte(b.Text)) != nil {
		return nil
	}
	return json.RawMessage(b.Text)
}

// without returns an object on one line without some members; "" if nothing is left.
func without(raw json.RawMessage, names ...string) string {
	for _, name := range names {
		raw = jsonraw.Without(raw, name)
	}
	if text := string(jsonraw.Compact(raw)); text != "{}" {
		return text
	}
	return ""
}

// draw draws a fact: its name in wide columns, followed by its text.
func (f *summaryLine) draw(w, wide int) (lines []fact) {
	text := f.text
	if most := f.lines * w * 4; f.lines > 0 && len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") // a text of megabytes is not wrapped
	}
	parts := cells.Wrap(f.role, text, w-wide-2)
	more := f.lines > 0 && (len(parts) > f.lines || len(text) < len(f.text))
	if more {
		parts = parts[:min(len(parts), f.lines)]
	}
	for i, part := range parts {
		name := f.name
		if i > 0 {
			name = ""
		}
		lines = append(lines, fact{line: append(cells.Line{cells.Fit(cells.Faint, name, wide+2)}, part...), value: f.text})
	}
	if more {
		lines = append(
			lines,
			fact{line: cells.Line{cells.Blank(wide + 2), cells.Text(cells.Faint, "… more in "+f.more)}, value: f.text},
		)
	}
	return lines
}
