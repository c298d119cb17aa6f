package match

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/match/jsonvalue"
)

func of(part Part, method string) Comparison { return Comparison{Part: part, Method: method} }

func TestHandlesAreBound(t *testing.T) {
	type learn struct {
		part    Part
		method  string
		was, is string
	}
	type put struct {
		part   Part
		method string
		raw    string
		want   string
	}
	for _, c := range []struct {
		name   string
		learns []learn
		puts   []put
	}{
		{"a cursor, short or long", []learn{{Result, "tools/list", `{"tools":[],"nextCursor":"2"}`, `{"tools":[],"nextCursor":"live-2"}`}}, []put{
			{Params, "tools/list", `{"cursor":"2"}`, `{"cursor":"live-2"}`},
			{Params, "tools/list", `{ "cursor" : "\u0032", "x":"2" }`, `{ "cursor" : "live-2", "x":"2" }`},
			{Params, "tools/call", `{"cursor":"2"}`, `{"cursor":"2"}`}, // no cursor there
			{Params, "tools/list", `{"cursor":"3"}`, `{"cursor":"3"}`},
			{Params, "tools/list", `{"cursor":2}`, `{"cursor":2}`},
		}},
		{"the empty cursor", []learn{{Result, "prompts/list", `{"nextCursor":""}`, `{"nextCursor":"x"}`}}, []put{
			{Params, "prompts/list", `{"cursor":""}`, `{"cursor":"x"}`}, {Params, "prompts/list", `{}`, `{}`},
		}},
		{"a task id, also as a text", []learn{{Result, "tools/call", `{"task":{"taskId":"task-old-1"}}`, `{"task":{"taskId":"task-new-1"}}`}}, []put{
			{Params, "tasks/get", `{"taskId":"task-old-1"}`, `{"taskId":"task-new-1"}`},
			{Params, "subscriptions/listen", `{"notifications":{"taskIds":["a","task-old-1"]}}`, `{"notifications":{"taskIds":["a","task-new-1"]}}`},
			{Params, "tools/call", `{"arguments":{"list":[{"id":"task-old-1"}],"text":"see task-old-1"}}`, `{"arguments":{"list":[{"id":"task-new-1"}],"text":"see task-old-1"}}`},
			{Result, "x/y", `"task-old-1"`, `"task-new-1"`},
			{Params, "tools/call", `{"task-old-1":true}`, `{"task-old-1":true}`},
			{Params, "tasks/get", `{`, `{`},
		}},
		{"a text of 7 characters is too short", []learn{{Result, "tools/call", `{"task":{"taskId":"1234567"}}`, `{"task":{"taskId":"x"}}`}}, []put{
			{Params, "tools/call", `{"arguments":{"a":"1234567"}}`, `{"arguments":{"a":"1234567"}}`}, {Params, "tasks/get", `{"taskId":"1234567"}`, `{"taskId":"x"}`},
		}},
		{"a text of 8 characters is long enough", []learn{{Result, "tools/call", `{"task":{"taskId":"1234567é"}}`, `{"task":{"taskId":"abcdefgh"}}`}}, []put{
			{Params, "tools/call", `{"arguments":{"a":"1234567é"}}`, `{"arguments":{"a":"abcdefgh"}}`},
		}},
		{"a progress token of a request", []learn{{Params, "tools/call", `{"_meta":{"progressToken":1}}`, `{"_meta":{"progressToken":"p9"}}`}}, []put{
			{Params, "notifications/progress", `{"progressToken":1,"progress":1}`, `{"progressToken":"p9","progress":1}`},
			{Params, "tools/list", `{"_meta":{"progressToken":1}}`, `{"_meta":{"progressToken":"p9"}}`},
			{Params, "notifications/cancelled", `{"requestId":1}`, `{"requestId":1}`},
		}},
		{"kinds are apart", []learn{{Result, "tools/list", `{"nextCursor":"1"}`, `{"nextCursor":"c"}`}, {Result, "tools/call", `{"taskId":"1"}`, `{"taskId":"t"}`}}, []put{
			{Params, "tools/list", `{"cursor":"1"}`, `{"cursor":"c"}`}, {Params, "tasks/get", `{"taskId":"1"}`, `{"taskId":"t"}`},
		}},
		{"the last one counts", []learn{{Result, "tools/call", `{"requestState":"state-1"}`, `{"requestState":"a"}`}, {Result, "tools/call", `{"requestState":"state-1"}`, `{"requestState":"b"}`}}, []put{
			{Params, "tools/call", `{"requestState":"state-1"}`, `{"requestState":"b"}`},
		}},
		{"an elicitation id of an error", []learn{{Error, "tools/call", `{"code":-32042,"data":{"elicitations":[{"elicitationId":"e1"},{"elicitationId":"e2"}]}}`, `{"data":{"elicitations":[{"elicitationId":"E1"}]}}`}}, []put{
			{Params, "notifications/elicitation/complete", `{"elicitationId":"e1"}`, `{"elicitationId":"E1"}`},
			{Params, "notifications/elicitation/complete", `{"elicitationId":"e2"}`, `{"elicitationId":"e2"}`},
		}},
		{"what is of another type", []learn{{Result, "tools/call", `{"taskId":"abcdefgh"}`, `{"taskId":{"a":1}}`}, {Result, "tools/call", `[]`, `{}`}, {Result, "tools/call", `{`, `{}`}}, []put{
			{Params, "tasks/get", `{"taskId":"abcdefgh"}`, `{"taskId":"abcdefgh"}`},
		}},
	} {
		b := NewBinder()
		for _, l := range c.learns {
			b.Learn(of(l.part, l.method), json.RawMessage(l.was), json.RawMessage(l.is))
		}
		for _, p := range c.puts {
			got, n := b.ToIs(of(p.part, p.method), json.RawMessage(p.raw))
			if string(got) != p.want || (n > 0) != (p.raw != p.want) {
				t.Errorf("%s: %s %s\ngot  %s (%d)\nwant %s", c.name, p.method, p.raw, got, n, p.want)
			}
			back, _ := b.ToWas(of(p.part, p.method), got)
			if same := Compare(json.RawMessage(p.raw), back, Comparison{}); p.raw != "{" && !same.Same() {
				t.Errorf("%s: %s comes back as %s", c.name, p.raw, back)
			}
		}
	}
}

func TestIdsAreBoundByTheCaller(t *testing.T) {
	b := NewBinder()
	b.Bind("id", json.RawMessage(`7`), json.RawMessage(`"seven"`))
	b.Bind("progressToken", json.RawMessage(`7`), json.RawMessage(`8`))
	b.Bind("session", json.RawMessage(`"session-one"`), json.RawMessage(`"session-two"`))
	b.Bind("id", json.RawMessage(`{`), json.RawMessage(`1`))
	for _, c := range []struct{ method, raw, want string }{
		{"notifications/cancelled", `{"requestId":7.0,"reason":"7"}`, `{"requestId":"seven","reason":"7"}`},
		{"notifications/cancelled", `{"requestId":"7"}`, `{"requestId":"7"}`},
		{"notifications/progress", `{"progressToken":7,"progress":7}`, `{"progressToken":8,"progress":7}`},
		{"tools/call", `{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"a":7,"b":"session-one"}`, `{"_meta":{"io.modelcontextprotocol/subscriptionId":"seven"},"a":7,"b":"session-two"}`},
	} {
		if got, _ := b.ToIs(of(Params, c.method), json.RawMessage(c.raw)); string(got) != c.want {
			t.Errorf("%s %s: got %s, want %s", c.method, c.raw, got, c.want)
		}
	}
	if got, n := b.ToIs(of(Params, "x"), nil); got != nil || n != 0 {
		t.Errorf("nothing becomes %s", got)
	}
}

// A handle that is ordinary data of a server is bound if a Binding names it, however short.
func TestBindings(t *testing.T) {
	path := func(text string) func(json.RawMessage) []string {
		p, err := jsonvalue.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return p.Select
	}
	b := NewBinder(
		Binding{Kind: "order", Part: Result, Select: path(".structuredContent.id")},
		Binding{Kind: "order", Part: Params, Select: path(".arguments.orders[]")},
		Binding{Kind: "item", Part: Result, Select: path(".structuredContent.items[].id")})
	b.Learn(of(Result, "tools/call"), json.RawMessage(`{"structuredContent":{"id":5,"items":[{"id":"item-one"},{"id":"b"}]}}`),
		json.RawMessage(`{"structuredContent":{"id":105,"items":[{"id":"item-two"}]}}`))
	raw := json.RawMessage(`{"name":"ship","arguments":{"orders":[5,6],"n":5,"item":"item-one","b":"b"}}`)
	if got, n := b.ToIs(of(Params, "tools/call"), raw); string(got) != `{"name":"ship","arguments":{"orders":[105,6],"n":5,"item":"item-two","b":"b"}}` || n != 2 {
		t.Errorf("got %s (%d)", got, n)
	}
	if got, _ := b.ToWas(of(Result, "tools/call"), json.RawMessage(`{"structuredContent":{"id":105}}`)); string(got) != `{"structuredContent":{"id":5}}` {
		t.Errorf("got %s", got)
	}
}

// The oldest handles are forgotten, except handles that were learned again.
func TestABinderIsBounded(t *testing.T) {
	b := NewBinder()
	if b.maxHandles != maxHandles || b.maxBytes != maxHandleBytes {
		t.Errorf("limits %d and %d", b.maxHandles, b.maxBytes)
	}
	b.maxHandles = 10
	put := func(i int) string {
		got, _ := b.ToIs(of(Params, "tasks/get"), json.RawMessage(fmt.Sprintf(`{"taskId":"old-task-%d","x":"old-task-%d"}`, i, i)))
		return string(got)
	}
	bind := func(i int) {
		b.Bind("taskId", json.RawMessage(fmt.Sprintf(`"old-task-%d"`, i)), json.RawMessage(fmt.Sprintf(`"new-task-%d"`, i)))
	}
	for i := range 12 {
		bind(max(i, 1)) // 1 twice
	}
	for i, known := range []bool{1: false, 2: true, 11: true} {
		if got := strings.Contains(put(i), "new"); got != known && (i < 3 || i == 11) {
			t.Errorf("%d: %s", i, put(i))
		}
	}
	bind(2)
	bind(12)
	if got := put(2); got != `{"taskId":"new-task-2","x":"new-task-2"}` || b.Forgotten() != 4 || len(b.toRecorded.byText) != 10 {
		t.Errorf("learnt again: %s, %d forgotten", got, b.Forgotten())
	}
	b.maxBytes = 100
	b.Bind("requestState", json.RawMessage(`"`+strings.Repeat("x", 200)+`"`), json.RawMessage(`"y"`))
	if len(b.toCurrent.byKind)+len(b.toCurrent.byText)+len(b.toRecorded.byKind)+len(b.toRecorded.byText)+b.bytes != 0 {
		t.Errorf("left: %+v", b)
	}
}

func TestABinderServesSeveralAtOnce(t *testing.T) {
	b := NewBinder()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 100 {
				was := json.RawMessage(fmt.Sprintf(`{"taskId":"task-%d-%d"}`, i, n))
				b.Learn(of(Result, "tools/call"), was, json.RawMessage(fmt.Sprintf(`{"taskId":"live-%d-%d"}`, i, n)))
				if got, _ := b.ToIs(of(Params, "tasks/get"), was); string(got) != fmt.Sprintf(`{"taskId":"live-%d-%d"}`, i, n) {
					t.Errorf("%s becomes %s", was, got)
				}
			}
		})
	}
	all.Wait()
}

func FuzzBinder(f *testing.F) {
	f.Add([]byte(`{"nextCursor":"abcdefgh","x":"abcdefgh"}`), []byte(`{"nextCursor":"z"}`), []byte(`{"cursor":"abcdefgh","x":["abcdefgh"]}`))
	f.Fuzz(func(t *testing.T, was, is, raw []byte) {
		b := NewBinder()
		b.Learn(of(Result, "tools/list"), was, is)
		got, n := b.ToIs(of(Params, "tools/list"), raw)
		if n == 0 && string(got) != string(raw) {
			t.Fatalf("%q becomes %q", raw, got)
		}
		if _, err := jsonvalue.Parse(raw); err == nil && raw != nil {
			if _, err := jsonvalue.Parse(got); err != nil {
				t.Fatalf("%q becomes %q: %v", raw, got, err)
			}
		}
	})
}
