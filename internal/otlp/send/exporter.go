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

// Options are what an Exporter needs of the program.
type Options struct {
	// Now is the clock.
	Now func() time.Time
	// Proxy finds the HTTP proxy for a request; nil is none.
	Proxy func(*http.Request) (*url.URL, error)
	// UserAgent is the name and version of the program.
	UserAgent string
	// Resource and Scope are sent with everything; the settings may add attributes to Resource.
	Resource otlp.Resource
	Scope    otlp.Scope
	// Collect returns the metrics so far, or since it was called last, as Config.Delta says. It
	// is called at each interval and once by Close; nil sends no metrics.
	Collect func(now time.Time) []otlp.Histogram
	// Failing is called with the reason when an export is not accepted, unless the one before it
	// was not either, and not once the Exporter is being closed. It may be nil.
	Failing func(reason string)
}

// An Exporter sends spans and metrics in the background. All its methods may be called at the
// same time.
type Exporter struct {
	config          Config
	options         Options
	traces, metrics *courier

	ctx     context.Context // ends when Close gives up
	giveUp  context.CancelFunc
	workers sync.WaitGroup
	some    chan struct{} // has an element if spans may wait
	full    chan struct{} // has an element if a whole batch waits
	closing chan struct{} // is closed by Close

	mu       sync.Mutex
	waiting  []otlp.Span
	report   Report
	closed   bool
	deadline time.Time // when Close gives up; zero if never
}

// Counts say what became of spans, or of the points of metrics.
type Counts struct {
	Sent     int64 // accepted by the collector
	Dropped  int64 // never sent, as too many waited
	Rejected int64 // by the collector, with a partial success
	Failed   int64 // not accepted in time, or refused as a whole
}

// A Report says what an Exporter did.
type Report struct {
	Spans, Metrics Counts
	// Problem is the last error, or the last warning of the collector, in words. It is safe on a
	// terminal and shows no secret of the settings.
	Problem string
}

// New returns an Exporter, which must be closed.
func New(c Config, o Options) *Exporter { return newExporter(c, o, firstBackoff) }

func newExporter(c Config, o Options, backoff time.Duration) *Exporter {
	o.Resource = c.Resource(o.Resource)
	secrets := &redact.Secrets{}
	secrets.Learn(c.Secrets()...)
	e := &Exporter{
		config:  c,
		options: o,
		some:    make(chan struct{}, 1),
		full:    make(chan struct{}, 1),
		closing: make(chan struct{}),
	}
	e.ctx, e.giveUp = context.WithCancel(context.Background())
	if c.Traces.On() {
		e.traces = newCourier(c.Traces, o, secrets, backoff)
		e.workers.Go(e.sendSpans)
	}
	if c.Metrics.On() && o.Collect != nil {
		e.metrics = newCourier(c.Metrics, o, secrets, backoff)
		e.workers.Go(e.sendMetrics)
	}
	return e
}

// Span queues a span. It never blocks: a span for which there is no room is counted as dropped.
func (e *Exporter) Span(s otlp.Span) {
	if e.traces == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || len(e.waiting) >= e.config.queue {
		e.report.Spans.Dropped++
		return
	}
	e.waiting = append(e.waiting, s)
	if len(e.waiting) == 1 {
		notify(e.some)
	}
	if len(e.waiting) == e.config.batch {
		notify(e.full)
	}
}

// notify puts an element into a channel unless it has one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sendSpans sends what waits, a batch at a time: when a batch is full, or a while after the first
// span, and all of it when the Exporter is closed.
func (e *Exporter) sendSpans() {
	for {
		n, closed := e.state()
		if n == 0 && closed {
			return
		}
		if n == 0 {
			select {
			case <-e.some:
			case <-e.closing:
			}
			continue
		}
		if n < e.config.batch && !closed {
			e.waitFor(e.config.delay, e.full)
		}
		spans := e.take()
		e.count(e.traces, &e.report.Spans, len(spans), e.deliver(e.traces, e.encode(spans)))
	}
}

func (e *Exporter) encode(spans []otlp.Span) []byte {
	return otlp.AppendTraces(nil, e.config.Traces.format, e.options.Resource, e.options.Scope, spans)
}

func (e *Exporter) state() (waiting int, closed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.waiting), e.closed
}

// take removes a batch from the queue.
func (e *Exporter) take() []otlp.Span {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(e.waiting), e.config.batch)
	batch := slices.Clone(e.waiting[:n])
	e.waiting = slices.Delete(e.waiting, 0, n)
	if len(e.waiting) < e.config.batch {
		select {
		case <-e.full:
		default:
		}
	}
	return batch
}

// sendMetrics sends the metrics at each interval, and when the Exporter is closed.
func (e *Exporter) sendMetrics() {
	for closed := false; !closed; {
		e.waitFor(e.config.interval, nil)
		_, closed = e.state()
		ms := e.options.Collect(e.options.Now())
		points := 0
		for _, m := range ms {
			points += len(m.Points)
		}
		if points == 0 {
			continue
		}
		body := otlp.AppendMetrics(nil, e.config.Metrics.format, e.options.Resource, e.options.Scope, ms)
		e.count(e.metrics, &e.report.Metrics, points, e.deliver(e.metrics, body))
	}
}

// deliver sends one export within its limit of time, and until Close gives up.
func (e *Exporter) deliver(c *courier, body []byte) result {
	ctx, cancel := limited(e.ctx, c.signal.limit)
	defer cancel()
	return c.deliver(ctx, body, e.closing, func() (time.Time, bool) {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.deadline, !e.deadline.IsZero()
	})
}

// count adds what became of n spans or points.
func (e *Exporter) count(c *courier, counts *Counts, n int, r result) {
	e.mu.Lock()
	began := r.err != nil && !c.failing && !e.closed && e.options.Failing != nil
	c.failing = r.err != nil
	if began {
		defer e.options.Failing(r.err.Text) // after the lock
	}
	defer e.mu.Unlock()
	rejected := min(max(r.rejected, 0), int64(n))
	text := c.partial(r, n)
	if r.err != nil {
		counts.Failed += int64(n)
		text = r.err.Text
	} else {
		counts.Rejected += rejected
		counts.Sent += int64(n) - rejected
	}
	// That the time was over says less than what came before it.
	if text != "" && (r.err == nil || !r.err.cut || e.report.Problem == "") {
		e.report.Problem = text
	}
}

// Post sends spans and waits for the answer, for which it tries again until ctx ends. The error
// is an *Error.
func (e *Exporter) Post(ctx context.Context, spans []otlp.Span) error {
	if e.traces == nil {
		return &Error{Kind: wire.Usage, Text: "no traces are sent: the OTEL_* variables turn them off"}
	}
	r := e.traces.deliver(ctx, e.encode(spans), nil, ctx.Deadline)
	e.count(e.traces, &e.report.Spans, len(spans), r)
	if r.err != nil {
		return r.err
	}
	if r.rejected > 0 {
		return &Error{Kind: wire.Transport, Status: http.StatusOK, Text: e.traces.partial(r, len(spans))}
	}
	return nil
}

// Close sends what waits, gives up when ctx ends, and reports what became of everything.
func (e *Exporter) Close(ctx context.Context) Report {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		e.deadline, _ = ctx.Deadline()
		close(e.closing)
	}
	e.mu.Unlock()
	defer context.AfterFunc(ctx, e.giveUp)()
	e.workers.Wait()
	e.giveUp()
	for _, c := range []*courier{e.traces, e.metrics} {
		if c != nil {
			c.client.CloseIdleConnections()
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.report
}
