// Package batch implements the command batch.
package batch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/connect"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// batchOptions are the flags and arguments of `mcpc batch`.
type batchOptions struct {
	// input is a file, or - for standard input.
	input    string
	argv     []string
	parallel int
	// stop is set to start no call after a failure.
	stop bool
	// call has the options of all tool calls.
	call  toolcall.Request
	trace cmdutil.TraceOptions
}

// maxParallel bounds the concurrent requests: over HTTP each has a connection.
const maxParallel = 256

// NewBatch returns the command batch.
func NewBatch(f *cmdutil.Factory) *cobra.Command {
	o := batchOptions{input: "-"}
	cmd := &cobra.Command{
		Use:   "batch [FILE|-] [-- COMMAND...]",
		Short: "make many calls over one connection, one per line",
		Long: `Read calls, one JSON object per line, from a file or stdin, and write one line
for each, in the same order. A call is

  {"tool":"get-sum","arguments":{"a":1,"b":2},"key":"any JSON"}
  {"method":"resources/read","params":{"uri":"demo://x"}}

with an optional key (or id), which is returned unchanged. A result is

  {"line":1,"key":"any JSON","kind":"ok","exit":0,"ms":0.4,"result":{...}}

with the bytes of the server's result; kind and exit are those of mcpc help
exit-codes. If exit is not 0, "error" is the same object as on stderr with
--json. An invalid line has a result as well, with exit 2. If the server cannot
be reached there are no results. --jq filters each result; a result on which it
fails is omitted with a warning and counts as exit 2.

Arguments and results are validated as in mcpc call. There are no prompts: flags
answer server requests (mcpc help answering), and destructive tools need --yes.
After Ctrl-C mcpc still writes a line for every call that was sent. The exit
code is the most severe of all lines: a signal's, 70, 13, 12, 4, 9, 7, 8, 6, 11,
10, 5, 3, 2.

The recording keeps the first 2 MiB; --record FILE keeps everything.`,
		Example: `  echo '{"tool":"get-sum","arguments":{"a":1,"b":2}}' | mcpc -s demo batch
  echo '{"method":"tools/list"}' | mcpc -s demo batch --jq .result.tools[].name
  echo '{"method":"prompts/list","key":"p"}' | mcpc -s demo batch - --parallel 8`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := cmdutil.SplitDash(cmd, args)
			o.argv = argv
			if len(own) > 1 {
				return usage.New(
					"batch takes one file, or - for standard input",
					"name a server with -s, or give its command after --",
				)
			}
			if len(own) == 1 {
				o.input = own[0]
			}
			in, err := openInput(f, o)
			if err != nil {
				return err
			}
			defer in.Close()
			return runBatch(cmd.Context(), f, o, in)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&o.parallel, "parallel", "p", 1, "number of concurrent calls, 1 to 256")
	flags.BoolVar(&o.stop, "stop-on-error", false, "start no call after a failure")
	flags.BoolVar(&o.call.NoValidate, "no-validate", false, "do not validate arguments and results")
	flags.BoolVarP(&o.call.Yes, "yes", "y", false, "call destructive tools without asking for confirmation")
	o.trace.AddFlags(flags)
	f.AddFresh(flags)
	f.AddAnswering(flags)
	return cmd
}

// openInput validates the options, and opens the file of calls or standard input. Its errors are
// usage errors, except for a file that exists and cannot be opened. The caller closes the input.
func openInput(f *cmdutil.Factory, o batchOptions) (io.ReadCloser, error) {
	isStdin := o.input == "-"
	if o.parallel < 1 || o.parallel > maxParallel {
		return nil, usage.New(
			fmt.Sprintf("--parallel must be 1 to %d, not %d", maxParallel, o.parallel),
			wire.Run("batch --help"),
		)
	}
	if f.Output != "" {
		return nil, usage.New("batch writes as it runs, so it has no -o", "use > FILE")
	}
	if f.Wire {
		return nil, usage.New("batch writes one line per call, so it has no --wire", "--record FILE saves the messages")
	}
	if isStdin && f.Answers.Sampling == "-" {
		return nil, usage.New("stdin can be read only once", "read the calls or the sampling answer from a file")
	}
	if isStdin {
		if f.IsTyped() {
			f.Note("reading from stdin, Ctrl-D ends it")
		}
		return io.NopCloser(f.In), nil
	}
	file, err := os.Open(o.input)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage.New("no such file: "+o.input, "pass a file of calls, or - for stdin; name a server with -s")
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", o.input, usage.Bare(err))
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		_ = file.Close()
		return nil, usage.New(
			o.input+" is a directory",
			"pass a file of calls, or - for stdin; "+wire.Run("run")+" takes folders of saved calls",
		)
	}
	return file, nil
}

// A batch is one run of the command: it reads lines, makes calls, and writes results.
type batch struct {
	f *cmdutil.Factory
	c *connect.Conn
	batchOptions
	// makeCall makes the call of one line. Tests replace it.
	makeCall func(ctx context.Context, raw []byte) (echo []jsonraw.Member, out wire.Outcome)
	// readToken has one place: the worker that fills it reads the next line.
	readToken chan struct{}
	src       *lineReader
	window    *window
	results   *resultWriter
}

// newBatch returns a batch without a connection.
func newBatch(f *cmdutil.Factory, o batchOptions) *batch {
	w := newWindow(maxLines, maxWindowBytes)
	results := &resultWriter{
		f: f, window: w, out: bufio.NewWriterSize(f.Stdout(), 64<<10),
		tally: tally{began: f.Now(), kinds: map[wire.Kind]int{}},
	}
	return &batch{f: f, batchOptions: o, readToken: make(chan struct{}, 1), window: w, results: results}
}

// runBatch connects to the server, runs the batch and prints its summary. The error has the most
// severe outcome of all lines.
func runBatch(ctx context.Context, f *cmdutil.Factory, o batchOptions, in io.Reader) error {
	if err := o.trace.StartCommand(f, "batch"); err != nil {
		return err
	}
	f.NoInput = true
	f.Repeats = &console.RepeatedWarnings{}
	f.Record.Most = cmdutil.MaxBatchRecording
	if o.input == "-" && f.IsTyped() {
		f.Progress.Done() // a progress line would cover the lines that the user types
	}
	c, out := f.Open(ctx, connect.Options{Argv: o.argv, MultiCall: true, FewLists: true})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	b := newBatch(f, o) // after Open: the rate of the calls does not count it
	b.c = c
	b.makeCall = b.do
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b.run(ctx, stop, in)
	f.Progress.Done()
	unprinted := b.results.unprinted()
	if cmdutil.KindOf(unprinted) == wire.Signal { // the reader of stdout closed it
		return unprinted
	}
	f.Record.Many = true
	return cmdutil.Join(unprinted, cmdutil.Exit(b.summary(ctx)))
}

// summary prints a line with the number of calls and failures, and returns the outcome of the
// batch.
func (b *batch) summary(ctx context.Context) wire.Outcome {
	t := &b.results.tally
	took := b.f.Now().Sub(t.began)
	text := fmt.Sprintf("%s in %s", english.Plural(t.lines, "call"), term.Duration(took))
	if t.lines > 1 && took > 0 {
		text += fmt.Sprintf(" (%.0f a second)", t.rate(took))
	}
	failures := t.failures()
	switch {
	case t.lines == 0: // there is nothing to count
	case failures == "":
		text += ", all ok"
	case ctx.Err() != nil: // the outcome names the interruption instead of the failures
		text += fmt.Sprintf(": %d ok, %s", t.kinds[wire.OK], failures)
	default:
		text += fmt.Sprintf(", %d ok", t.kinds[wire.OK])
	}
	if b.window.isOver() && b.results.unprinted() == nil {
		text += fmt.Sprintf("; stopped after line %d", t.lastLine)
	}
	b.f.Note(text)
	if n := b.f.Repeats.Left(); n > 0 {
		b.f.Note(english.Plural(n, "more warning") + " of the same kind")
	}
	return b.finalOutcome(ctx, failures)
}

// finalOutcome returns the most severe outcome of all lines. failures is the text of the counts by kind. A
// result that could not be written is reported rather than the interruption.
func (b *batch) finalOutcome(ctx context.Context, failures string) wire.Outcome {
	if ctx.Err() != nil && b.results.unprinted() == nil {
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted", IsSummary: true, Reached: wire.Unknown}
	}
	t := &b.results.tally
	out := wire.Outcome{Kind: t.mostSevere(), ServerName: b.c.Where, IsSummary: true}
	if out.OK() {
		return out
	}
	out.Reached = wire.Unknown
	out.Text = fmt.Sprintf("%d of %s failed: %s", t.failed(), english.Plural(t.lines, "call"), failures)
	advice := "jq -c 'select(.exit != 0)' selects them"
	if b.f.Jq != "" {
		advice = "without --jq the full results are printed"
	}
	out.Hint = wire.Hint(fmt.Sprintf("the first is line %d; %s", t.firstFailed, advice))
	return out
}
