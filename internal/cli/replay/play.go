package replay

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/mcp"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// An item is the outcome of one recorded request.
type item struct {
	row *rows.Row
	Report
	// Why is the reason that the request was not sent, or a further explanation.
	Why string
	// sentRecordedHandle is set if a handle of --bind was sent as recorded, because no answer had a
	// new one.
	sentRecordedHandle bool
	// took is the time of the present response.
	took time.Duration
	// result is the present result with the recorded handles, for --learn.
	result     json.RawMessage
	comparison match.Comparison
}

// A player sends the requests of a selection over one connection.
type player struct {
	*selection
	factory *cmdutil.Factory
	conn    *connect.Conn
	options options
	judge   Options
	binder  *match.Binder
	answers *answers
	frames  *frameCollector
	// began is the time of the first request.
	began time.Time
	mu    sync.Mutex
	// logLevels are the log levels that the recorded clients set with logging/setLogLevel;
	// currentLogLevel is the level that was last set for the present server. mu guards both.
	logLevels       map[conversation]string
	currentLogLevel string
	// connectionEnd is the outcome that ended the connection, nil while it is open. Every request
	// may write it; the first write counts.
	connectionEnd atomic.Pointer[wire.Outcome]
}

// play replays the selection over a new connection and calls handle with each item in the recorded
// order. The outcome is a failure if the server is or becomes unavailable, or after Ctrl-C; the items
// that were not sent are then NotRun. The connection is never nil and stays open.
func (s *selection) play(
	ctx context.Context,
	f *cmdutil.Factory,
	o options,
	judge judgement,
	handle func(item),
) (*connect.Conn, wire.Outcome) {
	answers, err := newAnswers(s)
	if err != nil {
		return &connect.Conn{}, usage.LocalIO("reading "+s.capture.Path, usage.Bare(err))
	}
	p := &player{
		selection: s,
		factory:   f,
		options:   o,
		judge:     judge.Options,
		binder:    match.NewBinder(judge.bindings...),
		answers:   answers,
		logLevels: map[conversation]string{},
	}
	// A new conversation ends the replay: what the server knew of earlier requests is lost.
	onRenewal := func(r client.Renewal) {
		p.connectionEnd.CompareAndSwap(nil, &wire.Outcome{
			Kind: wire.Transport, Reached: wire.Unknown, IsSummary: true,
			Text: "the conversation ended before the replay: " + r.Why,
		})
	}
	c, out := f.Open(ctx, connect.Options{
		Argv:              o.Argv,
		MultiCall:         true,
		FewLists:          true,
		NoResume:          true,
		RequireServerInfo: true,
		OnNotification:    func(*wire.Message) {}, // they are in the frames; nothing shows them
		As:                &connect.Stand{Capabilities: s.capabilities, Asker: answers.respond, Renewed: onRenewal},
	})
	switch {
	case out.Kind == wire.Usage: // of the command line, so no item is reported
		return c, out
	case !out.OK():
		if o.To != "" {
			out.Hint = out.Hint.WithServerFlag("--to")
		}
		p.connectionEnd.Store(&out)
	default:
		p.conn, p.frames, p.began = c, watchFrames(f), f.Now()
		f.Note("replaying to " + f.Secrets.Text(c.Label()) + ", " + c.Revision())
	}
	p.sendAll(ctx, handle)
	for _, path := range p.binder.Unused() {
		why := ": no later request has its value; --bind '" + path + "=.arguments.NAME' says where it is"
		if p.binder.IsRetyped(path) {
			why = ": later requests have its value as another type (a number, or a text of it); --bind '" + path +
				"=.arguments.NAME' replaces it there"
		}
		f.Note("--bind " + path + why)
	}
	if end := p.connectionEnd.Load(); end != nil {
		return c, *end
	}
	if ctx.Err() != nil {
		return c, wire.Outcome{Kind: wire.Signal, Text: "interrupted", IsSummary: true, Reached: wire.Unknown}
	}
	return c, wire.Outcome{}
}

// sendAll sends the requests, up to --parallel at a time. A request that may depend on an earlier
// one waits for all before it.
func (p *player) sendAll(ctx context.Context, handle func(item)) {
	// The queue has the items in the recorded order, also if they are ready in another order. Its length
	// limits the requests that run at a time.
	queue := make(chan chan item, p.options.parallel-1)
	var running sync.WaitGroup
	go func() {
		defer close(queue)
		for _, row := range p.rows {
			ready := make(chan item, 1)
			queue <- ready
			if p.options.parallel == 1 || p.conn == nil {
				ready <- p.replayRow(ctx, row)
				continue
			}
			// Its params may have a handle of an earlier answer, or it has an effect on the
			// requests after it.
			if mcp.IsTaskMethod(row.Method) || strings.HasSuffix(row.Method, "/list") || row.Method == "logging/setLevel" {
				running.Wait()
			}
			running.Go(func() { ready <- p.replayRow(ctx, row) })
		}
	}()
	for ready := range queue {
		handle(<-ready)
	}
}

// The reasons that a request was not sent: Ctrl-C, or no connection.
const (
	interrupted = "interrupted"
	unreached   = "the server was not reached"
)

// replayRow replays one request. The item is NotRun without a connection or after Ctrl-C, and Skipped
// if the recording has no request to send.
func (p *player) replayRow(ctx context.Context, row *rows.Row) item {
	notRun := func(why string) item {
		return item{row: row, Report: Report{Verdict: NotRun}, Why: why}
	}
	end := p.connectionEnd.Load()
	if p.conn == nil {
		return notRun(unreached)
	}
	if end != nil {
		return notRun("the server was no longer available")
	}
	if p.options.pace == "as-recorded" {
		sinceFirst := row.Time.Sub(p.rows[0].Time) // when it was recorded
		transport.Sleep(ctx, sinceFirst-p.factory.Now().Sub(p.began))
	}
	if ctx.Err() != nil {
		return notRun(interrupted)
	}
	x, err := row.Exchange()
	if err != nil || x == nil || x.Request.Raw == nil {
		why := "it has no JSON-RPC request"
		if err != nil {
			why = "it cannot be read: " + err.Error()
		}
		return item{row: row, Report: Report{Verdict: Skipped}, Why: why}
	}
	return p.sendAgain(ctx, row, x)
}

// recordedSide returns the recorded side of an exchange. An exchange whose end was not recorded has no
// outcome.
func recordedSide(row *rows.Row, x *wire.Exchange) Side {
	s := Side{Exchange: x, Revision: row.Revision, Took: row.Duration}
	if row.Channel != exchange.ChannelOpen {
		s.Failed = wire.Kind(row.Channel)
	}
	return s
}

// presentSide returns the present side with the recorded handles in its result, and the number of
// replaced handles. recorded is the recorded result.
func (p *player) presentSide(x *wire.Exchange, out wire.Outcome, c match.Comparison,
	recorded json.RawMessage,
) (s Side, bound int) {
	s = Side{Exchange: x, Revision: p.conn.Revision(), Failed: out.Kind, Took: out.Took}
	if x != nil && x.Response.Raw != nil {
		if m := wire.ParseMessage(x.Response.Raw); m.Result != nil {
			s.Result, bound = p.binder.ToRecorded(c, recorded, m.Result)
		}
	}
	return s, bound
}

// endsReplay reports whether no further request can be sent after the outcome, unless the recorded
// request ended the same way. A response with an HTTP status shows that the server is available.
func endsReplay(row *rows.Row, out wire.Outcome) bool {
	isAsRecorded := row.Channel == string(out.Kind)
	switch out.Kind {
	case wire.Auth, wire.Signal:
		return !isAsRecorded
	case wire.Transport:
		return out.HTTP == nil && !isAsRecorded
	default:
		return false
	}
}

// resultOf returns the result of a response, nil if there is none.
func resultOf(x *wire.Exchange) json.RawMessage {
	if x == nil {
		return nil
	}
	return jsonraw.First(x.Response.Raw, "result")
}
