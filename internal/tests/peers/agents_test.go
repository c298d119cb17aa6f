//go:build peers

package peers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpc/internal/tests/program"
)

// Agents of two SDKs, whose models are this test, have mcpc serve as their only server. Its servers
// are the demo server over HTTP, the demo server over stdio with a handshake, and
// server-everything.
func TestPeerAgents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script, client, transport string
		answers                   bool
	}{
		{"openai.mjs", "sdk", "stdio", false},
		{"openai.mjs", "sdk", "http", false},
		{"openai.mjs", "auto", "stdio", true},
		{"openai.mjs", "legacy", "http", true},
		{"ai.mjs", "auto", "http", true},
		{"ai.mjs", "legacy", "stdio", true},
	} {
		t.Run(c.script+"/"+c.client+"/"+c.transport, func(t *testing.T) {
			t.Parallel()
			f := startAgentFixture(t)
			a := f.startAgent(c.script, c.client, c.transport)
			f.checkTools(a)
			f.checkCalls(a)
			f.checkListChanges(a)
			f.checkQuestions(a, c.answers)
			f.checkKilledServer(a)
			if c.answers {
				f.checkKilledCall(a)
			}
			a.end()
			f.checkEnd()
		})
	}
}

// An agentFixture is a program that knows the servers modern, old and everything.
type agentFixture struct {
	runner
	port string    // of modern
	demo *exec.Cmd // modern
	// serve is mcpc serve over HTTP; nil if the agent starts it.
	serve *exec.Cmd
	// direct are the texts that calls without an agent gave.
	direct map[string][]string
}

// agentCalls call a tool of each server.
var agentCalls = []agentCall{
	{"modern__get-structured-content", map[string]any{"location": "Chicago"}},
	{"old__echo", map[string]any{"message": "Grüße \u2028 \"x\""}},
	{"everything__get-sum", map[string]any{"a": 40, "b": 2.5}},
}

func startAgentFixture(t *testing.T) *agentFixture {
	t.Helper()
	f := &agentFixture{runner: newRunner(t), port: program.FreePort(t), direct: map[string][]string{}}
	f.startDemo()
	f.want(0, "init", "--as", "modern", "http://127.0.0.1:"+f.port+"/mcp")
	old := f.want(0, "init", "--as", "old", "--", "mcpc", "demo", "--stdio", "--fault", `when method:server/discover do rpc -32601 "Method not found"`)
	if !strings.Contains(old.stdout, "2025-11-25") {
		t.Fatalf("old has no handshake:\n%s", old.stdout)
	}
	f.want(0, initWith(peerNamed(t, "everything-stdio").start(t), "--as", "everything")...)
	for _, call := range agentCalls {
		server, tool, _ := strings.Cut(call.Name, "__")
		arguments, err := json.Marshal(call.Arguments)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Content []struct{ Text string } }
		mustUnmarshal(t, f.want(0, "call", "-s", server, tool, string(arguments), "--json").stdout, &answer)
		for _, content := range answer.Content {
			f.direct[call.Name] = append(f.direct[call.Name], content.Text)
		}
	}
	return f
}

func (f *agentFixture) startDemo() {
	f.t.Helper()
	f.demo = f.listening("demo", "--listen", "127.0.0.1:"+f.port)
}

// listening starts a server and waits until it listens. It tries again if another process still has
// the port: a process that was forked while freePort looked at it.
func (f *agentFixture) listening(args ...string) *exec.Cmd {
	f.t.Helper()
	for deadline := time.Now().Add(program.Patience); ; time.Sleep(20 * time.Millisecond) {
		cmd := exec.Command("mcpc", args...)
		cmd.Env = f.environment()
		pipe, err := cmd.StderrPipe()
		if err != nil {
			f.t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		timer := time.AfterFunc(program.Patience, func() { _ = cmd.Process.Kill() })
		var said strings.Builder
		for out := bufio.NewScanner(pipe); out.Scan(); said.WriteString(out.Text() + "\n") {
			if strings.Contains(out.Text(), "listening on http://") {
				timer.Stop()
				go func() { _, _ = io.Copy(io.Discard, pipe) }()
				return cmd
			}
		}
		if timer.Stop(); time.Now().After(deadline) {
			f.t.Fatalf("mcpc %q does not listen:\n%s", args, said.String())
		}
	}
}

// checkTools compares the tools of the agent with the tools that the servers list, without the
// denied tool. server-everything adds tools when it is initialized, also by the client's
// capabilities.
func (f *agentFixture) checkTools(a *agent) {
	f.t.Helper()
	var want []string
	for _, server := range []string{"modern", "old", "everything"} {
		var list struct{ Tools []struct{ Name string } }
		mustUnmarshal(f.t, f.want(0, "list", "-s", server, "--json").stdout, &list)
		for _, tool := range list.Tools {
			if name := server + "__" + tool.Name; name != "old__get-env" {
				a.awaitTool(name, true)
				want = append(want, a.toolName(name))
			}
		}
	}
	for _, name := range a.turn.Tools {
		if !slices.Contains(want, name) && !strings.HasPrefix(name, "everything__") {
			f.t.Errorf("the agent has the tool %s, which is denied or belongs to no server", name)
		}
	}
}

// checkCalls calls a tool of each server at once.
func (f *agentFixture) checkCalls(a *agent) {
	f.t.Helper()
	a.calls(agentCalls...)
	for _, call := range agentCalls {
		a.wantResult(call.Name, f.direct[call.Name]...)
	}
}

// checkListChanges has servers add a tool, calls it, and has them remove it again.
func (f *agentFixture) checkListChanges(a *agent) {
	f.t.Helper()
	for _, server := range []string{"modern", "old"} {
		change, extra := server+"__change-list", server+"__extra"
		a.calls(agentCall{change, map[string]any{"list": "tools"}})
		a.wantResult(change, "The list of tools has an extra entry.")
		a.awaitTool(extra, true)
		a.calls(agentCall{extra, map[string]any{}})
		a.wantResult(extra, "This entry was added by change-list.")
		a.calls(agentCall{change, map[string]any{"list": "tools", "remove": true}})
		a.awaitTool(extra, false)
	}
}

// checkQuestions calls tools that ask. The call of an agent that cannot answer fails.
func (f *agentFixture) checkQuestions(a *agent, answers bool) {
	f.t.Helper()
	for _, server := range []string{"modern", "old", "everything"} {
		tool := server + "__trigger-elicitation-request"
		if server == "everything" && !answers {
			continue // it lists the tool only for clients that can answer
		}
		a.awaitTool(tool, true)
		a.calls(agentCall{tool, map[string]any{}})
		if !answers {
			if text := strings.Join(a.turn.Results[a.toolName(tool)], ""); text == "" || strings.Contains(text, "User provided") {
				f.t.Errorf("%s gave %q without an answer", tool, text)
			}
			continue
		}
		if message := a.turn.Question.Message; message != "Please provide inputs for the following fields:" {
			f.t.Fatalf("%s asked %q", tool, message)
		}
		a.reply(map[string]any{"action": "accept", "content": map[string]any{"name": "Ada of " + server, "integer": 7}})
		if text := strings.Join(a.turn.Results[a.toolName(tool)], ""); !strings.Contains(text, "User provided") ||
			!strings.Contains(text, `"name": "Ada of `+server+`"`) || !strings.Contains(text, `"integer": 7`) {
			f.t.Errorf("%s gave %q", tool, text)
		}
	}
}

// checkKilledServer kills modern: its tool fails, and the others work. Then it starts again.
func (f *agentFixture) checkKilledServer(a *agent) {
	f.t.Helper()
	if err := f.demo.Process.Kill(); err != nil {
		f.t.Fatal(err)
	}
	_ = f.demo.Wait()
	a.calls(agentCalls...)
	a.wantFailure(agentCalls[0].Name)
	for _, call := range agentCalls[1:] {
		a.wantResult(call.Name, f.direct[call.Name]...)
	}
	f.startDemo()
	a.awaitResult(agentCalls[0], f.direct[agentCalls[0].Name]...)
}

// checkKilledCall kills everything while its question is open: the call fails, and a later one
// starts it again.
func (f *agentFixture) checkKilledCall(a *agent) {
	f.t.Helper()
	const tool = "everything__trigger-elicitation-request"
	a.awaitTool(tool, true)
	if a.calls(agentCall{tool, map[string]any{}}); a.turn.Question.Message == "" {
		f.t.Fatalf("%s did not ask: %q", tool, a.turn.Results)
	}
	f.killEverything()
	a.reply(map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}})
	a.wantFailure(tool)
	a.awaitResult(agentCalls[2], f.direct[agentCalls[2].Name]...)
}

// killEverything kills the processes of everything that mcpc serve has started.
func (f *agentFixture) killEverything() {
	f.t.Helper()
	var killed int
	for _, process := range program.ProcessesWith(f.t, f.state) {
		var pid int
		if !strings.Contains(process, "server-everything") {
			continue
		}
		if _, err := fmt.Sscanf(process, "process %d", &pid); err != nil {
			f.t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			f.t.Fatal(err)
		}
		killed++
	}
	if killed == 0 {
		f.t.Fatal("everything does not run")
	}
}

// checkEnd ends mcpc serve if the agent did not start it, and waits until no process is left.
func (f *agentFixture) checkEnd() {
	f.t.Helper()
	if f.serve != nil {
		_ = f.serve.Process.Signal(syscall.SIGTERM)
		_ = f.serve.Wait()
	}
	_ = f.demo.Process.Kill()
	_ = f.demo.Wait()
	if left := program.ProcessesLeft(f.t, f.state); len(left) > 0 {
		f.t.Errorf("left behind: %q", left)
	}
}
