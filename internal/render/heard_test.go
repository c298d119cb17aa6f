package render

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"mcpc/internal/wire"
)

var heardMessages = []string{
	`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
	`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{}}`,
	`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a\u001b[2J\nb"}}`,
	`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"db","data":{"b": 2, "a": 1e1}}}`,
	`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"two\nlines"}}`,
	`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"t","status":"working"}}`,
	`{"jsonrpc":"2.0","method":"x/\u202ey","params":[1]}`,
	`{"jsonrpc":"2.0","method":"notifications/resources/updated"}`,
}

func TestHeard(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 8, 7, 6_000_000, time.UTC)
	var all bytes.Buffer
	for _, st := range []Style{{}, {Terminal: true, Width: 80}, {Terminal: true, Color: true, Width: 80}, {Terminal: true, ASCII: true, Width: 80}} {
		fmt.Fprintf(&all, "=== %s\n", described(st.Terminal, st.Color, st.Width, st.ASCII))
		for _, raw := range heardMessages {
			if err := Heard(&all, st, at, wire.ParseMessage([]byte(raw))); err != nil {
				t.Fatal(err)
			}
		}
		if err := Changes(&all, st, []Change{{"+", "tool", "a\tb", "does\nit"}, {"-", "prompt", "gone\x1b[2J", ""}, {"~", "tool", "sum", "another title"}}); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "heard.txt", all.Bytes())
}

func TestJSONLine(t *testing.T) {
	for _, c := range []struct {
		st        Style
		raw, want string
	}{
		{Style{}, "{\"b\": 1,  \"a\":\"\u202e\"}", "{\"b\": 1,  \"a\":\"\u202e\"}"},
		{Style{}, "{\"b\":\n1e1}", `{"b":1e1}`},
		{Style{Terminal: true}, "{\"b\": 1,\"a\":\"\u202e\"}", `{"b": 1,"a":"\u202e"}`},
	} {
		var b bytes.Buffer
		if err := JSONLine(&b, c.st, []byte(c.raw)); err != nil || b.String() != c.want+"\n" {
			t.Errorf("%q: got %q, %v, want %q", c.raw, b.String(), err, c.want)
		}
	}
}
