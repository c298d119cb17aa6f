package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"mcpc/internal/bench"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/english"
	"mcpc/internal/wire"
)

// measurement is a connection to a server, the call to make there, and the measurement of the calls.
type measurement struct {
	f    *cmdutil.Factory
	conn *connect.Conn
	// call is the request of each measured call.
	call client.Call
	tool *connect.Definition
	// request has the arguments, converted by the schema.
	request toolcall.Request
	setup   []bench.Step
	// validate is set to check each result against the outputSchema.
	validate bool
	rec      *bench.Recorder
}

// dialOptions returns the options of the connections. They are always new, because connecting is
// measured.
func dialOptions(o *options, argv []string) connect.Options {
	return connect.Options{
		Argv:              argv,
		RequireServerInfo: true,
		NoResume:          true,
		MultiCall:         true,
		FewLists:          true,
		Unjudged:          !o.validate,
	}
}

// openMeasurement connects to the server of an invocation, lists its tools, and prepares the call. It
// refuses a tool that may change something without --yes. The caller closes the connection, also after
// a failure.
func openMeasurement(ctx context.Context, f *cmdutil.Factory, o *options, argv []string) (*measurement, wire.Outcome) {
	m := &measurement{f: f, request: o.call, validate: o.validate}
	began := f.Now()
	c, out := f.Open(ctx, dialOptions(o, argv))
	m.conn = c
	if !out.OK() {
		return m, out
	}
	m.addStep("connect", f.Now().Sub(began))
	began = f.Now()
	m.tool, out = c.DefineOnce(ctx, o.call.Name)
	if !out.OK() {
		return m, out
	}
	m.addStep("tools/list", f.Now().Sub(began))
	if !o.call.Yes && !m.tool.Hints.OnlyReads() {
		mark := "is not marked as read-only"
		if m.tool.Hints.IsDestructive() {
			mark = "is marked as destructive"
		}
		return m, wire.Outcome{
			Kind:       wire.Refused,
			Method:     "tools/call",
			Name:       o.call.Name,
			ServerName: c.Where,
			Phase:      "arguments",
			Text:       fmt.Sprintf("the tool %q %s, and would be called many times", o.call.Name, mark),
			Hint:       "--yes calls it",
		}
	}
	m.call, m.tool, out = toolcall.Prepare(ctx, c, &m.request)
	if !out.OK() {
		return m, out
	}
	m.call.Progress = o.progress
	return m, m.measureColdStarts(ctx, o, argv)
}

// addStep records the median of the durations of a step of the setup. took is not empty.
func (m *measurement) addStep(name string, durations ...time.Duration) {
	slices.Sort(durations)
	median := durations[len(durations)/2]
	m.setup = append(m.setup, bench.Step{Name: name, MedianUS: median.Microseconds(), Times: len(durations)})
}

// measureColdStarts opens o.cold new connections, one after another, and records the times until
// each was open and until the result of its first call. It stops at the first failure.
func (m *measurement) measureColdStarts(ctx context.Context, o *options, argv []string) wire.Outcome {
	var opened, answered []time.Duration
	for range o.cold {
		began := m.f.Now()
		c, out := connect.Dial(ctx, &m.f.Invocation().Env, dialOptions(o, argv))
		if out.OK() {
			opened = append(opened, m.f.Now().Sub(began))
			out = c.Do(ctx, m.call)
			answered = append(answered, m.f.Now().Sub(began))
		}
		if closed := c.Close(ctx); out.OK() {
			out = closed
		}
		if !out.OK() {
			return out
		}
	}
	if o.cold > 0 {
		m.addStep("cold start", opened...)
		m.addStep("cold start to first result", answered...)
	}
	return wire.Outcome{}
}

// endpoint returns the URL of the server, or "" if the server has no URL.
func (m *measurement) endpoint() string {
	if m.conn.Saved != nil {
		return m.conn.Saved.Endpoint
	}
	return m.conn.OneOff.Endpoint
}

// isRemote reports whether the server is on another machine.
func (m *measurement) isRemote() bool {
	return m.conn.Transport() != transport.Stdio && !cmdutil.IsLocal(m.endpoint())
}

// makeCall makes one call and returns its channel and stages. It recovers from a panic and returns the
// channel of internal errors, so that the other calls are not lost. The outcome is empty if the run
// was interrupted.
func (m *measurement) makeCall(ctx context.Context) (outcome bench.CallOutcome) {
	defer func() {
		if panicValue := recover(); panicValue != nil {
			outcome = bench.CallOutcome{Channel: string(wire.Internal)}
		}
	}()
	call := m.call
	progress := progressTimes{now: m.f.Now}
	if call.Progress {
		progress.last = m.f.Now()
		call.Progressed = progress.record
	}
	out := m.conn.Do(ctx, call)
	stages := progress.stagesSoFar()
	if m.call.Task != nil && out.OK() {
		if task, ok := m.conn.TaskIn(m.call, out); ok {
			stages = append(stages, bench.Stage{Name: "task created", Took: out.Took})
			out = m.conn.Await(ctx, task, client.AwaitOptions{Tool: m.request.Name})
		}
	}
	if m.validate && out.OK() {
		out = toolcall.CheckResult(m.conn, m.tool, out)
	}
	if out.OK() {
		return bench.CallOutcome{Channel: bench.OK, Stages: stages}
	}
	if out.Kind == wire.Signal || ctx.Err() != nil {
		return bench.CallOutcome{}
	}
	return bench.CallOutcome{Channel: string(out.Kind), Pause: client.RequestedPause(out, m.f.Now())}
}

// progressTimes records the times between the progress notifications of a call. mu guards last and
// stages.
type progressTimes struct {
	now    func() time.Time
	mu     sync.Mutex
	last   time.Time
	stages []bench.Stage
}

// record records a progress notification.
func (p *progressTimes) record() {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := "between progress"
	now := p.now()
	if len(p.stages) == 0 {
		name = "first progress"
	}
	p.stages = append(p.stages, bench.Stage{Name: name, Took: now.Sub(p.last)})
	p.last = now
}

// stagesSoFar returns the stages so far; more may follow.
func (p *progressTimes) stagesSoFar() []bench.Stage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.stages)
}

// result returns the measurement of this server.
func (m *measurement) result() *bench.Result {
	r := m.rec.Result()
	r.Setup = m.setup
	r.Server = m.f.Secrets.Text(connect.ServerName(m.conn.ServerInfo()))
	r.Revision = m.conn.Revision()
	r.Transport = string(m.conn.Transport())
	return r
}

// pipeRemark returns a remark on how calls share one pipe, or "".
func pipeRemark(r *bench.Result, load bench.Load) string {
	if r.Transport != string(transport.Stdio) {
		return ""
	}
	if load.Users == 1 {
		return "; one call at a time over one pipe"
	}
	return "; calls at the same time share one pipe"
}

// dominantFailure returns the outcome of the most frequent failure if no call succeeded or the run ended
// because of failures. It returns OK otherwise.
func dominantFailure(r *bench.Result, where string) wire.Outcome {
	channel := ""
	calls := int64(0)
	for name, c := range r.Channels {
		calls += c.Calls
		if name == bench.OK || c.Calls == 0 {
			continue
		}
		byCalls := cmp.Compare(c.Calls, r.Channels[channel].Calls)
		if cmp.Or(byCalls, cmp.Compare(name, channel)) > 0 { // the name makes a tie always end the same way
			channel = name
		}
	}
	hasFailed := channel != ""
	hasSucceeded := r.Channels[bench.OK].Calls > 0
	hasGivenUp := r.EndReason != "" && r.EndReason != bench.Interrupted
	if !hasFailed || hasSucceeded && !hasGivenUp {
		return wire.Outcome{}
	}
	text := fmt.Sprintf("%d of %s ended with %s", r.Channels[channel].Calls, english.Plural(int(calls), "call"), channel)
	if r.EndReason != "" {
		text = r.EndReason + ": " + text
	}
	return wire.Outcome{
		Kind:       wire.Kind(channel),
		Method:     "tools/call",
		ServerName: where,
		IsSummary:  true,
		Reached:    wire.Unknown,
		Text:       text,
		Hint:       wire.Run("log last") + " shows the first calls",
	}
}
