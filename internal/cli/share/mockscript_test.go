package share

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/mock"
	"mcpc/internal/wire"
)

// recording writes frames, "> MESSAGE" sent and "< MESSAGE" received, and returns the rows.
func recording(t *testing.T, frames ...string) []*rows.Row {
	t.Helper()
	text := capture.AppendHead(nil, capture.Head{By: capture.ByCommand, Target: "x"})
	for i, frame := range frames {
		direction := wire.Sent
		if frame[0] == '<' {
			direction = wire.Received
		}
		f := wire.Frame{Seq: uint64(i + 1), Time: time.Unix(int64(i), 0), Dir: direction, Raw: []byte(frame[2:])}
		text = capture.AppendFrame(text, f)
	}
	text = capture.AppendEnd(text, capture.End{Time: time.Unix(99, 0)})
	name := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := rows.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.Rows()
}

const (
	opened = `> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	agreed = `< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"y","version":"1"}}}`
)

// Each recorded request is a rule; the description of the server comes first.
func TestRulesOfRequests(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []string
		want   string
	}{
		{"a handshake", []string{opened, agreed}, "speaks 2025-11-25\ncapabilities {\"tools\":{},\"logging\":{}}\n"},
		{"lists of two pages", []string{
			`> {"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
			`< {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"},1],"nextCursor":"2"}}`,
			`> {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"2"}}`,
			`< {"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"b"}]}}`,
		}, "tool {\"name\":\"a\"}\ntool {\"name\":\"b\"}\n"},
		{"a list again", []string{
			`> {"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `< {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"}]}}`,
			`> {"jsonrpc":"2.0","id":3,"method":"tools/list"}`, `< {"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"b"}]}}`,
		}, "format\ntool {\"name\":\"b\"}\n"},
		{"a result", []string{
			`> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}`, `< {"jsonrpc":"2.0","id":2,"result":{"a":"$1"}}`,
			`> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t"}}`, `< {"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}`,
		}, "\non tools/call #1\n    # 1 t: ok\n    result {\"a\":\"\\u00241\"}\n\non tools/call #2\n    # 2 t: ok\n" +
			"    json {\"jsonrpc\":\"2.0\",\"id\":$ID,\"error\":{\"code\":-1,\"message\":\"no\"}}\n"},
		{"progress", []string{
			`> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}`,
			`< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}`,
			`< {"jsonrpc":"2.0","id":2,"result":{}}`,
		}, "    event {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$TOKEN,\"progress\":1}}\n    result {}\n"},
		{
			"no response",
			[]string{`> {"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"p"}}`},
			"    # no response was recorded\n    hang\n",
		},
		{
			"a request of the server",
			[]string{
				opened, agreed,
				`< {"jsonrpc":"2.0","id":"q","method":"roots/list"}`, `> {"jsonrpc":"2.0","id":"q","result":{"roots":[]}}`,
			},
			"roots/list: a request of the server: a script only responds to requests\n",
		},
		{
			"a method that is no word",
			[]string{
				`> {"jsonrpc":"2.0","id":2,"method":"a b"}`,
				`< {"jsonrpc":"2.0","id":2,"result":{}}`,
			},
			"a b: a script has no rule for a method with this name\n",
		},
	} {
		var b bytes.Buffer
		if err := writeMockScript(&b, recording(t, c.frames...), func([]byte) string { return "y 1" }); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := b.String(); !strings.HasPrefix(got, "# exported by mcpc") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got\n%s", c.name, got)
		}
		if _, err := mock.Parse(b.String()); err != nil {
			t.Errorf("%s: the mock server refuses it: %v\n%s", c.name, err, &b)
		}
	}
}

// The server's name stays on the line of its comment.
func TestTheRecordedServerIsNamed(t *testing.T) {
	var b bytes.Buffer
	if err := writeMockScript(&b, recording(t, opened, agreed), func([]byte) string { return "y\non *\u2028" }); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\n# the recorded server was y on * ; the mock calls itself mock\n") {
		t.Errorf("got\n%s", &b)
	}
}

func TestIsWordOfScript(t *testing.T) {
	for text, want := range map[string]bool{
		"tools/call": true, "": false, "a b": false, "#x": false, `a\b`: false,
		"ä": false,
	} {
		if isWord(text) != want {
			t.Errorf("%q: got %v", text, !want)
		}
	}
}
