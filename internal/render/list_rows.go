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
	// tools has the names of all tools. specialNames and specialNumbers, the numbers of these tools,
	// have the result of Names.Special; they are valid if isComplete is true.
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

// Special returns the names of tools that can get a hint about other tools of the list: names that occur
// several times, look like another name, or are not ASCII. No tool can be added after it.
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
		r.line = append(r.line, p[wholeForm]...)
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

// hintsCell is the index of the hints in a line, after the name and the arguments.
const hintsCell = 2

// Write writes the lines, with the hints that depend on the whole list, and empties r.
func (r *Rows) Write(w io.Writer) error {
	defer r.Empty()
	extraHints := r.hints()
	if r.err != nil {
		return r.err
	}
	if len(extraHints) == 0 {
		_, err := r.lines.WriteTo(w)
		return err
	}
	lines, err := r.lines.Bytes()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	number := 0   // of the line, as in extraHints
	passed := 0   // bytes of lines that are written
	released := 0 // bytes of lines that are no longer in memory
	for line := range bytes.Lines(lines) {
		passed += len(line)
		if hints := extraHints[number]; hints != nil {
			cells := bytes.SplitN(line, []byte("\t"), 4) // no cell contains a TAB
			if len(cells[hintsCell]) > 0 {
				hints = append([]string{string(cells[hintsCell])}, hints...)
			}
			cells[hintsCell] = []byte(strings.Join(hints, ","))
			line = bytes.Join(cells, []byte("\t"))
		}
		_, _ = out.Write(line) // Flush returns the error
		released = spool.ReleasePassed(lines, released, passed)
		number++
	}
	return out.Flush()
}

// hints returns the hints that depend on other tools of the list, by the numbers of the tools.
func (r *Rows) hints() map[int][]string {
	all := map[int][]string{}
	for number, warnings := range r.warnings {
		for _, words := range warnings {
			all[number] = append(all[number], warningMark(r.st)+words)
		}
	}
	names := r.Special()
	index := indexes(names) // for --index
	lookalikes := mcp.Lookalikes(names)
	for i, name := range names {
		number := r.specialNumbers[i]
		hints := listHints(r.st, name, lookalikes[i], r.warnings[number], index[i])
		if hints != nil { // they include the warnings, which they replace
			all[number] = hints
		}
	}
	return all
}
