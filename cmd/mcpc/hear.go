package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/wire"
)

// An endurance is how long a command that never ends by itself goes on.
type endurance struct {
	time  time.Duration
	count int
}

func (p *endurance) flags(f *pflag.FlagSet, what string) {
	f.Var((*seconds)(&p.time), "for", "stop after this time")
	f.IntVar(&p.count, "count", 0, "stop after N "+what)
}

func (p *endurance) check() error {
	if p.count < 0 {
		return hinted("--count must be 1 or more", "omit it for no limit")
	}
	return nil
}

// errEnough is the cause of a context that --for or --count ended.
var errEnough = errors.New("done")

// A notice is a notification and when it came.
type notice struct {
	*wire.Message
	at time.Time
}

// An ear keeps what came until the command has shown the one before: whoever
// reads a stream must not wait for whoever reads standard output.
type ear struct {
	// ctx ends when nobody listens any more; what comes then is dropped.
	ctx     context.Context
	deaf    context.CancelFunc
	notices chan *wire.Message
}

// maxNotices is how many may wait. A server that tells more, and faster than it is
// read, is read more slowly.
const maxNotices = 4096

func newEar(ctx context.Context) *ear {
	ctx, deaf := context.WithCancel(ctx)
	return &ear{ctx, deaf, make(chan *wire.Message, maxNotices)}
}

func (e *ear) hear(m *wire.Message) {
	select {
	case e.notices <- m:
	case <-e.ctx.Done():
	}
}

// A listening is what a command listens to, until it has enough.
type listening struct {
	ctx    context.Context
	enough func()
	// ended gets how it ended, once.
	ended chan wire.Outcome
}

// start listens beside the command, until ctx is done or the time is up.
func (c *conversation) start(ctx context.Context, l client.Listening, until endurance) listening {
	ctx, cancel := context.WithCancelCause(ctx)
	on := listening{ctx, func() { cancel(errEnough) }, make(chan wire.Outcome, 1)}
	l.Began = until.from(l.Began, on.enough)
	go func() { on.ended <- c.Listen(ctx, l) }()
	return on
}

// ending is the outcome: what the user asked for is good, and who pressed Ctrl-C
// knows that.
func (on listening) ending(out wire.Outcome) wire.Outcome {
	switch {
	case context.Cause(on.ctx) == errEnough:
		return wire.Outcome{}
	case out.Kind == wire.Signal:
		return wire.Outcome{Kind: wire.Signal, Reached: out.Reached}
	}
	return out
}

// hearAll listens and gives each notification to take, which says how many it
// counts for, until that is enough, the time is up, or the listening ends.
func (a *app) hearAll(ctx context.Context, c *conversation, e *ear, l client.Listening, until endurance, take func(notice) int) wire.Outcome {
	on := c.start(ctx, l, until)
	defer on.enough()
	defer e.deaf()
	left := cmp.Or(until.count, math.MaxInt)
	count := func(m *wire.Message) {
		if left > 0 && a.ending.Kind == wire.OK {
			left -= take(notice{m, a.now()})
		}
		if left <= 0 || a.ending.Kind != wire.OK {
			on.enough()
		}
	}
	read := time.NewTicker(unreadEvery)
	defer read.Stop()
	for {
		select {
		case <-read.C:
			if a.unread() {
				on.enough()
			}
		case m := <-e.notices:
			count(m)
		case out := <-on.ended:
			for len(e.notices) > 0 {
				count(<-e.notices)
			}
			return on.ending(out)
		}
	}
}

// leastPatience is how long a server may take to agree, however short --for is.
const leastPatience = 5 * time.Second

// patience is how long a server may take to agree: who wants to listen for a while does
// not wait for it much longer than that, unless --timeout says so.
func (p endurance) patience(idle time.Duration) time.Duration {
	if d := p.time; d > 0 && idle == 0 {
		return max(d, leastPatience)
	}
	return 0
}

// from starts the time when the server has agreed for the first time.
func (p endurance) from(began func(client.Filter), enough func()) func(client.Filter) {
	var once sync.Once
	return func(agreed client.Filter) {
		once.Do(func() { p.begin(enough) })
		began(agreed)
	}
}

// begin starts the time, if there is one.
func (p endurance) begin(enough func()) {
	if d := p.time; d > 0 {
		time.AfterFunc(d, enough)
	}
}

// printLine writes one JSON document of a stream, on a line or through --jq.
func (a *app) printLine(ctx context.Context, raw json.RawMessage) {
	a.endsLine(a.tryLine(ctx, raw))
}

// tryLine is printLine for whom an expression of --jq that fails is no end.
func (a *app) tryLine(ctx context.Context, raw json.RawMessage) error {
	if a.jq != "" {
		return a.filter(ctx, a.stdout(), a.outStyle, document(raw, nil))
	}
	return render.JSONLine(a.stdout(), a.outStyle, raw)
}

// endsLine ends the command where a line could not be printed.
func (a *app) endsLine(err error) {
	switch {
	case err == nil || a.ending.Kind != wire.OK:
	case isStopped(err):
		a.end(a.afterwards(wire.Outcome{Kind: wire.Signal, Text: "interrupted"}))
	case isUsage(err):
		a.end(usage(err))
	default:
		a.end(a.unwritten(err))
	}
}
