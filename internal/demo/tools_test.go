package demo

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// said returns a result with one text.
func said(s string) string {
	b, _ := json.Marshal(s)
	return `{"content":[{"type":"text","text":` + string(b) + `}]}`
}

func failed(s string) string {
	return strings.TrimSuffix(said(s), "}") + `,"isError":true}`
}

func structuredAnd(value string) string {
	return strings.TrimSuffix(said(value), "}") + `,"structuredContent":` + value + `}`
}

func image(annotations string) string {
	return `{"type":"image","mimeType":"image/png","data":"` + base64.StdEncoding.EncodeToString(logo()) + `"` + annotations + `}`
}

// results are the calls that answer with a result, and its bytes before
// 2026-07-28.
func results() []struct{ tool, arguments, want string } {
	return []struct{ tool, arguments, want string }{
		{"echo", `{"message":"hello"}`, said("Echo: hello")},
		{"echo", `{"message":""}`, said("Echo: ")},
		{"get-sum", `{"a":40,"b":2}`, said("The sum of 40 and 2 is 42.")},
		{"get-sum", `{"a":9007199254740993,"b":0}`, said("The sum of 9007199254740993 and 0 is 9007199254740993.")},
		{"get-sum", `{"a":0.1,"b":0.2}`, said("The sum of 0.1 and 0.2 is 0.3.")},
		{"get-sum", `{"a":1e3,"b":-0.50}`, said("The sum of 1e3 and -0.50 is 999.5.")},
		{"get-env", `{}`, said("{\n  \"DEMO_MODE\": \"synthetic\",\n  \"HOME\": \"/home/demo\",\n  \"LANG\": \"C.UTF-8\",\n" +
			"  \"PATH\": \"/usr/local/bin:/usr/bin:/bin\",\n  \"USER\": \"demo\"\n}")},
		{"get-structured-content", `{"location":"New York"}`, structuredAnd(`{"temperature":33,"conditions":"Cloudy","humidity":82}`)},
		{"get-structured-content", `{"location":"Chicago"}`, structuredAnd(`{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}`)},
		{"get-structured-content", `{"location":"Los Angeles"}`, structuredAnd(`{"temperature":73,"conditions":"Sunny / Clear","humidity":48}`)},
		{"get-tiny-image", `{}`, `{"content":[{"type":"text","text":"Here's the image you requested:"},` + image("") +
			`,{"type":"text","text":"The image above is the mcpc logo."}]}`},
		{
			"get-annotated-message", `{"messageType":"error","includeImage":true}`,
			`{"content":[{"type":"text","text":"Error: Operation failed","annotations":{"audience":["user","assistant"],"priority":1}},` +
				image(`,"annotations":{"audience":["user"],"priority":0.5}`) + `]}`,
		},
		{
			"get-annotated-message", `{"messageType":"success"}`,
			`{"content":[{"type":"text","text":"Operation completed successfully","annotations":{"audience":["user"],"priority":0.7}}]}`,
		},
		{
			"get-annotated-message", `{"messageType":"debug"}`,
			`{"content":[{"type":"text","text":"Debug: Cache hit ratio 0.95, latency 150ms","annotations":{"audience":["assistant"],"priority":0.3}}]}`,
		},
		{"get-resource-links", `{"count":2}`, `{"content":[{"type":"text","text":"Here are 2 resource links to resources available in this server:"},` +
			`{"type":"resource_link","mimeType":"application/octet-stream","uri":"demo://resource/dynamic/blob/1","name":"Blob Resource 1","description":"Resource 1: binary blob resource"},` +
			`{"type":"resource_link","mimeType":"text/plain","uri":"demo://resource/dynamic/text/2","name":"Text Resource 2","description":"Resource 2: plaintext resource"}]}`},
		{"get-resource-reference", `{}`, `{"content":[{"type":"text","text":"Returning resource reference for Resource 1:"},` +
			`{"type":"resource","resource":{"uri":"demo://resource/dynamic/text/1","mimeType":"text/plain","text":"Resource 1: This is a plaintext resource"}},` +
			`{"type":"text","text":"You can access this resource using the URI: demo://resource/dynamic/text/1"}]}`},
		{"get-resource-reference", `{"resourceType":"Blob","resourceId":2}`, `{"content":[{"type":"text","text":"Returning resource reference for Resource 2:"},` +
			`{"type":"resource","resource":{"uri":"demo://resource/dynamic/blob/2","mimeType":"application/octet-stream","blob":"UmVzb3VyY2UgMjogVGhpcyBpcyBhIGJhc2U2NCBibG9i"}},` +
			`{"type":"text","text":"You can access this resource using the URI: demo://resource/dynamic/blob/2"}]}`},
		{"trigger-long-running-operation", `{}`, said("Long running operation completed. Duration: 10 seconds, Steps: 5.")},
		{"trigger-long-running-operation", `{"duration":0,"steps":2}`, said("Long running operation completed. Duration: 0 seconds, Steps: 2.")},
		{"route-by-region", `{"region":"eu-1","priority":3}`, said("Routed to region eu-1.\n" +
			"region: \"eu-1\"; Mcp-Param-Region: (no header)\npriority: 3; Mcp-Param-Priority: (no header)")},
		{"forget-everything", `{}`, said("Everything is forgotten. (Nothing was stored, so nothing is lost.)")},
		{"show-weather", `{}`, said("Sunny, 24 degrees. (It always is, here.)")},
		{"touch-resource", `{"uri":"demo://x"}`, said("Touched demo://x.")},
		{"change-list", `{"list":"prompts"}`, said("The list of prompts has an extra entry.")},
		{"change-list", `{"list":"prompts","remove":true}`, said("The list of prompts is as it was at first.")},
		{"send-log-messages", `{}`, said("Sent 0 of 8 log messages.")},
		{"hang-up", `{}`, said("You found the answer.")},
		{"fail", `{}`, failed("This tool always fails.")},
		{"fail", `{"message":"no"}`, failed("no")},
		{"break-output-schema", `{}`, structuredAnd(`{"count":3,"label":"three"}`)},
		{"break-output-schema", `{"break":true}`, structuredAnd(`{"count":"three","extra":true}`)},
		{"trigger-elicitation-request", `{}`, failed("This tool needs a client that declares the elicitation capability.")},
		{"trigger-url-elicitation", `{}`, failed("This tool needs a client that declares the elicitation.url capability.")},
		{"order-tea", `{}`, failed("This tool needs a client that declares the elicitation capability.")},
		{"trigger-sampling-request", `{"prompt":"hi"}`, failed("This tool needs a client that declares the sampling capability.")},
		{"get-roots-list", `{}`, failed("This tool needs a client that declares the roots capability.")},
	}
}

func TestEveryTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", `{}`)
		called := map[string]bool{"raise-protocol-error": true} // below
		for i, c := range results() {
			got := p.do(toolsCall(i, c.tool, c.arguments))
			want(t, c.tool+" "+c.arguments, string(got.Result), c.want)
			called[c.tool] = true
		}
		listed := slices.Sorted(maps.Keys(definitions(t, p)))
		want(t, "tools called", fmt.Sprint(slices.Sorted(maps.Keys(called))), fmt.Sprint(listed))
		p.finish()
	})
}

func TestRaiseProtocolError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", `{}`)
		want(t, "default", string(p.do(toolsCall(1, "raise-protocol-error", `{}`)).Error),
			`{"code":-32000,"message":"This tool always raises an error.","data":{"tool":"raise-protocol-error"}}`)
		want(t, "chosen", string(p.do(toolsCall(2, "raise-protocol-error", `{"code":-32042,"message":"go away"}`)).Error),
			`{"code":-32042,"message":"go away","data":{"tool":"raise-protocol-error"}}`)
		p.finish()
	})
}

func TestArgumentsThatBreakTheSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", `{}`)
		for i, c := range []struct{ tool, arguments, problems string }{
			{"get-sum", `{"a":"nope","b":1}`, "a: expected number, got string"},
			{"get-sum", `{"a":1}`, "b: required number is missing"},
			{"get-sum", `{"a":null,"c":1}`, "c: no such argument (there is: a, b)\n- a: expected number, got null\n- b: required number is missing"},
			{"get-sum", `null`, "arguments: expected object, got null"},
			{"get-sum", `{"a":1e999999999,"b":1}`, "a: more digits than this server counts"},
			{"echo", `{"message":5}`, "message: expected string, got number"},
			{"get-structured-content", `{"location":"London"}`, `location: expected one of ["New York" "Chicago" "Los Angeles"], got "London"`},
			{"get-annotated-message", `{"messageType":"debug","includeImage":"yes"}`, "includeImage: expected boolean, got string"},
			{"get-resource-links", `{"count":11}`, "count: must be at most 10, got 11"},
			{"get-resource-links", `{"count":2.5}`, "count: expected integer, got 2.5"},
			{"trigger-long-running-operation", `{"duration":-1}`, "duration: must be at least 0, got -1"},
		} {
			got := p.do(toolsCall(i, c.tool, c.arguments))
			want(t, c.tool+" "+c.arguments, string(got.Result), failed("Invalid arguments for tool "+c.tool+":\n- "+c.problems))
		}
		without := p.do(request(100, "tools/call", `"name":"get-sum"`))
		want(t, "no arguments", string(without.Result),
			failed("Invalid arguments for tool get-sum:\n- a: required number is missing\n- b: required number is missing"))
		p.finish()
	})
}

// definition is the part of a tool in tools/list that tests need.
type definition struct {
	Name, Title, Description  string
	InputSchema, OutputSchema json.RawMessage
	Annotations               struct {
		ReadOnlyHint, IdempotentHint   bool
		DestructiveHint, OpenWorldHint *bool
	}
}

func definitions(t *testing.T, p *peer) map[string]definition {
	t.Helper()
	found := map[string]definition{}
	for _, raw := range walk(t, p, "tools/list", "tools", "") {
		var d definition
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		found[d.Name] = d
	}
	return found
}

func TestDefinitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := handshake(t, "2025-11-25", `{}`)
		var destructive []string
		for name, d := range definitions(t, p) {
			if d.Title == "" || d.Description == "" {
				t.Errorf("%s has no title or description", name)
			}
			if d.Annotations.DestructiveHint == nil || d.Annotations.OpenWorldHint == nil {
				t.Errorf("%s leaves a hint to its default, which is true", name)
			} else if *d.Annotations.DestructiveHint {
				destructive = append(destructive, name)
			}
			parseSchema(string(d.InputSchema)) // panics on a rule that is not checked
		}
		want(t, "destructive tools", fmt.Sprint(destructive), "[forget-everything]")
		p.finish()
	})
}

func TestSumsAreExact(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"1", "2", "3"},
		{"-0", "0", "0"},
		{"0.1", "0.2", "0.3"},
		{"1.50", "1.50", "3"},
		{"1e-3", "1E+2", "100.001"},
		{"123456789012345678901234567890", "1", "123456789012345678901234567891"},
		{"9007199254740993", "0.5", "9007199254740993.5"},
	} {
		got := arguments{"a": json.RawMessage(c.a), "b": json.RawMessage(c.b)}
		sum := got.numberValue("a")
		want(t, c.a+"+"+c.b, formatDecimal(sum.Add(sum, got.numberValue("b"))), c.want)
	}
	for _, text := range []string{"1e1001", "1e-1001", "1e99999999999999999999", strings.Repeat("9", 1001)} {
		if _, err := parseDecimal(text); err == nil {
			t.Errorf("decimal(%.20s…) has no error", text)
		}
	}
}
