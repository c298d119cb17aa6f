package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// Each test runs in a bubble: its clock moves when all goroutines wait, and a
// goroutine that outlives Serve fails it.

func TestHandshake(t *testing.T) {
	for _, c := range []struct{ offered, negotiated, more string }{
		{"2024-11-05", "2024-11-05", ""},
		{"2025-03-26", "2025-03-26", ""},
		{"2025-06-18", "2025-06-18", ""},
		{"2025-11-25", "2025-11-25", ""},
		{"1999-01-01", "2025-11-25", ""},
		// Has no handshake. The SDK declines, and then forgets that it did.
		{"2026-07-28", "2025-11-25", `,"resultType":"complete"`},
	} {
		t.Run(c.offered, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serve(t)
				got := string(p.do(initialize(c.offered, `{}`)).Result)
				for _, member := range []string{
					`"protocolVersion":"` + c.negotiated + `"`,
					`"serverInfo":{"name":"mcpc-demo","title":"mcpc demo server","version":"1.0.0"}`,
					`"instructions":"# mcpc demo server\n`,
					`"capabilities":{"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true},"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}},` +
						`"completions":{},"logging":{},"prompts":{"listChanged":true},` +
						`"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}`,
				} {
					if !strings.Contains(got, member) {
						t.Errorf("initialize result %s\nhas no %s", got, member)
					}
				}
				p.send(initialized)
				want(t, "ping", string(p.do(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).Result), `{}`)
				p.send(toolsCall(2, "echo", `{"message":"hi"}`))
				want(t, "echo", p.line(), `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Echo: hi"}]`+c.more+`}}`)
				p.finish()
			})
		})
	}
}

func TestStatelessOverStdio(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t)
		const info = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcpc-demo","title":"mcpc demo server","version":"1.0.0"}}`
		got := string(p.do(request(1, "server/discover", meta)).Result)
		for _, member := range []string{
			`"resultType":"complete"`, info, `"ttlMs":300000,"cacheScope":"public"`,
			`"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`,
		} {
			if !strings.Contains(got, member) {
				t.Errorf("discover result %s\nhas no %s", got, member)
			}
		}
		p.send(toolsCall(2, "echo", `{"message":"hi"}`, meta))
		want(t, "echo", p.line(), `{"jsonrpc":"2.0","id":2,"result":{`+info+
			`,"content":[{"type":"text","text":"Echo: hi"}],"resultType":"complete"}}`)
		p.finish()
	})
}

func TestStatelessRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t)
		future := strings.Replace(meta, "2026-07-28", "2027-01-01", 1)
		incapable := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
		for _, c := range []struct{ name, send, want string }{
			{"unknown revision", request(1, "tools/list", future), `{"code":-32022,"message":"unsupported protocol version",` +
				`"data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2027-01-01"}}`},
			{"older revision", request(1, "tools/list", strings.Replace(meta, "2026-07-28", "1900-01-01", 1)), `{"code":-32022,"message":"unsupported protocol version",` +
				`"data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"1900-01-01"}}`},
			{
				"no capabilities", request(2, "tools/list", incapable),
				`{"code":-32602,"message":"missing or invalid _meta field \"io.modelcontextprotocol/clientCapabilities\""}`,
			},
			{"removed method", request(3, "ping", meta), `{"code":-32601,"message":"method not found: \"ping\""}`},
			{"unknown tool", toolsCall(4, "nope", `{}`, meta), `{"code":-32602,"message":"unknown tool \"nope\""}`},
		} {
			want(t, c.name, string(p.do(c.send).Error), c.want)
		}
		p.finish()
	})
}

// The response for a client that probes before a handshake.
func TestNoHandshakeAfterDiscover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t)
		p.do(request(1, "server/discover", meta))
		got := string(p.do(initialize("2025-11-25", `{}`)).Error)
		want(t, "initialize after discover", got, `{"code":0,"message":"duplicate \"initialize\" received"}`)
		p.finish()
	})
}

func TestProgressComesBeforeTheResult(t *testing.T) {
	for _, era := range []struct{ name, meta string }{
		{"handshake", `"_meta":{"progressToken":%s}`},
		{"stateless", meta[:len(meta)-1] + `,"progressToken":%s}`},
	} {
		for _, token := range []string{`"tok-1"`, `7`} {
			t.Run(era.name+"/"+token, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := handshake(t, "2025-11-25", `{}`)
					p.send(toolsCall(1, "trigger-long-running-operation", `{"duration":1.5,"steps":3}`, fmt.Sprintf(era.meta, token)))
					for step := 1; step <= 3; step++ {
						want(t, "progress", p.line(), fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":`+
							`{"progressToken":%s,"message":"Step %d of 3","progress":%d,"total":3}}`, token, step, step))
					}
					if got := string(p.recv().Result); !strings.Contains(got, "completed. Duration: 1.5 seconds, Steps: 3.") {
						t.Errorf("result: %s", got)
					}
					p.finish()
				})
			})
		}
	}
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", `{}`)
		p.send(toolsCall(7, "trigger-long-running-operation", `{"duration":3600,"steps":100000}`, `"_meta":{"progressToken":1}`))
		want(t, "first message", p.recv().Method, "notifications/progress") // it runs
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		m := p.recv()
		for m.Method == "notifications/progress" {
			m = p.recv()
		}
		// "SHOULD NOT send a response": the SDK sends one all the same.
		want(t, "id", string(m.ID), "7")
		if got := string(m.Result); !strings.Contains(got, "operation cancelled in step") || !strings.Contains(got, `"isError":true`) {
			t.Errorf("result: %s", got)
		}
		p.finish()
	})
}

func TestLogMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", `{}`)
		want(t, "setLevel", string(p.do(request(1, "logging/setLevel", `"level":"alert"`)).Result), `{}`)
		p.send(toolsCall(2, "send-log-messages", `{}`))
		want(t, "first", string(p.recv().Params), `{"data":"A message at level alert.","level":"alert","logger":"mcpc-demo"}`)
		want(t, "second", string(p.recv().Params), `{"data":"A message at level emergency.","level":"emergency","logger":"mcpc-demo"}`)
		want(t, "answer", string(p.recv().Result), `{"content":[{"type":"text","text":"Sent 2 of 8 log messages."}]}`)
		p.finish()
	})
}

func TestResourceUpdates(t *testing.T) {
	const uri = `"uri":"demo://resource/static/document/instructions.md"`
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", `{}`)
		want(t, "subscribe", string(p.do(request(1, "resources/subscribe", uri)).Result), `{}`)
		p.send(toolsCall(2, "touch-resource", `{}`))
		want(t, "updated", p.line(), `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{`+uri+`}}`)
		want(t, "answer", string(p.recv().ID), "2")
		p.finish()
	})
}

func TestListenOverStdio(t *testing.T) {
	const uri = `demo://resource/static/document/instructions.md`
	synctest.Test(t, func(t *testing.T) {
		p := serve(t)
		p.send(request(1, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["`+uri+`"]},`+meta))
		want(t, "acknowledged", p.recv().Method, "notifications/subscriptions/acknowledged")
		p.send(toolsCall(2, "touch-resource", `{}`, meta))
		want(t, "updated", string(p.recv().Params), `{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"uri":"`+uri+`"}`)
		want(t, "answer", string(p.recv().ID), "2")
		rest, err := p.close() // must not wait for the listener to hang up
		if !strings.Contains(rest, `"id":1,"result":`) || err != nil {
			t.Errorf("at the end: %q, %v", rest, err)
		}
	})
}

func TestEndOfInputAnswersEverything(t *testing.T) {
	const n = 50
	synctest.Test(t, func(t *testing.T) {
		lines := []string{initialize("2025-11-25", `{}`), initialized, toolsCall(1000, "trigger-long-running-operation", `{"duration":3600}`)}
		for id := 1; id <= n; id++ {
			lines = append(lines, toolsCall(id, "echo", `{"message":"x"}`))
		}
		// A reader that has no Close, and no newline at the end.
		var out bytes.Buffer
		if err := Serve(t.Context(), io.MultiReader(strings.NewReader(strings.Join(lines, "\n"))), &out, Options{}); err != nil {
			t.Fatal(err)
		}
		answered := map[string]string{}
		for line := range strings.Lines(out.String()) {
			m := decode(t, line)
			answered[string(m.ID)] = string(m.Result)
		}
		want(t, "answers", len(answered), n+2)
		for id := 1; id <= n; id++ {
			want(t, "echo", answered[fmt.Sprint(id)], `{"content":[{"type":"text","text":"Echo: x"}]}`)
		}
		want(t, "the long one", answered["1000"],
			`{"content":[{"type":"text","text":"Long running operation cancelled in step 1 of 5."}],"isError":true}`)
	})
}

func TestServeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", `{}`)
		p.send(toolsCall(1, "trigger-long-running-operation", `{"duration":3600}`))
		synctest.Wait()
		enough := errors.New("enough")
		p.stop(enough)
		want(t, "answer", string(p.recv().ID), "1")
		if err := <-p.done; err != enough {
			t.Errorf("Serve returned %v, want the cause", err)
		}
	})
}

// TestInvalidLinesAreAnswered checks the responses to invalid lines, and to the lines after them.
func TestInvalidLinesAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", `{}`)
		for _, c := range []struct{ line, answer string }{
			{`this is not JSON`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`},
			{`{"jsonrpc":"2.0","id":7}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"Invalid Request"}}`},
			{`{"jsonrpc":"1.0","id":8,"method":"ping"}`, `{"jsonrpc":"2.0","id":8,"error":{"code":-32600,"message":"Invalid Request"}}`},
			{`{"jsonrpc":"2.0","id":9,"method":"ping"}`, `{"jsonrpc":"2.0","id":9,"result":{}}`},
		} {
			p.send(c.line)
			want(t, c.line, p.line(), c.answer)
		}
		if _, err := p.close(); err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
}

// failing writes the handshake and nothing after it.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

func TestServeEndsWithoutReader(t *testing.T) {
	for _, tool := range []string{
		toolsCall(1, "echo", `{"message":"x"}`),
		toolsCall(1, "trigger-long-running-operation", `{}`, `"_meta":{"progressToken":1}`),
	} {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			done := make(chan error)
			go func() { done <- Serve(context.Background(), r, &failing{left: 1}, Options{}) }()
			fmt.Fprintln(w, initialize("2025-11-25", `{}`)+"\n"+initialized+"\n"+tool)
			if err := <-done; !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("Serve returned %v, want the write's error", err)
			}
		})
	}
}
