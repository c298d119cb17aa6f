package traffic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/capture/bundle"
	"mcpc/internal/capture/filter"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/cli/share"
	"mcpc/internal/shellwords"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// exportOptions are the arguments of `mcpc export`.
type exportOptions struct {
	word   string
	filter filter.Filter
	// hasFilter is set if a filter selects from all exchanges of a recording.
	hasFilter bool
	format    string
	// check is a file to search for secrets; "" if exchanges are exported.
	check  string
	bundle share.BundleOptions
	trace  cmdutil.TraceOptions
}

// ExportFormats are the formats of exported exchanges.
var ExportFormats = []string{
	"har", "curl", "mcpc", "mcpc-yaml", "jsonl", "markdown", "bundle", "mock-script", "otlp", "k6",
}

// formatNames are other names of formats that are too different to be suggested by similarity.
var formatNames = map[string]string{"md": "markdown", "yaml": "mcpc-yaml", "yml": "mcpc-yaml"}

// suffixFormats are the formats of files whose names end with a suffix. The first suffix that fits
// counts.
var suffixFormats = []struct{ suffix, format string }{
	{".har", "har"},
	{".jsonl", "jsonl"},
	{".md", "markdown"},
	{".mcpc.yaml", "mcpc-yaml"},
	{".mcpc.yml", "mcpc-yaml"},
	{".mcpcz", "bundle"},
	{".mcpcz.html", "bundle"},
	{".sh", "curl"},
}

// formatOfFile returns the format that the suffix of a file name stands for; "" if it stands for none.
func formatOfFile(name string) string {
	for _, s := range suffixFormats {
		if strings.HasSuffix(strings.ToLower(name), s.suffix) {
			return s.format
		}
	}
	return ""
}

const exportHelp = `Export recorded exchanges. A NUMBER from mcpc log is one exchange; a FILE, or -
for stdin, is all exchanges in it, and "all" is everything that mcpc recorded. A
FILTER (mcpc help filters) after a FILE selects from its exchanges, and after a
NUMBER from the whole run of that exchange; with neither it selects from all
recordings.

  har        HTTP Archive 1.2, for the network panel of a browser
  curl       shell commands that send the same bytes; with a session they open
             their own, and over HTTP+SSE a stream; over stdio a pipeline, which
             is never run by mcpc
  mcpc       equivalent mcpc commands; each does its own handshake
  mcpc-yaml  saved calls for mcpc run, which expect the same kind of outcome
  jsonl      a capture file, as described in docs/reference/capture-format.md
  markdown   a report, for an issue
  bundle     one redacted file for a colleague: a web page that needs no
             network, and an archive that every mcpc command takes as a FILE; it
             hides more than a recording does, and asks before it writes
  mock-script
             a script for mcpc mock
  otlp       spans for OpenTelemetry, as JSON lines; --otlp URL sends them to a
             collector instead
  k6         a load test for k6: a directory (-o) with a script and the calls,
             which are made in their order. Streamable HTTP only

Without --as, the name of -o FILE decides: .har, .jsonl, .md, .mcpc.yaml, .sh
for curl, .mcpcz or .mcpcz.html for a bundle.

Secrets are not recorded. Commands have variables in their place, with a comment
that says how to set them.

--check FILE searches any file, or - for stdin, for secrets: the values of
--redact-file, secrets of the environment, stored tokens and session ids, and
everything that is named like a secret or looks like one. Of a bundle it
searches all members. It prints their positions, not their values, and exits
with 1 if there are any.`

func NewExport(f *cmdutil.Factory) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export [NUMBER | last | all | FILE[#NUMBER]] [FILTER...] | --check FILE",
		Short: "export recorded exchanges: HAR, curl, a bundle, Markdown",
		Long:  exportHelp,
		Example: `  mcpc export last --as curl
  mcpc export 1 -o call.har
  mcpc export since:1h -o hour.har
  mcpc -s demo call echo message=hi && mcpc export last --as mcpc-yaml
  mcpc export last --as markdown
  mcpc export last --as har | mcpc export --check -
  mcpc export last -o bug.mcpcz.html --yes`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.check != "" && len(args) == 0 && o.format == "" {
				return share.CheckFile(f, o.check, o.bundle.Strict)
			}
			if o.format == "" {
				o.format = formatOfFile(f.Output)
			}
			if err := o.validate(f, args); err != nil {
				return err
			}
			words := args
			switch {
			case args[0] == "all" && !recorded.NamesTraffic("all"):
				words = args[1:]
			case !isFilter(args[0]):
				o.word = args[0]
				words = args[1:]
			}
			o.hasFilter = len(words) > 0
			o.bundle.Words = words
			o.filter, err = parseFilter(f, words, &recorded.RowFindings{})
			if err != nil {
				return err
			}
			return runExport(cmd.Context(), f, o)
		},
	}
	cmd.Flags().StringVar(&o.format, "as", "",
		"the `format`: har, curl, mcpc, mcpc-yaml, jsonl, markdown, bundle, mock-script, otlp or k6")
	_ = cmd.RegisterFlagCompletionFunc("as", cmdutil.CompleteFixed(ExportFormats...))
	cmd.Flags().StringVar(&o.check, "check", "", "search a `file` for secrets; - is stdin")
	o.bundle.AddFlags(cmd.Flags())
	o.trace.AddFlags(cmd.Flags())
	return cmd
}

// validate returns an error for options that cannot be combined, or that are missing.
func (o *exportOptions) validate(f *cmdutil.Factory, args []string) error {
	switch {
	case o.check != "":
		return usage.New("--check looks into one file, and exports none",
			wire.Run("export --check "+shellwords.Quote(o.check)))
	case o.format == "" && len(args) == 1 && slices.Contains(ExportFormats, args[0]):
		return usage.New("export needs --as FORMAT", "did you mean "+wire.Run("export last --as "+args[0])+"?")
	case o.format == "":
		return usage.New("export needs --as FORMAT, or -o FILE with a suffix that names the format",
			wire.Hint("--as "+strings.Join(ExportFormats, ", --as ")))
	case !slices.Contains(ExportFormats, o.format):
		if whole, ok := formatNames[strings.ToLower(o.format)]; ok {
			return usage.New(fmt.Sprintf("unknown format %q", o.format), "did you mean --as "+wire.Hint(whole)+"?")
		}
		all := wire.Hint("--as " + strings.Join(ExportFormats, ", --as "))
		hint := suggest.DidYouMean("--as %s", o.format, ExportFormats, all)
		return usage.New(fmt.Sprintf("unknown format %q", o.format), hint)
	case o.trace.IsSet() && o.format != "otlp":
		return usage.New("--otlp sends spans, and --as "+o.format+" makes none", "use --as otlp")
	case o.trace.IsSet() && f.Output != "":
		return usage.New("--otlp sends the spans, and -o writes them", "use only one of them")
	case o.bundle.IsSet() && o.format != "bundle":
		return usage.New("--redact, --strict, --note and --yes are for bundles", "use --as bundle")
	case len(args) == 0:
		return usage.New("export takes a number that mcpc log shows, last, all, a file, or a filter such as since:1h",
			wire.Run("export last --as "+o.format)+", or "+wire.Run("export all --as "+o.format))
	}
	return nil
}

// isFilter reports whether an argument begins with a field of the filter language, as method:, -is: or
// (run:, and is no file.
func isFilter(word string) bool {
	field, _, found := strings.Cut(strings.TrimLeft(word, "-("), ":")
	return found && slices.Contains(filter.Fields(), field) && !recorded.NamesTraffic(word)
}

// runExport writes the selected exchanges in the format, to standard output or the file of -o, or
// sends them as spans with --otlp.
func runExport(ctx context.Context, f *cmdutil.Factory, o exportOptions) error {
	switch out := cmdutil.CheckOutput(f.Output); { // before anything is read; for k6 it is a directory
	case o.format == "k6" && f.Output == "":
		return usage.New("a load test is a directory: --as k6 needs -o DIR",
			wire.Run("export "+shellwords.Quote(o.word)+" --as k6 -o load"))
	case o.format != "k6" && !out.OK():
		return cmdutil.Exit(out)
	case o.format == "bundle":
		return exportBundle(ctx, f, o)
	}
	c, rows, out := selectExchanges(f, o)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	defer c.Close()
	recorded.WarnDamage(f, c)
	f.HideSecretsIn(c)
	if o.trace.IsSet() {
		return sendSpans(ctx, &o.trace, f, c, rows)
	}
	write := func(w io.Writer) error { return share.WriteAs(f, o.format, w, c, rows) }
	switch o.format {
	case "otlp":
		write = func(w io.Writer) error { return writeSpans(&o.trace, f, w, c, rows) }
	case "k6":
		return share.WriteK6(f, c, rows)
	}
	if err := f.WriteOut(write); err != nil {
		if printErr := f.StdoutError(); printErr != nil {
			return printErr
		}
		return cmdutil.Exit(share.Failed(err))
	}
	return nil
}

// selectExchanges returns the exchanges to export: the exchange that a number names, or, for a file or
// with a filter, all that match. It leaves out exchanges that the format cannot hold. It is a usage
// error if none is left. The caller closes the capture, unless the outcome is a failure.
func selectExchanges(f *cmdutil.Factory, o exportOptions) (*rows.Capture, []*rows.Row, wire.Outcome) {
	var c *rows.Capture
	var selected []*rows.Row
	if o.word == "" {
		var out wire.Outcome
		c, out = copyMatching(f, o.filter)
		if !out.OK() {
			return nil, nil, out
		}
		selected = c.Rows()
	} else {
		picked, row, out := recorded.Pick(f, o.word)
		if !out.OK() {
			return nil, nil, out
		}
		c = picked
		selected = []*rows.Row{row}
		isWholeFile := o.word == c.Path
		if o.hasFilter || isWholeFile {
			selected = lastMatching(c.Rows(), recorded.Matching(f, o.filter), 0) // 0: all
		} else if len(o.exportable(selected)) == 0 {
			c.Close()
			return nil, nil, usage.Outcome(usage.New(recorded.NameOf(row)+" was not sent: nothing to export",
				wire.Run("show "+shellwords.Quote(o.word))+" shows how it ended"))
		}
	}
	selected = o.exportable(selected)
	if len(selected) == 0 {
		c.Close()
		return nil, nil, usage.Outcome(usage.New("nothing to export: no recorded exchange matches",
			wire.Run("log")+" lists recorded exchanges"))
	}
	return c, selected, wire.Outcome{}
}

// copyMatching returns a capture with copies of the exchanges of mcpc's own recordings that match, the
// oldest run first. An exchange that two recordings have is copied once. The caller closes the capture.
func copyMatching(f *cmdutil.Factory, o filter.Filter) (*rows.Capture, wire.Outcome) {
	newestFirst, err := bundle.Temporary()
	if err != nil {
		return nil, usage.LocalIO("copying the recordings", err)
	}
	defer newestFirst.Close()
	var ends []int64 // of the copies of the runs
	matches := recorded.Matching(f, o)
	out := eachCapture(f, "", func(c *rows.Capture, _ time.Time) (more bool) {
		f.HideSecretsIn(c)
		err = c.Copy(newestFirst, lastMatching(c.Rows(), matches, 0)) // 0: all
		end, seekErr := newestFirst.Seek(0, io.SeekCurrent)
		err = errors.Join(err, seekErr)
		ends = append(ends, end)
		return err == nil
	})
	if !out.OK() {
		return nil, out
	}
	if err != nil {
		return nil, usage.LocalIO("copying the recordings", err)
	}
	file, err := bundle.Temporary()
	if err != nil {
		return nil, usage.LocalIO("copying the recordings", err)
	}
	for i := len(ends) - 1; i >= 0 && err == nil; i-- {
		start := int64(0)
		if i > 0 {
			start = ends[i-1]
		}
		_, err = io.Copy(file, io.NewSectionReader(newestFirst, start, ends[i]-start))
	}
	if err != nil {
		file.Close()
		return nil, usage.LocalIO("copying the recordings", err)
	}
	if len(ends) == 0 || ends[len(ends)-1] == 0 {
		file.Close()
		return nil, usage.Outcome(usage.New("nothing to export: no recorded exchange matches",
			wire.Run("log")+" lists recorded exchanges"))
	}
	c, err := rows.OpenFrom("recordings", file)
	if err != nil {
		file.Close()
		return nil, usage.LocalIO("reading the recordings", err)
	}
	return c, wire.Outcome{}
}

// exportable returns the rows that the format can hold.
func (o exportOptions) exportable(selected []*rows.Row) []*rows.Row {
	canHoldEmpty := o.format == "jsonl" || o.format == "markdown" || o.format == "bundle"
	if !canHoldEmpty {
		selected = share.WithMessages(selected)
	}
	isScript := o.format == "curl" || o.format == "mcpc"
	if isScript && len(selected) > 1 { // a script sends requests, and cannot receive the server's
		selected = slices.DeleteFunc(slices.Clone(selected), rows.IsByServer)
	}
	return selected
}

// exportBundle writes the selected exchanges as a bundle, after the user has confirmed what it
// contains.
func exportBundle(ctx context.Context, f *cmdutil.Factory, o exportOptions) error {
	if f.Output == "" {
		return usage.New("a bundle is a file: --as bundle needs -o FILE",
			wire.Run("export "+shellwords.Quote(o.word)+" --as bundle -o bug.mcpcz.html"))
	}
	b, err := share.NewBundle(ctx, f, o.bundle,
		func() (*rows.Capture, []*rows.Row, wire.Outcome) { return selectExchanges(f, o) })
	if err != nil {
		return err
	}
	defer b.Close()
	if out := b.Confirm(ctx, f, o.bundle.Yes); !out.OK() {
		return cmdutil.Exit(out)
	}
	err = f.WriteOut(b.Write)
	if err != nil {
		if printErr := f.StdoutError(); printErr != nil {
			return printErr
		}
		return cmdutil.Exit(usage.LocalIO("writing "+f.Output, usage.Bare(err)))
	}
	return nil
}
