package tui

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/live/view"
	"mcpc/internal/tui/cells"
	"mcpc/internal/wire"
)

// The largest numbers of lines of the request and the response in the summary.
const (
	maxRequestLines  = 4
	maxResponseLines = 16
)

// maxIndentedBytes limits the JSON of a response that the summary indents.
const maxIndentedBytes = 64 << 10

// A summaryFact is a named text in the summary.
type summaryFact struct {
	name, text string
	role       cells.Role
	maxLines   int    // 0 means no limit
	fullTab    string // the tab that has the whole text, if maxLines is set
}

// messageSummary returns the parts of the request and the response that the summary shows in w columns.
func messageSummary(doc *view.Detail, w int) []summaryFact {
	var facts []summaryFact
	if name, text := requestSummary(doc); text != "" {
		facts = append(facts, summaryFact{name, text, cells.Plain, maxRequestLines, tabNames[tabRequest]})
	}
	name, text := responseSummary(doc)
	isInRow := strings.TrimSpace(text) == strings.TrimSpace(doc.Row.Text) // shown above the facts
	if text == "" || isInRow {
		return facts
	}
	role := cells.Plain
	if doc.Row.Failed {
		role = cells.Bad
	}
	if len(text) > w && len(text) < maxIndentedBytes {
		text = indented(text, w)
	}
	return append(facts, summaryFact{name, text, role, maxResponseLines, tabNames[tabResponse]})
}

// requestSummary returns the part of the request that its method and name do not show, and the name
// of that part. text is "" without such a part.
func requestSummary(doc *view.Detail) (name, text string) {
	params := jsonraw.First(messageOf(doc.Request), "params")
	if doc.Row.Method == "tools/call" {
		return "arguments", compactObject(jsonraw.First(params, "arguments"))
	}
	return "params", compactObject(params, "_meta")
}

// responseSummary returns the text of a tool's result, or else the members of the result or the
// error, and a name for it: "answer", "error" or "result".
func responseSummary(doc *view.Detail) (name, text string) {
	message := messageOf(doc.Response)
	if message == nil && doc.Response != nil {
		return "answer", doc.Response.Text // not JSON, or only the start of it
	}
	if m := wire.ParseMessage(message); m.Error != nil && m.Error.IsByTap() {
		return "", "" // the row and the lines of stderr have what it says
	}
	if failure := jsonraw.First(message, "error"); failure != nil {
		return "error", compactObject(failure)
	}
	result := jsonraw.First(message, "result")
	if texts := blockTexts(doc.Row.Method, result); texts != nil {
		return "result", strings.Join(texts, "\n")
	}
	if structured := compactObject(jsonraw.First(result, "structuredContent")); structured != "" {
		return "result", structured
	}
	return "result", compactObject(result, "_meta")
}

// blockTexts returns the texts of the content of a tool's result, of the contents of a resource or of the
// messages of a prompt. A block without a text gives its type, or its MIME type.
func blockTexts(method string, result json.RawMessage) []string {
	name := map[string]string{"resources/read": "contents", "prompts/get": "messages"}[method]
	blocks, _ := jsonraw.Array(jsonraw.First(result, firstText(name, "content")))
	var texts []string
	for _, block := range blocks {
		members, _ := jsonraw.Object(block)
		before := ""
		if name == "messages" {
			before = members.Text("role") + ": "
			members, _ = jsonraw.Object(members.Value("content"))
		}
		if text := members.Text("text"); text != "" {
			texts = append(texts, before+text)
		} else if kind := firstText(members.Text("type"), members.Text("mimeType")); kind != "" {
			texts = append(texts, before+"["+kind+"]")
		}
	}
	return texts
}

// messageOf returns the JSON of a body, or nil if it is not complete JSON.
func messageOf(b *view.Body) json.RawMessage {
	if b == nil || b.Hex || b.Cut || jsonraw.Valid([]byte(b.Text)) != nil {
		return nil
	}
	return json.RawMessage(b.Text)
}

// compactObject returns an object on one line, without the members with these names. It returns ""
// if no member is left.
func compactObject(raw json.RawMessage, names ...string) string {
	for _, name := range names {
		raw = jsonraw.Without(raw, name)
	}
	if text := string(jsonraw.Compact(raw)); text != "{}" {
		return text
	}
	return ""
}

// draw draws a fact in width columns: its name in nameWidth columns, followed by its text. A text
// of more than maxLines lines is cut, and the last line names the tab with the whole text.
func (f *summaryFact) draw(width, nameWidth int) []tabLine {
	hasLimit := f.maxLines > 0
	text := f.text
	if maxBytes := f.maxLines * width * utf8.UTFMax; hasLimit && len(text) > maxBytes {
		text = strings.ToValidUTF8(text[:maxBytes], "") // a text of megabytes is not wrapped
	}
	textLines := cells.Wrap(f.role, text, width-nameWidth-2)
	isCut := hasLimit && (len(textLines) > f.maxLines || len(text) < len(f.text))
	if isCut {
		textLines = textLines[:min(len(textLines), f.maxLines)]
	}
	var lines []tabLine
	for i, textLine := range textLines {
		name := f.name
		if i > 0 {
			name = ""
		}
		line := append(cells.Line{cells.Fit(cells.Faint, name, nameWidth+2)}, textLine...)
		lines = append(lines, tabLine{line: line, value: f.text})
	}
	if isCut {
		line := cells.Line{cells.Blank(nameWidth + 2), cells.Text(cells.Faint, "… more in "+f.fullTab)}
		lines = append(lines, tabLine{line: line, value: f.text})
	}
	return lines
}
