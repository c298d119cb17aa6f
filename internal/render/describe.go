package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/render/hint"
	"mcpc/internal/render/term"
	"mcpc/internal/schema"
	"mcpc/internal/shellwords"
)

// Describe writes all that a tool's definition says that a user needs to call
// it: what it does, its hints in words, its arguments and its output as fields,
// and a command line with an example that can be pasted. Everything is
// sanitized, also into a pipe; the definition's own bytes are in --json. example are
// arguments that satisfy the inputSchema, nil where none are known. app is what the
// tool declares of a page, nil where it names none. suspicious is what
// a reader is warned of in the definition.
func Describe(
	w io.Writer,
	st term.Style,
	tool mcp.Tool,
	suspicious []string,
	example json.RawMessage,
	app *mcp.App,
) error {
	s := term.NewOutline(st)
	writeTitle(s, tool.Name, tool.Title)
	s.Prose(0, tool.Description)
	writeHints(s, tool)
	for _, words := range suspicious {
		s.Wrapped(0, st.Paint(term.Yellow, warningMark(st)+st.Line(words)))
	}
	if tool.TaskSupport != "" {
		s.Line(0, "as a task (execution.taskSupport): "+st.Line(tool.TaskSupport))
	}
	if tool.AppOnly {
		s.Line(0, "for the UI only, not for a model (_meta.ui.visibility)")
	}
	writeSection(s, "input", tool.InputSchema, "no arguments")
	if tool.OutputSchema != nil {
		writeSection(s, "output", tool.OutputSchema, "no members")
	}
	writeApp(s, app)
	s.Heading("example")
	s.Line(1, exampleCall(st.Hints, tool, example))
	_, err := io.WriteString(w, s.String())
	return err
}

func writeTitle(s *term.Outline, name, title string) {
	line := s.Style.Paint(term.Bold, s.Style.Line(name))
	if title != "" && title != name {
		line += " - " + s.Style.Line(title)
	}
	s.Line(0, line)
}

func writeHints(s *term.Outline, tool mcp.Tool) {
	s.Line(0, "")
	words := annotations(tool.Hints)
	if len(words) == 0 {
		words = []string{"none (assume that it writes and may be destructive)"}
	}
	s.Wrapped(0, "annotations: "+strings.Join(words, ", "))
	writeHidden(s, hiddenInJSON(tool.Raw))
}

// writeHidden warns of what a model reads and a person does not see.
func writeHidden(s *term.Outline, n int) {
	if n > 0 {
		s.Line(
			0,
			s.Style.Paint(
				term.Yellow,
				warningMark(s.Style)+english.Plural(n, "hidden character")+" in the definition, shown as "+s.Style.Line("\u200b"),
			),
		)
	}
}

// hintNames are the names of a tool's hints: in short where they are true, and in words.
var hintNames = [...]struct{ short, yes, no string }{
	{"ro", "read-only", "not read-only"},
	{"destr", "destructive", "not destructive"},
	{"idem", "idempotent", "not idempotent"},
	{"open", "open world", "closed world"},
}

// hintValues are in the order of hintNames.
func hintValues(h mcp.Hints) [len(hintNames)]*bool {
	return [...]*bool{h.ReadOnly, h.Destructive, h.Idempotent, h.OpenWorld}
}

// shortHints names the hints that are true.
func shortHints(h mcp.Hints) (short []string) {
	for i, set := range hintValues(h) {
		if set != nil && *set {
			if short == nil {
				short = make([]string, 0, len(hintNames))
			}
			short = append(short, hintNames[i].short)
		}
	}
	return short
}

// annotations are the hints that a tool declares, in words.
func annotations(h mcp.Hints) (words []string) {
	for i, set := range hintValues(h) {
		switch {
		case set == nil:
		case *set:
			words = append(words, hintNames[i].yes)
		default:
			words = append(words, hintNames[i].no)
		}
	}
	return words
}

func writeSection(s *term.Outline, name string, raw json.RawMessage, empty string) {
	s.Heading(name)
	writeSchema(s, raw, empty)
}

// writeApp writes what a tool declares of a page of MCP Apps. The page is shown and never run:
// where it may connect to and what it may use is for the user who opens it in another client.
func writeApp(s *term.Outline, app *mcp.App) {
	if app == nil {
		return
	}
	s.Heading("UI resource (MCP Apps); not opened by mcpc")
	s.Line(1, s.Style.Line(app.URI))
	if app.DeprecatedKey {
		s.Wrapped(1, `named by the deprecated _meta["ui/resourceUri"]`)
	}
	if p := app.Page; p != nil {
		s.Wrapped(
			1,
			s.Style.Line(
				fmt.Sprintf("content: %s, %s, sha256:%s", cmp.Or(p.MIMEType, "no mimeType"), term.Bytes(int64(p.Bytes)), p.SHA256),
			),
		)
		declared, _ := jsonraw.Object(p.Declared)
		for _, name := range []string{"csp", "permissions", "domain", "prefersBorder"} {
			if raw, ok := declared.Get(name); ok {
				s.Wrapped(1, name+": "+valueLine(s.Style, raw, 1000))
			} else if name == "csp" || name == "permissions" {
				s.Wrapped(1, name+": none declared")
			}
		}
		s.Wrapped(1, "policy: "+s.Style.Line(p.Policy))
	}
	for _, problem := range app.Problems {
		s.Wrapped(1, "problem: "+problem)
	}
	s.Line(1, s.Style.Hints.Command("read "+shellwords.Quote(app.URI)+" -o page.html"))
}

// exampleCall is a command line that calls tool with arguments that satisfy its
// inputSchema, quoted for a POSIX shell, or where they are nil with placeholders. A
// name that reads like a flag has its place in the params.
func exampleCall(c hint.Context, tool mcp.Tool, arguments json.RawMessage) string {
	if arguments == nil {
		arguments = schema.Placeholder(tool.InputSchema)
	}
	arguments = term.EscapeHidden(arguments)
	if strings.HasPrefix(tool.Name, "-") {
		var params jsonraw.Builder
		params.Raw("name", term.EscapeHidden(jsonraw.Quote(tool.Name)))
		params.Raw("arguments", arguments)
		return c.Command("raw tools/call " + shellwords.Quote(string(params.Bytes())))
	}
	return c.Command("call " + shellwords.Quote(tool.Name) + " " + shellwords.Quote(string(arguments)))
}
