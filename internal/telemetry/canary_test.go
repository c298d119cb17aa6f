package telemetry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/otlp"
	"mcpc/internal/redact"
)

const canary = "c4n4ry-in-the-mine"

// secretive is a run with the canary everywhere but in names.
var secretive = strings.ReplaceAll(`
with Authorization: Bearer CANARY
with X-Trace: CANARY
with Mcp-Session-Id: CANARY
with Cookie: CANARY
> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":"CANARY"},"_meta":{"progressToken":"CANARY","x":"CANARY"}}}
with Mcp-Session-Id: CANARY
with Set-Cookie: CANARY
head 200 text/event-stream
event CANARY
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"CANARY","progress":1,"message":"CANARY"}}
< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"CANARY","data":"CANARY"}}
< {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"CANARY"}}
> {"jsonrpc":"2.0","id":"q","result":{"action":"accept","content":{"a":"CANARY"}}}
head 202
on 1
< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"CANARY"}],"structuredContent":{"a":"CANARY"}}}
> {"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"greet","arguments":{"who":"CANARY"}}}
head 200
< {"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no, token=CANARY","data":"CANARY"}}
> {"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"https://ada:CANARY@example.com/x?token=CANARY&code=CANARY&sid=CANARY&a=b#access_token=CANARY"}}
head 500 text/html
< CANARY
> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"slow","arguments":{"CANARY":1}}}
close server cut Post "https://ada:CANARY@example.com/x?token=CANARY": EOF
stdio
> {"jsonrpc":"2.0","id":5,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"demo://CANARY"},"argument":{"name":"a","value":"CANARY"}}}
> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"CANARY"}}
noise CANARY
close server exit exit status 1
`, "CANARY", canary)

func everything(all []emitted, m *Metrics) string {
	return fmt.Sprintf("%s %+v %+v", tree(all), all, m.Collect(noon, false))
}

func TestSpansHaveNoSecrets(t *testing.T) {
	var known redact.Secrets
	known.Learn(canary)
	for name, test := range map[string]struct {
		o    Options
		gets bool
	}{
		"as it is":            {o: Options{IsRelay: true}},
		"of a command":        {o: Options{Target: "https://" + canary + "@example.com/" + canary}},
		"URIs in names":       {o: Options{URINames: true}},
		"with content":        {o: Options{Content: true, IsRelay: true}, gets: true},
		"with what is hidden": {o: Options{Content: true, URINames: true, IsRelay: true, Hide: known.Frame}},
	} {
		test.o.Metrics = &Metrics{}
		text := everything(run(t, test.o, secretive), test.o.Metrics)
		if at := strings.Index(text, canary); (at >= 0) != test.gets {
			t.Errorf("%s: found %v: %s", name, at >= 0, text[max(0, at-300):min(len(text), max(0, at)+100)])
		}
		if strings.Count(text, "mcp.method.name") < 10 {
			t.Errorf("%s: there is little in %s", name, text)
		}
	}
}

// TestIDsDependOnSeedAndFrames: the same frames give the same ids, another seed others.
func TestIDsDependOnSeedAndFrames(t *testing.T) {
	one, same, other := run(t, Options{Seed: "a", IsRelay: true}, secretive), run(t, Options{Seed: "a", IsRelay: true}, secretive), run(t, Options{Seed: "b", IsRelay: true}, secretive)
	if diff := cmp.Diff(one, same, cmp.AllowUnexported(emitted{})); diff != "" {
		t.Error(diff)
	}
	spans, traces := map[otlp.SpanID]bool{}, map[otlp.TraceID]bool{}
	for _, e := range one {
		if spans[e.span.ID] || e.span.ID == (otlp.SpanID{}) {
			t.Errorf("%x is there twice", e.span.ID)
		}
		spans[e.span.ID], traces[e.span.Trace] = true, true
	}
	for _, e := range other {
		if spans[e.span.ID] || traces[e.span.Trace] {
			t.Errorf("%x has the same id", e.span.ID)
		}
	}
}

// TestSampling: a request that is not sampled is counted nevertheless.
func TestSampling(t *testing.T) {
	asked := map[Context]bool{}
	m := &Metrics{}
	all := run(t, Options{IsRelay: true, Metrics: m, Sample: func(_ otlp.TraceID, parent Context) bool {
		asked[parent] = true
		return parent.Sampled
	}}, `
stdio
> {"jsonrpc":"2.0","id":1,"method":"ping"}
> {"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}}
> {"jsonrpc":"2.0","id":3,"method":"ping","params":{"_meta":{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-00"}}}
< {"jsonrpc":"2.0","id":1,"result":{}}
< {"jsonrpc":"2.0","id":2,"result":{}}
< {"jsonrpc":"2.0","id":3,"result":{}}
`)
	if len(all) != 2 || all[0].span.Attributes[2].Value != "2" || !all[0].span.Sampled {
		t.Errorf("got %+v", all)
	}
	if !asked[Context{}] || len(asked) != 3 {
		t.Errorf("asked about %v", asked)
	}
	if n := m.Collect(noon, false)[0].Points[0].Count; n != 3 {
		t.Errorf("counted %d", n)
	}
}
