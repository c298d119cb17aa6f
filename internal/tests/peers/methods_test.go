//go:build peers

package peers

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/tests/program"
)

// Every method and every notification of the protocol is reached by a command,
// against a real server in each era that has it:
// go test -tags peers -run TestPeerMethods ./internal/tests/peers -methods FILE
// writes what was run and what was seen.

var methodsTable = flag.String("methods", "", "write the table of methods to this file")

// A reached is one method, and a command of bash that reaches it at one peer: $T is the target, and
// every mcpc in it shows the exact bytes on standard error, where the method must be. meanwhile is
// run as soon as the command listens.
type reached struct {
	method    string
	revision  int // its place in client.Revisions
	peer      string
	command   string
	meanwhile string
	seen      string // in the answer on standard output
}

const (
	yes     = ` --on-elicit 'cat >/dev/null; echo "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}"'`
	page    = ` --on-elicit 'cat >/dev/null; echo "{\"action\":\"accept\"}"'`
	roots   = `mcpc call get-roots-list --root . $T`
	sample  = `mcpc call trigger-sampling-request '{"prompt":"hi","maxTokens":9}' --on-sampling 'cat >/dev/null; echo hello' $T`
	slow    = `mcpc call trigger-long-running-operation '{"duration":0.2,"steps":2}' --yes $T`
	tooSlow = `mcpc call trigger-long-running-operation '{"duration":9,"steps":2}' --timeout 3s --yes $T || echo $?`
	task    = `mcpc init --as s ${T#-s } >/dev/null; mcpc -s s call simulate-research-query '{"topic":"bees"}' --task=1m >/dev/null; mcpc -s s `
	note    = `mcpc listen --resource peer://note --count 1 $T`
	touch   = `mcpc call touch --yes $T`
)

var allReached = []reached{
	{"initialize", 1, "everything-http", `mcpc describe $T`, "", "protocol\t2025-11-25"},
	{"notifications/initialized", 1, "everything-http", `mcpc describe $T`, "", "protocol\t2025-11-25"},
	{"server/discover", 0, "ts-server-http", `mcpc describe $T`, "", "protocol\t2026-07-28"},
	{"ping", 1, "everything-http", `mcpc ping $T`, "", " answered "},
	{"ping", 1, "go-sdk-sse", `mcpc call trigger-long-running-operation '{"duration":2.6,"steps":2}' --yes $T`, "", "completed"},
	{"tools/list", 1, "everything-http", `mcpc list $T`, "", "get-sum"},
	{"tools/list", 0, "go-sdk-stateless", `mcpc list $T`, "", "get-sum"},
	{"tools/call", 1, "everything-http", `mcpc call get-sum '{"a":40,"b":2}' $T`, "", "42"},
	{"tools/call", 0, "ts-server-http", `mcpc call get-sum '{"a":40,"b":2}' $T`, "", "42"},
	{"resources/list", 1, "everything-http", `mcpc list resources $T`, "", "demo://"},
	{"resources/list", 0, "mcp-go-http", `mcpc list resources $T`, "", "peer://note"},
	{"resources/templates/list", 1, "everything-http", `mcpc list templates $T`, "", "{resourceId}"},
	{"resources/templates/list", 0, "demo", `mcpc list templates $T`, "", "{resourceId}"},
	{"resources/read", 1, "everything-http", `mcpc read demo://resource/dynamic/text/3 $T`, "", "Resource 3"},
	{"resources/read", 0, "go-sdk-stateless", `mcpc read peer://note $T`, "", "a note"},
	{"resources/subscribe", 1, "go-sdk-http", note, touch, "peer://note"},
	{"resources/unsubscribe", 1, "go-sdk-http", note, touch, "peer://note"},
	{"prompts/list", 1, "everything-http", `mcpc list prompts $T`, "", "args-prompt"},
	{"prompts/list", 0, "ts-server-http", `mcpc list prompts $T`, "", "greeting"},
	{"prompts/get", 1, "everything-http", `mcpc prompt args-prompt city=Paris $T`, "", "weather in Paris"},
	{"prompts/get", 0, "ts-server-http", `mcpc prompt greeting name=Ada $T`, "", "Greet Ada"},
	{"completion/complete", 1, "everything-http", `mcpc complete prompt completable-prompt department $T`, "", "Sales"},
	{"completion/complete", 0, "go-sdk-stateless", `mcpc complete prompt greeting name Al $T`, "", "Alan"},
	{"logging/setLevel", 1, "everything-http", `mcpc list --log-level debug $T`, "", "get-sum"},
	{"subscriptions/listen", 0, "go-sdk-stateless", `mcpc listen --tools --count 1 $T`, touch, "the list changed"},
	{"notifications/subscriptions/acknowledged", 0, "ts-server-http", `mcpc listen --tools --count 1 $T`, touch, "the list changed"},
	{"roots/list", 1, "everything-http", roots, "", "file:///"},
	{"roots/list", 0, "demo", roots, "", "file:///"},
	{"sampling/createMessage", 1, "everything-http", sample, "", "hello"},
	{"sampling/createMessage", 0, "demo", sample, "", "hello"},
	{"elicitation/create", 1, "everything-http", `mcpc call trigger-elicitation-request` + yes + ` $T`, "", "Ada"},
	{"elicitation/create", 0, "mcp-go-http", `mcpc call ask-name --answer name=Ada --yes $T`, "", "Ada"},
	{"tasks/get", 1, "everything-http", task + `tasks get`, "", "status"},
	{"tasks/result", 1, "everything-http", task + `tasks wait`, "", "# Research Report: bees"},
	{"tasks/cancel", 1, "everything-http", task + `tasks cancel`, "", "the task is cancelled"},
	{"tasks/list", 1, "everything-http", task + `tasks list --json`, "", "working"},
	{"notifications/cancelled", 1, "everything-http", tooSlow, "", "9"},
	{"notifications/cancelled", 0, "ts-server-stdio", tooSlow, "", "9"},
	{"notifications/progress", 1, "everything-http", slow, "", "completed"},
	{"notifications/progress", 0, "go-sdk-stateless", slow, "", "completed"},
	{"notifications/message", 1, "everything-http", `mcpc listen --logs=debug --resource demo://resource/dynamic/text/1 --count 1 $T`, "", "log\t"},
	{"notifications/message", 0, "demo", `mcpc call send-log-messages --log-level error $T`, "", "Sent 4 of 8"},
	{"notifications/tools/list_changed", 1, "mcp-go-http", `mcpc listen --tools --count 1 $T`, touch, "the list changed"},
	{"notifications/tools/list_changed", 0, "ts-server-http", `mcpc listen --tools --count 1 $T`, touch, "the list changed"},
	{"notifications/prompts/list_changed", 1, "demo", `mcpc listen --prompts --count 1 $T`, `mcpc call change-list '{"list":"prompts"}' $T`, "the list changed"},
	{"notifications/prompts/list_changed", 0, "demo", `mcpc listen --prompts --count 1 $T`, `mcpc call change-list '{"list":"prompts"}' $T`, "the list changed"},
	{"notifications/resources/list_changed", 1, "demo", `mcpc listen --resources --count 1 $T`, `mcpc call change-list '{"list":"resources"}' $T`, "the list changed"},
	{"notifications/resources/list_changed", 0, "demo", `mcpc listen --resources --count 1 $T`, `mcpc call change-list '{"list":"resources"}' $T`, "the list changed"},
	{"notifications/resources/updated", 1, "mcp-go-http", note, touch, "updated: peer://note"},
	{"notifications/resources/updated", 0, "ts-server-http", note, touch, "updated: peer://note"},
	{"notifications/roots/list_changed", 1, "everything-http", `mcpc raw --notify notifications/roots/list_changed $T; echo $?`, "", "0"},
	{"notifications/elicitation/complete", 1, "demo", `mcpc call trigger-url-elicitation` + page + ` $T`, "", "accept"},
	{"notifications/tasks/status", 1, "everything-stdio", `mcpc call simulate-research-query '{"topic":"bees"}' $T`, "", "# Research Report: bees"},
}

// notReached are the methods that no peer here has, or that mcpc does not use, and what tests them
// in place of a peer.
var notReached = []struct{ method, revision, why string }{
	{"notifications/cancelled, from the server", "2025-11-25", "no peer takes a question back; the transcript legacy-asked-withdrawn"},
	{"notifications/cancelled, from the server", "2026-07-28", "no peer ends a subscription so; the case F80-listen-stdio-cancelled"},
	{"notifications/progress, from the client", "2025-11-25", "no answer of mcpc takes long enough to send any"},
	{"tasks/*, from the server", "2025-11-25", "mcpc declares no tasks of its own; the case S22-nothing-offered-in-initialize"},
	{"tasks/get (io.modelcontextprotocol/tasks)", "2026-07-28", "no peer has the extension; the case T01-given"},
	{"tasks/update (io.modelcontextprotocol/tasks)", "2026-07-28", "no peer has the extension; the case T02-asks-in-a-task"},
	{"tasks/cancel (io.modelcontextprotocol/tasks)", "2026-07-28", "no peer has the extension; the transcript task-modern-left"},
	{"notifications/tasks (io.modelcontextprotocol/tasks)", "2026-07-28", "no peer has the extension, and mcpc asks with tasks/get"},
}

func TestPeerMethods(t *testing.T) {
	t.Parallel()
	rows := make([]string, len(allReached))
	t.Run("each", func(t *testing.T) {
		for i, r := range allReached {
			revision := client.Revisions()[r.revision]
			t.Run(strings.ReplaceAll(r.method, "/", "-")+" "+revision, func(t *testing.T) {
				t.Parallel()
				rows[i] = fmt.Sprintf("| `%s` | %s | %s | `%s` | %s |\n", r.method, revision, r.peer, r.asTyped(), cell(r.run(t, revision)))
			})
		}
	})
	if *methodsTable != "" {
		head := "| method | revision | peer | command | seen |\n| --- | --- | --- | --- | --- |\n"
		for _, n := range notReached {
			rows = append(rows, fmt.Sprintf("| %s | %s | | | %s |\n", n.method, n.revision, n.why))
		}
		if err := os.WriteFile(*methodsTable, []byte(head+strings.Join(rows, "")), 0o644); err != nil {
			t.Error(err)
		}
	}
}

func (r reached) asTyped() string {
	if r.meanwhile == "" {
		return r.command
	}
	return r.command + " & " + r.meanwhile
}

// run returns how often the method was sent, and the expected line of the answer.
func (r reached) run(t *testing.T, revision string) string {
	t.Helper()
	dir := t.TempDir()
	target := r.target(t)
	bash := func(command string) *exec.Cmd {
		cmd := exec.Command("bash", "-c", `mcpc() { command mcpc -vvv --protocol "$REVISION" "$@"; }; `+command)
		cmd.Dir = dir
		cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+filepath.Join(dir, "state"), "MCPC_SERVER=", "REVISION="+revision, "T="+strings.Join(target, " "))
		return cmd
	}
	l := &listener{t: t, cmd: bash(r.command)}
	var stdout bytes.Buffer
	l.cmd.Stdout, l.cmd.Stderr = &stdout, l
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if r.meanwhile != "" {
		l.await("listening to ")
		if out, err := bash(r.meanwhile).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", r.meanwhile, err, out)
		}
	}
	err := l.cmd.Wait()
	shown := strings.NewReplacer(`\"`, `"`, `": "`, `":"`).Replace(l.said())
	crossed := strings.Count(shown, `"method":"`+r.method+`"`)
	for line := range strings.Lines(stdout.String()) {
		if crossed > 0 && err == nil && strings.Contains(line, r.seen) {
			return fmt.Sprintf("crossed %d times; `%s`", crossed, strings.Join(strings.Fields(line), " "))
		}
	}
	t.Errorf("%s: %v, crossed %d times, want %q\nstdout: %s\nstderr: %s", r.command, err, crossed, r.seen, stdout.String(), l.said())
	return ""
}

// target starts the peer. The built-in demo server is used if no other peer has the method: it is
// made of the official Go SDK.
func (r reached) target(t *testing.T) []string {
	t.Helper()
	if r.peer != "demo" {
		if r.meanwhile == "" && !strings.Contains(r.command, "mcpc listen") {
			return peerNamed(t, r.peer).shared(t)
		}
		return peerNamed(t, r.peer).start(t)
	}
	port := program.FreePort(t)
	demo := peer{name: "demo"}
	demo.listen(t, []string{"mcpc", "demo", "--listen", "127.0.0.1:" + port}, port)
	return []string{"-s", "http://127.0.0.1:" + port + "/mcp"}
}

// cell returns a text as it is written into a table of Markdown.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
