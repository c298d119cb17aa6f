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
	// large is set once the lines are in a file, if there can be one.
	large  bool
	names  []string
	warned map[int][]string
	line   []byte
	err    error
}

// NewRows returns Rows that keep many lines in a file in dir. With long, the descriptions are
// written in full.
func NewRows(st term.Style, long bool, dir spool.Dir) *Rows {
	return &Rows{st: st, long: long, dir: dir, lines: dir.New(0), warned: map[int][]string{}}
}

// Tools takes tools.
func (r *Rows) Tools(tools []mcp.Tool) {
	for _, t := range tools {
		r.names = append(r.names, t.Name)
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

// Names are those of the tools that were taken.
func (r *Rows) Names() []string { return r.names }

// Empty forgets what was taken.
func (r *Rows) Empty() {
	_ = r.lines.Close() // what was in it is not needed
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

// fewBytes is how many bytes of lines stay in memory.
const fewBytes = 512 << 10

func (r *Rows) write(line []byte) {
	if few := r.lines; !r.large && few.Len() > fewBytes {
		r.lines, r.large = r.dir.New(spool.Memory+1), true
		_, r.err = few.WriteTo(r.lines)
	}
	if r.err == nil {
		_, r.err = r.lines.Write(line)
	}
}

// Write writes the lines. They can be written once.
func (r *Rows) Write(w io.Writer) error {
	defer r.Empty()
	if r.err != nil {
		return r.err
	}
	more := r.hints()
	if len(more) == 0 {
		_, err := r.lines.WriteTo(w)
		return err
	}
	lines, err := r.lines.Bytes()
	if err != nil {
		return err
	}
	to, i := bufio.NewWriterSize(w, 64<<10), 0 // it keeps an error for the Flush
	for line := range bytes.Lines(lines) {
		if hints := more[i]; hints != nil {
			line = withHints(line, hints)
		}
		_, _ = to.Write(line)
		spool.Release(line)
		i++
	}
	return to.Flush()
}

// hints are those that tools have because of others, by the numbers of the tools.
func (r *Rows) hints() map[int][]string {
	more := map[int][]string{}
	index, like := indexes(r.names), mcp.Lookalikes(r.names)
	for i, name := range r.names {
		if hints := hintsAmong(r.st, name, like[i], r.warned[i], index[i]); hints != nil {
			more[i] = hints
		}
	}
	return more
}

// withHints adds hints to a line, behind those that it has.
func withHints(line []byte, hints []string) []byte {
	parts := bytes.SplitN(line, []byte("\t"), 4) // no TAB stands within one
	if len(parts[2]) > 0 {
		hints = append([]string{string(parts[2])}, hints...)
	}
	parts[2] = []byte(strings.Join(hints, ","))
	return bytes.Join(parts, []byte("\t"))
}
