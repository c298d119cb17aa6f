package check

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/render/verdict"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// reportOptions are the files that reports are written to; "-" is standard output.
type reportOptions struct {
	sarif, junit, markdown, badge string
	// source is the file of --source, or "".
	source string
	// sourcePath is the file of --source relative to the working directory, or its absolute path
	// if it is outside of the working directory; sourceText is its content.
	sourcePath string
	sourceText []byte
}

// declare adds the flags of the options to flags.
func (o *reportOptions) declare(flags *pflag.FlagSet) {
	flags.StringVar(&o.sarif, "sarif", "", "write a SARIF report to a `file`, - for stdout")
	flags.StringVar(&o.junit, "junit", "", "write a JUnit report to a `file`, - for stdout")
	flags.StringVar(&o.markdown, "markdown", "", "write a Markdown report to a `file`, - for stdout")
	flags.StringVar(&o.badge, "badge", "", "write a badge (SVG) to a `file`, - for stdout")
	flags.StringVar(&o.source, "source", "", "source `file` of the server, for the lines in SARIF")
}

// relativePath returns a path relative to the working directory, which in CI is the repository, or
// the absolute path of a file outside of it.
func relativePath(name string) string {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	folder, err := os.Getwd()
	if err != nil {
		return absolute
	}
	if inside, err := filepath.Rel(folder, absolute); err == nil && filepath.IsLocal(inside) {
		return inside
	}
	return absolute
}

// files returns the files with the functions that write them. r may be nil to validate the names
// before there is a report.
func (o *reportOptions) files(r *verdict.Report) cmdutil.ReportFiles {
	return cmdutil.ReportFiles{
		{Flag: "--sarif", Name: o.sarif, Write: func(w io.Writer) error { return r.SARIF(w, o.sourcePath, o.sourceText) }},
		{Flag: "--junit", Name: o.junit, Write: func(w io.Writer) error { return r.JUnit(w) }},
		{Flag: "--markdown", Name: o.markdown, Write: func(w io.Writer) error { return r.Markdown(w) }},
		{Flag: "--badge", Name: o.badge, Write: func(w io.Writer) error { return r.Badge(w) }},
	}
}

// validate refuses two reports on standard output. jsonOnStdout is set if the command prints JSON
// there.
func (o *reportOptions) validate(jsonOnStdout bool) error {
	return o.files(nil).CheckStdout(jsonOnStdout)
}

// checkWritable refuses files that cannot be written, before anything is sent. It also reads the
// file of --source.
func (o *reportOptions) checkWritable(f *cmdutil.Factory) wire.Outcome {
	if o.source != "" {
		var err error
		o.sourceText, err = f.ReadFile(o.source, maxFileSize)
		if err != nil {
			return usage.Outcome(usage.NotRead("--source "+o.source, err, ""))
		}
		o.sourcePath = relativePath(o.source)
	}
	return o.files(nil).CheckWritable()
}

// printReport prints the report as text or JSON. If a report file goes to standard output, the text
// goes to standard error.
func printReport(ctx context.Context, f *cmdutil.Factory, r *verdict.Report, files cmdutil.ReportFiles) error {
	f.Progress.Done()
	if file := files.OnStdout(); file != nil {
		_ = r.Text(f.Stderr(), f.ErrStyle)
		return file.Print(f)
	}
	if f.PrintsJSON() {
		return cmdutil.Print(ctx, f, cmdutil.Document(r.JSON(), r.Text))
	}
	return cmdutil.Print(ctx, f, cmdutil.Answer{Human: r.Text})
}
