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

// aim is a connection to a server, the call to make there, and the measurement of the calls.
type aim struct {
	f *cmdutil.Factory
	c *connect.Conn
	// call is the request of each measured call.
	call client.Call
	tool *connect.Definition
	// sent has the arguments, converted by the schema.
	sent  toolcall.Request
	setup []bench.Step
	// validate is set to check each result against the outputSchema.
	validate bool
	rec      *bench.Recorder
}

// dialing returns the options of the connections. They are always new, because connecting is
// measured.
func dialing(o *options, argv []string) connect.Options {
	return connect.Options{
		Argv:              argv,
		RequireServerInfo: true,
		NoResume:          true,
		MultiCall:         true,
		FewLists:          true,
		Unjudged:          !o.validate,
	}
}

// open connects to the server of an invocation, lists its tools, and prepares the call.
func open(ctx context.Context, f *cmdutil.Factory, o *options, argv []string) (*aim, wire.Outcome) {
	a := &aim{f: f, sent: o.call, validate: o.validate}
	began := f.Now()
	c, out := f.Open(ctx, dialing(o, argv))
	a.c = c
	if !out.OK() {
		return a, out
	}
	a.step("connect", f.Now().Sub(began))
	began = f.Now()
	a.tool, out = c.DefineOnce(ctx, o.call.Name)
	if !out.OK() {
		return a, out
	}
	a.step("tools/list", f.Now().Sub(began))
	if !o.call.Yes && !a.tool.Hints.OnlyReads() {
		mark := "is not marked as read-only"
		if a.tool.Hints.IsDestructive() {
			mark = "is marked as destructive"
		}
		return a, wire.Outcome{
			Kind:       wire.Refused,
			Method:     "tools/call",
			Name:       o.call.Name,
			ServerName: c.Where,
			Phase:      "arguments",
			Text:       fmt.Sprintf("the tool %q %s, and would be called many times", o.call.Name, mark),
			Hint:       "--yes calls it",
		}
	}
	a.call, a.tool, out = toolcall.Prepare(ctx, c, &a.sent)
	if !out.OK() {
		return a, out
	}
	a.call.Progress = o.progress
	return a, a.openCold(ctx, o, argv)
}

// step records the median of the durations of a step of the setup. took is not empty.
func (a *aim) step(name string, took ...time.Duration) {
	slices.Sort(took)
	a.setup = append(a.setup, bench.Step{Name: name, MedianUS: took[len(took)/2].Microseconds(), Times: len(took)})
}

// openCold measures new connections until the result of their first call.
func (a *aim) openCold(ctx context.Context, o *options, argv []string) wire.Outcome {
	var opened, answered []time.Duration
	for range o.cold {
		began := a.f.Now()
		c, out := connect.Dial(ctx, &a.f.Invocation().Env, dialing(o, argv))
		if out.OK() {
			opened = append(opened, a.f.Now().Sub(began))
			out = c.Do(ctx, a.call)
			answered = append(answered, a.f.Now().Sub(began))
		}
		if closed := c.Close(ctx); out.OK() {
			out = closed
		}
		if !out.OK() {
			return out
		}
	}
	if o.cold > 0 {
		a.step("cold start", opened...)
		a.step("cold start to first result", answered...)
	}
	return wire.Outcome{}
}

// endpoint returns the URL of the server, or "" if it has none.
func (a *aim) endpoint() string { return cmp.Or(a.c.Saved, a.c.OneOff).Endpoint }

// elsewhere reports whether the server is on another machine.
func (a *aim) elsewhere() bool {
	return a.c.Transport() != transport.Stdio && !cmdutil.IsLocal(a.endpoint())
}

// make makes one call and returns its channel and stages. It recovers from a panic and returns the
// channel of internal errors. The Ending is empty if the run was interrupted.
func (a *aim) make(ctx context.Context) (ending bench.Ending) {
	defer func() {
		if crash := recover(); crash != nil {
			ending = bench.Ending{Channel: string(wire.Internal)}
		}
	}()
	call := a.call
	progress := progressTimes{now: a.f.Now}
	if call.Progress {
		call.Progressed, progress.last = progress.note, a.f.Now()
	}
	out := a.c.Do(ctx, call)
	stages := progress.taken()
	if a.call.Task != nil && out.OK() {
		if task, ok := a.c.TaskIn(a.call, out); ok {
			stages = append(stages, bench.Stage{Name: "task created", Took: out.Took})
			out = a.c.Await(ctx, task, client.Waiting{Tool: a.sent.Name})
		}
	}
	if a.validate && out.OK() {
		out = toolcall.CheckResult(a.c, a.tool, out)
	}
	if out.OK() {
		return bench.Ending{Channel: bench.OK, Stages: stages}
	}
	if out.Kind == wire.Signal || ctx.Err() != nil {
		return bench.Ending{}
	}
	return bench.Ending{Channel: string(out.Kind), Pause: client.AskedPause(out, a.f.Now())}
}

// progressTimes records the times between the progress notifications of a call. mu guards last and
// stages.
type progressTimes struct {
	now    func() time.Time
	mu     sync.Mutex
	last   time.Time
	stages []bench.Stage
}

// note records a progress notification.
func (p *progressTimes) note() {
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

// taken returns the stages so far; more may follow.
func (p *progressTimes) taken() []bench.Stage {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.stages)
}

// result returns the measurement of this server.
func (a *aim) result() *bench.Result {
	r := a.rec.Result()
	r.Setup = a.setup
	r.Server = a.f.Secrets.Text(connect.ServerName(a.c.ServerInfo()))
	r.Revision = a.c.Revision()
	r.Transport = string(a.c.Transport())
	return r
}

// pipelined returns a remark on how calls share one pipe, or "".
func pipelined(r *bench.Result, load bench.Load) string {
	if r.Transport != string(transport.Stdio) {
		return ""
	}
	if load.Users == 1 {
		return "; one call at a time over one pipe"
	}
	return "; calls at the same time share one pipe"
}

// worst returns the outcome of the most frequent failure if no call succeeded or the run ended
// because of failures. It returns OK otherwise.
func worst(r *bench.Result, where string) wire.Outcome {
	most := ""
	calls := int64(0)
	for name, c := range r.Channels {
		calls += c.Calls
		if name != bench.OK && c.Calls > 0 &&
			cmp.Or(cmp.Compare(c.Calls, r.Channels[most].Calls), cmp.Compare(name, most)) > 0 {
			most = name
		}
	}
	if most == "" || r.Channels[bench.OK].Calls > 0 && (r.Ended == "" || r.Ended == bench.Interrupted) {
		return wire.Outcome{}
	}
	text := fmt.Sprintf("%d of %s ended with %s", r.Channels[most].Calls, english.Plural(int(calls), "call"), most)
	if r.Ended != "" {
		text = r.Ended + ": " + text
	}
	return wire.Outcome{
		Kind:       wire.Kind(most),
		Method:     "tools/call",
		ServerName: where,
		IsSummary:  true,
		Reached:    wire.Unknown,
		Text:       text,
		Hint:       wire.Run("log last") + " shows the first calls",
	}
}
