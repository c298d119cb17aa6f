package render

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"mcpc/internal/render/term"
	"mcpc/internal/tests/rendertest"
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

func TestNotificationsGolden(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 8, 7, 6_000_000, time.UTC)
	var all bytes.Buffer
	for _, st := range []term.Style{{}, {Terminal: true, Width: 80}, {Terminal: true, Color: true, Width: 80}, {Terminal: true, ASCII: true, Width: 80}} {
		fmt.Fprintf(&all, "=== %s\n", rendertest.StyleName(st.Terminal, st.Color, st.Width, st.ASCII))
		for _, raw := range heardMessages {
			if err := Notification(&all, st, at, wire.ParseMessage([]byte(raw))); err != nil {
				t.Fatal(err)
			}
		}
		if err := Changes(&all, st, []Change{{"+", "tool", "a\tb", "does\nit"}, {"-", "prompt", "gone\x1b[2J", ""}, {"~", "tool", "sum", "another title"}}); err != nil {
			t.Fatal(err)
		}
	}
	rendertest.Golden(t, "heard.txt", all.Bytes())
}
