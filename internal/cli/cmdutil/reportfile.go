package cmdutil

import (
	"io"

	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A ReportFile is a report with its flag, such as "--junit", and the file name that the user gave:
// "" writes no report, "-" writes to standard output.
type ReportFile struct {
	Flag, Name string
	Write      func(w io.Writer) error
	// Withheld is set if the report is not written.
	Withheld bool
}

// ReportFiles are the reports of one command.
type ReportFiles []ReportFile

// CheckStdout returns an error if two reports, or a report and the document of --json, go to
// standard output. printsJSON is set if --json goes there.
func (files ReportFiles) CheckStdout(printsJSON bool) error {
	onStdout := ""
	if printsJSON {
		onStdout = "--json"
	}
	for _, file := range files {
		if file.Name != "-" {
			continue
		}
		if onStdout != "" {
			return usage.New(
				"only one report can go to stdout: "+onStdout+" or "+file.Flag+" -",
				wire.Hint("use "+file.Flag+" FILE"),
			)
		}
		onStdout = file.Flag
	}
	return nil
}

// OnStdout returns the report that goes to standard output, or nil.
func (files ReportFiles) OnStdout() *ReportFile {
	for i := range files {
		if files[i].Name == "-" {
			return &files[i]
		}
	}
	return nil
}

// WithholdSARIF prevents an incomplete SARIF report from being written, with a note. GitHub closes
// every alert that a new report does not list, as if it were fixed.
func (files ReportFiles) WithholdSARIF(f *Factory) ReportFiles {
	for i := range files {
		if file := &files[i]; file.Flag == "--sarif" && file.Name != "" {
			file.Withheld = true
			f.Note("no SARIF report was written: without all findings it would read as if the others were fixed")
		}
	}
	return files
}

// CheckWritable returns a failure for the first file that cannot be written. Commands call it
// before they send anything.
func (files ReportFiles) CheckWritable() wire.Outcome {
	for _, file := range files {
		if file.Name == "" || file.Name == "-" {
			continue
		}
		if out := CheckWritable(file.Flag, file.Name); !out.OK() {
			return out
		}
	}
	return wire.Outcome{}
}

// Print writes the report to standard output.
func (file ReportFile) Print(f *Factory) error {
	if file.Withheld {
		return nil
	}
	if err := file.Write(f.Stdout()); err != nil {
		return err
	}
	return f.StdoutError()
}

// Write writes the reports that go to files.
func (files ReportFiles) Write() error {
	for _, file := range files {
		if file.Name == "" || file.Name == "-" || file.Withheld {
			continue
		}
		if _, err := ReplaceBy(file.Name, file.Write); err != nil {
			return Exit(usage.LocalIO("writing "+file.Name, usage.Bare(err)))
		}
	}
	return nil
}
