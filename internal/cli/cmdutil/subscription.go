package cmdutil

import (
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

// ListenLimits are the flags --for (duration) and --count of a command that listens. 0 is no limit.
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
func (q *NoticeQueue) Add(m *wire.Message) {
	select {
	case q.notices <- m:
	case <-q.ctx.Done():
	}
}

// A Subscription is a running request that listens for notifications.
type Subscription struct {
	Ctx context.Context
	// Stop ends the request because the user wants no more notifications.
	Stop func()
	// Ended receives the outcome of the request, once.
	Ended chan wire.Outcome
}

// StartListening listens in its own goroutine until ctx is done, the time is up or Stop is called.
// The time begins when the server has agreed.
func StartListening(
	ctx context.Context,
	c *connect.Conn,
	request client.ListenRequest,
	limits ListenLimits,
) Subscription {
	ctx, cancel := context.WithCancelCause(ctx)
	s := Subscription{Ctx: ctx, Stop: func() { cancel(errLimitReached) }, Ended: make(chan wire.Outcome, 1)}
	request.Began = limits.startTimerOnAgreement(request.Began, s.Stop)
	go func() { s.Ended <- c.Listen(ctx, request) }()
	return s
}

// CommandOutcome returns the outcome of the command for the outcome of the request: OK if Stop was
// called or the time was up, and no text after Ctrl-C.
func (s Subscription) CommandOutcome(out wire.Outcome) wire.Outcome {
	if context.Cause(s.Ctx) == errLimitReached {
		return wire.Outcome{}
	}
	if out.Kind == wire.Signal {
		return wire.Outcome{Kind: wire.Signal, Reached: out.Reached}
	}
	return out
}

// EachNotification listens and calls handle with each notification. handle returns how many of
// --count the notification uses up. EachNotification ends the request when --count is reached or
// handle or standard output fails, and returns once the request has ended.
func EachNotification(
	ctx context.Context,
	f *Factory,
	c *connect.Conn,
	queue *NoticeQueue,
	request client.ListenRequest,
	limits ListenLimits,
	handle func(Notice) (int, error),
) (wire.Outcome, error) {
	subscription := StartListening(ctx, c, request, limits)
	defer subscription.Stop()
	defer queue.Stop()
	remaining := math.MaxInt
	if limits.Count > 0 {
		remaining = limits.Count
	}
	var err error // the first error of handle or of standard output
	handleNext := func(m *wire.Message) {
		if remaining > 0 && err == nil {
			var counted int
			counted, err = handle(Notice{m, f.Now()})
			remaining -= counted
		}
		if remaining <= 0 || err != nil {
			subscription.Stop()
		}
	}
	stdoutPoll := time.NewTicker(StdoutPollInterval)
	defer stdoutPoll.Stop()
	// Only the end of the request leaves the loop: after Stop the server may still answer it.
	for {
		select {
		case <-stdoutPoll.C:
			if err == nil {
				err = f.StdoutClosed()
			}
			if err != nil {
				subscription.Stop()
			}
		case m := <-queue.notices:
			handleNext(m)
		case out := <-subscription.Ended:
			// notifications that arrived before the end
			for len(queue.notices) > 0 {
				handleNext(<-queue.notices)
			}
			return subscription.CommandOutcome(out), err
		}
	}
}

// minAgreementTimeout is the shortest time that a server gets to agree, however short --for is.
const minAgreementTimeout = 5 * time.Second

// AgreementTimeout returns how long a server may take to agree to listen: about as long as --for,
// if it is set. It returns 0, which means the default, without --for or if idle, the value of
// --timeout, is set.
func (p ListenLimits) AgreementTimeout(idle time.Duration) time.Duration {
	if p.duration > 0 && idle == 0 {
		return max(p.duration, minAgreementTimeout)
	}
	return 0
}

// startTimerOnAgreement returns a function that calls onAgreement each time a server agrees to
// listen, and starts the timer the first time only: a client that reconnects subscribes again.
func (p ListenLimits) startTimerOnAgreement(
	onAgreement func(client.SubscriptionFilter),
	stop func(),
) func(client.SubscriptionFilter) {
	var once sync.Once
	return func(agreed client.SubscriptionFilter) {
		once.Do(func() { p.StartTimer(stop) })
		onAgreement(agreed)
	}
}

// StartTimer calls stop after the time of --for, if it is set.
func (p ListenLimits) StartTimer(stop func()) {
	if p.duration > 0 {
		time.AfterFunc(p.duration, stop)
	}
}
