//go:build peers

package peers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPeerTasks calls the tool of server-everything that runs as a task only, by
// scripts that know nothing of tasks and by some that do.
func TestPeerTasks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"everything-http", "everything-sse", "everything-stdio", "everything-2026-01-http"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it is the servers that take their time
			p := peerNamed(t, name)
			target := p.start(t)
			m := newRunner(t)
			ask := func(code int, words ...string) ran {
				t.Helper()
				return m.want(code, with(target, append([]string{"call", "simulate-research-query"}, words...)...)...)
			}
			if got := ask(0, `{"topic":"python"}`).stdout; !strings.HasPrefix(got, "# Research Report: python\n") {
				t.Errorf("the report:\n%s", got)
			}
			got := ask(0, `{"topic":"python","ambiguous":true}`, "--answer", "interpretation=Python snake species")
			// The older server reports that it cannot ask over HTTP.
			if !strings.Contains(got.stdout, "**Clarification**: snake") && !strings.Contains(got.stdout, "elicitation unavailable on HTTP") {
				t.Errorf("the report behind a question:\n%s", got.stdout)
			}
			if refused := ask(3, "{}", "--task").stderr; !strings.Contains(refused, "topic") {
				t.Errorf("without its argument: %s", refused)
			}
			refused := ask(3, `{"topic":"x"}`, "--task").stderr
			if !strings.Contains(refused, " with this command") {
				t.Errorf("a task that nobody could come back to: %s", refused)
			}
			if p.transport == "http" {
				m.comesBack(target)
			}
		})
	}
}

// comesBack begins tasks in a session that stays, and finds them again.
func (p runner) comesBack(target []string) {
	p.t.Helper()
	p.want(0, initWith(target, "--as", "peer")...)
	id := strings.TrimSpace(p.want(0, "call", "simulate-research-query", `{"topic":"bees"}`, "--task=1m").stdout)
	if listed := p.want(0, "tasks", "list").stdout; !strings.Contains(listed, id+"\tworking\tsimulate-research-query\t") {
		p.t.Errorf("tasks list: %s", listed)
	}
	if got := p.want(0, "tasks", "get").stdout; !strings.Contains(got, "status\tworking\n") {
		p.t.Errorf("tasks get: %s", got)
	}
	p.want(1, "tasks", "result", id)
	if got := p.want(0, "tasks", "wait").stdout; !strings.HasPrefix(got, "# Research Report: bees\n") {
		p.t.Errorf("tasks wait: %s", got)
	}
	p.want(0, "call", "simulate-research-query", `{"topic":"wasps"}`, "--task")
	if got := p.want(0, "tasks", "cancel").stdout; got != "the task is cancelled\n" {
		p.t.Errorf("tasks cancel: %s", got)
	}
	if got := p.want(6, "tasks", "wait", "nobody").stderr; !strings.Contains(got, "the server does not know this task") {
		p.t.Errorf("an unknown task: %s", got)
	}
	if got := p.want(3, "call", "echo", `{"message":"x"}`, "--task").stderr; !strings.Contains(got, "its taskSupport is forbidden") {
		p.t.Errorf("a tool that is no task: %s", got)
	}
}

// TestPeerTaskEndings has tasks that end badly, on another SDK. A longer one is no
// use there: the SDK gives its tasks up with the HTTP request that began them.
func TestPeerTaskEndings(t *testing.T) {
	t.Parallel()
	m := newRunner(t)
	target := peerNamed(t, "mcp-go-tasks").start(t)
	m.want(0, initWith(target, "--as", "peer", "--protocol", "2025-11-25")...)
	for tool, code := range map[string]int{"fail": 5, "rpc-error": 6} {
		m.want(0, "call", tool, "--task", "--yes")
		if got := m.want(code, "tasks", "wait"); !strings.Contains(got.stderr, "(tools/call "+tool+", ") {
			t.Errorf("%s: %s", tool, got.stderr)
		}
	}
	m.want(0, "call", "fail", "--task", "--yes", "--json")
	if got := m.want(6, "tasks", "cancel").stderr; !strings.Contains(got, "the task has ended") {
		t.Errorf("tasks cancel: %s", got)
	}
	if got := m.want(3, "call", "get-sum", `{"a":1,"b":2}`, "--task", "--yes").stderr; !strings.Contains(got, "its taskSupport is absent") {
		t.Errorf("a tool that is no task: %s", got)
	}
	if got := m.want(3, append([]string{"call", "fail", "--task", "--yes"}, target...)...).stderr; !strings.Contains(got, "does not declare the extension") {
		t.Errorf("in the newest revision: %s", got)
	}
}

// TestPeerTasksAsk is the example of the TypeScript SDK whose tasks ask for a form
// and for sampling, both on the stream of tasks/result.
func TestPeerTasksAsk(t *testing.T) {
	t.Parallel()
	everything := peerNamed(t, "everything-http")
	at := slices.Index(everything.argv, "streamableHttp") - 1
	modules, _, found := strings.Cut(everything.argv[at], "server-everything/")
	if !found {
		t.Fatalf("no path of the package in %q", everything.argv)
	}
	everything.argv = append(slices.Clone(everything.argv[:at]), modules+"sdk/dist/esm/examples/server/simpleTaskInteractive.js")
	target := everything.start(t)
	haiku := filepath.Join(t.TempDir(), "haiku.txt")
	if err := os.WriteFile(haiku, []byte("an old silent pond\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newRunner(t)
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"confirm_delete", `{"filename":"a.txt"}`, "--answer", "confirm=true"}, "Deleted 'a.txt'\n"},
		{[]string{"confirm_delete", `{"filename":"a.txt"}`, "--decline"}, "Deletion cancelled\n"},
		{[]string{"write_haiku", `{"topic":"ponds"}`, "--sampling", haiku}, "Haiku:\nan old silent pond\n"},
	} {
		if got := m.want(0, with(target, append([]string{"call"}, c.words...)...)...).stdout; strings.TrimRight(got, "\n") != strings.TrimRight(c.want, "\n") {
			t.Errorf("%q gave %q, want %q", c.words, got, c.want)
		}
	}
}
