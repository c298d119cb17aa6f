package tui

import (
	"cmp"
	"encoding/json"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
)

// How many lines of the request and of the answer the summary shows; their tabs have all.
const (
	mostAsked    = 4
	mostAnswered = 8
	mostJSON     = 3
)

// A summaryLine is a line of the summary: a name, and a text of at most lines rows.
type summaryLine struct {
	name, text string
	role       cells.Role
	lines      int
	more       string // the tab that has the whole text
}

// messageFacts are what was asked and what came back.
func messageFacts(doc *view.Detail) (facts []summaryLine) {
	if name, text := asked(doc); text != "" {
		facts = append(facts, summaryLine{name, text, cells.Plain, mostAsked, tabNames[tabRequest]})
	}
	name, text := answered(doc)
	if text != "" && strings.TrimSpace(text) != strings.TrimSpace(doc.Row.Text) {
		role := cells.Plain
		if doc.Row.Failed {
			role = cells.Bad
		}
		most := mostAnswered
		if strings.HasPrefix(text, "{") {
			most = mostJSON
		}
		facts = append(facts, summaryLine{name, text, role, most, tabNames[tabAnswer]})
	}
	return facts
}

// asked is the part of the request that its method and name do not say.
func asked(doc *view.Detail) (name, text string) {
	params := jsonraw.First(messageOf(doc.Request), "params")
	if doc.Row.Method == "tools/call" {
		return "arguments", without(jsonraw.First(params, "arguments"))
	}
	return "params", without(params, "_meta")
}

// answered is the text of a tool's result, else the members of the result or the error.
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

// messageOf is the JSON of a body, nil where it is none.
func messageOf(b *view.Body) json.RawMessage {
	if b == nil || b.Hex || b.Cut || jsonraw.Valid([]byte(b.Text)) != nil {
		return nil
	}
	return json.RawMessage(b.Text)
}

// without is JSON on one line, but for members with these names; "" where nothing is left.
func without(raw json.RawMessage, names ...string) string {
	for _, name := range names {
		raw = jsonraw.Without(raw, name)
	}
	if text := string(jsonraw.Compact(raw)); text != "{}" {
		return text
	}
	return ""
}

// draw draws a fact: its name in wide columns, its text beside it.
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
