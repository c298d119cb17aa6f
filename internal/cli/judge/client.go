package judge

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"mcpc/internal/capture/clients"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client/process"
	"mcpc/internal/connect"
	"mcpc/internal/judge"
	"mcpc/internal/pause"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// The words that are replaced in a client's command.
const (
	urlWord     = "{url}"
	commandWord = "{command}"
	promptWord  = "{prompt}"
)

// urlVariable is the environment variable with the URL, for the client.
const urlVariable = "MCPC_JUDGE_URL"

// judgeClients probes the client of the command line, or any client that connects, and reports.
func judgeClients(ctx context.Context, f *cmdutil.Factory, o *options) error {
	f.IsConnected.Store(true) // so that a signal waits for the report
	b, err := openBench(ctx, f, o)
	if err != nil {
		return err
	}
	var runs []run
	if o.client == nil {
		runs, err = b.awaitClients(ctx)
	} else {
		runs, err = b.runClient(ctx)
	}
	if endErr := b.end(); endErr != nil || err != nil {
		return cmdutil.Join(err, endErr)
	}
	r := report{Runs: runs}
	r.Clients, err = readClients(f, runs, o.client != nil)
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("reading the recording", err))
	}
	r.replaceUnseen()
	if len(r.Clients) == 0 {
		f.Note("no client sent a request")
		words := strings.Join(o.client, " ")
		if o.client != nil && !strings.Contains(words, urlWord) && !strings.Contains(words, commandWord) {
			f.Note("CLIENT gets the server's address from {url} or {command} in its words, or from " + urlVariable)
		}
	}
	var out wire.Outcome
	failed := r.failures(o.require)
	if len(failed) > 0 {
		out = wire.Outcome{
			Kind: wire.CheckFailed, Text: "the client does not have what --require names: " + strings.Join(failed, ", "),
		}
	}
	isInterrupted := o.client != nil && ctx.Err() != nil
	if isInterrupted {
		out = wire.Outcome{Kind: wire.Signal}
		return cmdutil.Join(r.show(context.WithoutCancel(ctx), f, wire.Outcome{}), cmdutil.Exit(out))
	}
	return r.show(context.WithoutCancel(ctx), f, out)
}

// readClients returns what clients did in some runs, from the recording. ended is set if they have ended.
func readClients(f *cmdutil.Factory, runs []run, ended bool) ([]*clients.Client, error) {
	if !f.Record.HasTraffic.Load() {
		return nil, nil
	}
	c, isOwn, err := f.Record.Read(f.RecordTo)
	if err != nil {
		return nil, err
	}
	var all []*clients.Conversation
	for _, r := range runs {
		reader := clients.Reader{ClientsEnded: ended}
		isInRun := func(row *rows.Row) bool {
			return isOwn(row) && !row.Time.Before(r.began) && !row.Time.After(r.ended)
		}
		if err := reader.Add(c, isInRun); err != nil {
			return nil, err
		}
		all = append(all, reader.Conversations()...)
	}
	return clients.Compare(all), nil
}

// awaitClients serves any client until ctx or the time is over. It returns the servers that clients
// called.
func (b *bench) awaitClients(ctx context.Context) ([]run, error) {
	revisions := b.options.revisions()
	const isBrief = false
	for _, revision := range revisions {
		b.open(revision, isBrief)
	}
	command, err := b.command(revisions[0])
	if err != nil {
		return nil, err
	}
	b.factory.Note("listening on " + b.url(revisions[0]) + "; over stdio the server is " + connect.CommandLine(command))
	if len(revisions) > 1 {
		b.factory.Note("to try an older revision, end the URL or the command with " +
			strings.Join(revisions[1:], ", ") + " in place of the last part")
	}
	b.factory.Note("Ctrl-C ends, and prints the report")
	began := b.factory.Now()
	if b.options.maxTime > 0 {
		_ = pause.For(ctx, b.options.maxTime)
	} else {
		<-ctx.Done()
	}
	ended := b.factory.Now()
	var runs []run
	for _, revision := range revisions {
		r := newRun(b.servers[revision].server, "")
		if len(runs) == 0 { // the clients of all servers are one run
			r.began = began
			r.ended = ended
		}
		if r.Calls > 0 || len(runs) == 0 {
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// revisions returns the names of the servers to try.
func (o *options) revisions() []string {
	if o.revision != "" {
		return []string{o.revision}
	}
	return judge.Revisions()
}

// runClient runs the client with a server of each revision. The first server has all probes, and so has
// the second one if the client needs no handshake with the first.
func (b *bench) runClient(ctx context.Context) ([]run, error) {
	var runs []run
	isBrief := false
	for i, revision := range b.options.revisions() {
		if ctx.Err() != nil {
			break
		}
		server := b.open(revision, isBrief)
		r, err := b.runOnce(ctx, server)
		if err != nil {
			return runs, err
		}
		runs = append(runs, r)
		isBrief = i > 0 || !server.HasStateless()
	}
	return runs, nil
}

// runOnce runs the client with a server.
func (b *bench) runOnce(ctx context.Context, server *judge.Server) (run, error) {
	f := b.factory
	command, err := b.command(server.Revision)
	if err != nil {
		return run{}, err
	}
	argv := replaceWords(b.options.client, b.url(server.Revision), command)
	env := append(slices.Clip(f.Env.ChildEnviron(f.Environ(), argv)), urlVariable+"="+b.url(server.Revision))
	began := f.Now()
	p, err := process.Start(process.Command{Args: argv, Env: env})
	if err != nil {
		return run{}, cmdutil.Exit(wire.Outcome{
			Kind: wire.Transport, Phase: "connect", Err: err, Text: "the client could not be started: " + err.Error(),
		})
	}
	p.Stdin.Close()
	output := process.NewTail()
	outputEnded := make(chan struct{})
	p.Watch(func(line []byte) { b.keepOutput(output, append(line, '\n')) }, outputEnded)
	go func() {
		defer close(outputEnded)
		buffer := make([]byte, 32<<10)
		for {
			n, err := p.Stdout.Read(buffer)
			b.keepOutput(output, buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	limit, cancel := context.WithTimeout(ctx, b.options.maxTime)
	defer cancel()
	outcome := ""
	select {
	case <-p.Exited:
	case <-limit.Done():
		outcome = fmt.Sprintf("ended by mcpc after %v", b.options.maxTime)
		if ctx.Err() != nil {
			outcome = "interrupted"
		}
	}
	p.End()
	if outcome == "" {
		outcome = p.State().String()
	}
	r := newRun(server, outcome)
	r.began = began
	r.ended = f.Now()
	if p.State().ExitCode() != 0 {
		r.Output = lastLines(output.Text())
	}
	return r, nil
}

// keepOutput keeps what a client prints, and shows it with -v.
func (b *bench) keepOutput(output *process.Tail, text []byte) {
	output.Add(text)
	if b.factory.Verbose > 0 {
		_, _ = io.WriteString(b.factory.Stderr(), b.factory.ErrStyle.Block(b.factory.Secrets.Text(string(text))))
	}
}

// lastLines returns the last lines of an output.
func lastLines(text string) string {
	const maxLines = 4
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-maxLines):], "\n")
}

// newRun returns what was done with a server.
func newRun(server *judge.Server, outcome string) run {
	r := run{Revision: server.Revision, Outcome: outcome}
	called := server.Called()
	for _, n := range called {
		r.Calls += n
	}
	for _, call := range judge.Script() {
		if called[call.Tool] == 0 && !server.IsBrief {
			r.NotCalled = append(r.NotCalled, call.Tool)
		}
	}
	return r
}

// replaceWords returns the client's command with the words replaced. {command} alone becomes several
// words; within a word it is quoted for a shell.
func replaceWords(argv []string, url string, command []string) []string {
	var words []string
	for _, word := range argv {
		if word == commandWord {
			words = append(words, command...)
			continue
		}
		words = append(words, strings.NewReplacer(
			urlWord, url, commandWord, connect.CommandLine(command), promptWord, prompt,
		).Replace(word))
	}
	return words
}
