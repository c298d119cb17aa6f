package check

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/outfile"
	"mcpc/internal/render/verdict"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// reportOptions are the files that a report is written to; "-" is standard output.
type reportOptions struct {
	sarif, junit, markdown, badge string
	source                        string
	// sourceText is what the file of --source contains.
	sourceText []byte
}

func (o *reportOptions) declare(flags *pflag.FlagSet) {
	flags.StringVar(&o.sarif, "sarif", "", "write a SARIF report to a `file`, - for stdout")
	flags.StringVar(&o.junit, "junit", "", "write a JUnit report to a `file`, - for stdout")
	flags.StringVar(&o.markdown, "markdown", "", "write a Markdown report to a `file`, - for stdout")
	flags.StringVar(&o.badge, "badge", "", "write a badge (SVG) to a `file`, - for stdout")
	flags.StringVar(&o.source, "source", "", "source `file` of the server, for the lines in SARIF")
}

// A written report has a flag, a file and a form.
type written struct {
	flag, file string
	write      func(*verdict.Report, io.Writer) error
}

func (o *reportOptions) all() []written {
	return []written{
		{"--sarif", o.sarif, func(r *verdict.Report, w io.Writer) error { return r.SARIF(w, o.source, o.sourceText) }},
		{"--junit", o.junit, (*verdict.Report).JUnit},
		{"--markdown", o.markdown, (*verdict.Report).Markdown},
		{"--badge", o.badge, (*verdict.Report).Badge},
	}
}

// settle refuses two reports on standard output; document is set where JSON goes there.
func (o *reportOptions) settle(document bool) error {
	onStdout := ""
	if document {
		onStdout = "--json"
	}
	for _, w := range o.all() {
		if w.file != "-" {
			continue
		}
		if onStdout != "" {
			return usage.New("only one report can go to stdout: "+onStdout+" or "+w.flag+" -", wire.Hint("use "+w.flag+" FILE"))
		}
		onStdout = w.flag
	}
	return nil
}

func (o *reportOptions) onStdout() bool {
	for _, w := range o.all() {
		if w.file == "-" {
			return true
		}
	}
	return false
}

// writable refuses files that cannot be written, before anything is sent, and reads that of
// --source.
func (o *reportOptions) writable(f *cmdutil.Factory) wire.Outcome {
	if o.source != "" {
		var err error
		if o.sourceText, err = f.ReadFile(o.source, mostPolicy); err != nil {
			return usage.Outcome(usage.NotRead("--source "+o.source, err, ""))
		}
	}
	for _, w := range o.all() {
		if w.file == "" || w.file == "-" {
			continue
		}
		if out := outfile.WritableAs(w.flag, w.file); !out.Good() {
			return out
		}
	}
	return wire.Outcome{}
}

// print writes the report for a person or as JSON: to standard error where another report
// goes to standard output.
func (o *reportOptions) print(ctx context.Context, f *cmdutil.Factory, r *verdict.Report) error {
	f.Progress.Done()
	switch {
	case o.onStdout():
		_ = r.Text(f.Stderr(), f.ErrStyle)
		for _, w := range o.all() {
			if w.file == "-" {
				return cmp.Or(w.write(r, f.Stdout()), cmdutil.StdoutError(f))
			}
		}
		return nil
	case cmdutil.OneDocument(f):
		return cmdutil.Print(ctx, f, cmdutil.Document(r.JSON(), r.Text))
	}
	return cmdutil.Print(ctx, f, cmdutil.Answer{Human: r.Text})
}

// write writes the files.
func (o *reportOptions) write(r *verdict.Report) error {
	for _, w := range o.all() {
		if w.file == "" || w.file == "-" {
			continue
		}
		if _, err := outfile.ReplaceBy(w.file, func(to io.Writer) error { return w.write(r, to) }); err != nil {
			return cmdutil.Exit(usage.LocalIO("writing "+w.file, usage.Bare(err)))
		}
	}
	return nil
}
