package send

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpc/internal/otlp"
)

func TestSpansAreDelivered(t *testing.T) {
	c := newCollector(t, nil)
	e := start(t, c.URL, Options{Resource: otlp.Resource{Attributes: []otlp.Attribute{{Key: "service.name", Value: "mcpc"}}}},
		"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", "OTEL_EXPORTER_OTLP_HEADERS", "x-key=value", "OTEL_BSP_MAX_QUEUE_SIZE", "5000", "OTEL_BSP_SCHEDULE_DELAY", "100000000")
	give(e, 1300)
	report := e.Close(t.Context())
	if want := (Report{Spans: Counts{Sent: 1300}}); report != want {
		t.Errorf("got %+v", report)
	}
	names := c.names(t)
	for i := range 1300 { // in their order
		if len(names) != 1300 || names[i] != fmt.Sprintf("span %d", i) {
			t.Fatalf("%d spans; span %d is another one", len(names), i)
		}
	}
	if n := c.number(); n != 3 {
		t.Errorf("%d requests, want batches of 512, 512, 276", n)
	}
	r, _ := c.first()
	for name, want := range map[string]string{"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip", "X-Key": "value", "User-Agent": "mcpc/test", "Idempotency-Key": "", "Accept-Encoding": ""} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if r.Method != "POST" || r.URL.Path != "/v1/traces" {
		t.Errorf("%s %s", r.Method, r.URL)
	}
}

// A failing collector is reported once, and again if it failed after it had worked. A failure at
// the end is only in the report.
func TestFirstFailureOfSeriesIsReported(t *testing.T) {
	var status atomic.Int64
	c := newCollector(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) })
	reasons := make(chan string, 10)
	e := start(t, c.URL, Options{Failing: func(reason string) { reasons <- reason }}, "OTEL_BSP_SCHEDULE_DELAY", "1")
	for _, answer := range []int64{400, 400, 200, 401} {
		status.Store(answer)
		give(e, 1)
		receive(t, c.arrived)
		for waiting := answer; waiting != 0; { // until it was counted
			e.mu.Lock()
			if e.report.Spans.Sent+e.report.Spans.Failed == int64(c.number()) {
				waiting = 0
			}
			e.mu.Unlock()
		}
	}
	for _, want := range []string{"HTTP 400", "HTTP 401"} {
		if got := <-reasons; !strings.Contains(got, want) {
			t.Errorf("got %q, want %s", got, want)
		}
	}
	last := start(t, c.URL, Options{Failing: func(reason string) { reasons <- reason }})
	give(last, 1)
	if report := last.Close(t.Context()); report.Spans.Failed != 1 || len(reasons) != 0 {
		t.Errorf("%+v, %d more reasons", report, len(reasons))
	}
}

func TestJSONIsDelivered(t *testing.T) {
	c := newCollector(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}`))
	})
	e := start(t, c.URL, Options{}, "OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	give(e, 2)
	report := e.Close(t.Context())
	if want := (Report{Spans: Counts{Sent: 1, Rejected: 1}, Problem: c.Listener.Addr().String() + ": 1 of 2 rejected: too old"}); report != want {
		t.Errorf("got %+v", report)
	}
	if r, body := c.first(); r.Header.Get("Content-Type") != "application/json" || body[0] != '{' {
		t.Errorf("%v: %s", r.Header, body)
	}
}

// Spans are sent a while after the first, or when a batch is full, without Close.
func TestSpansAreSentBeforeClose(t *testing.T) {
	c := newCollector(t, nil)
	late := start(t, c.URL, Options{}, "OTEL_BSP_SCHEDULE_DELAY", "1")
	give(late, 1)
	receive(t, c.arrived)
	give(late, 1)
	receive(t, c.arrived)
	full := start(t, c.URL, Options{}, "OTEL_BSP_SCHEDULE_DELAY", "100000000", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "3")
	give(full, 3)
	receive(t, c.arrived)
	give(full, 2)
	if report := full.Close(t.Context()); report.Spans != (Counts{Sent: 5}) {
		t.Errorf("got %+v", report)
	}
	if report := late.Close(t.Context()); report.Spans != (Counts{Sent: 2}) {
		t.Errorf("got %+v", report)
	}
}

// The queue is bounded: while the collector does not answer, spans that do not fit are dropped
// and counted. It answers only after Span has returned for all of them, so that a Span that
// waited for it would never return.
func TestSpanDropsIfQueueIsFull(t *testing.T) {
	answer := make(chan struct{})
	c := newCollector(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	})
	e := start(t, c.URL, Options{}, "OTEL_EXPORTER_OTLP_TIMEOUT", "0", "OTEL_BSP_EXPORT_TIMEOUT", "0", "OTEL_BSP_SCHEDULE_DELAY", "100000000")
	give(e, 512)
	receive(t, c.arrived) // the first batch is under way
	give(e, 3000)
	close(answer)
	report := e.Close(t.Context())
	if want := (Report{Spans: Counts{Sent: 512 + 2048, Dropped: 3000 - 2048}}); report != want {
		t.Errorf("got %+v", report)
	}
	give(e, 5)
	if report = e.Close(t.Context()); report.Spans.Dropped != 3000-2048+5 {
		t.Errorf("after Close: got %+v", report)
	}
}

func TestSpansOfConcurrentGoroutinesAreCounted(t *testing.T) {
	var n atomic.Int64
	c := newCollector(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader([]int{200, 503, 200, 400}[n.Add(1)%4]) })
	e := start(t, c.URL, Options{}, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "7", "OTEL_BSP_MAX_QUEUE_SIZE", "20", "OTEL_BSP_SCHEDULE_DELAY", "0")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { give(e, 500) })
	}
	all.Wait()
	s := e.Close(t.Context()).Spans
	if s.Sent+s.Dropped+s.Failed+s.Rejected != 4000 || s.Sent == 0 {
		t.Errorf("got %+v", s)
	}
	if got := c.names(t); len(got) < int(s.Sent) {
		t.Errorf("%d spans arrived, %d were counted", len(got), s.Sent)
	}
}

func histograms(points int) []otlp.Histogram {
	return []otlp.Histogram{{Name: "mcp.client.operation.duration", Unit: "s", Points: make([]otlp.HistogramPoint, points)}}
}

func TestMetricsAreSentAtIntervalsAndAtTheEnd(t *testing.T) {
	c := newCollector(t, nil)
	var calls atomic.Int64
	e := start(t, c.URL, Options{Collect: func(now time.Time) []otlp.Histogram {
		if now.IsZero() {
			t.Error("no time")
		}
		if calls.Add(1) == 2 {
			return nil // nothing is sent
		}
		return histograms(2)
	}}, "OTEL_METRIC_EXPORT_INTERVAL", "1")
	receive(t, c.arrived)
	receive(t, c.arrived)
	report := e.Close(t.Context())
	sent := c.points(t)
	if report.Metrics != (Counts{Sent: 2 * int64(len(sent))}) || len(sent) != int(calls.Load())-1 || slices.ContainsFunc(sent, func(n int) bool { return n != 2 }) {
		t.Errorf("%v after %d calls, %+v", sent, calls.Load(), report)
	}
	if r, _ := c.first(); r.URL.Path != "/v1/metrics" {
		t.Error(r.URL)
	}
}

func TestMetricsAreSentOnceByClose(t *testing.T) {
	c := newCollector(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("\x0a\x02\x08\x05")) }) // 5 rejected
	e := start(t, c.URL, Options{Collect: func(time.Time) []otlp.Histogram { return histograms(3) }})
	e.Close(t.Context())
	if report := e.Close(t.Context()); report.Metrics != (Counts{Rejected: 3}) || c.number() != 1 {
		t.Errorf("%d requests, %+v", c.number(), report)
	}
}

// Without a signal there is nothing to send, and nothing to wait for.
func TestDisabledSignalsSendNothing(t *testing.T) {
	collect := Options{Collect: func(time.Time) []otlp.Histogram { t.Error("collected"); return nil }}
	e := start(t, "env", collect, "OTEL_SDK_DISABLED", "true")
	give(e, 3)
	if err := e.Post(t.Context(), nil); err == nil {
		t.Error("no error")
	}
	if report := e.Close(t.Context()); report != (Report{}) {
		t.Errorf("got %+v", report)
	}
}

// Spans that are left when the time of Close is over count as failed.
func TestCloseCountsUnsentAsFailed(t *testing.T) {
	c := newCollector(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	e := start(t, c.URL, Options{Collect: func(time.Time) []otlp.Histogram { return histograms(1) }}, "OTEL_EXPORTER_OTLP_TIMEOUT", "0", "OTEL_BSP_EXPORT_TIMEOUT", "0", "OTEL_METRIC_EXPORT_TIMEOUT", "0")
	give(e, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-c.arrived
		cancel()
	}()
	report := e.Close(ctx)
	want := Report{Spans: Counts{Failed: 1000}, Metrics: Counts{Failed: 1}, Problem: c.Listener.Addr().String() + ": no answer before the export had to end"}
	if report != want {
		t.Errorf("got %+v", report)
	}
}

// The earlier error of an export is more useful than the timeout.
func TestProblemKeepsErrorBeforeTimeout(t *testing.T) {
	for _, first := range []int{400, 503} { // the next request is another export, the same one
		var n atomic.Int64
		c := newCollector(t, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) == 1 {
				w.WriteHeader(first)
				return
			}
			<-r.Context().Done()
		})
		e := start(t, c.URL, Options{}, "OTEL_EXPORTER_OTLP_TIMEOUT", "0", "OTEL_BSP_EXPORT_TIMEOUT", "0", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
		give(e, 4)
		receive(t, c.arrived)
		receive(t, c.arrived)
		report := e.Close(ended)
		if report.Spans != (Counts{Failed: 4}) || !strings.HasPrefix(report.Problem, fmt.Sprintf("%s: HTTP %d: ", c.Listener.Addr(), first)) {
			t.Errorf("%d: got %+v", first, report)
		}
	}
}

func TestConnectionIsKeptUntilClose(t *testing.T) {
	c := &collector{arrived: make(chan struct{}, 10)}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, nil) }))
	opened, closed := make(chan struct{}, 10), make(chan struct{}, 10)
	c.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			opened <- struct{}{}
		case http.StateClosed:
			closed <- struct{}{}
		}
	}
	c.Start()
	t.Cleanup(c.Close)
	e := start(t, c.URL, Options{})
	for range 3 {
		if err := e.Post(t.Context(), make([]otlp.Span, 1)); err != nil {
			t.Fatal(err)
		}
	}
	e.Close(t.Context())
	receive(t, closed)
	if len(opened) != 1 {
		t.Errorf("%d connections", len(opened))
	}
}
