package diff

import (
	"bytes"
	"context"
	"io"
	"strings"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/diff"
	"mcpc/internal/diff/report"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// showOptions select the format of the report.
type showOptions struct {
	side, long, github bool
	markdown           string
}

// checkWritable returns an error if the file of --markdown cannot be written. It runs before the
// comparison.
func (o *diffOptions) checkWritable(f *cmdutil.Factory) error {
	if o.show.markdown == "-" {
		return nil
	}
	return cmdutil.Exit(cmdutil.CheckWritable("--markdown", o.show.markdown))
}

// finish writes the report in all requested formats and returns the verdict as an error, nil with
// --lock, which judges nothing. file is the path that annotations refer to.
func (o *diffOptions) finish(ctx context.Context, f *cmdutil.Factory, r report.Report, file string) error {
	redact.Within(&f.Secrets, &r) // in place
	if name := o.show.markdown; name != "" && name != "-" {
		if err := cmdutil.ReplaceFile(name, report.Markdown(r)); err != nil {
			return cmdutil.Exit(usage.LocalIO("writing "+name, usage.Bare(err)))
		}
	}
	out := o.judge.verdict(r)
	if o.lock {
		out = wire.Outcome{}
	}
	ans := cmdutil.Document(report.JSON(r), func(w io.Writer, st term.Style) error {
		var b bytes.Buffer
		if o.show.github {
			b.Write(report.GitHub(r, file))
		} else if o.show.markdown == "-" {
			b.Write(report.Markdown(r))
		} else {
			o.show.writeText(&b, st, r)
		}
		_, err := w.Write(b.Bytes())
		return err
	})
	return cmdutil.Show(ctx, f, out, ans)
}

// writeText writes the report for people. With --side it shows the changes side by side, but only
// counts the harmless ones unless --long is set.
func (o showOptions) writeText(b *bytes.Buffer, st term.Style, r report.Report) {
	if !o.side {
		_ = cmdutil.WriteLines(b, st, report.Text(r, o.long))
		return
	}
	harmless := r // with the harmless changes only, which are counted
	harmless.Changes = nil
	for _, c := range r.Changes {
		if c.Level == diff.Harmless && !o.long {
			harmless.Changes = append(harmless.Changes, c)
			continue
		}
		_ = cmdutil.WriteLines(b, st, []report.Line{report.Headline(c)})
		writeColumns(b, st, report.Sides(c))
		_ = cmdutil.WriteLines(b, st, report.Advice(c))
	}
	_ = cmdutil.WriteLines(b, st, report.Body(harmless, false))
	_ = cmdutil.WriteLines(b, st, []report.Line{report.SummaryLine(r)})
}

// minColumn is the narrowest column of a comparison side by side.
const minColumn = 30

// writeColumns writes pairs of lines in two columns, each in half of the terminal's width, with a bar
// between lines that differ. A long line takes several rows.
func writeColumns(b *bytes.Buffer, st term.Style, pairs []report.Pair) {
	width := max(minColumn, (st.Columns()-7)/2) // 7: the indentation and the separator
	for _, p := range pairs {
		separator := " | "
		if p.Same {
			separator = "   "
		}
		left := p.Left
		right := p.Right
		for { // one row of the terminal; long lines take several
			leftHead, leftRest := cutLine(left, width)
			rightHead, rightRest := cutLine(right, width)
			padding := strings.Repeat(" ", max(0, width-term.Width(leftHead.String())))
			row := append(report.Line{{Role: report.Plain, Text: "    "}}, leftHead...)
			row = append(row, report.Span{Role: report.Dim, Text: padding + separator})
			_ = cmdutil.WriteLines(b, st, []report.Line{append(row, rightHead...)})
			if len(leftRest) == 0 && len(rightRest) == 0 {
				break
			}
			left = leftRest
			right = rightRest
			separator = "   "
		}
	}
}

// cutLine splits a line at a width in columns: head fits into it, rest is nil if the whole line does.
func cutLine(l report.Line, width int) (head, rest report.Line) {
	for i, s := range l {
		n := term.Width(s.Text)
		if n <= width {
			head = append(head, s)
			width -= n
			continue
		}
		cut := 0 // the bytes of the span that fit
		used := 0
		for j, r := range s.Text {
			used += term.Width(string(r))
			if used > width {
				break
			}
			cut = j + len(string(r))
		}
		if cut > 0 {
			head = append(head, report.Span{Role: s.Role, Text: s.Text[:cut]})
		}
		if cut < len(s.Text) {
			rest = append(rest, report.Span{Role: s.Role, Text: s.Text[cut:]})
		}
		return head, append(rest, l[i+1:]...)
	}
	return head, nil
}
