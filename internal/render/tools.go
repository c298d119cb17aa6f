package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"mcpc/internal/mcp"
	"mcpc/internal/sanitize"
	"mcpc/internal/sliceutil"
)

// Tools writes one entry a tool: its name, its arguments as a signature, hints,
// and the first line of its description; with long, all of it.
//
// An entry is one row where names and arguments leave the descriptions enough of
// the width, else two lines. What is cut
// says how much is missing. Into a pipe goes one line a tool with a TAB between
// name, arguments, hints and description, aligned to nothing and made for grep,
// cut and awk. Without tools nothing is written.
func Tools(w io.Writer, st Style, tools []mcp.Tool, long bool) error {
	index, names := indexes(tools), make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	like := mcp.Lookalikes(names)
	return list(w, st, len(tools), func(i int) entry {
		e := st.entry(tools[i], long)
		e.hints = append(e.hints, st.lookalike(names[i], like[i])...)
		if index[i] > 0 {
			e.hints = append(e.hints, fmt.Sprintf("--index %d", index[i]))
		}
		return e
	}, long)
}

// indexes counts the tools that share their name with another, from 1 in the order of
// the list; it is 0 for all others.
func indexes(tools []mcp.Tool) []int {
	times := make(map[string]int, len(tools))
	index := make([]int, len(tools))
	for i, t := range tools {
		times[t.Name]++
		index[i] = times[t.Name]
	}
	for i, t := range tools {
		if times[t.Name] == 1 {
			index[i] = 0
		}
	}
	return index
}

// list writes n entries. For a pipe their lines are kept and they are not: there may be
// very many.
func list(w io.Writer, s Style, n int, entryAt func(i int) entry, long bool) error {
	if !s.watched() {
		lines := make([]string, n+1) // so that the last one has an end, too
		sliceutil.Parallel(n, func(i int) { lines[i] = entryAt(i).fields(s, long) })
		_, err := io.WriteString(w, strings.Join(lines, "\n"))
		return err
	}
	entries := make([]entry, n)
	sliceutil.Parallel(n, func(i int) { entries[i] = entryAt(i) })
	var b bytes.Buffer
	switch {
	case long:
		sheet := s.sheet()
		for _, e := range entries {
			sheet.longEntry(e)
		}
		b.WriteString(sheet.String())
	case !s.wideEntries(&b, entries):
		for _, e := range entries {
			s.narrowEntry(&b, e)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// An entry is a tool, or another thing that a server lists, as shown in the list;
// its texts are sanitized.
type entry struct {
	name, title string
	params      []parameter
	hints       []string
	// about is the first line of the description, rest the length of what
	// follows it.
	about string
	rest  int
	full  string
}

func (s Style) entry(t mcp.Tool, long bool) entry {
	choices := 4
	if long || !s.watched() {
		choices = 100
	}
	e := entry{name: s.Line(t.Name), title: s.Line(t.Title), hints: s.hints(t)}
	e.params = s.parameters(t.InputSchema, choices)
	return s.about(e, t.Description, t.Title)
}

// about gives an entry its description, or the title where there is none.
func (s Style) about(e entry, description, title string) entry {
	e.full = cmp.Or(strings.TrimSpace(description), title)
	first, rest, _ := strings.Cut(e.full, "\n")
	e.about = s.Line(strings.TrimSpace(first))
	e.rest = utf8.RuneCountInString(strings.TrimSpace(rest))
	return e
}

// hints are a tool's declared annotations in short, and what a reader should
// know before believing the rest.
func (s Style) hints(t mcp.Tool) []string {
	hints, _ := annotations(t.Hints)
	if t.UI != "" {
		hints = append(hints, "ui")
	}
	if t.AppOnly {
		hints = append(hints, "app only")
	}
	return append(hints, s.hidden(hiddenInJSON(t.Raw))...)
}

// lookalike marks a name that may be taken for another.
func (s Style) lookalike(name, like string) []string {
	switch {
	case like != "":
		return []string{s.warning() + "looks like " + s.Line(like)}
	case mcp.MixedScripts(name):
		return []string{s.warning() + "mixed alphabets"}
	}
	return nil
}

func (s Style) hidden(n int) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s%d hidden", s.warning(), n)}
}

func (s Style) warning() string { return s.ornament("!", "⚠ ") }

// hiddenInJSON counts the hidden characters in all strings of a definition, since a
// model reads all of them.
func hiddenInJSON(raw json.RawMessage) int {
	if sanitize.PlainBytes(raw) && !bytes.Contains(raw, []byte(`\u`)) && !bytes.Contains(raw, []byte(`\r`)) &&
		!bytes.Contains(raw, []byte(`\b`)) && !bytes.Contains(raw, []byte(`\f`)) {
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

// fields is an entry for a pipe.
func (e entry) fields(st Style, long bool) string {
	about := e.about
	if long {
		about = st.Line(e.full)
	} else if e.rest > 0 {
		about += st.tail(e.rest)
	}
	return strings.Join([]string{e.name, joined(e.params, 0), strings.Join(e.hints, ","), about}, "\t")
}

// described is the description behind the hints, cut to width columns.
func (s Style) described(e entry, width int) string {
	if len(e.hints) == 0 {
		return s.cutMore(e.about, width, e.rest)
	}
	hints, mark := "["+strings.Join(e.hints, ", ")+"]", dim
	if strings.Contains(hints, "destr") || strings.Contains(hints, "hidden") {
		mark = yellow
	}
	room := width - columns(hints) - 1
	if e.about == "" || room < 12 {
		return s.paint(mark, s.cut(hints, width))
	}
	return s.paint(mark, hints) + " " + s.cutMore(e.about, room, e.rest)
}

func (s Style) narrowEntry(b *bytes.Buffer, e entry) {
	width := s.columns()
	name := s.cut(e.name, width)
	line := s.paint(bold, name)
	if room := width - columns(name) - len(gap); len(e.params) > 0 && room >= 8 {
		line += gap + s.paint(cyan, s.signature(e.params, room))
	}
	b.WriteString(line + "\n")
	if e.about != "" || len(e.hints) > 0 {
		b.WriteString("    " + s.described(e, max(width-4, 1)) + "\n")
	}
}

// wideEntries writes every entry as one row. It does nothing, and says so, where
// the rows would leave too little room for their descriptions.
func (s Style) wideEntries(b *bytes.Buffer, entries []entry) bool {
	width := s.columns()
	nameWidth, paramWidth := 0, 0
	for _, e := range entries {
		nameWidth = max(nameWidth, columns(e.name))
		paramWidth = max(paramWidth, columns(joined(e.params, 0)))
	}
	room := width - nameWidth - paramWidth - 2*len(gap)
	if room < max(width/2, minDescription) {
		return false
	}
	for _, e := range entries {
		line := s.paint(bold, pad(e.name, nameWidth)) + gap + pad(s.paint(cyan, joined(e.params, 0)), paramWidth) + gap
		b.WriteString(strings.TrimRight(line+s.described(e, room), " ") + "\n")
	}
	return true
}

// minDescription is the width below which a row is worse than two lines.
const minDescription = 50

// longEntry cuts nothing.
func (s *sheet) longEntry(e entry) {
	if s.String() != "" {
		s.line(0, "")
	}
	name := s.st.paint(bold, e.name)
	if e.title != "" && e.title != e.name {
		name += gap + e.title
	}
	s.line(0, name)
	for _, line := range s.st.lines(e.params, s.width-4) {
		s.line(2, line)
	}
	if len(e.hints) > 0 {
		s.line(2, "["+strings.Join(e.hints, ", ")+"]")
	}
	if e.full != e.title {
		for _, line := range s.st.wrap(s.st.Block(e.full), s.width-4) {
			s.line(2, line)
		}
	}
}
