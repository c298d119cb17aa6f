package render

import (
	"encoding/json"
	"io"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/mcp"
)

// Describe writes all that a tool's definition says that a user needs to call
// it: what it does, its hints in words, its arguments and its output as fields,
// and a command line with an example that can be pasted. Everything is
// sanitized, also into a pipe; the definition's own bytes are in --json. example are
// arguments that satisfy the inputSchema, nil where none are known. page is what the
// tool's UI resource says of itself, nil where it has none or was not read.
func Describe(w io.Writer, st Style, tool mcp.Tool, example, page json.RawMessage) error {
	s := st.sheet()
	s.title(tool.Name, tool.Title)
	s.prose(0, tool.Description)
	s.hints(tool)
	if tool.TaskSupport != "" {
		s.line(0, "as a task (execution.taskSupport): "+st.Line(tool.TaskSupport))
	}
	if tool.AppOnly {
		s.line(0, "for the UI only, not for a model (_meta.ui.visibility)")
	}
	s.section("input", tool.InputSchema, "no arguments")
	if tool.OutputSchema != nil {
		s.section("output", tool.OutputSchema, "no members")
	}
	s.page(tool.UI, page)
	s.heading("example")
	s.line(1, st.Aim.ExampleCall(tool, example))
	_, err := io.WriteString(w, s.String())
	return err
}

// sheet is a text that grows line by line, two columns to an indentation.
type sheet struct {
	st    Style
	width int
	b     strings.Builder
}

// String gives the lines so far.
func (s *sheet) String() string { return s.b.String() }

// line writes one line, which is sanitized already, and is never wrapped.
func (s *sheet) line(depth int, text string) {
	if text != "" {
		s.b.WriteString(strings.Repeat("  ", depth) + text)
	}
	s.b.WriteString("\n")
}

// prose writes a server's text of many lines.
func (s *sheet) prose(depth int, text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	for _, line := range s.st.wrap(s.st.Block(text), s.width-2*depth) {
		s.line(depth, strings.TrimRight(line, " "))
	}
}

// heading writes an empty line and a heading.
func (s *sheet) heading(name string) {
	s.line(0, "")
	s.line(0, s.st.paint(bold, name+":"))
}

// sheet begins a text that is at most as wide as is easy to read.
func (s Style) sheet() *sheet { return &sheet{st: s, width: min(s.columns(), maxProse)} }

func (s *sheet) title(name, title string) {
	line := s.st.paint(bold, s.st.Line(name))
	if title != "" && title != name {
		line += " - " + s.st.Line(title)
	}
	s.line(0, line)
}

func (s *sheet) hints(tool mcp.Tool) {
	s.line(0, "")
	_, words := annotations(tool.Hints)
	if len(words) == 0 {
		words = []string{"none (assume that it writes and may be destructive)"}
	}
	s.wrapped(0, "annotations: "+strings.Join(words, ", "))
	s.hidden(hiddenInJSON(tool.Raw))
}

// hidden warns of what a model reads and a person does not see.
func (s *sheet) hidden(n int) {
	if n > 0 {
		s.line(0, s.st.paint(yellow, s.st.warning()+english.Plural(n, "hidden character")+" in the definition, shown as "+s.st.Line("\u200b")))
	}
}

// wrapped writes a line of mcpc's own with hanging indentation.
func (s *sheet) wrapped(depth int, text string) {
	for i, line := range s.st.wrap(text, s.width-2*depth-4) {
		if i > 0 {
			line = "    " + line
		}
		s.line(depth, line)
	}
}

// annotations are a tool's hints, in short where they are true, and in words.
func annotations(h mcp.Hints) (short, words []string) {
	for _, hint := range []struct {
		set            *bool
		short, yes, no string
	}{
		{h.ReadOnly, "ro", "read-only", "not read-only"},
		{h.Destructive, "destr", "destructive", "not destructive"},
		{h.Idempotent, "idem", "idempotent", "not idempotent"},
		{h.OpenWorld, "open", "open world", "closed world"},
	} {
		switch {
		case hint.set == nil:
		case *hint.set:
			short, words = append(short, hint.short), append(words, hint.yes)
		default:
			words = append(words, hint.no)
		}
	}
	return short, words
}

func (s *sheet) section(name string, raw json.RawMessage, empty string) {
	s.heading(name)
	writeSchema(s, raw, empty)
}
