package render

import (
	"bytes"
	"encoding/json"
	"io"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/render/term"
)

// Prompts writes one entry for each prompt: its name, its arguments, and the first line of its
// description; with long, the whole description. In a pipe the entries are Rows.
func Prompts(w io.Writer, st term.Style, prompts []mcp.Prompt, long bool) error {
	if !st.Pretty() {
		rows := NewRows(st, long, "")
		rows.Prompts(prompts)
		return rows.Write(w)
	}
	return writeEntries(w, st, len(prompts), func(i int) entry { return promptEntry(st, prompts[i]) }, long)
}

// promptEntry returns the entry of a prompt.
func promptEntry(st term.Style, p mcp.Prompt) entry {
	e := entry{name: st.Line(p.Name), title: st.Line(p.Title)}
	e.warnOfHidden(st, p.Raw)
	for _, a := range p.Arguments {
		name := st.Line(a.Name)
		if !a.Required {
			name += "?"
		}
		e.params = append(e.params, parameter{name, name, name}) // it has no type and no default
	}
	return withDescription(st, e, p.Description, p.Title)
}

// Resources writes one entry for each resource or template: its URI, its name, its type and size,
// and the first line of its description; with long, the whole description. In a pipe the entries are
// Rows.
func Resources(w io.Writer, st term.Style, resources []mcp.Resource, long bool) error {
	if !st.Pretty() {
		rows := NewRows(st, long, "")
		rows.Resources(resources)
		return rows.Write(w)
	}
	return writeEntries(w, st, len(resources), func(i int) entry { return resourceEntry(st, resources[i]) }, long)
}

// resourceEntry returns the entry of a resource or template. The URI is the entry's name, and the
// name has the place of the arguments.
func resourceEntry(st term.Style, r mcp.Resource) entry {
	e := entry{name: st.Line(r.URI), title: st.Line(r.Title)}
	if name := st.Line(r.Name); name != "" {
		e.params = []parameter{{name, name, name}}
	}
	if r.MIMEType != "" {
		e.hints = append(e.hints, st.Line(r.MIMEType))
	}
	if r.Size >= 0 {
		e.hints = append(e.hints, term.Size(r.Size))
	}
	e.warnOfHidden(st, r.Raw)
	return withDescription(st, e, r.Description, r.Title)
}

// A Section is a part of the output. A reader sees its heading; in a pipe its lines have the
// prefix.
type Section struct {
	Heading, Prefix string
	Write           func(io.Writer) error
}

// Sections writes each section below its heading, or into a pipe with its prefix and a TAB before
// each line. It omits the heading of a section that writes nothing.
func Sections(w io.Writer, st term.Style, sections []Section) error {
	var all bytes.Buffer
	for _, s := range sections {
		var b bytes.Buffer
		if err := s.Write(&b); err != nil {
			return err
		}
		if b.Len() == 0 {
			continue
		}
		prefix := s.Prefix + "\t"
		if st.Pretty() {
			if all.Len() > 0 {
				all.WriteString("\n")
			}
			all.WriteString(st.Paint(term.Bold, s.Heading+":") + "\n")
			prefix = ""
		}
		for line := range bytes.Lines(b.Bytes()) {
			all.WriteString(prefix)
			all.Write(line)
		}
	}
	_, err := w.Write(all.Bytes())
	return err
}

// Values writes one value a line: strings as their text, other values unchanged.
func Values(w io.Writer, st term.Style, values []json.RawMessage) error {
	var b bytes.Buffer
	for _, raw := range values {
		b.WriteString(st.Line(jsonraw.TextOrRaw(raw)) + "\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}
