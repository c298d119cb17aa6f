package render

import (
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

// Describe writes all that a user needs to call a tool: what it does, its hints in words, its
// arguments and its output as fields, and an example command that can be pasted. It sanitizes
// everything, also for a pipe; --json prints the definition unchanged. example has arguments that
// satisfy the inputSchema, or is nil if no such arguments are known. app is the page that the tool
// names, or nil. suspicious has warnings about the definition.
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
	writeApp(s, tool.Name, app)
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
	words := hintsInWords(tool.Hints)
	if len(words) == 0 {
		words = []string{"none (assume that it writes and may be destructive)"}
	}
	s.Wrapped(0, "annotations: "+strings.Join(words, ", "))
	writeHidden(s, hiddenInJSON(tool.Raw))
}

// writeHidden warns of n characters that a model reads and a person does not see.
func writeHidden(s *term.Outline, n int) {
	if n == 0 {
		return
	}
	text := english.Plural(n, "hidden character") + " in the definition, shown as " + s.Style.Line("\u200b")
	s.Line(0, s.Style.Paint(term.Yellow, warningMark(s.Style)+text))
}

// hintNames are the names of a tool's hints: the short form of a true hint, and both values in
// words.
var hintNames = [...]struct{ short, yes, no string }{
	{"ro", "read-only", "not read-only"},
	{"destr", "destructive", "not destructive"},
	{"idem", "idempotent", "not idempotent"},
	{"open", "open world", "closed world"},
}

// hintValues returns the hints in the order of hintNames.
func hintValues(h mcp.Hints) [len(hintNames)]*bool {
	return [...]*bool{h.ReadOnly, h.Destructive, h.Idempotent, h.OpenWorld}
}

// shortHints returns the short names of the true hints.
func shortHints(h mcp.Hints) []string {
	var names []string
	for i, value := range hintValues(h) {
		if value != nil && *value {
			if names == nil {
				names = make([]string, 0, len(hintNames))
			}
			names = append(names, hintNames[i].short)
		}
	}
	return names
}

// hintsInWords returns the hints that a tool declares, in words.
func hintsInWords(h mcp.Hints) []string {
	var words []string
	for i, value := range hintValues(h) {
		if value == nil {
			continue
		}
		if *value {
			words = append(words, hintNames[i].yes)
		} else {
			words = append(words, hintNames[i].no)
		}
	}
	return words
}

func writeSection(s *term.Outline, name string, raw json.RawMessage, empty string) {
	s.Heading(name)
	writeSchema(s, raw, empty)
}

// maxDeclaredChars is how much of one declaration of a page is shown: its policy can name many hosts.
const maxDeclaredChars = 1000

// writeApp writes what a tool declares about a page of MCP Apps: the hosts that it connects to, the
// permissions that it wants, and the commands that save and show the page.
func writeApp(s *term.Outline, tool string, app *mcp.App) {
	if app == nil {
		return
	}
	s.Heading("UI resource (MCP Apps)")
	s.Line(1, s.Style.Line(app.URI))
	if app.DeprecatedKey {
		s.Wrapped(1, `named by the deprecated _meta["ui/resourceUri"]`)
	}
	if p := app.Page; p != nil {
		mime := p.MIMEType
		if mime == "" {
			mime = "no mimeType"
		}
		content := fmt.Sprintf("content: %s, %s, sha256:%s", mime, term.Bytes(int64(p.Bytes)), p.SHA256)
		s.Wrapped(1, s.Style.Line(content))
		declared, _ := jsonraw.Object(p.Declared)
		for _, name := range []string{"csp", "permissions", "domain", "prefersBorder"} {
			if raw, ok := declared.Get(name); ok {
				s.Wrapped(1, name+": "+valueLine(s.Style, raw, maxDeclaredChars))
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
	if !strings.HasPrefix(tool, "-") { // else it reads like a flag
		s.Line(1, s.Style.Hints.Command("app "+shellwords.Quote(tool)+" -o page.png"))
	}
}

// exampleCall returns a command line that calls tool with arguments, quoted for a POSIX shell. If
// arguments is nil it uses placeholders. It passes a name that reads like a flag in the params of
// `raw tools/call`.
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
