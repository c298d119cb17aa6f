//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcpc/internal/tests/servers"
	"mcpc/internal/tests/terminal"
)

// A task at a terminal: its status is on the line of progress, Ctrl-C leaves it
// running and says how to come back, and what it asks is asked.
func TestTerminalTask(t *testing.T) {
	s := servers.ForTest(t)
	play := func(status string) {
		t.Helper()
		s.Stop()
		err := s.Play(`capabilities {"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}
tool slow
on tools/call
    result {"resultType":"task","taskId":"t-1","status":"working","pollIntervalMs":100}
on tasks/update
    result {"resultType":"complete"}
` + status)
		if err != nil {
			t.Fatal(err)
		}
	}
	play(`on tasks/get
    result {"taskId":"t-1","status":"working","statusMessage":"reading \u001b[2J","pollIntervalMs":100}`)
	tm := terminal.Start(t, 80, nil, "mcpc", "-s", s.URL("/mcp"), "call", "slow")
	tm.Await(`task: reading`)
	tm.Type("\x03")
	out := tm.Ends("SIGINT")
	if !strings.Contains(out, "the task continues on the server: mcpc tasks wait t-1") || strings.Contains(out, "\x1b[2J") {
		t.Errorf("%q", out)
	}

	play(`on tasks/get #1
    result {"taskId":"t-1","status":"input_required","pollIntervalMs":100,"inputRequests":{"who":{"method":"elicitation/create","params":{"mode":"form","message":"Who is it?","requestedSchema":{"type":"object","properties":{"n":{"type":"string","title":"Name"}},"required":["n"]}}}}}
on tasks/get
    result {"taskId":"t-1","status":"completed","result":{"content":[{"type":"text","text":"done"}]}}`)
	back := terminal.Start(t, 80, []string{"MCPC_STATE=" + filepath.Join(tm.Cmd.Dir, "state")}, "mcpc", "tasks", "wait")
	back.Await(`Name\S* \(required\)(?s:.)*> $`)
	back.Type("Ada\n")
	back.Await(`\[c\]ancel> $`)
	back.Type("s\n")
	out = back.Ends("0")
	if !regexp.MustCompile(`(?m)^done\r?$`).MatchString(strings.Join(terminal.Shown(out), "\n")) {
		t.Errorf("%q", out)
	}
	sent, err := os.ReadFile(s.Log().Name())
	if err != nil || !strings.Contains(string(sent), "tasks/update") {
		t.Errorf("%v\n%s", err, sent)
	}
}
