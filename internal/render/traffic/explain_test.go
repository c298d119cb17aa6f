package traffic

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/tests/rendertest"
	"mcpc/internal/wire"
)

func explained(st term.Style, k talk) string {
	var b bytes.Buffer
	Explain(&b, st, WithoutRepeats(wire.GroupFrames(k)))
	return b.String()
}

// wholeTalk is what a newcomer meets: the handshake, a page of tools, a call that works, a call
// whose tool fails, and a call whose request fails.
func wholeTalk() talk {
	var k talk
	json := wire.Field{Name: "Content-Type", Value: "application/json"}
	session := wire.Field{Name: "Mcp-Session-Id", Value: "••••(len 36, sha256:1251)"}
	k.post(1, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},`+
		`"clientInfo":{"name":"mcpc","version":"0.1.0"}}}`, jsonFields[:2]...)
	k.answer(1, 200, nil, json, session)
	k.received(1, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},`+
		`"serverInfo":{"name":"everything","version":"2.0.0"},"instructions":"Be kind."}}`)
	k.post(2, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":""}}`, jsonFields...)
	k.answer(2, 200, nil, json)
	k.received(2, `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"get-sum","title":"Sum","description":"Adds two numbers",`+
		`"inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"number","description":"the first"},`+
		`"b":{"type":"number"}},"required":["a","b"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}}},`+
		`"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}},{"name":"b","inputSchema":{}},`+
		`{"name":"c","inputSchema":{}},{"name":"d","inputSchema":{}}],"nextCursor":"cGFnZTI","ttlMs":0,"cacheScope":"private","resultType":"complete",`+
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"everything"}}}}`)
	for _, f := range structuredTalk() {
		f.Stream = 3
		k.add(f)
	}
	k.post(4, `{"jsonrpc":"2.0","id":14,"method":"tools/call","params":{"name":"get-sum","arguments":{"a":"x"}}}`)
	k.answer(4, 200, nil, json)
	k.received(4, `{"jsonrpc":"2.0","id":14,"result":{"content":[{"type":"text","text":"a must be a number"}],"isError":true}}`)
	k.post(5, `{"jsonrpc":"2.0","id":15,"method":"tools/cull"}`)
	k.answer(5, 404, nil, json)
	k.received(5, `{"jsonrpc":"2.0","id":15,"error":{"code":-32601,"message":"Method not found","data":{"method":"tools/cull"}}}`)
	return k
}

// statelessTalk carries what the handshake carries in every request, and is
// answered with a question.
func statelessTalk() talk {
	var k talk
	k.post(1, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"confirm","arguments":{"env":"prod"},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},`+
		`"io.modelcontextprotocol/clientInfo":{"name":"mcpc","version":"0.1.0"}}}}`, append([]wire.Field{
		{Name: "Mcp-Method", Value: "tools/call"},
		{Name: "Mcp-Name", Value: "confirm"},
		{Name: "Mcp-Param-Env", Value: "prod"},
	}, jsonFields...)...)
	k.answer(1, 200, nil, wire.Field{Name: "content-type", Value: "application/json"})
	k.received(1, `{"result":{"resultType":"input_required","inputRequests":{"sure":{"method":"elicitation/create","params":{"message":"Deploy?",`+
		`"requestedSchema":{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]},"mode":"form"}}},"requestState":"state-1"},`+
		`"jsonrpc":"2.0","id":"a"}`)
	return k
}

// strangeTalk holds messages that no peer should send.
func strangeTalk() talk {
	var k talk
	text := string(jsonraw.Quote(rendertest.HostileText))
	k.post(1, `{"jsonrpc":"2.0","id":1,"method":`+text+`,"params":{`+text+`:[`+text+`,1e400,[[],{}],{"x":{"y":[1,2,3,4,5,6,7,8,9,10]}}],"n":`+
		strings.Repeat("9", 300)+`}}`, wire.Field{Name: "Mcp-Name", Value: rendertest.HostileText})
	k.answer(1, 500, nil, wire.Field{Name: "Content-Type", Value: rendertest.HostileText})
	for i := range 30 {
		k.event(1, rendertest.HostileText, fmt.Sprintf(`{"jsonrpc":"2.0","method":"x%d","params":{}}`, i))
	}
	k.event(1, rendertest.HostileText, `{"jsonrpc":"2.0","id":1,"result":`+strings.Repeat(`{"d":`, 40)+text+strings.Repeat(`}`, 40)+`}`)
	return k
}

func TestExplain(t *testing.T) {
	for name, k := range map[string]talk{
		"whole": wholeTalk(), "stateless": statelessTalk(), "pipe": noisyPipe(), "strange": strangeTalk(),
	} {
		text := explained(term.Style{Width: 80}, k)
		rendertest.AssertVisible(t, text)
		rendertest.Golden(t, "explain_"+name+".txt", []byte(text))
	}
	rendertest.Golden(t, "explain_wide.txt", []byte(explained(term.Style{Width: 120}, structuredTalk())))
	rendertest.Golden(t, "explain_narrow.txt", []byte(explained(term.Style{Width: 60, ASCII: true}, structuredTalk())))
	rendertest.Golden(t, "explain_color.txt", []byte(explained(term.Style{Width: 80, Terminal: true, Color: true}, structuredTalk())))
}

func TestExplainFitsTheWidth(t *testing.T) {
	for _, width := range []int{0, 20, 60, 72, 80, 132, 500} {
		text := explained(term.Style{Width: width, ASCII: true}, wholeTalk())
		limit := width
		if limit < 60 {
			limit = 80 // the longest names of members have no shorter form
		}
		for line := range strings.SplitSeq(text, "\n") {
			if term.Width(line) > limit {
				t.Errorf("width %d: %d columns: %q", width, term.Width(line), line)
			}
		}
	}
}

func TestExplainSaysEverythingOnce(t *testing.T) {
	text := explained(term.Style{Width: 500}, wholeTalk())
	notes := map[string]int{}
	for line := range strings.SplitSeq(text, "\n") {
		if _, note, found := strings.Cut(line, "  # "); found {
			notes[note]++
		}
	}
	if len(notes) < 50 {
		t.Errorf("only %d notes", len(notes))
	}
	for note, n := range notes {
		if n > 1 {
			t.Errorf("%d times: %s", n, note)
		}
	}
}

func TestExplainNamesAWrongID(t *testing.T) {
	x := &wire.Exchange{
		Request:  wire.Frame{Raw: []byte(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)},
		Response: wire.Frame{Dir: wire.Received, Raw: []byte(`{"jsonrpc":"2.0","id":"7","result":{}}`)},
	}
	var b bytes.Buffer
	Explain(&b, term.Style{Width: 200}, []*wire.Exchange{x})
	if !strings.Contains(b.String(), "not the request's id, which is 7") {
		t.Error(b.String())
	}
}

func TestExplainNamesTheIDOfTheLastRound(t *testing.T) {
	k := talk{{Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)}}
	k.received(0, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{}}}`)
	k.add(wire.Frame{Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","inputResponses":{}}}`)})
	k.received(0, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	text := explained(term.Style{Width: 500}, k)
	if strings.Contains(text, "not the request's id") || strings.Count(text, "the id of the request that this responds to") == 0 {
		t.Error(text)
	}
}

func TestExplainTasks(t *testing.T) {
	k := talk{{Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"t"}}`)}}
	k.received(0, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"t","status":"completed","ttlMs":null,"result":{"content":[]}}}`)
	text := explained(term.Style{Width: 500}, k)
	for _, want := range []string{"the task's id, as given", "not the final result", "are final", "null means no limit", "the result of the call"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q stands %d times in\n%s", want, strings.Count(text, want), text)
		}
	}
}

// The client answers the server's question with a separate POST, and a server's response to that
// responds to nothing.
func TestExplainAnswersOverHTTP(t *testing.T) {
	var k talk
	k.post(1, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"x"}}`)
	k.event(1, "", `{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	k.post(2, `{"jsonrpc":"2.0","id":4,"result":{}}`)
	k.answer(2, 202, nil)
	k.received(2, `{"jsonrpc":"2.0","id":4,"result":{}}`)
	k.event(1, "", `{"jsonrpc":"2.0","id":4,"result":{}}`)
	text := explained(term.Style{Width: 200}, k)
	for _, want := range []string{"← HTTP 202 Accepted, after 8 ms", "so it responds to nothing", "that this responds to"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("not once %q:\n%s", want, text)
		}
	}
	if strings.Count(text, "→ POST") != 2 || strings.Contains(text, "no HTTP:") {
		t.Errorf("two requests make:\n%s", text)
	}
	for headsOnly, want := range map[bool]string{false: "→ response  36 bytes, a separate POST: HTTP 202 Accepted\n", true: "← HTTP 202 Accepted\n"} {
		var b bytes.Buffer
		if err := Show(&b, term.Style{Width: 200}, View{Exchange: wire.GroupFrames(k)[0], HeadsOnly: headsOnly}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
}

func TestExplainWhiteSpace(t *testing.T) {
	x := &wire.Exchange{Request: wire.Frame{Raw: []byte("\r\n { \"jsonrpc\" : \"2.0\",\n\"id\":1 , \"method\":\"ping\",\"params\":{ \n\t} }\n")}}
	var b bytes.Buffer
	Explain(&b, term.Style{Width: 200}, []*wire.Exchange{x})
	if !strings.Contains(b.String(), "\n    \"params\": {}") || strings.Contains(b.String(), "\r") {
		t.Error(b.String())
	}
}

func TestExplainWithoutAnAnswer(t *testing.T) {
	var b bytes.Buffer
	Explain(&b, term.Style{ASCII: true}, []*wire.Exchange{{Request: wire.Frame{Raw: []byte("{oops\x1b")}}})
	rendertest.AssertVisible(t, b.String())
	for _, want := range []string{"{oops^[", "invalid JSON", "<- no response"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in %s", want, b.String())
		}
	}
	b.Reset()
	Explain(&b, term.Style{}, nil)
	if b.Len() > 0 {
		t.Errorf("nothing to explain: %q", b.String())
	}
}

func TestExplainIsBounded(t *testing.T) {
	for name, result := range map[string]string{
		"text":    `{"text":"` + strings.Repeat("é\u202e", 1<<20) + `"}`,
		"items":   `[` + strings.Repeat(`{"a":{}},`, 10000) + `1]`,
		"numbers": `[` + strings.Repeat(`10,`, 10000) + `1]`,
		"members": `{` + strings.Repeat(`"name":"value",`, 10000) + `"x":1}`,
		"deep":    strings.Repeat(`[`, 900) + strings.Repeat(`]`, 900),
	} {
		k := talk{{Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"x"}`)}}
		k.received(0, `{"jsonrpc":"2.0","id":1,"result":`+result+`}`)
		text := explained(term.Style{Width: 80}, k)
		rendertest.AssertVisible(t, text)
		if len(text) > 4<<10 || !strings.Contains(text, "…") {
			t.Errorf("%s: %d bytes:\n%.2000s", name, len(text), text)
		}
	}
}

func TestExplainStatuses(t *testing.T) {
	var k talk
	for i, code := range []int{200, 202, 302, 401, 404, 400, 500} {
		k.post(i+1, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, i))
		k.answer(i+1, code, nil, wire.Field{Name: "Location", Value: "/x"}, wire.Field{Name: "WWW-Authenticate", Value: "Bearer"})
	}
	text := explained(term.Style{Width: 200}, k)
	for _, want := range []string{
		"HTTP succeeded", "get no response of their own", "does not follow", "authentication required", "unknown method",
		"rejects the request", "error of the server", "authentication scheme",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing says %q:\n%s", want, text)
		}
	}
	for _, verb := range []string{"GET", "DELETE", "PATCH"} {
		if (verbNotes[verb] == "") != (verb == "PATCH") {
			t.Errorf("%s: %q", verb, verbNotes[verb])
		}
	}
}

// TestNotesAreWritable rejects duplicate rows, unknown roles and badly formed notes.
func TestNotesAreWritable(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range memberNotes {
		key := row.role + "|" + row.method + "|" + row.path + "|" + row.value
		if seen[key] {
			t.Errorf("two rows for %s", key)
		}
		seen[key] = true
		if strings.HasSuffix(row.note, ".") || len(row.note) > 130 {
			t.Errorf("%s: %q", key, row.note)
		}
		if row.role != "" && roleTitles[row.role] == "" {
			t.Errorf("%s: no such role", key)
		}
	}
}

func FuzzExplain(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"x"}}`, structuredResult, 80)
	f.Add("[]", `[{"a":[1,"`+rendertest.HostileText+`"]}]`, 0)
	f.Fuzz(func(t *testing.T, request, response string, width int) {
		x := &wire.Exchange{Request: wire.Frame{Raw: []byte(request)}, Response: wire.Frame{Dir: wire.Received, Raw: []byte(response)}}
		var b bytes.Buffer
		Explain(&b, term.Style{Width: width % 1000}, []*wire.Exchange{x})
		for line := range strings.SplitSeq(b.String(), "\n") {
			if term.Line(line) != line {
				t.Errorf("not sanitized: %q", line)
			}
		}
	})
}
