package mock_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/tests/clitest"
)

const watched = "demo://resource/static/document/instructions.md"

// meta is the _meta of the requests without a session.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
	`"io.modelcontextprotocol/logLevel":"error","progressToken":"p"}`

// A conversation has the recorded messages of a client, and the requests that it sends to the real server.
type conversation struct{ recorded, later []string }

// conversations are the same in each era: they set a log level and watch a resource and the tools.
func conversations() map[string]conversation {
	call := func(id int, name, arguments, meta string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`,
			id, name, arguments, meta)
	}
	later := func(meta string) []string {
		return []string{
			call(11, "touch-resource", `{}`, meta), call(12, "change-list", `{"list":"tools"}`, meta),
			call(13, "send-log-messages", `{}`, meta), call(14, "trigger-long-running-operation", `{"duration":600,"steps":6000}`, meta),
		}
	}
	const token = `"_meta":{"progressToken":"p"}`
	return map[string]conversation{
		"2025-11-25": {[]string{
			`> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
			`< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}}`,
			`> {"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`> {"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`,
			`< {"jsonrpc":"2.0","id":2,"result":{}}`,
			`> {"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"` + watched + `"}}`,
			`< {"jsonrpc":"2.0","id":3,"result":{}}`,
			`> ` + call(4, "echo", `{"message":"x"}`, token),
			`< {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"recorded"}]}}`,
			`> ` + call(5, "touch-resource", `{}`, token),
			`< {"jsonrpc":"2.0","id":5,"result":{"content":[]}}`,
		}, later(token)},
		"2026-07-28": {[]string{
			`> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`,
			`< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}}}}`,
			`> {"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["` + watched + `"]},` + meta + `}}`,
			`> ` + call(4, "echo", `{"message":"x"}`, meta),
			`< {"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","content":[{"type":"text","text":"recorded"}]}}`,
			`> ` + call(5, "touch-resource", `{}`, meta),
			`< {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","content":[]}}`,
		}, later(meta)},
	}
}

// record writes a recording of the messages.
func record(t *testing.T, messages []string) string {
	t.Helper()
	text := `{"mcpc-traffic":1,"started":"2026-11-01T00:00:00Z","by":"tap"}` + "\n"
	for i, message := range messages {
		dir := map[byte]string{'>': "sent", '<': "received"}[message[0]]
		text += fmt.Sprintf(`{"seq":%d,"time":"2026-11-01T00:00:%02dZ","dir":%q,"kind":"body","raw":%q}`+"\n", i+1, i, dir, message[2:])
	}
	path := filepath.Join(t.TempDir(), "recording.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The log level and the subscriptions that a client set before the switch hold after it, and the real server's
// notifications, progress and list changes reach the client.
func TestSettingsAndNotificationsAfterTheSwitch(t *testing.T) {
	for era, c := range conversations() {
		t.Run(era, func(t *testing.T) {
			stdin, client := io.Pipe()
			defer client.Close()
			s := clitest.StartWith(t, clitest.Run{
				Args:  []string{"mock", record(t, c.recorded), "--stdio", "--until", "name:touch-resource", "--then", "demo"},
				Env:   clitest.Env(t.TempDir()),
				Stdin: stdin,
			})
			send := func(line string) {
				t.Helper()
				if _, err := io.WriteString(client, line+"\n"); err != nil {
					t.Fatalf("%v: %s", err, s.Stderr())
				}
			}
			for _, message := range c.recorded {
				if line, isSent := strings.CutPrefix(message, "> "); isSent && !strings.Contains(line, "touch-resource") {
					send(line)
				}
			}
			s.AwaitStdout(`"id":4,"result".*recorded`)
			if era == "2026-07-28" {
				s.AwaitStdout(`notifications/subscriptions/acknowledged`)
			}
			for i, want := range []string{
				`notifications/resources/updated`, `notifications/tools/list_changed`, `A message at level emergency`,
				`"method":"notifications/progress","params":{"progressToken":"p"`,
			} {
				send(c.later[i])
				s.AwaitStdout(strings.ReplaceAll(want, "{", `\{`))
			}
			if strings.Contains(s.Stdout(), "A message at level info") {
				t.Errorf("the log level is not set: %s", s.Stdout())
			}
			send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":14}}`)
			client.Close()
			stderr, code := s.Wait()
			if code != 0 || !strings.Contains(stderr, "the real server answered 4 requests") {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		})
	}
}

// What a recording needs from the real server is reported before it is played, with a handle that a request
// of the recording only read: the request is repeated, and its present value is sent.
func TestNeedsOfARecording(t *testing.T) {
	opening := conversations()["2025-11-25"].recorded[:3]
	call := func(id int, name, arguments string) string {
		return fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, arguments)
	}
	result := func(id int, text string) string {
		return fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%q}]}}`, id, text)
	}
	for name, c := range map[string]struct {
		recorded     []string
		code         int
		stderr, want string
	}{
		"read": {
			[]string{
				call(4, "echo", `{"message":"x"}`), result(4, "Echo: recorded-handle"),
				call(5, "echo", `{"message":"recorded-handle"}`), result(5, "Echo: recorded-handle"),
			}, 0, "the real server answered 1 request: 1 as recorded, 0 different; 1 recorded handle replaced", "Echo: x",
		},
		"no answer": {
			[]string{call(4, "get-sum", `{"a":1,"b":2}`), call(5, "echo", `{"message":"y"}`), result(5, "Echo: y")},
			0, "#2 tools/call get-sum was not answered in the recording: the client gets an error", "Echo: y",
		},
		"change": {
			[]string{
				call(4, "change-list", `{"list":"tools"}`), result(4, "changed"),
				call(5, "echo", `{"message":"tools"}`), result(5, "Echo: tools"),
			}, 12, "#3 tools/call echo has tools, as #2 tools/call change-list has, which may have changed something", "",
		},
		"no tool": {
			[]string{call(5, "nothing", `{}`), result(5, "x")}, 12, "#2 tools/call nothing: the real server does not list this tool", "",
		},
		"task": {
			[]string{
				`> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"message":"x"},"task":{}}}`, result(5, "x"),
			}, 12, "#2 tools/call echo: tasks are not continued with the real server", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			stdin, client := io.Pipe()
			defer client.Close()
			s := clitest.StartWith(t, clitest.Run{
				Args:  []string{"mock", record(t, append(opening[:3:3], c.recorded...)), "--stdio", "--until", "last", "--then", "demo"},
				Env:   clitest.Env(t.TempDir()),
				Stdin: stdin,
			})
			if c.code == 0 {
				for _, message := range append(opening[:3:3], c.recorded...) {
					if line, isSent := strings.CutPrefix(message, "> "); isSent {
						if _, err := io.WriteString(client, line+"\n"); err != nil {
							t.Fatal(err)
						}
					}
				}
				s.AwaitStdout(`"id":5,"result".*` + c.want)
			}
			client.Close()
			stderr, code := s.Wait()
			if code != c.code || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		})
	}
}
