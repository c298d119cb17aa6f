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

// ListenLimits are the flags --for and --count of a command that listens. 0 is no limit.
type ListenLimits struct {
	duration time.Duration
	Count    int
}

// Flags declares the flags. what names the things that --count counts.
func (p *ListenLimits) Flags(f *pflag.FlagSet, what string) {
	f.Var((*Seconds)(&p.duration), "for", "stop after this time")
	f.IntVar(&p.Count, "count", 0, "stop after N "+what)
}

func (p *ListenLimits) Check() error {
	if p.Count < 0 {
		return usage.New("--count must be 1 or more", "omit it for no limit")
	}
	return nil
}

// errLimitReached is the cause of a context that --for or --count ended.
var errLimitReached = errors.New("done")

// A Notice is a notification with its time of arrival.
type Notice struct {
	*wire.Message
	At time.Time
}

// NoticeQueue buffers notifications until the command has shown the previous ones: a slow standard
// output must not delay the reader of the stream.
type NoticeQueue struct {
	// ctx ends when the command stops listening. Later notifications are dropped.
	ctx     context.Context
	Stop    context.CancelFunc
	notices chan *wire.Message
}

// maxNotices limits the notifications that wait. When the queue is full, the stream is read more
// slowly.
const maxNotices = 4096

// NewNoticeQueue returns an empty queue that drops notifications after Stop or the end of ctx.
func NewNoticeQueue(ctx context.Context) *NoticeQueue {
	ctx, cancel := context.WithCancel(ctx)
	return &NoticeQueue{ctx, cancel, make(chan *wire.Message, maxNotices)}
}

// Add appends a notification. It waits while the queue is full.
func (e *NoticeQueue) Add(m *wire.Message) {
	select {
	case e.notices <- m:
	case <-e.ctx.Done():
	}
}

// A Subscription is a running request that listens for notifications.
type Subscription struct {
	Ctx  context.Context
	Stop func()
	// Ended receives the outcome, once.
	Ended chan wire.Outcome
}

// StartListening listens in its own goroutine until ctx is done, the time is up or Enough is
// called.
func StartListening(ctx context.Context, c *connect.Conn, l client.ListenRequest, until ListenLimits) Subscription {
	ctx, cancel := context.WithCancelCause(ctx)
	sub := Subscription{Ctx: ctx, Stop: func() { cancel(errLimitReached) }, Ended: make(chan wire.Outcome, 1)}
	l.Began = until.startTimerOnAgreement(l.Began, sub.Stop)
	go func() { sub.Ended <- c.Listen(ctx, l) }()
	return sub
}

// CommandOutcome returns the outcome of the command for the outcome of the request: OK if Enough was called
// or the time was up, and no text after Ctrl-C.
func (on Subscription) CommandOutcome(out wire.Outcome) wire.Outcome {
	if context.Cause(on.Ctx) == errLimitReached {
		return wire.Outcome{}
	}
	if out.Kind == wire.Signal {
		return wire.Outcome{Kind: wire.Signal, Reached: out.Reached}
	}
	return out
}

// EachNotification listens and calls take with each notification. take returns for how many
// notifications it counts. EachNotification returns when --count is reached, take or standard
// output fails, the time is up, or the request ends.
func EachNotification(
	ctx context.Context,
	f *Factory,
	c *connect.Conn,
	e *NoticeQueue,
	l client.ListenRequest,
	until ListenLimits,
	take func(Notice) (int, error),
) (wire.Outcome, error) {
	sub := StartListening(ctx, c, l, until)
	defer sub.Stop()
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
			sub.Stop()
		}
	}
	unread := time.NewTicker(StdoutPollInterval)
	defer unread.Stop()
	for {
		select {
		case <-unread.C:
			failed = cmp.Or(failed, f.StdoutClosed())
			if failed != nil {
				sub.Stop()
			}
		case m := <-e.notices:
			count(m)
		case out := <-sub.Ended:
			for len(e.notices) > 0 {
				count(<-e.notices)
			}
			return sub.CommandOutcome(out), failed
		}
	}
}

// minAgreementTimeout is the shortest time that a server gets to agree, however short --for is.
const minAgreementTimeout = 5 * time.Second

// AgreementTimeout returns how long a server may take to agree to listen. With --for that is about as long,
// unless --timeout is set. 0 means the default.
func (p ListenLimits) AgreementTimeout(idle time.Duration) time.Duration {
	if d := p.duration; d > 0 && idle == 0 {
		return max(d, minAgreementTimeout)
	}
	return 0
}

// startTimerOnAgreement returns began, extended to start the time when the server agrees for the first
// time.
func (p ListenLimits) startTimerOnAgreement(
	began func(client.SubscriptionFilter),
	enough func(),
) func(client.SubscriptionFilter) {
	var once sync.Once
	return func(agreed client.SubscriptionFilter) {
		once.Do(func() { p.StartTimer(enough) })
		began(agreed)
	}
}

// StartTimer calls enough after the time of --for, if it is set.
func (p ListenLimits) StartTimer(enough func()) {
	if d := p.duration; d > 0 {
		time.AfterFunc(d, enough)
	}
}
