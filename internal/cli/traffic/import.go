package traffic

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/capture/har"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/english"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// NewImport returns the command import, the old name of export FILE.har --as jsonl. It also notes what it
// leaves out.
func NewImport(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE.har",
		Short: "make a recording from an HTTP archive (HAR)",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.New("import takes one file", wire.Run("import FILE.har -o FILE.jsonl"))
			}
			return runImport(f, args[0])
		},
	}
}

// runImport writes the archive in the file name, or standard input for -, as a capture.
func runImport(f *cmdutil.Factory, name string) error {
	if out := cmdutil.CheckOutput(f.Output); !out.OK() {
		return cmdutil.Exit(out)
	}
	var in io.Reader = f.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return usage.NotRead("import "+name, err, string(wire.Run("servers"))+" lists the servers of other programs")
		}
		defer file.Close()
		in = file
	}
	var facts har.Imported
	err := f.WriteOut(func(w io.Writer) (err error) {
		facts, err = recorded.Import(f, w, in, cmdutil.ShownFile(name))
		return err
	})
	if invalid, ok := errors.AsType[usage.Error](err); ok {
		return invalid
	} else if err != nil {
		if printErr := f.StdoutError(); printErr != nil {
			return printErr
		}
		return cmdutil.Exit(usage.LocalIO("importing", usage.Bare(err)))
	}
	f.Note(importedText(f, facts))
	return nil
}

// importedText returns the note about an import. It counts the exchanges if the output can be read
// again.
func importedText(f *cmdutil.Factory, facts har.Imported) string {
	text := english.Plural(facts.Entries, "request") + " imported"
	if f.Output != "" && cmdutil.IsFile(f.Output) {
		if c, err := recorded.OpenFile(f, f.Output); err == nil {
			text += " as " + english.Plural(len(c.Rows()), "exchange")
			c.Close()
		}
	}
	return strings.Join(append([]string{text}, recorded.DescribeOmissions(facts)...), "; ")
}
