package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// conformant serves with the fixtures of the conformance suite, inside synctest.
func conformant(t *testing.T) *peer {
	t.Helper()
	return serveWith(t, Options{Conformance: true, Now: time.Now})
}

// declaring is meta with capabilities of the client.
func declaring(capabilities string) string {
	return strings.Replace(meta, `clientCapabilities":{}`, `clientCapabilities":`+capabilities, 1)
}

// plain is a result without what each result has since 2026-07-28.
func plain(result json.RawMessage) string {
	const server = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcpc-demo","title":"mcpc demo server","version":"1.0.0"}},`
	return strings.NewReplacer(server, "", `,"resultType":"complete"`, "").Replace(string(result))
}

func TestFixturesOfContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := conformant(t)
		for i, c := range []struct{ tool, arguments, want string }{
			{"test_simple_text", `{}`, said("This is a simple text response for testing.")},
			{"test_image_content", `{}`, `{"content":[{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo`},
			{"test_audio_content", `{}`, `{"content":[{"type":"audio","mimeType":"audio/wav","data":"UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA=="}]}`},
			{"test_embedded_resource", `{}`, `{"content":[{"type":"resource","resource":{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}}]}`},
			{"test_error_handling", `{}`, failed("This tool intentionally returns an error for testing")},
			{"json_schema_2020_12_tool", `{"phone":"1","contactMethod":"phone"}`, said(`Called with {"contactMethod":"phone","phone":"1"}`)},
			{"json_schema_2020_12_tool", `{"email":"a","contactMethod":"phone"}`, `{"content":[{"type":"text","text":"validating \"arguments\": `},
			{"greet", `{"name":"World"}`, said("Hello, World!")},
		} {
			if got := plain(p.do(toolsCall(i, c.tool, c.arguments, meta)).Result); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s:\n got %s\nwant %s", c.tool, got, c.want)
			}
		}
		p.finish()
	})
}

// The suite reads one page of a list.
func TestFixturesAreOnOnePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := conformant(t)
		for i, c := range []struct{ method, has string }{
			{"tools/list", `"x-mcp-header":"Region"`}, {"tools/list", `"$anchor":"addressDef"`}, {"tools/list", `"name":"touch-resource"`},
			{"prompts/list", `"name":"test_prompt_with_image"`}, {"resources/list", `"uri":"test://watched-resource"`},
			{"resources/templates/list", `"uriTemplate":"test://template/{id}/data"`},
			{"server/discover", `"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true},"io.modelcontextprotocol/tasks":{},`},
		} {
			got := string(p.do(request(i, c.method, meta)).Result)
			want(t, c.method+" has "+c.has, strings.Contains(got, c.has), true)
			want(t, c.method+" has more", strings.Contains(got, `"nextCursor"`), false)
		}
		p.finish()
	})
}

func TestFixturesThatAreNoTools(t *testing.T) {
	const reference = `"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},`
	synctest.Test(t, func(t *testing.T) {
		p := conformant(t)
		for i, c := range []struct{ method, members, want string }{
			{"resources/read", `"uri":"test://template/123/data"`, `"text":"{\"data\":\"Data for ID: 123\",\"id\":\"123\",\"templateTest\":true}"`},
			{"resources/read", `"uri":"test://static-text"`, `"text":"This is the content of the static text resource."`},
			{"resources/read", `"uri":"test://static-binary"`, `"blob":"iVBORw0KGgo`},
			{"prompts/get", `"name":"test_prompt_with_arguments","arguments":{"arg1":"hello","arg2":"world"}`, `"text":"Prompt with arguments: arg1='hello', arg2='world'"`},
			{"prompts/get", `"name":"test_prompt_with_arguments","arguments":{"arg1":"hello"}`, `required argument \"arg2\" is missing`},
			{"prompts/get", `"name":"test_prompt_with_embedded_resource","arguments":{"resourceUri":"test://x"}`, `"messages":[{"content":{"type":"resource","resource":{"uri":"test://x"`},
			{"prompts/get", `"name":"test_prompt_with_image"`, `"messages":[{"content":{"type":"image"`},
			{"completion/complete", reference + `"argument":{"name":"arg1","value":"par"}`, `"values":["paris","park","party"]`},
			{"completion/complete", reference + `"argument":{"name":"arg1","value":"test"}`, `"values":[]`},
			{"completion/complete", reference + `"argument":{"name":"arg3","value":""}`, `nothing to complete for argument \"arg3\"`},
		} {
			m := p.do(request(i, c.method, c.members+","+meta))
			if got := string(m.Result) + string(m.Error); !strings.Contains(got, c.want) {
				t.Errorf("%s %s:\n got %s\nwant %s", c.method, c.members, got, c.want)
			}
		}
		p.finish()
	})
}

// What a fixture asks for is part of a result since 2026-07-28, and a request before.
func TestFixturesThatAsk(t *testing.T) {
	const answer = `{"action":"accept","content":{"name":"Ada"}}`
	synctest.Test(t, func(t *testing.T) {
		p := conformant(t)
		call := func(members ...string) message {
			return p.do(toolsCall(1, "test_input_required_result_elicitation", `{}`, members...))
		}
		asked := `"resultType":"input_required","inputRequests":{"user_name":{"method":"elicitation/create","params":{"mode":"form","message":"What is your name?"`
		capable := declaring(allCapabilities)
		for what, members := range map[string][]string{
			"first": {capable}, "wrong key": {capable, `"inputResponses":{"wrong":` + answer + `}`},
			"wrong kind": {capable, `"inputResponses":{"user_name":{"roots":[]}}`},
		} {
			want(t, what, strings.Contains(string(call(members...).Result), asked), true)
		}
		want(t, "answered", plain(call(capable, `"inputResponses":{"user_name":`+answer+`,"more":`+answer+`}`).Result), said("Hello, Ada!"))
		want(t, "nothing declared", string(call(meta).Error), `{"code":-32021,"message":"This needs a client with other capabilities.",`+
			`"data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}`)
		some := string(p.do(toolsCall(2, "test_input_required_result_capabilities", `{}`, declaring(`{"sampling":{}}`))).Result)
		want(t, "asks for what is declared", strings.Contains(some, "sampling/createMessage"), true)
		want(t, "asks for what is not", strings.Contains(some, "elicitation/create") || strings.Contains(some, "roots/list"), false)
		p.finish()
	})
	synctest.Test(t, func(t *testing.T) {
		p := conformant(t)
		p.do(initialize("2025-11-25", allCapabilities))
		p.send(initialized)
		q := p.do(toolsCall(1, "test_elicitation", `{"message":"Who?"}`))
		want(t, "asks", q.Method, "elicitation/create")
		p.send(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":{"action":"accept","content":{"username":"ada","email":"a@b.c"}}}`)
		want(t, "answer", string(p.recv().Result), said(`User response: action=accept, content={"email":"a@b.c","username":"ada"}`))
		want(t, "rounds", string(p.do(toolsCall(2, "test_input_required_result_multi_round", `{}`)).Result), failed("this tool needs a revision with multi round-trip requests"))
		p.finish()
	})
}

// A state is good for the tool that it was signed for, and as it was sent.
func TestFixturesSignTheirState(t *testing.T) {
	capable := declaring(allCapabilities)
	synctest.Test(t, func(t *testing.T) {
		p := conformant(t)
		round := func(tool, state, key, content string) message {
			return p.do(toolsCall(1, tool, `{}`, capable, fmt.Sprintf(`"requestState":%q`, state),
				fmt.Sprintf(`"inputResponses":{%q:{"action":"accept","content":%s}}`, key, content)))
		}
		stateOf := func(m message) string {
			var r struct{ RequestState string }
			if err := json.Unmarshal(m.Result, &r); err != nil || r.RequestState == "" {
				t.Fatalf("%s: no state (%v)", m.Result, err)
			}
			return r.RequestState
		}
		const refused = `{"code":-32602,"message":"requestState is not what this server sent"}`
		state := stateOf(p.do(toolsCall(1, "test_input_required_result_request_state", `{}`, capable)))
		want(t, "signed", plain(round("test_input_required_result_request_state", state, "confirm", `{"ok":true}`).Result), said("state-ok"))
		for _, tampered := range []string{state + "-TAMPERED", "x" + state, "", strings.ToUpper(state)} {
			want(t, tampered, string(round("test_input_required_result_request_state", tampered, "confirm", `{"ok":true}`).Error), refused)
		}
		want(t, "of another tool", string(round("test_input_required_result_tampered_state", state, "confirm", `{"ok":true}`).Error), refused)

		const tool = "test_input_required_result_multi_round"
		first := stateOf(p.do(toolsCall(1, tool, `{}`, capable)))
		second := stateOf(round(tool, first, "step1", `{"name":"Ada"}`))
		want(t, "asked again", stateOf(round(tool, second, "step1", `{"name":"Ada"}`)), second)
		want(t, "done", plain(round(tool, second, "step2", `{"color":"blue"}`).Result), said("Ada likes blue."))
		want(t, "tampered", string(round(tool, second[1:], "step2", `{"color":"blue"}`).Error), refused)
		p.finish()
	})
}
