package cmdutil

import (
	"cmp"
	"io"

	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A File is a report with its flag, "--junit", and the name that the user gave: "" for none,
// "-" for standard output.
type ReportFile struct {
	Flag, Name string
	Write      func(w io.Writer) error
	// Withheld is set for a report that is not written.
	Withheld bool
}

// ReportFiles are the reports of one command.
type ReportFiles []ReportFile

// Settle refuses two reports on standard output; document is set where JSON goes there.
func (files ReportFiles) Settle(document bool) error {
	onStdout := ""
	if document {
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

// OnStdout is the report that goes to standard output, nil where none does.
func (files ReportFiles) OnStdout() *ReportFile {
	for i := range files {
		if files[i].Name == "-" {
			return &files[i]
		}
	}
	return nil
}

// WithholdSARIF keeps the SARIF report of a judgement that is not whole from being written, and
// says so. GitHub closes each alert that a new file does not have: findings that were not
// looked for would read as fixed.
func (files ReportFiles) WithholdSARIF(f *Factory) ReportFiles {
	for i := range files {
		if file := &files[i]; file.Flag == "--sarif" && file.Name != "" {
			file.Withheld = true
			f.Note("no SARIF report was written: without all findings it would read as if the others were fixed")
		}
	}
	return files
}

// Writable refuses files that cannot be written, before anything is sent.
func (files ReportFiles) Writable() wire.Outcome {
	for _, file := range files {
		if file.Name == "" || file.Name == "-" {
			continue
		}
		if out := WritableAs(file.Flag, file.Name); !out.Good() {
			return out
		}
	}
	return wire.Outcome{}
}

// Print writes the report that goes to standard output.
func (file ReportFile) Print(f *Factory) error {
	if file.Withheld {
		return nil
	}
	return cmp.Or(file.Write(f.Stdout()), f.StdoutError())
}

// Write writes the reports with a file of their own.
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
