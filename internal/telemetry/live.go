package telemetry

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/wire"
)

const (
	// maxWaiting and maxWaitingBytes limit the queue of frames.
	maxWaiting      = 8192
	maxWaitingBytes = 64 << 20
)

// A Live passes frames to a Builder in its own goroutine, so that the Builder does not delay the
// traffic. If its queue is full, it drops frames, and with them all open requests, because the
// dropped frames may contain their responses.
type Live struct {
	builder *Builder
	frames  chan waitingFrame
	bytes   atomic.Int64
	// hasGap is set by Tap and Gap after a dropped frame. The next frame clears it.
	hasGap atomic.Bool
	// lostRequests counts the requests that the Builder dropped. Only the goroutine uses it.
	lostRequests int
	// failures are the requests that failed without a response, as reported by the command.
	failures chan failure

	mu       sync.RWMutex
	isClosed bool
	done     chan struct{}
}

// A failure holds the arguments of Builder.Fail.
type failure struct {
	id   json.RawMessage
	kind wire.Kind
	text string
	at   time.Time
}

// A waitingFrame is a frame in the queue. followsGap is set if frames before it were dropped.
type waitingFrame struct {
	wire.Frame
	followsGap bool
}

// settleEvery is the interval of Settle while there are no frames.
const settleEvery = 5 * time.Second

// NewLive starts a Live. now returns the current time. The caller must call Close.
func NewLive(b *Builder, now func() time.Time) *Live {
	l := &Live{
		builder:  b,
		frames:   make(chan waitingFrame, maxWaiting),
		failures: make(chan failure),
		done:     make(chan struct{}),
	}
	go l.run(now)
	return l
}

// Tap queues a frame, or drops it if the queue is full. It never blocks, does nothing after Close,
// and may be called from several goroutines.
func (l *Live) Tap(f wire.Frame) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.isClosed {
		return
	}
	size := int64(len(f.Raw))
	if waiting := l.bytes.Add(size); waiting > maxWaitingBytes && waiting > size { // one frame always fits
		l.drop(size)
		return
	}
	next := waitingFrame{f, l.hasGap.Swap(false)}
	select {
	case l.frames <- next:
	default:
		l.drop(size)
	}
}

// drop removes size bytes from the count of queued bytes and records the gap.
func (l *Live) drop(size int64) {
	l.bytes.Add(-size)
	l.hasGap.Store(true)
}

// run passes frames and failures to the Builder until the queue is closed.
func (l *Live) run(now func() time.Time) {
	defer close(l.done)
	ticker := time.NewTicker(settleEvery)
	defer ticker.Stop()
	for {
		select {
		case f, more := <-l.frames:
			if !more {
				return
			}
			l.add(f)
		case <-ticker.C:
			l.builder.Settle(now())
		case failed := <-l.failures:
			for len(l.frames) > 0 { // the frames received before the failure
				l.add(<-l.frames)
			}
			l.builder.Fail(failed.id, failed.kind, failed.text, failed.at)
		}
	}
}

// add passes a queued frame to the Builder, which first drops its open requests if frames are
// missing.
func (l *Live) add(f waitingFrame) {
	l.bytes.Add(-int64(len(f.Raw)))
	if f.followsGap {
		l.lostRequests += l.builder.Forget()
	}
	l.builder.Add(int64(f.Seq), f.Frame)
}

// Fail passes a failed request to Builder.Fail, after all queued frames. It does nothing after
// Close.
func (l *Live) Fail(id json.RawMessage, kind wire.Kind, text string, at time.Time) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.isClosed {
		l.failures <- failure{id, kind, text, at}
	}
}

// Gap records that frames were lost before Tap.
func (l *Live) Gap() { l.hasGap.Store(true) }

// Close waits for the queued frames and ends all open requests. It returns the number of requests
// without a span because frames were lost. Later calls of Tap and Fail do nothing.
func (l *Live) Close(at time.Time) int {
	l.mu.Lock()
	if !l.isClosed {
		l.isClosed = true
		close(l.frames)
	}
	l.mu.Unlock()
	<-l.done
	if l.hasGap.Swap(false) {
		l.lostRequests += l.builder.Forget()
	}
	l.builder.Close(at)
	return l.lostRequests
}
