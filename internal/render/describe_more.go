package render

import (
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/shellwords"
)

// DescribePrompt writes all that a prompt's definition says, and how to ask for
// it.
func DescribePrompt(w io.Writer, st Style, p mcp.Prompt) error {
	s := st.sheet()
	s.title(p.Name, p.Title)
	s.prose(0, p.Description)
	s.hidden(hiddenInJSON(p.Raw))
	s.heading("arguments")
	for _, a := range p.Arguments {
		head := st.paint(cyan, st.Line(a.Name))
		if a.Title != "" && a.Title != a.Name {
			head += " - " + st.Line(a.Title)
		}
		if a.Required {
			head += "  (required)"
		}
		s.wrapped(1, head)
		s.prose(3, a.Description)
	}
	if len(p.Arguments) == 0 {
		s.line(1, "no arguments")
	}
	s.heading("example")
	s.line(1, st.Aim.ExamplePrompt(p))
	_, err := io.WriteString(w, s.String())
	return err
}

// ExamplePrompt is a command line that asks for a prompt, with every argument
// that it requires.
func (c Aim) ExamplePrompt(p mcp.Prompt) string {
	words := []string{"prompt", shellwords.Quote(p.Name)}
	for _, a := range p.Arguments {
		if a.Required {
			words = append(words, shellwords.Quote(a.Name+"=VALUE"))
		}
	}
	return c.Command(strings.Join(words, " "))
}

// DescribeResource writes all that a resource's entry says, and how to read it.
func DescribeResource(w io.Writer, st Style, r mcp.Resource) error {
	return describeResource(w, st, r, func(s *sheet) {
		s.heading("example")
		s.line(1, st.Aim.Command("read "+shellwords.Quote(r.URI)))
	})
}

// DescribeTemplate does the same for a resource template, whose variables are to
// be chosen.
func DescribeTemplate(w io.Writer, st Style, r mcp.Resource) error {
	return describeResource(w, st, r, func(s *sheet) {
		t, err := mcp.ParseURITemplate(r.URI)
		if err != nil {
			s.line(0, st.Line("the template cannot be filled: "+err.Error()))
			return
		}
		s.heading("variables")
		read := "read " + shellwords.Quote(r.URI)
		for _, name := range t.Variables() {
			s.line(1, st.paint(cyan, st.Line(name)))
			read += " " + shellwords.Quote(name+"=VALUE")
		}
		s.heading("example")
		s.line(1, st.Aim.Command(read))
	})
}

func describeResource(w io.Writer, s Style, r mcp.Resource, more func(*sheet)) error {
	sh := s.sheet()
	sh.title(r.URI, cmp.Or(r.Title, r.Name))
	sh.prose(0, r.Description)
	sh.hidden(hiddenInJSON(r.Raw))
	var facts []string
	if r.MIMEType != "" {
		facts = append(facts, s.Line(r.MIMEType))
	}
	if r.Size >= 0 {
		facts = append(facts, size(r.Size))
	}
	members, _ := jsonraw.Object(r.Raw)
	facts = append(facts, (&page{st: s}).annotated(members)...)
	if len(facts) > 0 {
		sh.wrapped(0, strings.Join(facts, "; "))
	}
	more(sh)
	_, err := io.WriteString(w, sh.String())
	return err
}

// page writes what is known of the page of MCP Apps that a tool names. It is
// shown and never run: the server's statement of where it may connect to and what
// it may use is for the user who opens it in another client.
func (s *sheet) page(uri string, said json.RawMessage) {
	if uri == "" {
		return
	}
	s.heading("UI resource (MCP Apps); not opened by mcpc")
	s.line(1, s.st.Line(uri))
	members, err := jsonraw.Object(said)
	for _, name := range []string{"csp", "permissions"} {
		if raw, ok := members.Get(name); ok {
			s.wrapped(1, name+": "+s.st.shown(raw, 1000))
		} else if err == nil { // it was read
			s.wrapped(1, name+": none declared")
		}
	}
	s.line(1, s.st.Aim.Command("read "+shellwords.Quote(uri)+" -o page.html"))
}
