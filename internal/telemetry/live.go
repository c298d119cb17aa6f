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

// A Live gives frames to a Builder in a goroutine of its own, so that whatever the Builder does
// delays no traffic. Frames that find no room are dropped, and with them the spans that were
// open: they would lack a message.
type Live struct {
	builder *Builder
	frames  chan waitingFrame
	bytes   atomic.Int64
	// gap is set when a frame was dropped, until the next one is taken.
	gap atomic.Bool
	// forgotten counts the requests that the Builder forgot. It belongs to the goroutine.
	forgotten int
	// failures are what the command reported of requests without an answer.
	failures chan failure

	mu    sync.RWMutex
	ended bool
	done  chan struct{}
}

// A failure is what Builder.Fail is told.
type failure struct {
	id   json.RawMessage
	kind wire.Kind
	text string
	at   time.Time
}

// A waitingFrame is a frame, and whether others were dropped before it.
type waitingFrame struct {
	wire.Frame
	behindGap bool
}

// settleEvery is how often requests that failed are looked at again while no frames come.
const settleEvery = 5 * time.Second

// NewLive starts the goroutine, by a clock. A caller must Close it.
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

// Tap takes a frame. It never waits, and may be called from several goroutines.
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

// drop leaves a frame out that was counted as waiting.
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

// Fail reports how a request ended that got no answer, as Builder.Fail takes it.
func (l *Live) Fail(id json.RawMessage, kind wire.Kind, text string, at time.Time) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.ended {
		l.failures <- failure{id, kind, text, at}
	}
}

// Gap says that frames were lost before they came here.
func (l *Live) Gap() { l.gap.Store(true) }

// Close ends what is open, at a time, and returns how many requests have no span because frames
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
