package match

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"mcpc/internal/match/jsonvalue"
)

// selects returns what a path selects.
func selects(t *testing.T, text string) func(json.RawMessage) []string {
	t.Helper()
	path, err := jsonvalue.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return path.Select
}

// TestNamedHandlesInRequests puts handles of each length into requests.
func TestNamedHandlesInRequests(t *testing.T) {
	b := NewBinder(Binding{Kind: "id", Part: Result, Select: selects(t, ".id"), Named: true},
		Binding{Kind: "text", Part: Result, Select: selects(t, ".text"), Named: true},
		Binding{Kind: "long", Part: Result, Select: selects(t, ".long"), Named: true},
		Binding{Kind: "open", Part: Result, Select: selects(t, ".open"), Named: true},
		Binding{Kind: "at", Part: Result, Select: selects(t, ".at")},
		Binding{Kind: "at", Part: Params, Select: selects(t, ".arguments.at")})
	b.Learn(of(Result, "tools/call"), json.RawMessage(`{"id":7,"text":"o7","long":"order-one-1","open":true,"at":1}`),
		json.RawMessage(`{"id":105,"text":"o105","long":"order-two-2","open":false,"at":2}`))
	for _, c := range []struct{ raw, want string }{
		{`{"arguments":{"id":7}}`, `{"arguments":{"id":105}}`},
		{`{"arguments":{"id": 7.0 ,"x":[{"y":[7,8]}]}}`, `{"arguments":{"id": 105 ,"x":[{"y":[105,8]}]}}`},
		{`{"arguments":{"id":"7"}}`, `{"arguments":{"id":"7"}}`}, // another type
		{`{"arguments":{"id":"o7"}}`, `{"arguments":{"id":"o105"}}`},
		{`{"arguments":{"o7":1}}`, `{"arguments":{"o7":1}}`}, // a name is no value
		{`{"arguments":{"id":"order-one-1"}}`, `{"arguments":{"id":"order-two-2"}}`},
		{`{"arguments":{"text":"send order-one-1, not order-one-12 or o7"}}`, `{"arguments":{"text":"send order-two-2, not order-one-12 or o7"}}`},
		{`{"arguments":{"open":true}}`, `{"arguments":{"open":true}}`}, // cannot be distinguished from others
		{`{"arguments":{"at":1,"to":1}}`, `{"arguments":{"at":2,"to":1}}`},
		{`{"name":"o7","arguments":{}}`, `{"name":"o7","arguments":{}}`}, // the name of a tool
		{`{"_meta":{"x":7},"arguments":{}}`, `{"_meta":{"x":7},"arguments":{}}`},
		{`{"uri":"orders://7/items/o7?of=order-one-1#7"}`, `{"uri":"orders://105/items/o105?of=order-two-2#105"}`},
		{`{"uri":"orders://77/v7/a7"}`, `{"uri":"orders://77/v7/a7"}`},
		{`{"uri":"o7"}`, `{"uri":"o105"}`},
		{`{"ref":{"type":"ref/prompt","name":"o7"},"argument":{"name":"id","value":"o7"}}`, `{"ref":{"type":"ref/prompt","name":"o7"},"argument":{"name":"id","value":"o105"}}`},
		{`{"arguments":{"q":"say \"order-one-1\" é"}}`, `{"arguments":{"q":"say \"order-two-2\" é"}}`},
	} {
		got, n := b.ToIs(of(Params, "tools/call"), json.RawMessage(c.raw))
		if string(got) != c.want || (n > 0) != (c.raw != c.want) {
			t.Errorf("%s\ngot  %s (%d)\nwant %s", c.raw, got, n, c.want)
		}
	}
	if unused := b.Unused(); !slices.Equal(unused, []string{"open"}) {
		t.Errorf("unused: %q", unused)
	}
}

// TestHandlesOfAnotherType replaces a number of an answer that a request has as a string only if
// the user names the place, and vice versa.
func TestHandlesOfAnotherType(t *testing.T) {
	named := Binding{Kind: "id", Part: Result, Select: selects(t, ".id"), Named: true}
	unnamed := Binding{Kind: "id", Part: Result, Select: selects(t, ".id")}
	at := Binding{Kind: "id", Part: Params, Select: selects(t, ".arguments.id")}
	for _, c := range []struct {
		bindings            []Binding
		was, is, sent, want string
		retyped             bool
	}{
		{[]Binding{named}, `{"id":7}`, `{"id":105}`, `{"arguments":{"id":"7"}}`, `{"arguments":{"id":"7"}}`, true},
		{[]Binding{named}, `{"id":"7"}`, `{"id":"105"}`, `{"arguments":{"id":7}}`, `{"arguments":{"id":7}}`, true},
		{[]Binding{named}, `{"id":7}`, `{"id":105}`, `{"arguments":{"id":"8"}}`, `{"arguments":{"id":"8"}}`, false},
		{[]Binding{unnamed, at}, `{"id":7}`, `{"id":105}`, `{"arguments":{"id":"7"}}`, `{"arguments":{"id":"105"}}`, false},
		{[]Binding{unnamed, at}, `{"id":"7"}`, `{"id":"105"}`, `{"arguments":{"id":7}}`, `{"arguments":{"id":105}}`, false},
		{[]Binding{unnamed, at}, `{"id":"7"}`, `{"id":"o105"}`, `{"arguments":{"id":7}}`, `{"arguments":{"id":7}}`, false},
		{[]Binding{unnamed, at}, `{"id":7}`, `{"id":105}`, `{"arguments":{"id":true}}`, `{"arguments":{"id":true}}`, false},
	} {
		b := NewBinder(c.bindings...)
		b.Learn(of(Result, "tools/call"), json.RawMessage(c.was), json.RawMessage(c.is))
		got, _ := b.ToIs(of(Params, "tools/call"), json.RawMessage(c.sent))
		if string(got) != c.want || b.IsRetyped("id") != c.retyped || (len(b.Unused()) == 0) != (c.want != c.sent) {
			t.Errorf("%s to %s: %s becomes %s (%v, unused %q), want %s (%v)",
				c.was, c.is, c.sent, got, b.IsRetyped("id"), b.Unused(), c.want, c.retyped)
		}
	}
	b := NewBinder(unnamed, at)
	b.Miss(of(Result, "tools/call"), json.RawMessage(`{"id":7}`))
	if !b.Lacks(of(Params, "tools/call"), json.RawMessage(`{"arguments":{"id":"7"}}`)) {
		t.Error("a string without the counterpart of its number lacks nothing")
	}
}

// TestNamedHandlesInResults replaces what differs from the recorded value by handles alone.
func TestNamedHandlesInResults(t *testing.T) {
	b := NewBinder(Binding{Kind: "id", Part: Result, Select: selects(t, ".id"), Named: true}, Binding{Kind: "text", Part: Result, Select: selects(t, ".text"), Named: true})
	b.Learn(of(Result, "tools/call"), json.RawMessage(`{"id":7,"text":"o7"}`), json.RawMessage(`{"id":105,"text":"o105"}`))
	for _, c := range []struct{ was, is, want string }{
		{`{"a":{"b":[7,1]}}`, `{"a":{"b":[105,1]}}`, `{"a":{"b":[7,1]}}`},
		{`{"a":1}`, `{"a":105}`, `{"a":105}`}, // another value
		{`{"a":105}`, `{"a":105}`, `{"a":105}`},
		{`{"content":[{"text":"order 7 (o7) of 70 found."}]}`, `{"content":[{"text":"order 105 (o105) of 70 found."}]}`, `{"content":[{"text":"order 7 (o7) of 70 found."}]}`},
		{`{"content":[{"text":"order 7 found"}]}`, `{"content":[{"text":"order 105 lost"}]}`, `{"content":[{"text":"order 105 lost"}]}`},
		{`{"text":"{\"id\":7}"}`, `{"text":"{\"id\":105}"}`, `{"text":"{\"id\":7}"}`},
		{`{"uri":"orders://7/x"}`, `{"uri":"orders://105/x"}`, `{"uri":"orders://7/x"}`},
		{`{"a":"7"}`, `{"a":105}`, `{"a":105}`},
		{`{"a":7}`, `{"b":105}`, `{"b":105}`},
	} {
		got, _ := b.ToRecorded(of(Result, "tools/call"), json.RawMessage(c.was), json.RawMessage(c.is))
		if !Compare(got, json.RawMessage(c.want), Comparison{}).Same() {
			t.Errorf("%s, recorded as %s\ngot  %s\nwant %s", c.is, c.was, got, c.want)
		}
	}
}

// TestHandlesWithoutCounterpart finds requests that are sent with a handle of the recording.
func TestHandlesWithoutCounterpart(t *testing.T) {
	b := NewBinder(Binding{Kind: "id", Part: Result, Select: selects(t, ".id"), Named: true},
		Binding{Kind: "at", Part: Result, Select: selects(t, ".at")}, Binding{Kind: "at", Part: Params, Select: selects(t, ".arguments.at")})
	result := of(Result, "tools/call")
	b.Miss(result, json.RawMessage(`{"id":7,"at":true}`))
	b.Learn(result, json.RawMessage(`{"id":8,"at":3}`), json.RawMessage(`{"id":{},"at":4}`))
	b.Miss(result, json.RawMessage(`{"id":9}`))
	b.Learn(result, json.RawMessage(`{"id":9}`), json.RawMessage(`{"id":10}`))
	for raw, want := range map[string]bool{
		`{"arguments":{"x":[7]}}`: true, `{"arguments":{"x":8}}`: true, `{"arguments":{"x":9}}`: false, `{"arguments":{"at":3}}`: false,
		`{"arguments":{"x":"7"}}`: false, `{"name":7}`: false, `{}`: false, `{`: false,
	} {
		if got := b.Lacks(of(Params, "tools/call"), json.RawMessage(raw)); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

// TestNamedHandlesAreBounded forgets the oldest.
func TestNamedHandlesAreBounded(t *testing.T) {
	b := NewBinder(Binding{Kind: "id", Part: Result, Select: selects(t, ".id"), Named: true})
	b.maxHandles = 3
	for i := range 10 {
		b.Learn(of(Result, "x"), json.RawMessage(fmt.Sprintf(`{"id":%d}`, i)), json.RawMessage(fmt.Sprintf(`{"id":%d}`, 100+i)))
		b.Miss(of(Result, "x"), json.RawMessage(fmt.Sprintf(`{"id":%d}`, 200+i)))
	}
	if len(b.toCurrent.named) != 3 || len(b.toRecorded.named) != 3 || len(b.missing) > 3 {
		t.Errorf("%d, %d and %d", len(b.toCurrent.named), len(b.toRecorded.named), len(b.missing))
	}
	if got, _ := b.ToIs(of(Params, "x"), json.RawMessage(`{"arguments":[0,9]}`)); string(got) != `{"arguments":[0,109]}` {
		t.Errorf("got %s", got)
	}
}
