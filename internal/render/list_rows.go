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

// Rows writes a list into a pipe: one line an entry with a TAB between name, arguments, hints
// and description, aligned to nothing and made for grep, cut and awk. Entries are taken as they
// come, and the lines kept until the list is whole. Of tools the names are kept besides: some
// hints depend on those of the others.
type Rows struct {
	st    term.Style
	long  bool
	dir   spool.Dir
	lines *spool.Buffer
	// tools are the names of the tools; special those that Names.Special returned, with their
	// numbers, once whole is set.
	tools   *mcp.Names
	special []string
	numbers []int
	whole   bool
	warned  map[int][]string
	line    []byte
	err     error
}

// NewRows returns Rows that keep many lines in a file in dir. With long, the descriptions are
// written in full.
func NewRows(st term.Style, long bool, dir spool.Dir) *Rows {
	return &Rows{st: st, long: long, dir: dir, lines: dir.NewLong(), tools: mcp.NewNames(dir), warned: map[int][]string{}}
}

// Tools takes tools.
func (r *Rows) Tools(tools []mcp.Tool) {
	for _, t := range tools {
		r.tools.Add(t.Name)
		r.add(toolEntry(r.st, t, r.long))
	}
}

// Prompts takes prompts.
func (r *Rows) Prompts(prompts []mcp.Prompt) {
	for _, p := range prompts {
		r.add(promptEntry(r.st, p))
	}
}

// Resources takes resources or templates.
func (r *Rows) Resources(resources []mcp.Resource) {
	for _, one := range resources {
		r.add(resourceEntry(r.st, one))
	}
}

// Warn adds what a reader is warned of in a tool: the one that was taken as number i, from 0.
func (r *Rows) Warn(i int, words []string) {
	if len(words) > 0 {
		r.warned[i] = words
	}
}

// Taken is the number of tools that were taken.
func (r *Rows) Taken() int { return r.tools.Count() }

// Special gives the names of those tools that Names.Special returns. No tool can be taken any
// more.
func (r *Rows) Special() []string {
	if !r.whole && r.err == nil {
		r.whole = true
		r.special, r.numbers, r.err = r.tools.Special()
	}
	return r.special
}

// Empty forgets what was taken.
func (r *Rows) Empty() {
	_ = r.lines.Close() // what was in it is not needed
	r.tools.Empty()
	*r = *NewRows(r.st, r.long, r.dir)
}

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
	} else if r.line = append(r.line, e.summary...); e.rest > 0 {
		r.line = append(r.line, r.st.MoreChars(e.rest)...)
	}
	r.write(append(r.line, '\n'))
}

func (r *Rows) write(line []byte) {
	if r.err == nil {
		_, r.err = r.lines.Write(line)
	}
}

// Write writes the lines. They can be written once.
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
	released := 0 // it keeps an error for the Flush
	for line := range bytes.Lines(lines) {
		at += len(line)
		if hints := more[i]; hints != nil {
			parts := bytes.SplitN(line, []byte("\t"), 4) // no TAB stands within one
			if len(parts[2]) > 0 {
				hints = append([]string{string(parts[2])}, hints...)
			}
			parts[2] = []byte(strings.Join(hints, ","))
			line = bytes.Join(parts, []byte("\t"))
		}
		_, _ = to.Write(line)
		released = spool.Passed(lines, released, at)
		i++
	}
	return to.Flush()
}

// hints are those that tools have because of others, by the numbers of the tools.
func (r *Rows) hints() map[int][]string {
	more := map[int][]string{}
	for i, warned := range r.warned {
		more[i] = listHints(r.st, "", "", warned, 0)
	}
	names := r.Special()
	index := indexes(names)
	like := mcp.Lookalikes(names)
	for i, name := range names {
		number := r.numbers[i]
		if hints := listHints(r.st, name, like[i], r.warned[number], index[i]); hints != nil {
			more[number] = hints
		}
	}
	return more
}
