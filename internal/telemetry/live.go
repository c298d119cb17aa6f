package telemetry

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/wire"
)

const (
	// mostWaiting and mostWaitingBytes bound the frames that wait for their Builder.
	mostWaiting      = 8192
	mostWaitingBytes = 64 << 20
)

// A Live passes frames to a Builder in its own goroutine, so that the Builder delays no traffic. It
// drops frames if there is no room, and with them the open spans, because those would lack a
// message.
type Live struct {
	builder *Builder
	frames  chan waitingFrame
	bytes   atomic.Int64
	// gap is set by Tap and Gap when a frame was dropped, and cleared with the next frame.
	gap atomic.Bool
	// forgotten counts the requests that the Builder dropped. Only the goroutine uses it.
	forgotten int
	// failures are the requests without a response that the command reported.
	failures chan failure

	mu    sync.RWMutex
	ended bool
	done  chan struct{}
}

// A failure holds the arguments of Builder.Fail.
type failure struct {
	id   json.RawMessage
	kind wire.Kind
	text string
	at   time.Time
}

// A waitingFrame is a frame, and whether frames before it were dropped.
type waitingFrame struct {
	wire.Frame
	behindGap bool
}

// settleEvery is the interval of Settle while there are no frames.
const settleEvery = 5 * time.Second

// NewLive starts the goroutine. now is the clock. The caller must call Close.
func NewLive(b *Builder, now func() time.Time) *Live {
	l := &Live{
		builder:  b,
		frames:   make(chan waitingFrame, mostWaiting),
		failures: make(chan failure),
		done:     make(chan struct{}),
	}
	go l.run(now)
	return l
}

// Tap passes a frame on. It never blocks, and may be called from several goroutines.
func (l *Live) Tap(f wire.Frame) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.ended {
		return
	}
	size := int64(len(f.Raw))
	if waiting := l.bytes.Add(size); waiting > mostWaitingBytes && waiting > size {
		l.drop(size)
		return
	}
	next := waitingFrame{f, l.gap.Swap(false)}
	select {
	case l.frames <- next:
	default:
		l.drop(size)
	}
}

// drop discards a frame that was counted as waiting.
func (l *Live) drop(size int64) {
	l.bytes.Add(-size)
	l.gap.Store(true)
}

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
			for len(l.frames) > 0 { // the frames that came before it
				l.add(<-l.frames)
			}
			l.builder.Fail(failed.id, failed.kind, failed.text, failed.at)
		}
	}
}

func (l *Live) add(f waitingFrame) {
	l.bytes.Add(-int64(len(f.Raw)))
	if f.behindGap {
		l.forgotten += l.builder.Forget()
	}
	l.builder.Add(int64(f.Seq), f.Frame)
}

// Fail reports the outcome of a request without a response, as Builder.Fail takes it.
func (l *Live) Fail(id json.RawMessage, kind wire.Kind, text string, at time.Time) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.ended {
		l.failures <- failure{id, kind, text, at}
	}
}

// Gap reports that frames were lost before they reached the Live.
func (l *Live) Gap() { l.gap.Store(true) }

// Close ends all open requests and returns the number of requests without a span because frames
// were lost.
func (l *Live) Close(at time.Time) (lost int) {
	l.mu.Lock()
	if !l.ended {
		l.ended = true
		close(l.frames)
	}
	l.mu.Unlock()
	<-l.done
	if l.gap.Swap(false) {
		l.forgotten += l.builder.Forget()
	}
	l.builder.Close(at)
	return l.forgotten
}
