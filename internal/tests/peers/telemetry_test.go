//go:build peers

package peers

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/tests/module"
	"mcpc/internal/tests/program"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// convention are the names that the semantic conventions define, as package telemetry has them.
func convention(t *testing.T) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile(module.Path(t, "internal/telemetry/testdata/convention.json"))
	var all struct{ Spans map[string]map[string]string }
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, kind := range all.Spans {
		for name := range kind {
			names[name] = true
		}
	}
	return names
}

// A real collector takes what a command, two proxies in a row and a recording give. The trace
// store shows one tree: the command, its request, both proxies. No secret is in it.
func TestPeersTelemetryIsOneTree(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	const canary = "CANARY-1a2b3c4d5e"
	demo := program.Serve(t, nil, "demo", "--listen", "127.0.0.1:0")
	record := filepath.Join(t.TempDir(), "inner.jsonl")
	inner := program.Serve(t, nil, "proxy", "--to", demo.URL, "--listen", "127.0.0.1:0", "--otlp", c.endpoint, "--record", record)
	outer := program.Serve(t, nil, "proxy", "--to", inner.URL, "--listen", "127.0.0.1:0", "--otlp", c.endpoint)
	const trace, agent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for _, words := range [][]string{{"echo", "message=" + canary}, {"fail"}, {"raise-protocol-error", "code=-32603"}} {
		exit, _, stderr := program.Run(t, []string{"TRACEPARENT=00-" + trace + "-" + agent + "-01", "OTEL_SERVICE_NAME=agent"},
			slices.Concat([]string{"-s", outer.URL + "?key=" + canary, "-H", "Authorization: Bearer " + canary, "call"}, words, []string{"--otlp", c.endpoint})...)
		if exit != 0 && exit != 5 && exit != 6 || strings.Contains(stderr, "collector") {
			t.Fatalf("%d %s", exit, stderr)
		}
	}
	outer.Stop()
	inner.Stop()
	stored := c.trace(trace)
	parents, names, services := map[string]string{}, map[string]string{}, map[string]int{}
	for _, resource := range stored {
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				id := hex.EncodeToString(s.SpanId)
				parents[id], names[id] = hex.EncodeToString(s.ParentSpanId), s.Kind.String()+" "+s.Name
				services[valueOf(resource.Resource.Attributes, "service.name")]++
			}
		}
	}
	// Each call: the command, its request, and a SERVER and a CLIENT span of each proxy.
	paths := map[string]int{}
	for id := range parents {
		path := []string{names[id]}
		at := id
		for parents[at] != agent {
			if at = parents[at]; names[at] == "" || len(path) > 5 {
				t.Fatalf("%s has no way to the agent: %q", id, path)
			}
			path = append(path, names[at])
		}
		paths[strings.Join(path, " < ")]++
	}
	for _, tool := range []string{"echo", "fail", "raise-protocol-error"} {
		sent := fmt.Sprintf("SPAN_KIND_CLIENT tools/call %s < SPAN_KIND_INTERNAL mcpc call", tool)
		arrived := fmt.Sprintf("SPAN_KIND_SERVER tools/call %s < %s", tool, sent)
		if paths[sent] != 1 || paths[arrived] != 2 || paths[fmt.Sprintf("SPAN_KIND_CLIENT tools/call %s < %s", tool, arrived)] != 2 {
			t.Errorf("%s: the tree is %v", tool, paths)
		}
	}
	if services["agent"] == 0 || services["mcpc"] == 0 {
		t.Errorf("services %v", services)
	}
	checkNames(t, c.spans())
	if text := c.received(); strings.Contains(text, canary) {
		t.Errorf("a secret or an argument is in %s", program.ExcerptAround(text, canary))
	}
	before := len(c.spans())
	if exit, _, stderr := program.Run(t, nil, "export", record, "--as", "otlp", "--otlp", c.endpoint); exit != 0 || !strings.Contains(stderr, "spans sent to") {
		t.Errorf("%d %s", exit, stderr)
	}
	again := c.spans()[before:]
	checkNames(t, again)
	if len(again) == 0 {
		t.Error("nothing of the recording was received")
	}
	kinds := map[string]bool{}
	for _, resource := range c.metrics() {
		for _, scope := range resource.ScopeMetrics {
			for _, m := range scope.Metrics {
				kinds[m.Name+" "+m.Unit] = true
			}
		}
	}
	if got := slices.Sorted(maps.Keys(kinds)); strings.Join(got, ", ") != "mcp.client.operation.duration s, mcp.server.operation.duration s" {
		t.Errorf("metrics %q", got)
	}
}

// checkNames compares the attributes of spans of MCP with the convention.
func checkNames(t *testing.T, all []*tracepb.ResourceSpans) {
	t.Helper()
	known := convention(t)
	if len(known) < 10 {
		t.Fatalf("the convention has %d names", len(known))
	}
	for _, resource := range all {
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				for _, a := range s.Attributes {
					own := strings.HasPrefix(a.Key, "mcpc.") || s.Kind == tracepb.Span_SPAN_KIND_INTERNAL && (a.Key == "process.exit.code" || a.Key == "error.type")
					if !known[a.Key] && !own {
						t.Errorf("%s: no attribute of the convention: %s", s.Name, a.Key)
					}
				}
			}
		}
	}
}

func valueOf(attributes []*commonpb.KeyValue, key string) string {
	for _, a := range attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}
