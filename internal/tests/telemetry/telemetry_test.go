// Package telemetry tests what mcpc sends to a collector of OpenTelemetry.
package telemetry

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/collector"
	"mcpc/internal/tests/program"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

const (
	clientKind   = tracepb.Span_SPAN_KIND_CLIENT
	serverKind   = tracepb.Span_SPAN_KIND_SERVER
	internalKind = tracepb.Span_SPAN_KIND_INTERNAL
)

func TestMain(m *testing.M) { clitest.Main(m, nil) }

// run runs mcpc with an empty state and further variables.
func run(t *testing.T, env []string, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	got := clitest.MCPC(t, env, args...)
	return got.Code, got.Stdout, got.Stderr
}

// An agent's span, the command, and a proxy are one trace. The request names the span of its
// sender, and the proxy does not change it.
func TestOneTraceThroughAProxy(t *testing.T) {
	t.Parallel()
	c, demo := collector.Start(t), clitest.Serve(t, nil, "demo", "--listen", "127.0.0.1:0")
	proxy := clitest.Serve(t, nil, "proxy", "--to", demo.URL, "--listen", "127.0.0.1:0", "--no-record", "--otlp", c.URL)
	const trace, agent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	record := filepath.Join(t.TempDir(), "own.jsonl")
	exit, stdout, stderr := run(t, []string{"TRACEPARENT=00-" + trace + "-" + agent + "-01", "OTEL_SERVICE_NAME=agent", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip"},
		"-s", proxy.URL, "call", "get-sum", "a=1", "b=2", "--otlp", c.URL, "--record", record)
	if exit != 0 || stdout != "The sum of 1 and 2 is 3.\n" || stderr != "" {
		t.Fatalf("%d %s %s", exit, stdout, stderr)
	}
	if c.Resource["service.name"] != "agent" || c.Resource["service.version"] == "" || c.Resource["service.instance.id"] == "" {
		t.Errorf("resource %v", c.Resource)
	}
	command := c.Named(t, "mcpc call", internalKind)
	sent := c.Named(t, "tools/call get-sum", clientKind)
	proxy.Stop()
	if !slices.Contains(c.Metrics, "mcp.client.operation.duration") || !slices.Contains(c.Metrics, "mcp.server.operation.duration") {
		t.Errorf("metrics %q", c.Metrics)
	}
	arrived := c.Named(t, "tools/call get-sum", serverKind)
	if hex.EncodeToString(command.ParentSpanId) != agent || string(sent.ParentSpanId) != string(command.SpanId) || string(arrived.ParentSpanId) != string(sent.SpanId) {
		t.Errorf("the spans are no tree: %v, %v, %v", command, sent, arrived)
	}
	passedOn := 0
	for _, s := range c.Spans {
		if hex.EncodeToString(s.TraceId) != trace {
			t.Errorf("%s is of another trace", s.Name)
		}
		if string(s.ParentSpanId) == string(arrived.SpanId) && s.Name == arrived.Name && s.Kind == clientKind {
			passedOn++
		}
	}
	if passedOn != 1 {
		t.Errorf("%d CLIENT spans of the proxy below %v", passedOn, arrived)
	}
	// The recording gives the same spans again.
	_, lines, stderr := run(t, nil, "export", record, "--as", "otlp")
	var file struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct{ Name, TraceID, SpanID, ParentSpanID string }
			}
		}
	}
	if err := json.Unmarshal([]byte(lines), &file); err != nil || len(file.ResourceSpans) != 1 {
		t.Fatalf("%v in %s%s", err, lines, stderr)
	}
	for _, s := range file.ResourceSpans[0].ScopeSpans[0].Spans {
		if s.Name == sent.Name && s.TraceID == trace && s.SpanID == hex.EncodeToString(sent.SpanId) && s.ParentSpanID == hex.EncodeToString(command.SpanId) {
			return
		}
	}
	t.Errorf("the recording has no span %x: %s", sent.SpanId, lines)
}

// Without --otlp nothing is sent, whatever the variables say, and the context of the environment is
// passed on as it is. An invalid context is not.
func TestTraceContextIsPassedOn(t *testing.T) {
	t.Parallel()
	c := collector.Start(t)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	for given, want := range map[string]string{parent: `"traceparent":"` + parent + `","tracestate":"a=1","baggage":"b=2"`, "00-nonsense": ""} {
		record := filepath.Join(t.TempDir(), "own.jsonl")
		exit, _, stderr := run(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "TRACEPARENT=" + given, "TRACESTATE=a=1", "BAGGAGE=b=2"},
			"-s", "demo", "call", "get-sum", "a=1", "b=2", "--record", record)
		if exit != 0 || stderr != "" {
			t.Fatalf("%d %s", exit, stderr)
		}
		sent := strings.ReplaceAll(program.Read(t, record), `\"`, `"`)
		if want == "" && strings.Contains(sent, "traceparent") || !strings.Contains(sent, want) {
			t.Errorf("%s: not %s in %s", given, want, sent)
		}
	}
	if len(c.Raw) > 0 || c.Header != nil {
		t.Errorf("something was sent: %q", c.Raw)
	}
}

// A collector that refuses, answers garbage or wants to wait costs a warning, and never the answer.
func TestBadCollectors(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(nil)
	refusing.Close()
	answering := func(status int, field, body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			name, value, _ := strings.Cut(field, ": ")
			w.Header().Set(name, value)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	release := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(release) })
	for name, at := range map[string]struct{ url, want string }{
		"refuses":  {refusing.URL, "connection refused"},
		"hangs":    {hanging.URL, "no answer"},
		"too many": {answering(429, "Retry-After: 86400", ""), "HTTP 429"},
		"denies":   {answering(401, "X: y", "no token"), "HTTP 401"},
		"garbage":  {answering(400, "X: y", "\x1b[31mgarbage"), "HTTP 400"},
	} {
		exit, stdout, stderr := run(t, nil, "-s", "demo", "call", "get-sum", "a=1", "b=2", "--otlp", at.url)
		if exit != 0 || stdout != "The sum of 1 and 2 is 3.\n" || !strings.Contains(stderr, at.want) || strings.Contains(stderr, "\x1b") {
			t.Errorf("%s: %d %s %s", name, exit, stdout, stderr)
		}
	}
	for given, want := range map[string]string{"127.0.0.1:4318": "no scheme", "env": "OTEL_EXPORTER_OTLP_ENDPOINT is not set", "ftp://127.0.0.1": "ftp"} {
		exit, stdout, stderr := run(t, nil, "-s", "demo", "call", "get-sum", "a=1", "b=2", "--otlp", given)
		if exit != 2 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("--otlp %s: %d %s %s", given, exit, stdout, stderr)
		}
	}
}

// A failed tool is an error of its span, a request without an answer too, and so is the command.
func TestFailuresInSpans(t *testing.T) {
	t.Parallel()
	c := collector.Start(t)
	hang := "trigger-long-running-operation"
	exit, _, stderr := run(t, nil, "-s", "demo", "call", hang, "duration=600", "steps=1", "--max-time", "1s", "--otlp", c.URL)
	if exit != 9 {
		t.Fatalf("%d %s", exit, stderr)
	}
	for _, s := range []*tracepb.Span{c.Named(t, "tools/call "+hang, clientKind), c.Named(t, "mcpc call", internalKind)} {
		if s.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || !strings.Contains(fmt.Sprint(s.Attributes), `"timeout"`) {
			t.Errorf("%s: %v %v", s.Name, s.Status, s.Attributes)
		}
	}
}

// A secret in arguments, results, header fields and settings reaches no collector.
func TestNoSecretReachesACollector(t *testing.T) {
	t.Parallel()
	c, dir := collector.Start(t), t.TempDir()
	const canary = "CANARY-9f8e7d6c5b"
	demo := clitest.Serve(t, nil, "demo", "--listen", "127.0.0.1:0")
	redacted := filepath.Join(dir, "redact")
	if err := os.WriteFile(redacted, []byte(canary+"-in-text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"MY_API_KEY=" + canary + "-env", "OTEL_EXPORTER_OTLP_HEADERS=api-key=" + canary + "-otlp"}
	for _, words := range [][]string{
		{"call", "echo", "message=" + canary + "-argument"},
		{"call", "echo", "message=" + canary + "-in-text", "--otlp-content", "--redact-file", redacted},
		{"call", "echo", "message=" + canary + "-env", "--otlp-content"},
		{"call", "no-such-tool-" + canary + "-env"},
	} {
		_, _, stderr := run(t, env, slices.Concat([]string{"-s", demo.URL + "?token=" + canary + "-url", "-H", "Authorization: Bearer " + canary + "-bearer"}, words, []string{"--otlp", c.URL})...)
		if strings.Contains(stderr, "collector") {
			t.Errorf("%q: %s", words, stderr)
		}
	}
	if len(c.Spans) < 8 || strings.Contains(string(c.Raw), canary) {
		t.Errorf("%d spans: %s", len(c.Spans), program.ExcerptAround(string(c.Raw), canary))
	}
	if c.Header.Get("Api-Key") != canary+"-otlp" {
		t.Errorf("the collector got %v", c.Header)
	}
}
