//go:build peers

package peers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpc/internal/tests/program"
)

// An agentCall is a call that the model asks for, by the name that mcpc serve gives the tool.
type agentCall struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// An agentTurn is a line that scripts/peers/agents/model.mjs writes: a turn, a question of a server,
// or the negotiated revision.
type agentTurn struct {
	Protocol string
	Tools    []string
	Results  map[string][]string // texts by tool
	Question struct{ Message string }
}

// An agent runs a script of scripts/peers/agents. The test is its model.
type agent struct {
	t           *testing.T
	cmd         *exec.Cmd
	in          io.WriteCloser
	out         *bufio.Reader
	err         bytes.Buffer
	underscores bool // the SDK knows tools by names with _ for -
	turn        agentTurn
}

// startAgent starts an agent, which starts mcpc serve or connects to it, and waits for its first
// turn. The client is sdk, auto or legacy: whether the SDK does not say the revision, and which it is.
func (f *agentFixture) startAgent(script, client, transport string) *agent {
	f.t.Helper()
	nodes, err := filepath.Glob(filepath.Join(peersDir(f.t), "inspector", "node_modules", "node-linux-*", "bin", "node"))
	if err != nil || len(nodes) != 1 {
		f.t.Fatalf("no Node 22 is installed: %v, %v", nodes, err)
	}
	args := []string{filepath.Join(peersDir(f.t), "agents", script), client, transport}
	serve := []string{"mcpc", "serve", "modern", "old", "everything", "--deny", "old/get-env"}
	if transport == "http" {
		port := program.FreePort(f.t)
		f.serve = f.listening(append(serve[1:], "--http", port)...)
		args = append(args, "http://127.0.0.1:"+port+"/mcp")
	} else {
		args = append(args, serve...)
	}
	a := runAgent(f.t, f.environment(), append(nodes, args...))
	a.underscores = script == "openai.mjs"
	a.next()
	if want := map[string]string{"auto": "2026-07-28", "legacy": "2025-11-25"}[client]; a.turn.Protocol != want {
		f.t.Errorf("the agent negotiated %q, want %q", a.turn.Protocol, want)
	}
	a.next()
	return a
}

// runAgent starts the program of an agent.
func runAgent(t *testing.T, env, argv []string) *agent {
	t.Helper()
	a := &agent{t: t, cmd: exec.Command(argv[0], argv[1:]...)}
	a.cmd.Env = env
	a.cmd.Stderr = &a.err
	var err error
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	a.out = bufio.NewReader(out)
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.cmd.Process.Kill() })
	return a
}

// next reads a line of the agent.
func (a *agent) next() {
	a.t.Helper()
	timer := time.AfterFunc(program.Patience, func() { _ = a.cmd.Process.Kill() })
	defer timer.Stop()
	line, err := a.out.ReadString('\n')
	if err != nil {
		_ = a.cmd.Wait()
		a.t.Fatalf("the agent ended: %v, %v\n%s", err, a.cmd.ProcessState, a.err.String())
	}
	a.turn = agentTurn{}
	mustUnmarshal(a.t, line, &a.turn)
}

func (a *agent) reply(value any) {
	a.t.Helper()
	if err := json.NewEncoder(a.in).Encode(value); err != nil {
		a.t.Fatal(err)
	}
	a.next()
}

// calls has the agent call tools. It returns the turn after that, or the question of a server.
func (a *agent) calls(calls ...agentCall) agentTurn {
	a.t.Helper()
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].Name = a.toolName(calls[i].Name)
	}
	a.reply(map[string]any{"calls": calls})
	return a.turn
}

func (a *agent) toolName(name string) string {
	if a.underscores {
		return strings.ReplaceAll(name, "-", "_")
	}
	return name
}

// awaitTool begins runs of the agent until it has a tool, or has it no longer.
func (a *agent) awaitTool(name string, listed bool) {
	a.t.Helper()
	name = a.toolName(name)
	for deadline := time.Now().Add(program.Patience); slices.Contains(a.turn.Tools, name) != listed; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			a.t.Fatalf("%s listed: want %v, in %q", name, listed, a.turn.Tools)
		}
		a.reply(map[string]any{"say": "Wait."})
	}
}

func (a *agent) wantResult(name string, want ...string) {
	a.t.Helper()
	if got := a.turn.Results[a.toolName(name)]; len(want) == 0 || !slices.Equal(got, want) {
		a.t.Errorf("%s gave the agent %q, want %q", name, got, want)
	}
}

// wantFailure checks that the call of a tool failed, and that the model gets the name of the server
// that is the cause.
func (a *agent) wantFailure(name string) {
	a.t.Helper()
	server, _, _ := strings.Cut(name, "__")
	if text := strings.Join(a.turn.Results[a.toolName(name)], ""); !strings.Contains(text, "the server "+strconv.Quote(server)+": ") {
		a.t.Errorf("%s of a killed server gave the agent %q", name, text)
	}
}

// awaitResult calls a tool until it gives what is wanted.
func (a *agent) awaitResult(call agentCall, want ...string) {
	a.t.Helper()
	for deadline := time.Now().Add(program.Patience); ; time.Sleep(20 * time.Millisecond) {
		a.awaitTool(call.Name, true)
		if a.calls(call); slices.Equal(a.turn.Results[a.toolName(call.Name)], want) {
			return
		}
		if time.Now().After(deadline) {
			a.t.Fatalf("%s still gives %q, want %q", call.Name, a.turn.Results, want)
		}
	}
}

// end ends the conversation.
func (a *agent) end() {
	a.t.Helper()
	a.in.Close()
	timer := time.AfterFunc(program.Patience, func() { _ = a.cmd.Process.Kill() })
	defer timer.Stop()
	if rest, err := io.ReadAll(a.out); err != nil || len(rest) > 0 {
		a.t.Errorf("the agent also said %q, %v", rest, err)
	}
	if err := a.cmd.Wait(); err != nil {
		a.t.Errorf("the agent ended with %v:\n%s", err, a.err.String())
	}
}
