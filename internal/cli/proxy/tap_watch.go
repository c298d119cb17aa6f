package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/cli/faulty"
	"mcpc/internal/client/process"
	"mcpc/internal/connect"
	"mcpc/internal/connect/pin"
	"mcpc/internal/diff"
	"mcpc/internal/diff/report"
	"mcpc/internal/pause"
	"mcpc/internal/proxy"
	"mcpc/internal/redact"
	"mcpc/internal/reload"
	"mcpc/internal/render/failure"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A watchedTap runs a server for another client, and restarts it after its files have changed.
type watchedTap struct {
	factory *cmdutil.Factory
	argv    []string
	build   string
	watcher *proxy.Watcher
	// stderr records what the server and mcpc write to standard error.
	stderr io.Writer
	// last is the process that was started last.
	last atomic.Pointer[process.Process]
	// building is locked while a build runs.
	building sync.Mutex
	server   *reload.Server
}

// runWatchedTap runs the server until the client closes its output or a signal ends mcpc, and returns
// the server's exit code as an error.
func runWatchedTap(ctx context.Context, f *cmdutil.Factory, argv []string, o tapOptions) error {
	faults, err := o.fault.StartLive(f, proxy.LinkStdio|proxy.LinkChild)
	if err != nil {
		return err
	}
	defer faults.Close()
	f.Record.Quiet.Store(f.Verbose == 0)
	f.Secrets.LearnCommand(argv)
	endTrace, err := o.trace.StartRelay(f, connect.CommandLine(argv))
	if err != nil {
		return err
	}
	f.IsConnected.Store(true) // a signal ends the server in order
	defer f.IsConnected.Store(false)
	runCtx, stop := context.WithCancel(ctx)
	defer stop()
	t := &watchedTap{factory: f, argv: argv, build: o.watch.Build}
	t.watcher = faulty.NewWatcher(f, connect.CommandLine(argv), capture.ByTap, faults)
	stderr := t.watcher.StderrWriter()
	t.stderr = stderr
	err = t.run(runCtx, stop, faults, o)
	stderr.Close()
	code := 0
	if last := t.last.Load(); last != nil && pause.IsOver(last.Exited) {
		var how string
		how, code = exitOf(last.State())
		t.watcher.ReportClosed(wire.Sent, how, last.State().String())
	}
	t.watcher.Close()
	endTrace()
	if endErr := faults.End(); endErr != nil || err != nil {
		return cmdutil.Join(err, endErr)
	}
	if ctx.Err() != nil {
		return cmdutil.Exit(wire.Outcome{Kind: wire.Signal, Text: "interrupted"})
	}
	if code != 0 {
		return &cmdutil.ExitError{Code: code}
	}
	return nil
}

// run builds and runs the server. stop ends ctx, for the fault rules that end the server.
func (t *watchedTap) run(ctx context.Context, stop func(), faults *faulty.Faults, o tapOptions) error {
	f := t.factory
	dir, err := os.Getwd()
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("finding the working directory", err))
	}
	files, err := reload.WatchFiles(dir, o.watch.Patterns, t.note)
	if _, isInvalid := errors.AsType[reload.PatternError](err); isInvalid {
		return usage.New("--watch: "+err.Error(), "--watch 'src/**/*.ts'")
	}
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("watching files", err))
	}
	defer files.Close()
	seen := t.watcher.MessageWriter(wire.Received)
	fromClient, toServer := io.Pipe()
	pipe := &proxy.Pipe{
		Desk:      faults.Desk,
		Watcher:   t.watcher,
		Target:    connect.CommandLine(t.argv),
		ToServer:  toServer,
		ToClient:  io.MultiWriter(seen, f.Out),
		EndServer: stop,
		Context:   ctx,
	}
	toClient := pipe.ServerWriter()
	t.server = reload.New(reload.Options{
		Start: t.start, AwaitsBuild: t.build != "", ToClient: toClient, Drain: o.watch.Drain(), Hold: o.watch.Hold(),
		FailFast: o.failFast, Note: t.note, Warn: t.warn, ToolsChanged: t.showTools, Now: f.Now,
	})
	go t.server.ReadClient(fromClient)
	go func() {
		sent := t.watcher.MessageWriter(wire.Sent)
		_ = pipe.ForwardSent(io.TeeReader(f.In, sent)) // an error ends the conversation like the end of the input
		sent.Close()
		toServer.Close()
	}()
	changes := t.mergeSignals(ctx, files.Changed)
	err = t.server.Run(ctx, reload.Rebuild(ctx, changes, t.runBuild))
	if ctx.Err() == nil {
		_ = toClient.Close()
	}
	stop()
	t.building.Lock() // waits for the end of a build
	defer t.building.Unlock()
	seen.Close()
	fromClient.Close()
	if err != nil {
		return cmdutil.Exit(notStarted(t.argv[0], err))
	}
	return nil
}

// mergeSignals returns a channel that receives a value after each change of files and each signal to
// restart the server, until ctx is done. If there is a build, it receives one at the start, too.
func (t *watchedTap) mergeSignals(ctx context.Context, changed <-chan struct{}) <-chan struct{} {
	signals := make(chan os.Signal, 1)
	console.NotifyRestart(signals)
	changes := make(chan struct{})
	go func() {
		defer signal.Stop(signals)
		if t.build != "" {
			select {
			case <-ctx.Done():
			case changes <- struct{}{}:
			}
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			case <-signals:
			}
			select {
			case <-ctx.Done():
			case changes <- struct{}{}:
			}
		}
	}()
	return changes
}

// start starts a process of the server.
func (t *watchedTap) start() (*reload.Process, error) {
	p, err := process.Start(process.Command{Args: t.argv})
	if err != nil {
		return nil, err
	}
	t.last.Store(p)
	outputEnded := make(chan struct{})
	p.Watch(t.forwardStderr, outputEnded)
	end := sync.OnceFunc(func() { close(outputEnded) })
	return &reload.Process{
		Stdin: p.Stdin, Stdout: &endingReader{p.Stdout, end}, End: p.End,
		Ending: func() (how, stderr string) {
			facts := p.Ending()
			how = facts.HowEnded
			if reason := facts.Reason(); reason != "" && !isKilled(p) {
				how += ": " + reason
			}
			return t.factory.Secrets.Text(how), t.factory.Secrets.Text(lastLines(facts.Stderr))
		},
	}, nil
}

// isKilled reports whether a signal has ended a process.
func isKilled(p *process.Process) bool { return pause.IsOver(p.Exited) && p.State().ExitCode() < 0 }

// maxLines is how many lines of the output of a failed build or server are shown.
const maxLines = 20

// lastLines returns the last lines of a text.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-maxLines):], "\n")
}

// An endingReader calls end at the end of its Reader.
type endingReader struct {
	io.Reader
	end func()
}

// Read reads from the Reader.
func (r *endingReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil {
		r.end()
	}
	return n, err
}

// forwardStderr forwards and records a line that the server wrote to standard error.
func (t *watchedTap) forwardStderr(line []byte) {
	line = append(line, '\n')
	_, _ = t.stderr.Write(line)
	_, _ = t.factory.Stderr().Write(line)
}

// note notes something for the user, in the recording too.
func (t *watchedTap) note(text string) {
	t.factory.Note(text)
	_, _ = fmt.Fprintf(t.stderr, "mcpc: note: %s\n", t.factory.ErrStyle.Line(text))
}

// warn notes for the user, in the recording too, why the server or a build has failed. Each failure is noted,
// also with the text of the one before.
func (t *watchedTap) warn(text string) {
	failure.Warn(t.factory.Stderr(), t.factory.ErrStyle, t.factory.Secrets.Text(text))
	_, _ = fmt.Fprintf(t.stderr, "mcpc: warning: %s\n", t.factory.ErrStyle.Line(text))
}

// showTools shows how the tools differ after a restart.
func (t *watchedTap) showTools(before, after []json.RawMessage) {
	r := report.Report{
		A: "before", B: "after",
		Changes: diff.Compare(diff.Snapshot{Tools: before}, diff.Snapshot{Tools: after}, pin.Options()),
	}
	redact.Within(&t.factory.Secrets, &r)
	const all = true
	t.showLines(report.Text(r, all))
}

// showLines writes lines to standard error, and records them.
func (t *watchedTap) showLines(lines []report.Line) {
	_ = cmdutil.WriteLines(t.factory.Stderr(), t.factory.ErrStyle, lines)
	for _, line := range lines {
		_, _ = fmt.Fprintf(t.stderr, "mcpc: %s\n", t.factory.ErrStyle.Line(line.String()))
	}
}

// runBuild runs the build command, if there is one, and reports whether it succeeded.
func (t *watchedTap) runBuild(ctx context.Context) bool {
	if t.build == "" {
		return true
	}
	t.building.Lock()
	defer t.building.Unlock()
	if ctx.Err() != nil {
		return false
	}
	t.server.BuildStarted()
	trouble := t.tryBuild(ctx)
	t.server.BuildEnded(trouble)
	return trouble == "" && ctx.Err() == nil
}

// tryBuild runs the build command and says why it failed, or returns "". If it fails, its last lines are
// shown. The end of ctx ends it.
func (t *watchedTap) tryBuild(ctx context.Context) (trouble string) {
	remark := "; waiting for a change"
	if t.last.Load() != nil {
		remark = ", so the server stays as it was"
	}
	p, err := process.Start(process.Command{Args: []string{"sh", "-c", "exec 2>&1\n" + t.build}})
	if err != nil {
		trouble = "--build could not be started: " + err.Error()
		t.warn(trouble + remark)
		return trouble
	}
	p.Stdin.Close()
	outputEnded := make(chan struct{})
	p.Watch(func([]byte) {}, outputEnded)
	output := process.NewTail()
	go func() {
		defer close(outputEnded)
		buf := make([]byte, 32<<10)
		for {
			n, err := p.Stdout.Read(buf)
			output.Add(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	select {
	case <-p.Exited:
	case <-ctx.Done():
	}
	p.End()
	if ctx.Err() != nil || p.State().ExitCode() == 0 {
		return ""
	}
	trouble = "--build failed (" + p.State().String() + ")"
	t.warn(trouble + remark)
	var lines []report.Line
	for line := range strings.SplitSeq(lastLines(t.factory.Secrets.Text(output.Text())), "\n") {
		lines = append(lines, report.Line{{Role: report.Plain, Text: "  " + line}})
	}
	t.showLines(lines)
	return trouble
}
