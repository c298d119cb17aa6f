// Package subscription listens for notifications until a limit that the user set.
package subscription

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A Limits is how long a command listens that does not end by itself.
type Limits struct {
	time  time.Duration
	Count int
}

func (p *Limits) Flags(f *pflag.FlagSet, what string) {
	f.Var((*cmdutil.Seconds)(&p.time), "for", "stop after this time")
	f.IntVar(&p.Count, "count", 0, "stop after N "+what)
}

func (p *Limits) Check() error {
	if p.Count < 0 {
		return usage.New("--count must be 1 or more", "omit it for no limit")
	}
	return nil
}

// errEnough is the cause of a context that --for or --count ended.
var errEnough = errors.New("done")

// A Notice is a notification and when it came.
type Notice struct {
	*wire.Message
	At time.Time
}

// Queue buffers notifications until the command has shown the one before: the
// reader of a stream must not wait for the reader of standard output.
type Queue struct {
	// ctx ends when the command stops listening; what comes then is dropped.
	ctx     context.Context
	Stop    context.CancelFunc
	notices chan *wire.Message
}

// maxNotices is how many may wait. A server that tells more, and faster than it is
// read, is read more slowly.
const maxNotices = 4096

func NewQueue(ctx context.Context) *Queue {
	ctx, deaf := context.WithCancel(ctx)
	return &Queue{ctx, deaf, make(chan *wire.Message, maxNotices)}
}

func (e *Queue) Add(m *wire.Message) {
	select {
	case e.notices <- m:
	case <-e.ctx.Done():
	}
}

// A Subscription is what a command listens to, until it has enough.
type Subscription struct {
	Ctx    context.Context
	Enough func()
	// Ended gets how it ended, once.
	Ended chan wire.Outcome
}

// Start listens beside the command, until ctx is done or the time is up.
func Start(ctx context.Context, c *connect.Conn, l client.ListenRequest, until Limits) Subscription {
	ctx, cancel := context.WithCancelCause(ctx)
	on := Subscription{ctx, func() { cancel(errEnough) }, make(chan wire.Outcome, 1)}
	l.Began = until.from(l.Began, on.Enough)
	go func() { on.Ended <- c.Listen(ctx, l) }()
	return on
}

// Ending is the outcome: what the user asked for is good, and Ctrl-C needs no message.
func (on Subscription) Ending(out wire.Outcome) wire.Outcome {
	switch {
	case context.Cause(on.Ctx) == errEnough:
		return wire.Outcome{}
	case out.Kind == wire.Signal:
		return wire.Outcome{Kind: wire.Signal, Reached: out.Reached}
	}
	return out
}

// EachNotification listens and gives each notification to take, which says how many it
// counts for, until that is enough, it fails, the time is up, or the listening ends.
func EachNotification(ctx context.Context, f *cmdutil.Factory, c *connect.Conn, e *Queue, l client.ListenRequest, until Limits, take func(Notice) (int, error)) (wire.Outcome, error) {
	on := Start(ctx, c, l, until)
	defer on.Enough()
	defer e.Stop()
	left, failed := cmp.Or(until.Count, math.MaxInt), error(nil)
	count := func(m *wire.Message) {
		if left > 0 && failed == nil {
			var n int
			n, failed = take(Notice{m, f.Now()})
			left -= n
		}
		if left <= 0 || failed != nil {
			on.Enough()
		}
	}
	read := time.NewTicker(cmdutil.UnreadEvery)
	defer read.Stop()
	for {
		select {
		case <-read.C:
			if failed = cmp.Or(failed, cmdutil.StdoutClosed(f)); failed != nil {
				on.Enough()
			}
		case m := <-e.notices:
			count(m)
		case out := <-on.Ended:
			for len(e.notices) > 0 {
				count(<-e.notices)
			}
			return on.Ending(out), failed
		}
	}
}

// leastPatience is how long a server may take to agree, however short --for is.
const leastPatience = 5 * time.Second

// Patience returns how long a server may take to agree: with --for not much longer than
// that, unless --timeout is set. 0 is no limit of its own.
func (p Limits) Patience(idle time.Duration) time.Duration {
	if d := p.time; d > 0 && idle == 0 {
		return max(d, leastPatience)
	}
	return 0
}

// from starts the time when the server has agreed for the first time.
func (p Limits) from(began func(client.SubscriptionFilter), enough func()) func(client.SubscriptionFilter) {
	var once sync.Once
	return func(agreed client.SubscriptionFilter) {
		once.Do(func() { p.Begin(enough) })
		began(agreed)
	}
}

// Begin starts the time, if there is one.
func (p Limits) Begin(enough func()) {
	if d := p.time; d > 0 {
		time.AfterFunc(d, enough)
	}
}
