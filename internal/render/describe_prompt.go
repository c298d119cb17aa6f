package render

import (
	"io"
	"strings"

	"mcpc/internal/mcp"
	"mcpc/internal/render/hint"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
)

// DescribePrompt writes a prompt's definition and an example command that gets it.
func DescribePrompt(w io.Writer, st term.Style, p mcp.Prompt) error {
	s := term.NewOutline(st)
	writeTitle(s, p.Name, p.Title)
	s.Prose(0, p.Description)
	writeHidden(s, hiddenInJSON(p.Raw))
	s.Heading("arguments")
	for _, a := range p.Arguments {
		head := st.Paint(term.Cyan, st.Line(a.Name))
		if a.Title != "" && a.Title != a.Name {
			head += " - " + st.Line(a.Title)
		}
		if a.Required {
			head += "  (required)"
		}
		s.Wrapped(1, head)
		s.Prose(3, a.Description)
	}
	if len(p.Arguments) == 0 {
		s.Line(1, "no arguments")
	}
	s.Heading("example")
	s.Line(1, examplePrompt(st.Hints, p))
	_, err := io.WriteString(w, s.String())
	return err
}

// examplePrompt returns a command line that gets a prompt with placeholders for required arguments.
func examplePrompt(c hint.Context, p mcp.Prompt) string {
	words := []string{"prompt", shellwords.Quote(p.Name)}
	for _, a := range p.Arguments {
		if a.Required {
			words = append(words, shellwords.Quote(a.Name+"=VALUE"))
		}
	}
	return c.Command(strings.Join(words, " "))
}
