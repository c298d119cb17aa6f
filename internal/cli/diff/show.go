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

// finish writes the report in all requested formats and returns the verdict as an error.
func (o *diffOptions) finish(ctx context.Context, f *cmdutil.Factory, r report.Report, file string) error {
	redact.Within(&f.Secrets, &r)
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
		switch {
		case o.show.github:
			b.Write(report.GitHub(r, file))
		case o.show.markdown == "-":
			b.Write(report.Markdown(r))
		default:
			o.show.writeText(&b, st, r)
		}
		_, err := w.Write(b.Bytes())
		return err
	})
	return cmdutil.Show(ctx, f, out, ans)
}

// writeText writes the report for a terminal.
func (o showOptions) writeText(b *bytes.Buffer, st term.Style, r report.Report) {
	if !o.side {
		_ = cmdutil.WriteLines(b, st, report.Text(r, o.long))
		return
	}
	rest := r
	rest.Changes = nil
	for _, c := range r.Changes {
		if c.Level == diff.Harmless && !o.long {
			rest.Changes = append(rest.Changes, c)
			continue
		}
		lines := report.Show(c)
		pairs := report.Sides(c)
		if len(pairs) == 0 {
			_ = cmdutil.WriteLines(b, st, lines)
			continue
		}
		_ = cmdutil.WriteLines(b, st, lines[:1])
		writeColumns(b, st, pairs)
		_ = cmdutil.WriteLines(b, st, lines[1+len(report.Unified(c)):])
	}
	lines := report.Text(rest, false)
	_ = cmdutil.WriteLines(b, st, lines[:len(lines)-1])
	_ = cmdutil.WriteLines(b, st, []report.Line{{{Role: report.Plain, Text: r.Summary()}}})
}

// minColumn is the narrowest column of a comparison side by side.
const minColumn = 30

// writeColumns writes two columns, each in half of the terminal's width.
func writeColumns(b *bytes.Buffer, st term.Style, pairs []report.Pair) {
	width := max(minColumn, (st.Columns()-7)/2)
	for _, p := range pairs {
		mark := " | "
		if p.Same {
			mark = "   "
		}
		for left, right := p.Left, p.Right; ; mark = "   " {
			var head, side report.Line
			head, left = cutLine(left, width)
			side, right = cutLine(right, width)
			used := term.Width(head.String())
			row := append(report.Line{{Role: report.Plain, Text: "    "}}, head...)
			row = append(row, report.Span{Role: report.Dim, Text: strings.Repeat(" ", max(0, width-used)) + mark})
			_ = cmdutil.WriteLines(b, st, []report.Line{append(row, side...)})
			if len(left) == 0 && len(right) == 0 {
				break
			}
		}
	}
}

// cutLine splits a line at a width in columns.
func cutLine(l report.Line, width int) (head, rest report.Line) {
	for i, s := range l {
		n := term.Width(s.Text)
		if n <= width {
			head = append(head, s)
			width -= n
			continue
		}
		at := 0
		used := 0
		for j, r := range s.Text {
			used += term.Width(string(r))
			if used > width {
				break
			}
			at = j + len(string(r))
		}
		if at > 0 {
			head = append(head, report.Span{Role: s.Role, Text: s.Text[:at]})
		}
		if at < len(s.Text) {
			rest = append(rest, report.Span{Role: s.Role, Text: s.Text[at:]})
		}
		return head, append(rest, l[i+1:]...)
	}
	return head, nil
}
