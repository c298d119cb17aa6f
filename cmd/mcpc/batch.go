package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/render"
	"mcpc/internal/wire"
)

// batchOptions are what `mcpc batch` was asked.
type batchOptions struct {
	// from is a file, or - for standard input.
	from     string
	argv     []string
	parallel int
	// stop begins no call behind one that failed.
	stop bool
	// call is what all calls have in common.
	call callOptions
}

// mostRecorded is how many bytes a batch takes of the ring in which every command is
// recorded: what two thousand small calls are. Its lines have the rest.
const mostRecorded = 2 << 20

// mostParallel bounds the requests under way: each by HTTP has a connection.
const mostParallel = 256

func newBatch(a *app) *cobra.Command {
	o := batchOptions{from: "-"}
	cmd := &cobra.Command{
		Use:   "batch [FILE|-] [-- COMMAND...]",
		Short: "make many calls in one conversation, one a line",
		Long: `Read calls, one JSON object a line, from a file or standard input, and write one
line for each of them, in the same order. A call is

  {"tool":"get-sum","arguments":{"a":1,"b":2},"key":"any JSON"}
  {"method":"resources/read","params":{"uri":"demo://x"}}

where key (or id) may be left out and comes back as it is. A result is

  {"line":1,"key":"any JSON","kind":"ok","exit":0,"ms":0.4,"result":{...}}

with the bytes of the server's own result; kind and exit are those of mcpc help
exit-codes. Where exit is not 0 there is an "error" as on standard error with
--json. A line that is no call has a result as well: exit 2. Where the server
cannot be reached at all there are none. --jq filters each; one that it fails on
is left out with a warning, counts as exit 2, and the others go on.

Arguments and results are checked as in mcpc call. Nobody is asked anything: a
server's questions are answered by flags (mcpc help answering), destructive
tools want --yes. After Ctrl-C, what was sent has its line. The exit code is the
worst one of all lines: a signal's, 70, 13, 12, 4, 9, 7, 8, 6, 11, 10, 5, 3, 2.

The recording keeps the first 2 MiB; --record FILE keeps everything.`,
		Example: `  echo '{"tool":"get-sum","arguments":{"a":1,"b":2}}' | mcpc -s demo batch
  echo '{"method":"tools/list"}' | mcpc -s demo batch --jq .result.tools[].name
  echo '{"method":"prompts/list","key":"p"}' | mcpc -s demo batch - --parallel 8`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := splitDash(cmd, args)
			if o.argv = argv; len(own) > 1 {
				return hintedError{"batch takes one file, or - for standard input", "a server is named with -s, its command stands behind --"}
			}
			if len(own) == 1 {
				o.from = own[0]
			}
			in, err := a.batchInput(o)
			if err != nil {
				return err
			}
			defer in.Close()
			a.batch(cmd.Context(), o, in)
			return nil
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.parallel, "parallel", "p", 1, "calls under way at a time, 1 to 256")
	f.BoolVar(&o.stop, "stop-on-error", false, "begin no call behind one that failed")
	f.BoolVar(&o.call.noValidate, "no-validate", false, "check neither arguments nor results")
	f.BoolVarP(&o.call.yes, "yes", "y", false, "call tools that declare themselves destructive")
	a.addAnswering(f)
	return cmd
}

// batchInput checks what was asked and opens the calls.
func (a *app) batchInput(o batchOptions) (io.ReadCloser, error) {
	fromStandardInput := o.from == "-"
	switch {
	case o.parallel < 1 || o.parallel > mostParallel:
		return nil, hintedError{fmt.Sprintf("--parallel is 1 to %d, not %d", mostParallel, o.parallel), "mcpc batch --help"}
	case a.output != "":
		return nil, hintedError{"batch writes while it goes on, and -o writes whole files", "in place of -o FILE: > FILE"}
	case a.wire:
		return nil, hintedError{"batch has a line for each call, and no place for whole messages", "--record FILE keeps them"}
	case fromStandardInput && a.answers.Sampling == "-":
		return nil, hintedError{"standard input can be read once only", "give the calls as a file, or --sampling as one"}
	}
	if fromStandardInput {
		if a.isTyped() {
			a.note("reading standard input, Ctrl-D ends it")
		}
		return io.NopCloser(a.in), nil
	}
	f, err := os.Open(o.from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, hintedError{"there is no file " + o.from, "the calls are read from a file or -; a server is named with -s"}
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", o.from, bare(err))
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close()
		return nil, hintedError{o.from + " is a folder", "the calls are read from a file or -; mcpc run takes folders of saved calls"}
	}
	return f, nil
}

// A batch is one run of many calls.
type batch struct {
	a *app
	c *conversation
	batchOptions
	// make makes the call of one line.
	make func(ctx context.Context, raw []byte) (echo []wire.Member, out wire.Outcome)
	// reading holds one token: whoever has it takes the next line.
	reading chan struct{}
	src     *lineReader
	window  *window
	// What follows belongs to who writes, one at a time. stopAll ends what is under
	// way too.
	out      *bufio.Writer
	flushing bool // soon
	stopAll  context.CancelFunc
	// tally counts the kinds; failed is the line of the first that was not good, last
	// that of the last result.
	tally               map[wire.Kind]int
	lines, failed, last int
	began, told         time.Time
}

func newBatchOf(a *app, o batchOptions) *batch {
	return &batch{a: a, batchOptions: o, reading: make(chan struct{}, 1), window: newWindow(mostLines, mostHeld), tally: map[wire.Kind]int{}, began: a.now()}
}

func (a *app) batch(ctx context.Context, o batchOptions, in io.Reader) {
	a.noInput, a.repeats, a.record.most = true, &repeats{}, mostRecorded
	if o.from == "-" && a.isTyped() {
		a.progress.Done() // the line of progress would be in the way of what is typed
	}
	c, out := a.open(ctx, opening{argv: o.argv, many: true})
	defer c.close(ctx)
	if !out.Good() {
		a.end(out)
		return
	}
	b := newBatchOf(a, o)
	b.c, b.make = c, b.do
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b.run(ctx, stop, in)
	a.progress.Done()
	if a.ending.Kind != wire.Signal { // else nobody reads it
		b.summary(ctx)
	}
}

// summary says on one line what became of all calls, and is the ending.
func (b *batch) summary(ctx context.Context) {
	took := b.a.now().Sub(b.began)
	text := fmt.Sprintf("%s in %s", plural(b.lines, "call"), render.Took(took))
	if b.lines > 1 && took > 0 {
		text += fmt.Sprintf(" (%.0f a second)", float64(b.lines)/took.Seconds())
	}
	bad := b.counts()
	switch {
	case b.lines == 0:
	case bad == "":
		text += ", all good"
	case ctx.Err() != nil:
		text += fmt.Sprintf(": %d good, %s", b.tally[wire.OK], bad)
	default: // the ending says the rest
		text += fmt.Sprintf(", %d good", b.tally[wire.OK])
	}
	if b.window.isOver() && b.a.ending.Good() {
		text += fmt.Sprintf("; stopped behind line %d, nothing after it was begun", b.last)
	}
	b.a.note(text)
	if n := b.a.repeats.left(); n > 0 {
		b.a.note(plural(n, "more warning") + " of the same kind")
	}
	b.a.end(b.ending(ctx, bad))
}

// ending is the worst of all lines.
func (b *batch) ending(ctx context.Context, bad string) wire.Outcome {
	if ctx.Err() != nil && b.a.ending.Kind == wire.OK {
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted", Many: true, Reached: wire.Unknown}
	}
	out := wire.Outcome{Where: b.c.where, Many: true}
	for kind := range b.tally {
		out.Kind = worse(out.Kind, kind)
	}
	if !out.Good() {
		out.Reached = wire.Unknown
		out.Text = fmt.Sprintf("%d of %s failed: %s", b.lines-b.tally[wire.OK], plural(b.lines, "call"), bad)
		out.Hint = fmt.Sprintf("the first is line %d; jq -c 'select(.exit != 0)' picks them out of the results", b.failed)
		if b.a.jq != "" {
			out.Hint = fmt.Sprintf("the first is line %d; without --jq each result is shown whole", b.failed)
		}
	}
	return out
}

// counts are those of the kinds that are not good, the worst first.
func (b *batch) counts() (text string) {
	for _, kind := range worstFirst() {
		if n := b.tally[kind]; n > 0 {
			if text != "" {
				text += ", "
			}
			text += fmt.Sprintf("%d %s", n, kind)
		}
	}
	return text
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
