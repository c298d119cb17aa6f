package shape

import (
	"fmt"
	"strings"
	"testing"

	"mcpc/internal/wire"
)

func check(revision, method, message string) (texts []string) {
	for _, f := range Check(revision, method, wire.ParseMessage([]byte(message))) {
		texts = append(texts, strings.TrimSpace(f.Pointer+" "+f.Text))
	}
	return texts
}

func TestFindingsOfResults(t *testing.T) {
	for _, c := range []struct{ revision, method, result, want string }{
		{"2025-06-18", "tools/call", `{"content":[{"type":"text","text":"x"}]}`, ""},
		{"2025-06-18", "tools/call", `{"content":[{"type":"text","text":5}]}`, "/content/0/text must be a string, got 5"},
		{"2025-06-18", "tools/call", `{"content":[{"type":"text"},{"type":"image","data":""}]}`, "/content/0/text is missing\n/content/1/mimeType is missing"},
		{"2025-06-18", "tools/call", `{"content":[null,"str"]}`, "/content/0 must be an object, got null\n/content/1 must be an object, got \"str\""},
		{"2025-06-18", "tools/call", `{"content":[],"isError":null}`, "/isError must be true or false, got null"},
		{
			"2025-06-18", "tools/call", `{"content":[{"type":"video"}]}`,
			`/content/0/type must be "text", "image", "audio", "resource_link" or "resource", got "video"`,
		},
		{
			"2024-11-05", "tools/call", `{"content":[{"type":"audio","data":"","mimeType":"a/b"}]}`,
			`/content/0/type must be "text", "image" or "resource", got "audio"`,
		},
		{"2025-06-18", "tools/call", `{"content":[{}]}`, "/content/0/type is missing"},
		{"2025-06-18", "tools/call", `{"content":[{"type":"resource","resource":{"uri":"a:b"}}]}`, "/content/0/resource/text is missing"},
		{"2025-06-18", "tools/call", `{"content":[{"type":"resource","resource":{"uri":5,"blob":""}}]}`, "/content/0/resource/uri must be a string, got 5"},
		{"2025-06-18", "tools/call", `{"content":[],"structuredContent":[1]}`, "/structuredContent must be an object, got [1]"},
		{"2026-07-28", "tools/call", `{"content":[],"structuredContent":[1],"resultType":"complete"}`, ""},
		{"2026-07-28", "tools/call", `{"content":[]}`, "/resultType is missing"},
		{
			"2026-07-28", "tools/call", `{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"x"}}}`,
			`/inputRequests/b/method must be "elicitation/create", "sampling/createMessage" or "roots/list", got "x"`,
		},
		{
			"2025-11-25", "tools/call", `{"task":{"taskId":"t","status":"odd","createdAt":"","lastUpdatedAt":"","ttl":null}}`,
			`/task/status must be "working", "input_required", "completed", "failed" or "cancelled", got "odd"`,
		},
		{
			"2025-11-25", "prompts/get", `{"messages":[{"role":"x","content":{"type":"text","text":""}}]}`,
			`/messages/0/role must be "user" or "assistant", got "x"`,
		},
		{"2025-11-25", "completion/complete", `{"completion":{"values":[1]}}`, "/completion/values/0 must be a string, got 1"},
		{
			"2026-07-28", "completion/complete", `{"resultType":"complete","completion":{"values":[` + strings.Repeat(`"",`, 100) + `""]}}`,
			"/completion/values must have at most 100 items, got 101",
		},
		{"2025-11-25", "resources/read", `{"contents":[{"uri":"a~/b"}]}`, "/contents/0/text is missing"},
		{"2025-11-25", "tools/list", `{"tools":[],"_meta":{"a":1},"more":5,"nextCursor":null}`, "/nextCursor must be a string, got null"},
		{
			"2025-11-25", "resources/list", `{"resources":[{"uri":"a:b","name":"x","annotations":{"priority":2,"audience":["me"]},"size":1.5}]}`,
			"/resources/0/annotations/audience/0 must be \"user\" or \"assistant\", got \"me\"\n" +
				"/resources/0/annotations/priority must be a number from 0 to 1, got 2\n/resources/0/size must be an integer, got 1.5",
		},
		{"2025-11-25", "resources/list", `{"resources":[{"uri":"a:b","name":"x","size":1.0}]}`, ""},
		{
			"2025-11-25", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":true},"serverInfo":{"name":"x"}}`,
			"/capabilities/tools must be an object, got true\n/serverInfo/version is missing",
		},
		{"2099-01-01", "tools/call", `5`, ""},
		{"2025-11-25", "own/method", `5`, ""},
	} {
		for i, text := range check(c.revision, c.method, `{"jsonrpc":"2.0","id":1,"result":`+c.result+`}`) {
			want, rest, _ := strings.Cut(c.want, "\n")
			if c.want = rest; text != want {
				t.Errorf("%s: %d: got %q, want %q", c.result, i, text, want)
			}
		}
		if c.want != "" {
			t.Errorf("%s: nobody said %q", c.result, c.want)
		}
	}
}

func TestFindingsOfServerMessages(t *testing.T) {
	for message, want := range map[string]string{
		`"method":"notifications/progress","params":{"progressToken":1,"progress":"half"}`:                  `/progress must be a number, got "half"`,
		`"method":"notifications/message","params":{"level":"loud","data":1}`:                               `/level must be "debug", "info", "notice", "warning", "error", "critical", "alert" or "emergency", got "loud"`,
		`"method":"notifications/message"`:                                                                  "there are none",
		`"method":"notifications/tools/list_changed"`:                                                       "",
		`"id":1,"method":"roots/list"`:                                                                      "",
		`"id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object"}}`: "/requestedSchema/properties is missing",
	} {
		m := wire.ParseMessage([]byte(`{"jsonrpc":"2.0",` + message + `}`))
		var got string
		for _, f := range Check("2025-06-18", m.Method, m) {
			got += strings.TrimSpace(f.Pointer + " " + f.Text)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
}

// A list whose entries all have the same fault has one finding for all, and a message has only a
// few findings.
func TestRepeatedFindingsAreMerged(t *testing.T) {
	tools := strings.Repeat(`{"name":"x","inputSchema":{"type":"object"},"description":null},`, 99)
	got := check("2025-11-25", "tools/list", `{"jsonrpc":"2.0","id":1,"result":{"tools":[`+tools+`{"name":5,"inputSchema":{"type":"object"}}]}}`)
	want := []string{
		"/tools/0/description must be a string, got null, and 98 more like it",
		"/tools/99/name must be a string, got 5",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q", got)
	}
	var faults []string
	for i := range 30 {
		faults = append(faults, fmt.Sprintf(`"n%d":5`, i))
	}
	got = check("2025-11-25", "initialize", `{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"experimental":{`+strings.Join(faults, ",")+`}},"serverInfo":{"name":"","version":""},"protocolVersion":""}}`)
	if len(got) != maxFindings+1 || got[maxFindings] != "20 more places are not shown" {
		t.Errorf("got %q", got)
	}
}

func BenchmarkList(b *testing.B) {
	tools := strings.Repeat(`{"name":"x","description":"what it does, in a sentence or two, as is usual","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"}},"required":["a"]}},`, 9999)
	m := wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + tools + `{"name":"x","inputSchema":{"type":"object"}}]}}`))
	b.SetBytes(int64(len(m.Raw)))
	for b.Loop() {
		Check("2025-11-25", "tools/list", m)
	}
}
