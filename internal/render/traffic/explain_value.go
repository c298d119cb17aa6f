package traffic

import (
	"encoding/json"
	"fmt"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
)

// Limits for one value: its depth, the items of a list and the members of an object.
const (
	maxExplainDepth = 12
	maxExplainItems = 2
	maxExplainNames = 40
)

// addValue shows one JSON value, with a line for each member. path is its place for the table of
// notes, lead is the text before it on its line and tail the text after it.
func (e *explainer) addValue(raw json.RawMessage, path []string, lead, tail string) {
	indent := lead[:len(lead)-len(strings.TrimLeft(lead, " "))]
	note := e.noteFor(path, raw)
	members, items := splitJSON(raw)
	isTooDeep := len(path) >= maxExplainDepth
	compact := e.compactLine(lead, members, items, path)
	switch {
	case len(members) > 0 && isTooDeep:
		e.isCut = true
		e.addLine(fmt.Sprintf("%s{ %s %s }%s", lead, e.st.Ellipsis(), english.Plural(len(members), "member"), tail), "", note)
	case compact != "": // compact begins with lead
		e.addLine(compact+tail, "", note)
	case len(members) > 0:
		e.addLine(lead+"{", "", note)
		e.addMembers(members, path, indent+"  ")
		e.addLine(indent+"}"+tail, "", "")
	case len(items) > 0 && isTooDeep:
		e.isCut = true
		e.addLine(fmt.Sprintf("%s[ %s %s ]%s", lead, e.st.Ellipsis(), english.Plural(len(items), "item"), tail), "", note)
	case len(items) > 0:
		e.addLine(lead+"[", "", note)
		e.addItems(items, path, indent+"  ")
		e.addLine(indent+"]"+tail, "", "")
	case hasChildren(raw): // an empty object or array with white space
		e.addLine(lead+string(jsonraw.Compact(raw))+tail, "", note)
	default:
		e.addLine(lead+e.scalarText(raw, term.Width(lead))+tail, "", note)
	}
}

// splitJSON returns the members of an object or the items of an array, or nil if raw is {}, [] or
// any other value.
func splitJSON(raw json.RawMessage) (jsonraw.Members, []json.RawMessage) {
	if len(raw) > 2 && raw[0] == '{' {
		members, _ := jsonraw.Object(raw)
		return members, nil
	}
	if len(raw) > 2 && raw[0] == '[' {
		items, _ := jsonraw.Array(raw)
		return nil, items
	}
	return nil, nil
}

// compactLine returns a small object or array of plain values on one line. It returns "" if the
// value is too large or a note about a member is still to be given.
func (e *explainer) compactLine(lead string, members jsonraw.Members, items []json.RawMessage, path []string) string {
	const maxCompact = 16 // members or items
	isTopLevel := len(path) < 2
	if isTopLevel || len(members)+len(items) > maxCompact {
		return ""
	}
	var parts []string
	for _, m := range members {
		if hasChildren(m.Value) || len(m.Value) > e.st.Columns() {
			return ""
		}
		row := e.findRow(childPath(path, m.Name), m.Value)
		if row >= 0 && !e.noted[fmt.Sprint("row ", row)] {
			return ""
		}
		parts = append(parts, string(jsonraw.Quote(m.Name))+": "+string(m.Value))
	}
	for _, item := range items {
		if hasChildren(item) || len(item) > e.st.Columns() {
			return ""
		}
		parts = append(parts, string(item))
	}
	text := string(term.EscapeHidden([]byte(strings.Join(parts, ", "))))
	if text == "" || term.Width(lead)+term.Width(text) > max(36, e.maxLeftWidth()-2) {
		return ""
	}
	if len(members) > 0 {
		return lead + "{" + text + "}"
	}
	return lead + "[" + text + "]"
}

// hasChildren reports whether a value is an object or array that is not empty. It can be wrong
// about white space.
func hasChildren(raw json.RawMessage) bool {
	return len(raw) > 2 && (raw[0] == '{' || raw[0] == '[')
}

// addMembers shows the members of an object, each on separate lines.
func (e *explainer) addMembers(members jsonraw.Members, path []string, indent string) {
	for i, m := range members {
		if i == maxExplainNames {
			e.isCut = true
			e.addLine(fmt.Sprintf("%s%s %d more members", indent, e.st.Ellipsis(), len(members)-i), term.Dim, "")
			return
		}
		name := e.scalarText(jsonraw.Quote(m.Name), term.Width(indent))
		e.addValue(m.Value, childPath(path, m.Name), indent+name+": ", comma(i, len(members)))
	}
}

// addItems shows the first items; more of plain values, which take one line each.
func (e *explainer) addItems(items []json.RawMessage, path []string, indent string) {
	maxShown := maxExplainItems
	if c := items[0][0]; c != '{' && c != '[' {
		maxShown *= 4
	}
	for i, item := range items {
		if i == maxShown {
			e.isCut = true
			e.addLine(fmt.Sprintf("%s%s %d more", indent, e.st.Ellipsis(), len(items)-i), term.Dim, "")
			return
		}
		e.addValue(item, childPath(path, "[]"), indent, comma(i, len(items)))
	}
}

// childPath returns path with name. It never shares its array with path, which the next member
// needs again.
func childPath(path []string, name string) []string {
	return append(path[:len(path):len(path)], name)
}

func comma(i, n int) string {
	if i < n-1 {
		return ","
	}
	return ""
}

// maxScalar is how many bytes of a value are read to show its start.
const maxScalar = 4 << 10

// scalarText returns a JSON value on one line that begins in a column. It cuts a long value.
func (e *explainer) scalarText(raw []byte, column int) string {
	if len(raw) <= maxScalar {
		return e.cutText(string(term.EscapeHidden(raw)), column, 0)
	}
	start := raw[:jsonraw.RuneStart(raw, maxScalar)]
	return e.cutText(string(term.EscapeHidden(start)), column, len(raw)-len(start))
}

// cutLine cuts a line of an HTTP head or an event.
func (e *explainer) cutLine(text string) string { return e.cutText(text, 0, 0) }

// cutText cuts text that begins in a column, and adds how many bytes are omitted. text is the start of a
// longer text if missing, the number of bytes after it, is not 0.
func (e *explainer) cutText(text string, column, missing int) string {
	room := max(16, e.st.Columns()-column-18)        // 18 columns for the mark and the tail
	if missing == 0 && term.Width(text) <= room+12 { // a mark would need most of these columns
		return text
	}
	e.isCut = true
	cut := term.Truncate(text, room)
	// An escape is never cut in two: the longest, \uXXXX, has six bytes.
	if i := strings.LastIndexByte(cut, '\\'); i >= 0 && i > len(cut)-6 {
		cut = strings.TrimRight(cut[:i], `\`)
	}
	tail := e.st.Ellipsis()
	if text[0] == '"' { // the closing quote was cut
		tail += `"`
	}
	return fmt.Sprintf("%s%s +%d bytes", cut, tail, len(text)-len(cut)+missing)
}
