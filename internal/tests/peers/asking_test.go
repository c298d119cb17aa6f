//go:build peers

package peers

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/tests/program"
)

// The requests of real servers to a client that answers everything, without a terminal.

// everythingAnswers are the flags that offer a server all that there is.
var everythingAnswers = []string{
	"--on-elicit", `cat >/dev/null; echo '{"action":"accept","content":{"name":"Ada"}}'`,
	"--on-sampling", "cat >/dev/null; echo hello", "--root", ".",
}

// everythingCalls are arguments for the tools of server-everything, and the text of the result.
var everythingCalls = map[string]struct{ arguments, want string }{
	"echo":                           {`{"message":"hi"}`, "Echo: hi"},
	"get-annotated-message":          {`{"messageType":"success","includeImage":true}`, "completed successfully"},
	"get-env":                        {`{}`, "PATH"},
	"get-resource-links":             {`{"count":2}`, "demo://"},
	"get-resource-reference":         {`{"resourceType":"Text","resourceId":1}`, "demo://"},
	"get-structured-content":         {`{"location":"New York"}`, "conditions"},
	"get-sum":                        {`{"a":1,"b":2}`, "3"},
	"get-tiny-image":                 {`{}`, "image/png"},
	"gzip-file-as-resource":          {`{"name":"x.gz","data":"data:text/plain,hello","outputType":"resourceLink"}`, "x.gz"},
	"toggle-simulated-logging":       {`{}`, "logging"},
	"toggle-subscriber-updates":      {`{}`, "updated notifications"},
	"trigger-long-running-operation": {`{"duration":0.1,"steps":2}`, "completed"},
	"get-roots-list":                 {`{}`, "file:///"},
	"trigger-elicitation-request":    {`{}`, "Name: Ada"},
	"trigger-url-elicitation":        {`{"url":"https://example.com","errorPath":true}`, "User completed the URL elicitation flow"},
	"trigger-sampling-request":       {`{"prompt":"hi","maxTokens":9}`, `"text": "hello"`},
	// These make the client's answer a task of the client's own.
	"trigger-elicitation-request-async": {`{}`, "Name: Ada"},
	"trigger-sampling-request-async":    {`{"prompt":"hi","maxTokens":9}`, `"text": "hello"`},
	// This runs as a task of the server's only.
	"simulate-research-query": {`{"topic":"python"}`, "# Research Report: python"},
}

// Every tool of server-everything is called with success: tools that ask, tools that make a task of
// the question, and the tool that is a task itself.
func TestPeerEverythingAsks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"everything-http", "everything-stdio", "everything-sse"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newRunner(t)
			target := peerNamed(t, name).start(t)
			if target[0] == "-s" {
				// The tools depend on what was declared, and a session remembers that.
				m.want(0, initWith(target, append([]string{"--as", "all"}, everythingAnswers...)...)...)
			}
			flags := append([]string{"--yes"}, everythingAnswers...)
			listed := m.want(0, with(target, append([]string{"list", "--jq", ".tools[].name"}, everythingAnswers...)...)...).stdout
			var called []string
			for tool := range strings.Lines(listed) {
				tool = strings.TrimSpace(tool)
				call, ok := everythingCalls[tool]
				if !ok {
					t.Errorf("nobody says how to call %s", tool)
					continue
				}
				called = append(called, tool)
				got := m.want(0, with(target, append([]string{"call", tool, call.arguments}, flags...)...)...).stdout
				if !strings.Contains(got, call.want) {
					t.Errorf("%s gave %q, want %q in it", tool, got, call.want)
				}
			}
			if t.Logf("%d tools: %s", len(called), strings.Join(called, ", ")); len(called) != 19 {
				t.Errorf("%d tools were called, want 19; the server lists %q", len(called), strings.Fields(listed))
			}
		})
	}
}

// The servers on the three SDKs ask for a name, in every revision that has such
// a question, over HTTP and over stdio.
func TestPeersAsk(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"go-sdk-stateless", "go-sdk-stdio", "go-sdk-http", "mcp-go-http", "mcp-go-stdio", "ts-server-http", "ts-server-stdio"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newRunner(t)
			p := peerNamed(t, name)
			target := p.shared(t)
			for _, revision := range client.Revisions()[:2] {
				// Without sessions these two have no way to ask in the older one.
				deaf := (name == "go-sdk-stateless" || name == "ts-server-http") && !client.Stateless(revision)
				if deaf || client.Stateless(revision) && !client.Stateless(p.newest) {
					continue
				}
				ask := func(code int, more ...string) string {
					return m.want(code, with(target, append([]string{"call", "ask-name", "--yes", "--protocol", revision}, more...)...)...).stdout
				}
				if got := ask(0, "--answer", "name=Ada"); !strings.Contains(got, "Ada") {
					t.Errorf("%s: %q does not know the name", revision, got)
				}
				ask(3, "--answer", "nobody=asked")
			}
		})
	}
}

// server-filesystem requests the roots after the handshake, and refuses every path until it has
// them: a first call succeeds, unless the server is so slow that it requests them after the call
// has arrived.
func TestPeerFilesystemRoots(t *testing.T) {
	target := peerNamed(t, "filesystem-stdio").start(t)
	target = target[:len(target)-1] // the folder that it would have been given
	folder := t.TempDir()
	m := newRunner(t)
	for deadline := time.Now().Add(program.Patience); ; {
		got := m.want(0, with(target, "call", "list_allowed_directories", "--root", folder)...).stdout
		if strings.Contains(got, filepath.Base(folder)) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("want %s among the directories, got:\n%s", folder, got)
		}
	}
}
