package demo

import (
	"strings"
	"testing"
	"testing/synctest"
)

const allCapabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`

// questions lists the tools that send a request to the client, that request in both
// eras, an answer, and the result that the tool then returns.
func questions() []struct{ tool, arguments, method, asked, answer, want string } {
	return []struct{ tool, arguments, method, asked, answer, want string }{
		{
			"trigger-elicitation-request", `{}`, "elicitation/create",
			`{"mode":"form","message":"Please provide inputs for the following fields:","requestedSchema":{"type":"object",`,
			`{"action":"decline"}`,
			`{"content":[{"type":"text","text":"❌ User declined to provide the requested information."},` +
				`{"type":"text","text":"Raw result: {\n  \"action\": \"decline\"\n}"}]`,
		}, {
			"trigger-elicitation-request", `{}`, "elicitation/create",
			`{"mode":"form","message":"Please provide inputs for the following fields:","requestedSchema":{"type":"object",`,
			`{"action":"accept","content":{"name":"Ada"}}`,
			`{"content":[{"type":"text","text":"✅ User provided the requested information!"},` +
				`{"type":"text","text":"Raw result: {\n  \"action\": \"accept\",\n  \"content\": {\n`,
		}, {
			"trigger-url-elicitation", `{"url":"https://example.com/x","message":"Go"}`, "elicitation/create",
			`{"mode":"url","message":"Go","url":"https://example.com/x"`,
			`{"action":"accept"}`,
			`{"content":[{"type":"text","text":"The user's answer to visiting https://example.com/x: accept"}]`,
		}, {
			"trigger-sampling-request", `{"prompt":"Say hi","maxTokens":20}`, "sampling/createMessage",
			`{"maxTokens":20,"messages":[{"content":{"type":"text","text":"Resource trigger-sampling-request context: Say hi"},"role":"user"}],` +
				`"systemPrompt":"You are a helpful test server.","temperature":0.7}`,
			`{"role":"assistant","content":{"type":"text","text":"hi there"},"model":"demo-model","stopReason":"endTurn"}`,
			`{"content":[{"type":"text","text":"LLM sampling result: \n{\n`,
		}, {
			"get-roots-list", `{}`, "roots/list", ``,
			`{"roots":[{"uri":"file:///home/demo/project","name":"project"},{"uri":"file:///tmp"}]}`,
			`{"content":[{"type":"text","text":"Current MCP Roots (2 total):\n\n1. project\n   URI: file:///home/demo/project\n\n` +
				`2. Unnamed Root\n   URI: file:///tmp"}]`,
		},
	}
}

func TestLegacyToolsSendRequests(t *testing.T) {
	for _, c := range questions() {
		t.Run(c.tool, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := handshake(t, "2025-11-25", allCapabilities)
				q := p.do(toolsCall(1, c.tool, c.arguments))
				want(t, "asks", q.Method, c.method)
				if !strings.HasPrefix(string(q.Params), c.asked) {
					t.Errorf("asks for\n     %s\nwant %s", q.Params, c.asked)
				}
				p.send(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + c.answer + `}`)
				answer := p.recv()
				if c.tool == "trigger-url-elicitation" { // elicitation/complete comes before the result
					want(t, "tells", answer.Method, "notifications/elicitation/complete")
					answer = p.recv()
				}
				if got := string(answer.Result); !strings.HasPrefix(got, c.want) {
					t.Errorf("answers\n     %s\nwant %s", got, c.want)
				}
				p.finish()
			})
		})
	}
}

func TestStatelessToolsReturnInputRequired(t *testing.T) {
	capable := strings.Replace(meta, `"io.modelcontextprotocol/clientCapabilities":{}`,
		`"io.modelcontextprotocol/clientCapabilities":`+allCapabilities, 1)
	for _, c := range questions() {
		t.Run(c.tool, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serve(t)
				q := string(p.do(toolsCall(1, c.tool, c.arguments, capable)).Result)
				// "content":null is the SDK's; the specification has no content here.
				for _, member := range []string{
					`"resultType":"input_required"`, `"content":null`, `"requestState":"the-state-of-the-demo"`,
					`"inputRequests":{"answer":{"method":"` + c.method + `"`, c.asked,
				} {
					if !strings.Contains(q, member) {
						t.Errorf("result %s\nhas no %s", q, member)
					}
				}
				answer := `"inputResponses":{"answer":` + c.answer + `}`
				got := string(p.do(toolsCall(2, c.tool, c.arguments, capable, answer, `"requestState":"the-state-of-the-demo"`)).Result)
				if !strings.Contains(got, strings.TrimPrefix(c.want, "{")) || !strings.Contains(got, `"resultType":"complete"`) {
					t.Errorf("answers\n     %s\nwant %s", got, c.want)
				}
				want(t, "state not echoed", string(p.do(toolsCall(3, c.tool, c.arguments, capable, answer)).Error),
					`{"code":-32602,"message":"requestState is not what this server sent"}`)
				want(t, "nothing declared", strings.HasPrefix(string(p.do(toolsCall(4, c.tool, c.arguments, meta)).Error),
					`{"code":-32021,`), true)
				p.finish()
			})
		})
	}
}

func TestClientRefusesToAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-06-18", allCapabilities)
		q := p.do(toolsCall(1, "trigger-sampling-request", `{"prompt":"hi"}`))
		p.send(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"error":{"code":-1,"message":"User rejected sampling request"}}`)
		want(t, "answer", string(p.recv().Result),
			failed(`The client answered with an error: calling "sampling/createMessage": User rejected sampling request`))
		p.finish()
	})
}

// A form has only what its revision knows (client/elicitation).
func TestFormsFitTheRevision(t *testing.T) {
	for revision, c := range map[string]struct{ has, hasNot []string }{
		"2025-06-18": {[]string{`"enumNames":["Superman"`}, []string{`"array"`, `"oneOf"`, `"default":42`, `"default":"`}},
		"2025-11-25": {[]string{`"array"`, `"oneOf"`, `"default":42`}, []string{`"enumNames"`}},
	} {
		t.Run(revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := handshake(t, revision, allCapabilities)
				q := p.do(toolsCall(1, "trigger-elicitation-request", `{}`))
				for _, part := range c.has {
					want(t, part, strings.Contains(string(q.Params), part), true)
				}
				for _, part := range c.hasNot {
					want(t, part, strings.Contains(string(q.Params), part), false)
				}
				p.send(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":{"action":"decline"}}`)
				p.recv()
				p.finish()
			})
		})
	}
}

func TestInputEndsWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", allCapabilities)
		p.do(toolsCall(1, "trigger-elicitation-request", `{}`))
		rest, err := p.close()
		if !strings.Contains(rest, `"id":1,"result":{"content":[{"type":"text","text":"The client answered with an error: context canceled"}],"isError":true}`) || err != nil {
			t.Errorf("at the end: %q, %v", rest, err)
		}
	})
}

// Several rounds ask for the same in both eras, both if the server keeps no state and if it waits.
func TestAskingInRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", allCapabilities)
		q := p.do(toolsCall(1, "order-tea", `{}`))
		for _, content := range []string{`{"name":"Ada"}`, `{"sugar":2}`, `{"tea":"mint"}`} {
			p.send(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":{"action":"accept","content":` + content + `}}`)
			q = p.recv()
		}
		want(t, "tea", string(q.Result), said("Tea for Ada: mint, sugar 2."))
		p.finish()
	})
	capable := strings.Replace(meta, `"io.modelcontextprotocol/clientCapabilities":{}`,
		`"io.modelcontextprotocol/clientCapabilities":`+allCapabilities, 1)
	synctest.Test(t, func(t *testing.T) {
		p := serve(t)
		q := string(p.do(toolsCall(1, "order-tea", `{}`, capable)).Result)
		want(t, "first", strings.Contains(q, `"inputRequests":{"who":{`) && strings.Contains(q, `"requestState":"the-state-of-the-demo"`), true)
		q = string(p.do(toolsCall(2, "order-tea", `{}`, capable, `"requestState":"the-state-of-the-demo"`,
			`"inputResponses":{"who":{"action":"accept","content":{"name":"Ada"}}}`)).Result)
		want(t, "second", strings.Contains(q, `"inputRequests":{"sugar":{`) && strings.Contains(q, `"requestState":"named:Ada"`), true)
		got := string(p.do(toolsCall(3, "order-tea", `{}`, capable, `"requestState":"named:Ada"`,
			`"inputResponses":{"tea":{"action":"accept","content":{"tea":"mint"}},"sugar":{"action":"decline"}}`)).Result)
		want(t, "third", strings.Contains(got, `"Then no tea for Ada."`), true)
		want(t, "foreign state", string(p.do(toolsCall(4, "order-tea", `{}`, capable, `"requestState":"x"`)).Error),
			`{"code":-32602,"message":"requestState is not what this server sent"}`)
		p.finish()
	})
}

// The error -32042 sends the user to a page, and believes that he was there when
// the same call comes again.
func TestURLElicitationRequired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", allCapabilities)
		refused := string(p.do(toolsCall(1, "trigger-url-elicitation", `{"errorPath":true}`)).Error)
		if !strings.HasPrefix(refused, `{"code":-32042,`) || !strings.Contains(refused, `"elicitations":[{"mode":"url",`) {
			t.Errorf("%s", refused)
		}
		want(t, "then", p.do(toolsCall(2, "trigger-url-elicitation", `{"errorPath":true}`)).Method, "elicitation/create")
		_, _ = p.close()
	})
}
