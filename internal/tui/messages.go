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
	maxRequestLines  = 4
	maxResponseLines = 8
	maxJSONLines     = 3
)

// A summaryLine is a line of the summary: a name, and a text of at most lines rows.
type summaryLine struct {
	name, text string
	role       cells.Role
	maxLines   int
	fullTab    string // the tab that has the whole text
}

// messageSummary returns the parts of the request and the response that the summary shows.
func messageSummary(doc *view.Detail) (facts []summaryLine) {
	if name, text := requestSummary(doc); text != "" {
		facts = append(facts, summaryLine{name, text, cells.Plain, maxRequestLines, tabNames[tabRequest]})
	}
	name, text := responseSummary(doc)
	if text != "" && strings.TrimSpace(text) != strings.TrimSpace(doc.Row.Text) {
		role := cells.Plain
		if doc.Row.Failed {
			role = cells.Bad
		}
		most := maxResponseLines
		if strings.HasPrefix(text, "{") {
			most = maxJSONLines
		}
		facts = append(facts, summaryLine{name, text, role, most, tabNames[tabResponse]})
	}
	return facts
}

// requestSummary returns the part of the request that its method and name do not show.
func requestSummary(doc *view.Detail) (name, text string) {
	params := jsonraw.First(messageOf(doc.Request), "params")
	if doc.Row.Method == "tools/call" {
		return "arguments", compactWithout(jsonraw.First(params, "arguments"))
	}
	return "params", compactWithout(params, "_meta")
}

// responseSummary returns the text of a tool's result, or else the members of the result or the error.
func responseSummary(doc *view.Detail) (name, text string) {
	message := messageOf(doc.Response)
	if message == nil && doc.Response != nil {
		return "answer", doc.Response.Text // not JSON, or only the start of it
	}
	if failure := jsonraw.First(message, "error"); failure != nil {
		return "error", compactWithout(failure)
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
	return "result", cmp.Or(compactWithout(jsonraw.First(result, "structuredContent")), compactWithout(result, "_meta"))
}

// messageOf returns the JSON of a body, or nil if it is not complete JSON.
func messageOf(b *view.Body) json.RawMessage {
	if b == nil || b.Hex || b.Cut || jsonraw.Valid([]byte(b.Text)) != nil {
		return nil
	}
	return json.RawMessage(b.Text)
}

// compactWithout returns an object on one line without some members; "" if nothing is left.
func compactWithout(raw json.RawMessage, names ...string) string {
	for _, name := range names {
		raw = jsonraw.Without(raw, name)
	}
	if text := string(jsonraw.Compact(raw)); text != "{}" {
		return text
	}
	return ""
}

// draw draws a fact: its name in wide columns, followed by its text.
func (f *summaryLine) draw(w, wide int) (lines []tabLine) {
	text := f.text
	if most := f.maxLines * w * 4; f.maxLines > 0 && len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") // a text of megabytes is not wrapped
	}
	parts := cells.Wrap(f.role, text, w-wide-2)
	more := f.maxLines > 0 && (len(parts) > f.maxLines || len(text) < len(f.text))
	if more {
		parts = parts[:min(len(parts), f.maxLines)]
	}
	for i, part := range parts {
		name := f.name
		if i > 0 {
			name = ""
		}
		lines = append(lines, tabLine{line: append(cells.Line{cells.Fit(cells.Faint, name, wide+2)}, part...), value: f.text})
	}
	if more {
		lines = append(
			lines,
			tabLine{line: cells.Line{cells.Blank(wide + 2), cells.Text(cells.Faint, "… more in "+f.fullTab)}, value: f.text},
		)
	}
	return lines
}
