package rows

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"mcpc/internal/capture"
)

// A message that no client accepts as the response is not listed as one, even if it is large.
func TestUnusableResponsesAreNotListedAsAnswers(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`
	good := `"content":[{"type":"text","text":"hi"}]`
	answer := func(id, result string) string { return `{"jsonrpc":"2.0"` + id + `,"result":` + result + `}` }
	pipe := func(response string) []string { return []string{`>0 ` + call, `<0 ` + response} }
	http := func(kind string, response ...string) []string {
		lines := []string{`>1 post Mcp-Session-Id: s`, `>1 ` + call, `<1 status 200 ` + kind}
		for _, r := range response {
			lines = append(lines, `<1 `+r)
		}
		return append(lines, `<1 closed end`)
	}
	for what, c := range map[string]struct {
		script     []string
		want, text string
	}{
		"good":                     {pipe(answer(`,"id":1`, `{`+good+`}`)), "ok", ""},
		"no id":                    {pipe(answer(``, `{`+good+`}`)), "bad_response", "the response has no id"},
		"a null id":                {pipe(answer(`,"id":null`, `{`+good+`}`)), "bad_response", "the response has no id"},
		"an error with a null id":  {pipe(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"no"}}`), "rpc_error", ""},
		"a result that is null":    {pipe(answer(`,"id":1`, `null`)), "bad_response", "the result is not an object: null"},
		"a result that is a text":  {pipe(answer(`,"id":1`, `"hi"`)), "bad_response", `the result is not an object: "hi"`},
		"content as a number":      {pipe(answer(`,"id":1`, `{"content":7}`)), "bad_response", "content is not an array"},
		"beside structuredContent": {pipe(answer(`,"id":1`, `{"content":null,"structuredContent":{}}`)), "ok", ""},
		"no content":               {pipe(answer(`,"id":1`, `{}`)), "ok", ""},
		"a task":                   {pipe(answer(`,"id":1`, `{"task":{}}`)), "ok", ""},
		"a task of today":          {pipe(answer(`,"id":1`, `{"resultType":"task"}`)), "ok", ""},
		"isError as a word":        {pipe(answer(`,"id":1`, `{`+good+`,"isError":"yes"}`)), "bad_response", "neither true nor false"},
		"JSON":                     {http("application/json; charset=utf-8", answer(`,"id":1`, `{`+good+`}`)), "ok", ""},
		"another type":             {http("text/plain", answer(`,"id":1`, `{`+good+`}`)), "bad_response", "got text/plain"},
		"no type":                  {http("-", answer(`,"id":1`, `{`+good+`}`)), "bad_response", "got no Content-Type"},
		"another type of event":    {http("text/event-stream", `named response `+answer(`,"id":1`, `{`+good+`}`)), "transport", "the stream ended before the response"},
		"a comment":                {http("text/event-stream", `comment waiting`, answer(`,"id":1`, `{`+good+`}`)), "ok", ""},
		"nothing but accepted":     {[]string{`>1 post Mcp-Session-Id: s`, `>1 ` + call, `<1 status 202`, `<1 closed end`}, "bad_response", "HTTP 202"},
		"accepted over HTTP+SSE":   {[]string{`>1 post`, `>1 ` + call, `<1 status 202`, `<1 closed end`}, "open", ""},
		"an array": {append([]string{`>1 post Mcp-Protocol-Version: 2025-11-25`, `>1 ` + call, `<1 status 200`},
			`<1 [`+answer(`,"id":1`, `{`+good+`}`)+`]`), "ok", ""},
		"an array of two": {append([]string{`>1 post Mcp-Protocol-Version: 2025-11-25`, `>1 ` + call, `<1 status 200`},
			`<1 [`+answer(`,"id":1`, `{`+good+`}`)+`,{"jsonrpc":"2.0","method":"x"}]`), "bad_response", "in an array"},
		"no version":            {pipe(`{"id":1,"result":{` + good + `}}`), "ok", ""},
		"another version":       {pipe(`{"jsonrpc":"1.0","id":1,"result":{` + good + `}}`), "ok", ""},
		"isError as a text":     {pipe(answer(`,"id":1`, `{"content":[],"isError":"True"}`)), "tool_error", ""},
		"content as a text":     {pipe(answer(`,"id":1`, `{"content":"hello"}`)), "ok", ""},
		"content as one block":  {pipe(answer(`,"id":1`, `{"content":{"type":"text","text":"x"}}`)), "ok", ""},
		"an id as a text":       {pipe(answer(`,"id":"1"`, `{`+good+`}`)), "ok", ""},
		"an error that is null": {pipe(`{"jsonrpc":"2.0","id":1,"result":{` + good + `},"error":null}`), "ok", ""},
		"an array when there were some": {append([]string{`>1 post Mcp-Protocol-Version: 2025-03-26`, `>1 ` + call, `<1 status 200`},
			`<1 [`+answer(`,"id":1`, `{`+good+`}`)+`]`), "ok", ""},
		"a list without its items":      {[]string{`>0 {"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `<0 {"jsonrpc":"2.0","id":1,"result": {}}`}, "bad_response", "has no tools"},
		"a refusal in words of its own": {[]string{`>1 post`, `>1 ` + call, `<1 status 500`, `<1 {"error":"oops"}`}, "transport", ""},
	} {
		for _, large := range []bool{false, true} {
			script := append([]string(nil), c.script...)
			for i, line := range script {
				if large {
					script[i] = strings.Replace(line, `"result":{`, `"result":{"_meta":{"x":"`+strings.Repeat("y ", 1000)+`"},`, 1)
					script[i] = strings.Replace(script[i], `,}`, `}`, 1)
				}
			}
			name := written(t, script...)
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, bytes.Replace(raw, []byte(capture.ByCommand), []byte(capture.ByProxy), 1), 0o600); err != nil {
				t.Fatal(err)
			}
			capture, err := Open(name)
			if err != nil {
				t.Fatal(err)
			}
			row := capture.Rows()[0]
			if row.Channel != c.want || !strings.Contains(row.Text, c.text) || c.text == "" && row.Text != "" {
				t.Errorf("%s (large %t): %s %q, want %s %q", what, large, row.Channel, row.Text, c.want, c.text)
			}
			if what == "no content" && !large && len(row.Findings) != 1 {
				t.Errorf("%s: %v", what, row.Findings)
			}
			capture.Close()
		}
	}
}
