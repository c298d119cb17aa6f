// Package collector has an OpenTelemetry collector for tests. It parses the requests with the
// official types.
package collector

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A Collector receives telemetry on the loopback interface. Mu guards the fields except URL. They
// may be read without Mu after the last request.
type Collector struct {
	URL string

	Mu    sync.Mutex
	Spans []*tracepb.Span
	// Metrics are the names of the metrics.
	Metrics []string
	// Resource are the attributes of all resources.
	Resource map[string]string
	// Header is the header of the last request.
	Header http.Header
	// Raw has the bodies of all requests.
	Raw []byte
	// Err is the error of an invalid request.
	Err error
}

// Start starts a collector, which is closed when the test ends.
func Start(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{Resource: map[string]string{}}
	server := httptest.NewServer(http.HandlerFunc(c.receive))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// receive handles a request of an exporter.
func (c *Collector) receive(w http.ResponseWriter, r *http.Request) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Header = r.Header
	raw, err := readBody(r)
	c.Raw = append(c.Raw, raw...)
	if err == nil {
		err = c.parse(r.URL.Path, raw)
	}
	if err != nil {
		c.Err = err
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(r.Body)
	}
	body, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(body)
}

// parse parses a request and stores its spans or metrics.
func (c *Collector) parse(path string, raw []byte) error {
	switch path {
	case "/v1/traces":
		var traces tracepb.TracesData
		if err := proto.Unmarshal(raw, &traces); err != nil {
			return err
		}
		for _, resource := range traces.ResourceSpans {
			c.addResource(resource.Resource.Attributes)
			for _, scope := range resource.ScopeSpans {
				c.Spans = append(c.Spans, scope.Spans...)
			}
		}
	case "/v1/metrics":
		var metrics metricspb.MetricsData
		if err := proto.Unmarshal(raw, &metrics); err != nil {
			return err
		}
		for _, resource := range metrics.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, m := range scope.Metrics {
					c.Metrics = append(c.Metrics, m.Name)
				}
			}
		}
	default:
		return fmt.Errorf("no such path: %s", path)
	}
	return nil
}

func (c *Collector) addResource(attributes []*commonpb.KeyValue) {
	for _, a := range attributes {
		c.Resource[a.Key] = a.Value.GetStringValue()
	}
}

// Named returns the only span with the name and the kind. The test fails if there is not exactly
// one such span, or if the collector received an invalid request.
func (c *Collector) Named(t testing.TB, name string, kind tracepb.Span_SpanKind) *tracepb.Span {
	t.Helper()
	c.Mu.Lock()
	defer c.Mu.Unlock()
	var found []*tracepb.Span
	for _, s := range c.Spans {
		if s.Name == name && s.Kind == kind {
			found = append(found, s)
		}
	}
	if len(found) != 1 || c.Err != nil {
		t.Fatalf("%d spans %q of kind %s in %s (%v)", len(found), name, kind, SpanNames(c.Spans), c.Err)
	}
	return found[0]
}

// SpanNames returns the kinds and names of spans.
func SpanNames(spans []*tracepb.Span) []string {
	var all []string
	for _, s := range spans {
		all = append(all, fmt.Sprint(s.Kind, " ", s.Name))
	}
	return all
}
