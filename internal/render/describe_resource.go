package render

import (
	"io"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
)

// DescribeResource writes a resource's entry and a command that reads it.
func DescribeResource(w io.Writer, st term.Style, r mcp.Resource) error {
	return describeResource(w, st, r, func(s *term.Outline) {
		s.Heading("example")
		s.Line(1, st.Hints.Command("read "+shellwords.Quote(r.URI)))
	})
}

// DescribeTemplate writes a resource template's entry, its variables, and a command that reads it.
func DescribeTemplate(w io.Writer, st term.Style, r mcp.Resource) error {
	return describeResource(w, st, r, func(s *term.Outline) {
		t, err := mcp.ParseURITemplate(r.URI)
		if err != nil {
			s.Line(0, st.Line("the template cannot be filled: "+err.Error()))
			return
		}
		s.Heading("variables")
		read := "read " + shellwords.Quote(r.URI)
		for _, name := range t.Variables() {
			s.Line(1, st.Paint(term.Cyan, st.Line(name)))
			read += " " + shellwords.Quote(name+"=VALUE")
		}
		s.Heading("example")
		s.Line(1, st.Hints.Command(read))
	})
}

// describeResource writes the entry of a resource or template. writeMore adds the rest.
func describeResource(w io.Writer, st term.Style, r mcp.Resource, writeMore func(*term.Outline)) error {
	s := term.NewOutline(st)
	title := r.Title
	if title == "" {
		title = r.Name
	}
	writeTitle(s, r.URI, title)
	s.Prose(0, r.Description)
	writeHidden(s, hiddenInJSON(r.Raw))
	var facts []string
	if r.MIMEType != "" {
		facts = append(facts, st.Line(r.MIMEType))
	}
	if r.Size >= 0 { // negative: not declared
		facts = append(facts, term.Size(r.Size))
	}
	members, _ := jsonraw.Object(r.Raw)
	facts = append(facts, (&resultWriter{st: st}).annotationTexts(members)...)
	if len(facts) > 0 {
		s.Wrapped(0, strings.Join(facts, "; "))
	}
	writeMore(s)
	_, err := io.WriteString(w, s.String())
	return err
}
