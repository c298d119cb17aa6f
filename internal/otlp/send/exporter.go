package send

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"mcpc/internal/otlp"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// Options are the settings of an Exporter that the program determines.
type Options struct {
	// Now returns the current time.
	Now func() time.Time
	// Proxy returns the HTTP proxy for a request. It may be nil.
	Proxy func(*http.Request) (*url.URL, error)
	// UserAgent is the name and version of the program.
	UserAgent string
	// Resource and Scope are sent with each export. The settings may add attributes to Resource.
	Resource otlp.Resource
	Scope    otlp.Scope
	// Collect returns the metrics since the start, or since its last call if Config.Delta is set. It
	// is called at each interval and once by Close. If it is nil, no metrics are sent.
	Collect func(now time.Time) []otlp.Histogram
	// Failing is called with the reason for the first of consecutive failed exports. It is not called
	// after Close. It may be nil.
	Failing func(reason string)
}

// An Exporter sends spans and metrics in the background. Its methods may be called concurrently.
type Exporter struct {
	config          Config
	options         Options
	traces, metrics *courier

	ctx      context.Context // done when Close stops waiting
	cancel   context.CancelFunc
	workers  sync.WaitGroup
	hasSpans chan struct{} // has an element if there may be spans in the queue
	hasBatch chan struct{} // has an element if the queue has a full batch
	closing  chan struct{} // closed by Close

	mu       sync.Mutex
	waiting  []otlp.Span
	report   Report
	isClosed bool
	deadline time.Time // when Close stops waiting; zero for no limit
}

// Counts are the numbers of spans, or of metric points, by outcome.
type Counts struct {
	Sent     int64 // accepted by the collector
	Dropped  int64 // not sent, because the queue was full
	Rejected int64 // rejected by the collector with a partial success
	Failed   int64 // in exports that the collector rejected or did not accept in time
}

// A Report is the summary of all exports.
type Report struct {
	Spans, Metrics Counts
	// Problem is the last error or warning of the collector. It is safe on a terminal and contains no
	// secret of the settings.
	Problem string
}

// New starts an Exporter. The caller must call Close.
func New(c Config, o Options) *Exporter { return newExporter(c, o, firstBackoff) }

// newExporter starts an Exporter whose second attempts wait for backoff.
func newExporter(c Config, o Options, backoff time.Duration) *Exporter {
	o.Resource = c.Resource(o.Resource)
	secrets := &redact.Secrets{}
	secrets.Learn(c.Secrets()...)
	e := &Exporter{
		config:   c,
		options:  o,
		hasSpans: make(chan struct{}, 1),
		hasBatch: make(chan struct{}, 1),
		closing:  make(chan struct{}),
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	if c.Traces.IsOn() {
		e.traces = newCourier(c.Traces, o, secrets, backoff)
		e.workers.Go(e.sendSpans)
	}
	if c.Metrics.IsOn() && o.Collect != nil {
		e.metrics = newCourier(c.Metrics, o, secrets, backoff)
		e.workers.Go(e.sendMetrics)
	}
	return e
}

// Span queues a span. It never blocks. If the queue is full, it counts the span as dropped.
func (e *Exporter) Span(s otlp.Span) {
	if e.traces == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isClosed || len(e.waiting) >= e.config.queue {
		e.report.Spans.Dropped++
		return
	}
	e.waiting = append(e.waiting, s)
	if len(e.waiting) == 1 {
		notify(e.hasSpans)
	}
	if len(e.waiting) == e.config.batch {
		notify(e.hasBatch)
	}
}

// notify puts an element into a channel of capacity 1 unless it is full.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sendSpans sends the queued spans in batches until the Exporter is closed. It sends a batch when
// it is full, or a while after its first span. After Close it sends the rest.
func (e *Exporter) sendSpans() {
	for {
		n, closed := e.queueState()
		if n == 0 && closed {
			return
		}
		if n == 0 {
			select {
			case <-e.hasSpans:
			case <-e.closing:
			}
			continue
		}
		if n < e.config.batch && !closed {
			e.waitFor(e.config.delay, e.hasBatch)
		}
		spans := e.takeBatch()
		e.addResult(e.traces, &e.report.Spans, len(spans), e.deliverInTime(e.traces, e.encode(spans)))
	}
}

// encode returns the request for spans.
func (e *Exporter) encode(spans []otlp.Span) []byte {
	return otlp.AppendTraces(nil, e.config.Traces.format, e.options.Resource, e.options.Scope, spans)
}

// queueState returns the number of queued spans, and whether the Exporter is closed.
func (e *Exporter) queueState() (int, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.waiting), e.isClosed
}

// takeBatch removes a batch from the queue and returns it.
func (e *Exporter) takeBatch() []otlp.Span {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(e.waiting), e.config.batch)
	batch := slices.Clone(e.waiting[:n])
	e.waiting = slices.Delete(e.waiting, 0, n)
	if len(e.waiting) < e.config.batch {
		select {
		case <-e.hasBatch:
		default:
		}
	}
	return batch
}

// sendMetrics sends the metrics at each interval, and once after Close.
func (e *Exporter) sendMetrics() {
	for closed := false; !closed; {
		e.waitFor(e.config.interval, nil)
		_, closed = e.queueState()
		ms := e.options.Collect(e.options.Now())
		points := 0
		for _, m := range ms {
			points += len(m.Points)
		}
		if points == 0 {
			continue
		}
		body := otlp.AppendMetrics(nil, e.config.Metrics.format, e.options.Resource, e.options.Scope, ms)
		e.addResult(e.metrics, &e.report.Metrics, points, e.deliverInTime(e.metrics, body))
	}
}

// deliverInTime sends one export within its time limit. It returns early when Close stops waiting.
func (e *Exporter) deliverInTime(c *courier, body []byte) result {
	ctx, cancel := withTimeout(e.ctx, c.signal.limit)
	defer cancel()
	return c.deliver(ctx, body, e.closing, func() (time.Time, bool) {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.deadline, !e.deadline.IsZero()
	})
}

// addResult adds the result for n spans or points to counts and to the report.
func (e *Exporter) addResult(c *courier, counts *Counts, n int, r result) {
	e.mu.Lock()
	isFirstFailure := r.err != nil && !c.isFailing && !e.isClosed && e.options.Failing != nil
	c.isFailing = r.err != nil
	if isFirstFailure {
		defer e.options.Failing(r.err.Text) // after the lock
	}
	defer e.mu.Unlock()
	rejected := min(max(r.rejected, 0), int64(n))
	text := c.describePartial(r, n)
	if r.err != nil {
		counts.Failed += int64(n)
		text = r.err.Text
	} else {
		counts.Rejected += rejected
		counts.Sent += int64(n) - rejected
	}
	// An earlier error says more than the end of the time.
	if text != "" && (r.err == nil || !r.err.wasInterrupted || e.report.Problem == "") {
		e.report.Problem = text
	}
}

// Post sends spans and waits for the response. It repeats transient failures until ctx ends. The
// error is an *Error.
func (e *Exporter) Post(ctx context.Context, spans []otlp.Span) error {
	if e.traces == nil {
		return &Error{Kind: wire.Usage, Text: "no traces are sent: the OTEL_* variables turn them off"}
	}
	r := e.traces.deliver(ctx, e.encode(spans), nil, ctx.Deadline)
	e.addResult(e.traces, &e.report.Spans, len(spans), r)
	if r.err != nil {
		return r.err
	}
	if r.rejected > 0 {
		return &Error{Kind: wire.Transport, Status: http.StatusOK, Text: e.traces.describePartial(r, len(spans))}
	}
	return nil
}

// Close sends the queued spans and the metrics, stops waiting when ctx ends, and returns the
// summary.
func (e *Exporter) Close(ctx context.Context) Report {
	e.mu.Lock()
	if !e.isClosed {
		e.isClosed = true
		e.deadline, _ = ctx.Deadline()
		close(e.closing)
	}
	e.mu.Unlock()
	defer context.AfterFunc(ctx, e.cancel)()
	e.workers.Wait()
	e.cancel()
	for _, c := range []*courier{e.traces, e.metrics} {
		if c != nil {
			c.client.CloseIdleConnections()
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.report
}
