package render

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"mcpc/internal/mcp"
	"mcpc/internal/render/term"
	"mcpc/internal/spool"
)

// Rows writes a list into a pipe: one line for each entry with a TAB between name, arguments, hints
// and description, for grep, cut and awk. It keeps the lines until the list is complete. It also
// keeps the names of tools, because some hints of a tool depend on the names of the others.
type Rows struct {
	st    term.Style
	long  bool
	dir   spool.Dir
	lines *spool.Buffer
	// tools has the names of all tools. special and numbers have the result of Names.Special;
	// they are valid if complete is true.
	tools          *mcp.Names
	specialNames   []string
	specialNumbers []int
	isComplete     bool
	warnings       map[int][]string
	line           []byte
	err            error
}

// NewRows returns Rows that keep many lines in a file in dir. With long, descriptions are written
// whole.
func NewRows(st term.Style, long bool, dir spool.Dir) *Rows {
	return &Rows{
		st:       st,
		long:     long,
		dir:      dir,
		lines:    dir.NewLong(),
		tools:    mcp.NewNames(dir),
		warnings: map[int][]string{},
	}
}

// Tools adds tools.
func (r *Rows) Tools(tools []mcp.Tool) {
	for _, t := range tools {
		r.tools.Add(t.Name)
		r.add(toolEntry(r.st, t, r.long))
	}
}

// Prompts adds prompts.
func (r *Rows) Prompts(prompts []mcp.Prompt) {
	for _, p := range prompts {
		r.add(promptEntry(r.st, p))
	}
}

// Resources adds resources or templates.
func (r *Rows) Resources(resources []mcp.Resource) {
	for _, resource := range resources {
		r.add(resourceEntry(r.st, resource))
	}
}

// Warn adds warnings about the tool with number i, from 0.
func (r *Rows) Warn(i int, words []string) {
	if len(words) > 0 {
		r.warnings[i] = words
	}
}

// ToolCount returns the number of tools added so far.
func (r *Rows) ToolCount() int { return r.tools.Count() }

// Special returns the names that Names.Special returns. No tool can be added after it.
func (r *Rows) Special() []string {
	if !r.isComplete && r.err == nil {
		r.isComplete = true
		r.specialNames, r.specialNumbers, r.err = r.tools.Special()
	}
	return r.specialNames
}

// Empty removes all entries.
func (r *Rows) Empty() {
	_ = r.lines.Close()
	r.tools.Empty()
	*r = *NewRows(r.st, r.long, r.dir)
}

// add writes the line of an entry.
func (r *Rows) add(e entry) {
	r.line = append(append(r.line[:0], e.name...), '\t')
	for i, p := range e.params {
		if i > 0 {
			r.line = append(r.line, ", "...)
		}
		r.line = append(r.line, p[0]...)
	}
	r.line = append(r.line, '\t')
	for i, hint := range e.hints {
		if i > 0 {
			r.line = append(r.line, ',')
		}
		r.line = append(r.line, hint...)
	}
	r.line = append(r.line, '\t')
	if r.long {
		r.line = append(r.line, r.st.Line(e.full)...)
	} else {
		r.line = append(r.line, e.summary...)
		if e.omittedChars > 0 {
			r.line = append(r.line, r.st.MoreChars(e.omittedChars)...)
		}
	}
	r.write(append(r.line, '\n'))
}

func (r *Rows) write(line []byte) {
	if r.err == nil {
		_, r.err = r.lines.Write(line)
	}
}

// Write writes the lines and empties r.
func (r *Rows) Write(w io.Writer) error {
	defer r.Empty()
	more := r.hints()
	if r.err != nil {
		return r.err
	}
	if len(more) == 0 {
		_, err := r.lines.WriteTo(w)
		return err
	}
	lines, err := r.lines.Bytes()
	if err != nil {
		return err
	}
	to := bufio.NewWriterSize(w, 64<<10)
	i := 0
	at := 0
	released := 0
	for line := range bytes.Lines(lines) {
		at += len(line)
		if hints := more[i]; hints != nil {
			parts := bytes.SplitN(line, []byte("\t"), 4) // no part contains a TAB
			if len(parts[2]) > 0 {
				hints = append([]string{string(parts[2])}, hints...)
			}
			parts[2] = []byte(strings.Join(hints, ","))
			line = bytes.Join(parts, []byte("\t"))
		}
		_, _ = to.Write(line) // Flush returns the error
		released = spool.ReleasePassed(lines, released, at)
		i++
	}
	return to.Flush()
}

// hints returns the hints that depend on other tools of the list, by the numbers of the tools.
func (r *Rows) hints() map[int][]string {
	more := map[int][]string{}
	for i, warned := range r.warnings {
		more[i] = listHints(r.st, "", "", warned, 0)
	}
	names := r.Special()
	index := indexes(names)
	like := mcp.Lookalikes(names)
	for i, name := range names {
		number := r.specialNumbers[i]
		if hints := listHints(r.st, name, like[i], r.warnings[number], index[i]); hints != nil {
			more[number] = hints
		}
	}
	return more
}
