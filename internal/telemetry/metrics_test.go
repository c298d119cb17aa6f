package telemetry

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/otlp"
)

// points writes the points of histograms.
func points(all []otlp.Histogram) (lines []string) {
	for _, h := range all {
		for _, p := range h.Points {
			lines = append(lines, fmt.Sprintf("%s %d of %.3fs from %v to %v: %s", strings.TrimSuffix(strings.TrimPrefix(h.Name, "mcp."), ".duration"),
				p.Count, p.Sum, p.Start.Sub(noon), p.Time.Sub(noon), attributesText(p.Attributes)))
		}
	}
	return lines
}

const session = `
stdio
> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}
> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}
+ 10ms
< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}
> {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"demo://a"}}
< {"jsonrpc":"2.0","id":2,"result":{"contents":[]}}
close client end
close server exit
`

func TestMetricsOfASession(t *testing.T) {
	for between, want := range map[bool][]string{
		false: {
			"client.operation 1 of 0.001s from 0s to 1m0s: mcp.method.name=initialize mcp.protocol.version=2025-11-25 network.transport=pipe",
			"client.operation 1 of 0.001s from 0s to 1m0s: mcp.method.name=resources/read mcp.protocol.version=2025-11-25 network.transport=pipe",
			"client.operation 1 of 0.011s from 0s to 1m0s: error.type=-32602 gen_ai.operation.name=execute_tool gen_ai.tool.name=add mcp.method.name=tools/call mcp.protocol.version=2025-11-25 network.transport=pipe rpc.response.status_code=-32602",
			"client.session 1 of 0.016s from 0s to 1m0s: mcp.protocol.version=2025-11-25 network.transport=pipe",
		},
		true: {
			"client.operation 1 of 0.001s from 0s to 1m0s: mcp.method.name=initialize mcp.protocol.version=2025-11-25 network.transport=pipe",
			"client.operation 1 of 0.001s from 0s to 1m0s: mcp.method.name=resources/read mcp.protocol.version=2025-11-25 network.transport=pipe",
			"client.operation 1 of 0.011s from 0s to 1m0s: error.type=-32602 gen_ai.operation.name=execute_tool gen_ai.tool.name=add mcp.method.name=tools/call mcp.protocol.version=2025-11-25 network.transport=pipe rpc.response.status_code=-32602",
			"client.session 1 of 0.016s from 0s to 1m0s: mcp.protocol.version=2025-11-25 network.transport=pipe",
			"server.operation 1 of 0.001s from 0s to 1m0s: mcp.method.name=initialize mcp.protocol.version=2025-11-25 network.transport=pipe",
			"server.operation 1 of 0.001s from 0s to 1m0s: mcp.method.name=resources/read mcp.protocol.version=2025-11-25 network.transport=pipe",
			"server.operation 1 of 0.011s from 0s to 1m0s: gen_ai.operation.name=execute_tool gen_ai.tool.name=add mcp.method.name=tools/call mcp.protocol.version=2025-11-25 network.transport=pipe rpc.response.status_code=-32602",
			"server.session 1 of 0.016s from 0s to 1m0s: mcp.protocol.version=2025-11-25 network.transport=pipe",
		},
	} {
		m := &Metrics{}
		run(t, Options{IsRelay: between, Metrics: m}, session)
		got := points(m.Collect(noon.Add(time.Minute), false))
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("between %v: %s", between, diff)
		}
	}
}

func TestSessionDurationOverHTTPAndAfterBreak(t *testing.T) {
	initialize := `> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
head 200
< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}
+ 1s
`
	http := " mcp.protocol.version=2025-11-25 network.protocol.name=http network.protocol.version=2 network.transport=tcp server.address=mcp.example.com server.port=8443"
	pipe := strings.Replace("stdio\n"+initialize, "head 200", "", 1)
	for script, want := range map[string]string{
		initialize + "delete\nhead 204\n+ 1h": "1.003s:" + http,
		initialize + "> {}\n+ 1h":             "1.003s:" + http,
		initialize + initialize:               "1.005s:" + http, // two
		pipe + "close server exit\n+ 1h":      "1.002s: error.type=transport mcp.protocol.version=2025-11-25 network.transport=pipe",
		pipe + "close client end":             "1.002s: mcp.protocol.version=2025-11-25 network.transport=pipe",
		strings.ReplaceAll(initialize, `"result":{`, `"error":{"code":1,"message":"no",`): "",
	} {
		m := &Metrics{}
		run(t, Options{Metrics: m}, script)
		got := slices.DeleteFunc(points(m.Collect(noon, false)), func(line string) bool { return !strings.HasPrefix(line, "client.session") })
		for i, line := range got {
			_, line, _ = strings.Cut(line, " of ")
			sum, rest, _ := strings.Cut(line, " ")
			_, rest, _ = strings.Cut(rest, ": ")
			got[i] = sum + ": " + rest
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s\ngot %q\nwant %q", script, got, want)
		}
	}
}

// TestUnfinishedRequestHasNoDuration: how long a request takes that has no end is not known.
func TestUnfinishedRequestHasNoDuration(t *testing.T) {
	m := &Metrics{}
	if n := len(run(t, Options{Metrics: m}, "stdio\n> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}")); n != 1 {
		t.Errorf("%d spans", n)
	}
	if got := points(m.Collect(noon, false)); got != nil {
		t.Errorf("counted %q", got)
	}
}

func TestBuckets(t *testing.T) {
	m := &Metrics{Start: noon}
	for _, d := range []time.Duration{-time.Second, 0, 10 * time.Millisecond, 10*time.Millisecond + 1, 300 * time.Second, 301 * time.Second} {
		m.observe(clientOperation, nil, noon, d)
	}
	p := m.Collect(noon, false)[0].Points[0]
	if want := []uint64{3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}; !slices.Equal(p.Counts, want) {
		t.Errorf("got %v, want %v", p.Counts, want)
	}
	if p.Min != 0 || p.Max != 301 || p.Count != 6 {
		t.Errorf("got %+v", p)
	}
}

func TestDeltaAndCumulative(t *testing.T) {
	for _, delta := range []bool{true, false} {
		m := &Metrics{Start: noon}
		var counts []string
		for i := range 3 {
			if i != 1 {
				m.observe(serverSession, nil, noon, time.Second)
			}
			for _, h := range m.Collect(noon.Add(time.Duration(i+1)*time.Minute), delta) {
				counts = append(counts, fmt.Sprint(h.Delta, h.Points[0].Count, h.Points[0].Start.Sub(noon)))
			}
		}
		want := []string{"true1 0s", "true1 2m0s"}
		if !delta {
			want = []string{"false1 0s", "false1 0s", "false2 0s"}
		}
		for i := range want {
			want[i] = strings.Replace(want[i], "e1", "e 1", 1)
			want[i] = strings.Replace(want[i], "e2", "e 2", 1)
		}
		if diff := cmp.Diff(want, counts); diff != "" {
			t.Error(diff)
		}
	}
}

// TestAttributeSetsAreBounded: values that a hostile peer makes up do not grow without bound.
func TestAttributeSetsAreBounded(t *testing.T) {
	m := &Metrics{}
	b := New(Options{Metrics: m})
	const more = 500
	for i := range maxSets + more {
		steps, _ := parse(t, fmt.Sprintf("stdio\n> {\"jsonrpc\":\"2.0\",\"method\":\"m%d\"}", i))
		b.Add(int64(i), *steps[0].frame)
	}
	h := m.Collect(noon, false)[0]
	if len(h.Points) != maxSets+1 {
		t.Fatalf("%d points", len(h.Points))
	}
	rest := slices.IndexFunc(h.Points, func(p otlp.HistogramPoint) bool {
		return cmp.Equal(p.Attributes, []otlp.Attribute{{Key: "otel.metric.overflow", Value: true}})
	})
	if rest < 0 || h.Points[rest].Count != more {
		t.Errorf("the rest is at %d", rest)
	}
}

func TestMetricsFromSeveralGoroutines(t *testing.T) {
	m := &Metrics{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				run(t, Options{Metrics: m}, "stdio\n> {\"jsonrpc\":\"2.0\",\"method\":\"m\"}")
				m.Collect(noon, false)
			}
		})
	}
	all.Wait()
	if n := m.Collect(noon, false)[0].Points[0].Count; n != 8*200 {
		t.Errorf("counted %d", n)
	}
}
