package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"mcpc/internal/mcp"
	"mcpc/internal/render/term"
	"mcpc/internal/sanitize"
	"mcpc/internal/sliceutil"
)

// Tools writes one entry for each tool: its name, its arguments as a signature, hints, and the
// first line of its description; with long, the whole description. It writes nothing if there are
// no tools.
//
// An entry is one row if names and arguments leave enough of the width for the descriptions, else
// two lines. A cut text says how much is missing. In a pipe the entries are Rows. suspicious
// returns short warnings about a definition; nil warns of nothing.
func Tools(w io.Writer, st term.Style, tools []mcp.Tool, suspicious func(mcp.Tool) []string, long bool) error {
	if suspicious == nil {
		suspicious = func(mcp.Tool) []string { return nil }
	}
	if !st.Pretty() {
		rows := NewRows(st, long, "")
		rows.Tools(tools)
		for i, t := range tools {
			rows.Warn(i, suspicious(t))
		}
		return rows.Write(w)
	}
	names := sliceutil.Map(tools, func(t mcp.Tool) string { return t.Name })
	index := indexes(names)
	lookalikes := mcp.Lookalikes(names)
	return writeEntries(w, st, len(tools), func(i int) entry {
		e := toolEntry(st, tools[i], long)
		warnings := suspicious(tools[i])
		e.hasWarning = e.hasWarning || len(warnings) > 0 || lookalikeHint(st, names[i], lookalikes[i]) != nil
		e.hints = append(e.hints, listHints(st, names[i], lookalikes[i], warnings, index[i])...)
		return e
	}, long)
}

// listHints returns the hints that a tool has in addition to the hints of its definition: lookalike is the
// name of another tool that its name looks like, or ""; index is its number among tools of the same
// name, or 0 if its name is unique.
func listHints(st term.Style, name, lookalike string, warnings []string, index int) []string {
	hints := lookalikeHint(st, name, lookalike)
	for _, words := range warnings {
		hints = append(hints, warningMark(st)+words)
	}
	if index > 0 {
		hints = append(hints, fmt.Sprintf("--index %d", index))
	}
	return hints
}

// indexes numbers the names that occur several times, from 1 in the order of the list. The index of
// all other names is 0.
func indexes(names []string) []int {
	count := make(map[string]int, len(names))
	index := make([]int, len(names))
	for i, name := range names {
		count[name]++
		index[i] = count[name]
	}
	for i, name := range names {
		if count[name] == 1 {
			index[i] = 0
		}
	}
	return index
}

// writeEntries writes n entries for a reader, whole if long is set. It calls entryAt from several
// goroutines.
func writeEntries(w io.Writer, s term.Style, n int, entryAt func(i int) entry, long bool) error {
	entries := make([]entry, n)
	sliceutil.Parallel(n, func(i int) { entries[i] = entryAt(i) })
	var b bytes.Buffer
	if long {
		outline := term.NewOutline(s)
		for _, e := range entries {
			writeLongEntry(outline, e)
		}
		b.WriteString(outline.String())
	} else if !writeWideEntries(s, &b, entries) {
		for _, e := range entries {
			writeNarrowEntry(s, &b, e)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// An entry is an item of a list: a tool, a prompt, a resource or a template. Its texts are
// sanitized, except full.
type entry struct {
	name, title string
	params      []parameter
	// hints are short remarks, such as "ro" for read-only.
	hints []string
	// hasWarning is true if the hints have a warning.
	hasWarning bool
	// full is the description, not sanitized, or the title without a description. summary is its
	// first line, and omittedChars the number of characters after that.
	full         string
	summary      string
	omittedChars int
}

// maxShortChoices is how many values of an enum a short entry names.
const maxShortChoices = 4

// toolEntry returns the entry of a tool. A long entry and a pipe name more values of enums.
func toolEntry(s term.Style, t mcp.Tool, long bool) entry {
	choices := maxShortChoices
	if long || !s.Pretty() {
		choices = maxChoices
	}
	e := entry{name: s.Line(t.Name), title: s.Line(t.Title), hints: shortHints(t.Hints)}
	if t.UI != "" {
		e.hints = append(e.hints, "ui")
	}
	if t.AppOnly {
		e.hints = append(e.hints, "app only")
	}
	e.hasWarning = t.Hints.Destructive != nil && *t.Hints.Destructive
	e.warnOfHidden(s, t.Raw)
	e.params = schemaParameters(s, t.InputSchema, choices)
	return withDescription(s, e, t.Description, t.Title)
}

// withDescription returns e with a description, or with the title if the description is empty.
func withDescription(s term.Style, e entry, description, title string) entry {
	e.full = strings.TrimSpace(description)
	if e.full == "" {
		e.full = title
	}
	first, rest, _ := strings.Cut(e.full, "\n")
	e.summary = s.Line(strings.TrimSpace(first))
	e.omittedChars = utf8.RuneCountInString(strings.TrimSpace(rest))
	return e
}

// lookalikeHint returns a warning for a name that can be taken for another, or nil.
func lookalikeHint(s term.Style, name, like string) []string {
	if like != "" {
		return []string{warningMark(s) + "looks like " + s.Line(like)}
	}
	if mcp.MixedScripts(name) {
		return []string{warningMark(s) + "mixed alphabets"}
	}
	return nil
}

// warnOfHidden adds a hint with the number of hidden characters in a definition, if there are any.
func (e *entry) warnOfHidden(s term.Style, definition json.RawMessage) {
	if n := hiddenInJSON(definition); n > 0 {
		e.hints = append(e.hints, fmt.Sprintf("%s%d hidden", warningMark(s), n))
		e.hasWarning = true
	}
}

func warningMark(s term.Style) string { return s.Ornament("!", "⚠ ") }

// hiddenInJSON counts the hidden characters in all strings of a definition, since a model reads all
// of them.
func hiddenInJSON(raw json.RawMessage) int {
	if sanitize.PlainBytes(raw) && hasPlainEscapes(raw) {
		return 0
	}
	n := 0
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return n
		}
		if text, ok := token.(string); ok {
			n += sanitize.Hidden(text)
		}
	}
}

// hasPlainEscapes reports whether no escape in raw can stand for a hidden character.
func hasPlainEscapes(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 == len(raw) {
			return true
		}
		switch raw[i+1] {
		case 'u', 'r', 'b', 'f':
			return false
		}
		raw = raw[i+2:]
	}
}

// descriptionText returns the hints and the description, cut to width columns.
func descriptionText(s term.Style, e entry, width int) string {
	if len(e.hints) == 0 {
		return s.CutMore(e.summary, width, e.omittedChars)
	}
	hints := "[" + strings.Join(e.hints, ", ") + "]"
	color := term.Dim
	if e.hasWarning {
		color = term.Yellow
	}
	room := width - term.Width(hints) - 1
	const minSummary = 12 // columns; less is not worth reading
	if e.summary == "" || room < minSummary {
		return s.Paint(color, s.Cut(hints, width))
	}
	return s.Paint(color, hints) + " " + s.CutMore(e.summary, room, e.omittedChars)
}

// writeNarrowEntry writes an entry as one line, and a second one with the hints and the
// description.
func writeNarrowEntry(s term.Style, b *bytes.Buffer, e entry) {
	width := s.Columns()
	name := s.Cut(e.name, width)
	line := s.Paint(term.Bold, name)
	const minSignature = 8 // columns; less is not worth reading
	if room := width - term.Width(name) - len(term.Gap); len(e.params) > 0 && room >= minSignature {
		line += term.Gap + s.Paint(term.Cyan, signature(s, e.params, room))
	}
	b.WriteString(line + "\n")
	if e.summary != "" || len(e.hints) > 0 {
		b.WriteString("    " + descriptionText(s, e, max(width-4, 1)) + "\n")
	}
}

// writeWideEntries writes every entry as one row. It writes nothing and returns false if the rows
// would leave too little room for the descriptions.
func writeWideEntries(s term.Style, b *bytes.Buffer, entries []entry) bool {
	width := s.Columns()
	nameWidth := 0
	paramWidth := 0
	for _, e := range entries {
		nameWidth = max(nameWidth, term.Width(e.name))
		paramWidth = max(paramWidth, term.Width(joinParams(e.params, wholeForm)))
	}
	room := width - nameWidth - paramWidth - 2*len(term.Gap)
	if room < max(width/2, minDescription) {
		return false
	}
	for _, e := range entries {
		name := s.Paint(term.Bold, term.Pad(e.name, nameWidth))
		params := term.Pad(s.Paint(term.Cyan, joinParams(e.params, wholeForm)), paramWidth)
		line := name + term.Gap + params + term.Gap + descriptionText(s, e, room)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return true
}

// minDescription is the narrowest description in columns; below it an entry takes two lines.
const minDescription = 50

// writeLongEntry writes an entry whole.
func writeLongEntry(s *term.Outline, e entry) {
	if s.String() != "" {
		s.Line(0, "")
	}
	name := s.Style.Paint(term.Bold, e.name)
	if e.title != "" && e.title != e.name {
		name += term.Gap + e.title
	}
	s.Line(0, name)
	for _, line := range paramLines(e.params, s.Width-4) {
		s.Line(2, line)
	}
	if len(e.hints) > 0 {
		s.Line(2, "["+strings.Join(e.hints, ", ")+"]")
	}
	if e.full != e.title {
		for _, line := range s.Style.WrapLines(s.Style.Block(e.full), s.Width-4) {
			s.Line(2, line)
		}
	}
}
