package cmdutil

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A Limits is how long a command listens that does not end by itself.
type ListenLimits struct {
	time  time.Duration
	Count int
}

func (p *ListenLimits) Flags(f *pflag.FlagSet, what string) {
	f.Var((*Seconds)(&p.time), "for", "stop after this time")
	f.IntVar(&p.Count, "count", 0, "stop after N "+what)
}

func (p *ListenLimits) Check() error {
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

// NoticeQueue buffers notifications until the command has shown the one before: the
// reader of a stream must not wait for the reader of standard output.
type NoticeQueue struct {
	// ctx ends when the command stops listening; what comes then is dropped.
	ctx     context.Context
	Stop    context.CancelFunc
	notices chan *wire.Message
}

// maxNotices is how many may wait. A server that tells more, and faster than it is
// read, is read more slowly.
const maxNotices = 4096

func NewNoticeQueue(ctx context.Context) *NoticeQueue {
	ctx, deaf := context.WithCancel(ctx)
	return &NoticeQueue{ctx, deaf, make(chan *wire.Message, maxNotices)}
}

func (e *NoticeQueue) Add(m *wire.Message) {
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

// StartListening listens beside the command, until ctx is done or the time is up.
func StartListening(ctx context.Context, c *connect.Conn, l client.ListenRequest, until ListenLimits) Subscription {
	ctx, cancel := context.WithCancelCause(ctx)
	on := Subscription{ctx, func() { cancel(errEnough) }, make(chan wire.Outcome, 1)}
	l.Began = until.from(l.Began, on.Enough)
	go func() { on.Ended <- c.Listen(ctx, l) }()
	return on
}

// Ending is the outcome: what the user asked for is good, and Ctrl-C needs no message.
func (on Subscription) Ending(out wire.Outcome) wire.Outcome {
	if context.Cause(on.Ctx) == errEnough {
		return wire.Outcome{}
	}
	if out.Kind == wire.Signal {
		return wire.Outcome{Kind: wire.Signal, Reached: out.Reached}
	}
	return out
}

// EachNotification listens and gives each notification to take, which says how many it
// counts for, until that is enough, it fails, the time is up, or the listening ends.
func EachNotification(
	ctx context.Context,
	f *Factory,
	c *connect.Conn,
	e *NoticeQueue,
	l client.ListenRequest,
	until ListenLimits,
	take func(Notice) (int, error),
) (wire.Outcome, error) {
	on := StartListening(ctx, c, l, until)
	defer on.Enough()
	defer e.Stop()
	left := cmp.Or(until.Count, math.MaxInt)
	failed := error(nil)
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
	read := time.NewTicker(UnreadEvery)
	defer read.Stop()
	for {
		select {
		case <-read.C:
			failed = cmp.Or(failed, f.StdoutClosed())
			if failed != nil {
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
func (p ListenLimits) Patience(idle time.Duration) time.Duration {
	if d := p.time; d > 0 && idle == 0 {
		return max(d, leastPatience)
	}
	return 0
}

// from starts the time when the server has agreed for the first time.
func (p ListenLimits) from(began func(client.SubscriptionFilter), enough func()) func(client.SubscriptionFilter) {
	var once sync.Once
	return func(agreed client.SubscriptionFilter) {
		once.Do(func() { p.Begin(enough) })
		began(agreed)
	}
}

// Begin starts the time, if there is one.
func (p ListenLimits) Begin(enough func()) {
	if d := p.time; d > 0 {
		time.AfterFunc(d, enough)
	}
}
