//go:build peers

package peers

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpc/internal/tests/program"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// An otelCollector is a real OpenTelemetry Collector, and a store of Jaeger that it writes to,
// which can be asked for a trace: scripts/peers/otel.
type otelCollector struct {
	t *testing.T
	// endpoint takes OTLP over HTTP below /v1/traces and /v1/metrics; query is the URL of
	// Jaeger's API.
	endpoint, query string
	file            string // of what was received
	cmd             *exec.Cmd
}

// startCollector starts a collector on loopback, which ends with the test.
func startCollector(t *testing.T) *otelCollector {
	t.Helper()
	port, grpc, query := program.FreePort(t), program.FreePort(t), program.FreePort(t)
	c := &otelCollector{t: t, endpoint: "http://127.0.0.1:" + port, query: "http://127.0.0.1:" + query, file: filepath.Join(t.TempDir(), "received.jsonl")}
	c.cmd = exec.Command(filepath.Join(peersDir(t), "bin", "otel"), "-port", port, "-grpc", grpc, "-query", query, "-out", c.file)
	var log bytes.Buffer
	c.cmd.Stdout, c.cmd.Stderr = &log, &log
	if err := c.cmd.Start(); err != nil {
		t.Fatalf("%v; run scripts/peers.sh install", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = c.cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(program.Patience):
			_ = c.cmd.Process.Kill()
			t.Error("the collector did not end by SIGTERM")
		}
	})
	for end := time.Now().Add(program.Patience); ; time.Sleep(10 * time.Millisecond) {
		select {
		case <-ended:
			t.Fatalf("the collector ended: %s", log.String())
		default:
		}
		if status, _, err := post(c.endpoint+"/v1/traces", `{}`); err == nil && status == http.StatusOK {
			return c
		} else if time.Now().After(end) {
			t.Fatalf("the collector does not answer: HTTP %d, %v", status, err)
		}
	}
}

// post sends JSON.
func post(url, body string) (status int, answer string, err error) {
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, string(raw), err
}

// received is everything that was received, as JSON on lines: for a search for what must not
// be there.
func (c *otelCollector) received() string {
	c.t.Helper()
	raw, err := os.ReadFile(c.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.t.Fatal(err)
	}
	return string(raw)
}

// spans returns the received spans, with the resources and scopes that they came with.
func (c *otelCollector) spans() (all []*tracepb.ResourceSpans) {
	c.t.Helper()
	for line := range strings.Lines(c.received()) {
		if strings.HasPrefix(line, `{"resourceSpans"`) {
			all = append(all, readSpans(c.t, line).ResourceSpans...)
		}
	}
	return all
}

// metrics returns the received metrics, with the resources and scopes that they came with.
func (c *otelCollector) metrics() (all []*metricspb.ResourceMetrics) {
	c.t.Helper()
	for line := range strings.Lines(c.received()) {
		if strings.HasPrefix(line, `{"resourceMetrics"`) {
			var data metricspb.MetricsData
			readOTLP(c.t, line, &data)
			all = append(all, data.ResourceMetrics...)
		}
	}
	return all
}

// trace asks the store for a trace by its id in hex. It returns nil as long as the store has no
// such trace.
func (c *otelCollector) trace(id string) []*tracepb.ResourceSpans {
	c.t.Helper()
	response, err := http.Get(c.query + "/api/v3/traces/" + id)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNotFound {
		c.t.Fatalf("HTTP %d, %v: %s", response.StatusCode, err, raw)
	}
	if response.StatusCode == http.StatusNotFound {
		return nil
	}
	var answer struct{ Result json.RawMessage }
	mustUnmarshal(c.t, string(raw), &answer)
	return readSpans(c.t, string(answer.Result)).ResourceSpans
}

func readSpans(t *testing.T, text string) *tracepb.TracesData {
	t.Helper()
	var data tracepb.TracesData
	readOTLP(t, text, &data)
	return &data
}

// readOTLP reads the JSON of OTLP into an official type: the JSON of protobuf, but with ids in hex
// instead of base64.
func readOTLP(t *testing.T, text string, into proto.Message) {
	t.Helper()
	var tree any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&tree)
	if err == nil {
		err = inBase64(tree)
	}
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	raw, err := json.Marshal(tree)
	if err == nil {
		err = protojson.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// inBase64 writes the ids in a value as protobuf does.
func inBase64(v any) error {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := inBase64(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, value := range v {
			text, isText := value.(string)
			if isText && (name == "traceId" || name == "spanId" || name == "parentSpanId") {
				id, err := hex.DecodeString(text)
				if err != nil {
					return fmt.Errorf("%s %q: %w", name, text, err)
				}
				v[name] = base64.StdEncoding.EncodeToString(id)
			} else if err := inBase64(value); err != nil {
				return err
			}
		}
	}
	return nil
}

// A k6Run is what a run of k6 came to.
type k6Run struct {
	code   int
	output string
	// counts are the values of counters, and rates the values of rates, by the names of metrics.
	counts, rates map[string]float64
}

// runK6 runs the load test in a directory with the real k6. It may be given flags of k6 run, and
// variables as NAME=value.
func runK6(t *testing.T, dir string, words ...string) k6Run {
	t.Helper()
	summary := filepath.Join(t.TempDir(), "summary.json")
	args := []string{"run", "--no-usage-report", "--no-color", "--address", "", "--summary-mode", "legacy", "--summary-export", summary}
	env := program.CleanEnv()
	for _, word := range words {
		if name, _, ok := strings.Cut(word, "="); ok && name == strings.ToUpper(name) {
			env = append(env, word)
		} else {
			args = append(args, word)
		}
	}
	cmd := exec.Command(filepath.Join(peersDir(t), "bin", "k6"), append(args, filepath.Join(dir, "script.js"))...)
	cmd.Env = append(env, "K6_NO_USAGE_REPORT=true", "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatalf("%v; run scripts/peers.sh install", err)
	}
	r := k6Run{code: cmd.ProcessState.ExitCode(), output: string(out), counts: map[string]float64{}, rates: map[string]float64{}}
	raw, err := os.ReadFile(summary)
	if errors.Is(err, fs.ErrNotExist) {
		return r // it ended before
	}
	if err != nil {
		t.Fatal(err)
	}
	var metrics struct {
		Metrics map[string]struct{ Count, Value *float64 }
	}
	mustUnmarshal(t, string(raw), &metrics)
	for name, m := range metrics.Metrics {
		if m.Count != nil {
			r.counts[name] = *m.Count
		} else if m.Value != nil {
			r.rates[name] = *m.Value
		}
	}
	return r
}

// Telemetry that the collector received over HTTP is in its file, and in the store as one trace.
func TestPeersCollectorKeepsWhatItReceives(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	for path, body := range map[string]string{
		"/v1/traces": `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"a"}}]},"scopeSpans":[{"spans":[
			{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","name":"one","kind":3,"startTimeUnixNano":"1764190000000000000","endTimeUnixNano":"1764190000100000000"},
			{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203332","parentSpanId":"b7ad6b7169203331","name":"two","kind":2,"startTimeUnixNano":"1764190000000000001","endTimeUnixNano":"1764190000100000000"}]}]}]}`,
		"/v1/metrics": `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","unit":"s","histogram":{"aggregationTemporality":2,"dataPoints":[
			{"startTimeUnixNano":"1764190000000000000","timeUnixNano":"1764190000100000000","count":"3","sum":1.5,"bucketCounts":["1","2"],"explicitBounds":[0.5]}]}}]}]}]}`,
	} {
		if status, answer, err := post(c.endpoint+path, body); err != nil || status != http.StatusOK {
			t.Fatalf("%s: HTTP %d %s, %v", path, status, answer, err)
		}
	}
	stored := c.trace("0af7651916cd43dd8448eb211c80319c")
	for what, all := range map[string][]*tracepb.ResourceSpans{"file": c.spans(), "store": stored} {
		if len(all) != 1 {
			t.Fatalf("%s: %d resources", what, len(all))
		}
		spans := all[0].ScopeSpans[0].Spans
		if len(spans) != 2 || !bytes.Equal(spans[1].ParentSpanId, spans[0].SpanId) || hex.EncodeToString(spans[0].SpanId) != "b7ad6b7169203331" ||
			spans[1].Name != "two" || spans[1].Kind != tracepb.Span_SPAN_KIND_SERVER {
			t.Errorf("%s: %v", what, spans)
		}
	}
	metrics := c.metrics()
	if len(metrics) != 1 || metrics[0].ScopeMetrics[0].Metrics[0].GetHistogram().DataPoints[0].Count != 3 {
		t.Errorf("metrics: %v", metrics)
	}
	if none := c.trace("0af7651916cd43dd8448eb211c803199"); none != nil {
		t.Errorf("another trace: %v", none)
	}
	if status, _, err := post(c.endpoint+"/v1/traces", `{"resourceSpans":7}`); err != nil || status != http.StatusBadRequest {
		t.Errorf("what is no OTLP: HTTP %d, %v", status, err)
	}
}
