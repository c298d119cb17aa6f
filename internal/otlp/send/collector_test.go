package send

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"mcpc/internal/otlp"
)

// A collector is an HTTP server on loopback that keeps what it is sent.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   [][]byte
	// arrived gets an element for each request, before it is answered.
	arrived chan struct{}
}

// newCollector starts a collector. answer may read and write what it likes; nil answers 200.
func newCollector(t *testing.T, answer http.HandlerFunc) *collector {
	t.Helper()
	c := &collector{arrived: make(chan struct{}, 10000)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, answer) }))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) serve(w http.ResponseWriter, r *http.Request, answer http.HandlerFunc) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	c.mu.Lock()
	c.requests, c.bodies = append(c.requests, r), append(c.bodies, body)
	c.mu.Unlock()
	c.arrived <- struct{}{}
	if answer != nil {
		answer(w, r)
	}
}

func (c *collector) number() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.requests)
}

// first returns the first request and its body.
func (c *collector) first() (*http.Request, []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[0], c.bodies[0]
}

// names are the names of all spans that arrived, read with the official types.
func (c *collector) names(t *testing.T) (all []string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, body := range c.bodies {
		if c.requests[i].Header.Get("Content-Encoding") == "gzip" {
			r, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		var data tracepb.TracesData
		if err := proto.Unmarshal(body, &data); err != nil {
			t.Fatal(err)
		}
		for _, span := range data.ResourceSpans[0].ScopeSpans[0].Spans {
			all = append(all, span.Name)
		}
	}
	return all
}

// points are the numbers of points of each export of metrics.
func (c *collector) points(t *testing.T) (all []int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, body := range c.bodies {
		var data metricspb.MetricsData
		if err := proto.Unmarshal(body, &data); err != nil {
			t.Fatal(err)
		}
		all = append(all, len(data.ResourceMetrics[0].ScopeMetrics[0].Metrics[0].GetHistogram().DataPoints))
	}
	return all
}

// start starts an Exporter that tries again at once. The variables are those for the collector.
func start(t *testing.T, endpoint string, o Options, pairs ...string) *Exporter {
	t.Helper()
	o.Now = time.Now
	o.UserAgent = "mcpc/test"
	e := newExporter(configOf(t, endpoint, pairs...), o, time.Microsecond)
	t.Cleanup(func() { e.Close(ended) })
	return e
}

// ended is a context that is over.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func give(e *Exporter, n int) {
	for i := range n {
		e.Span(otlp.Span{Name: "span " + strconv.Itoa(i)})
	}
}

// within is how long a test waits for what must happen.
const within = time.Minute

func receive(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(within):
		t.Fatal("it did not happen")
	}
}
