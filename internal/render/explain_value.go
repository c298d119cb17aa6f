package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"mcpc/internal/wire"
)

// What is shown of one value; more of it teaches nothing.
const (
	explainDepth = 12
	explainItems = 2
	// explainNames is how many members of one object are shown.
	explainNames = 40
)

// value shows one JSON value on as many lines as it has members. path names the
// place for the table of notes, lead stands before the value on its line and
// tail behind it.
func (e *explainer) value(raw json.RawMessage, path []string, lead, tail string) {
	indent := lead[:len(lead)-len(strings.TrimLeft(lead, " "))]
	note := e.note(path, raw)
	members, notObject := wire.Object(raw)
	items, notArray := wire.Array(raw)
	deep := len(path) >= explainDepth
	switch {
	case notObject == nil && len(members) > 0 && deep:
		e.line(fmt.Sprintf("%s{ %s %s }%s", lead, e.st.ellipsis(), plural(len(members), "member"), tail), "", note)
	case e.flat(lead, members, items, path) != "":
		e.line(e.flat(lead, members, items, path)+tail, "", note)
	case notObject == nil && len(members) > 0:
		e.line(lead+"{", "", note)
		e.members(members, path, indent+"  ")
		e.line(indent+"}"+tail, "", "")
	case notArray == nil && len(items) > 0 && deep:
		e.line(fmt.Sprintf("%s[ %s %s ]%s", lead, e.st.ellipsis(), plural(len(items), "item"), tail), "", note)
	case notArray == nil && len(items) > 0:
		e.line(lead+"[", "", note)
		e.items(items, path, indent+"  ")
		e.line(indent+"]"+tail, "", "")
	default:
		e.line(lead+e.scalar(wire.Compact(raw), columns(lead))+tail, "", note)
	}
}

// flat gives a small value of plain values on one line, unless there is a note to
// give about something in it.
func (e *explainer) flat(lead string, members wire.Members, items []json.RawMessage, path []string) string {
	if len(path) < 2 || len(members)+len(items) > 16 {
		return ""
	}
	var parts []string
	for _, m := range members {
		if i := e.find(join(path, m.Name), m.Value); nested(m.Value) || i >= 0 && !e.told[i] {
			return ""
		}
		parts = append(parts, string(wire.Quote(m.Name))+": "+string(m.Value))
	}
	for _, item := range items {
		if nested(item) {
			return ""
		}
		parts = append(parts, string(item))
	}
	text := string(escapeHidden([]byte(strings.Join(parts, ", "))))
	if text == "" || columns(lead)+columns(text) > max(36, e.leftMost()-2) {
		return ""
	}
	if len(members) > 0 {
		return lead + "{" + text + "}"
	}
	return lead + "[" + text + "]"
}

// nested says whether a value holds others.
func nested(raw json.RawMessage) bool {
	return len(raw) > 2 && (raw[0] == '{' || raw[0] == '[')
}

func (e *explainer) members(members wire.Members, path []string, indent string) {
	for i, m := range members {
		if i == explainNames {
			e.line(fmt.Sprintf("%s%s %d more members", indent, e.st.ellipsis(), len(members)-i), dim, "")
			return
		}
		name := e.scalar(wire.Quote(m.Name), columns(indent))
		e.value(m.Value, join(path, m.Name), indent+name+": ", comma(i, len(members)))
	}
}

// items shows the first items; of plain values, which are one line each, more.
func (e *explainer) items(items []json.RawMessage, path []string, indent string) {
	shown := explainItems
	if c := items[0][0]; c != '{' && c != '[' {
		shown *= 4
	}
	for i, item := range items {
		if i == shown && len(items) > shown {
			e.line(fmt.Sprintf("%s%s %d more", indent, e.st.ellipsis(), len(items)-i), dim, "")
			return
		}
		e.value(item, join(path, "[]"), indent, comma(i, len(items)))
	}
}

// join never shares its array with path, which the next member needs again.
func join(path []string, name string) []string {
	return append(path[:len(path):len(path)], name)
}

func comma(i, n int) string {
	if i < n-1 {
		return ","
	}
	return ""
}

// scalar is a JSON value on one line, cut where it does not fit.
func (e *explainer) scalar(raw []byte, from int) string {
	return e.shortened(string(escapeHidden(raw)), from)
}

// shortened cuts text that begins in column from and says how much is missing.
func (e *explainer) shortened(text string, from int) string {
	room := max(16, e.st.columns()-from-18)
	if columns(text) <= room+12 {
		return text
	}
	cut := cutColumns(text, room)
	if i := strings.LastIndexByte(cut, '\\'); i >= 0 && i > len(cut)-6 {
		cut = strings.TrimRight(cut[:i], `\`)
	}
	tail := e.st.ellipsis()
	if text[0] == '"' {
		tail += `"`
	}
	return fmt.Sprintf("%s%s +%d bytes", cut, tail, len(text)-len(cut))
}
