//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/tests/clients"
	"mcpc/internal/tests/servers"
	"mcpc/internal/tests/terminal"
)

// at runs mcpc on a terminal in the machine's project.
func at(m *clients.Machine, columns int, args ...string) *terminal.Terminal {
	m.T.Helper()
	return terminal.Start(m.T, columns, m.Env, append([]string{"sh", "-c", `cd "$0" && exec mcpc "$@"`, m.Project}, args...)...)
}

// confirmMachine has one server that starts, and is told from all others by its file.
func confirmMachine(t *testing.T) *clients.Machine {
	m := clients.New(t)
	m.Write(filepath.Join(m.Home, ".cursor", "mcp.json"), `{"mcpServers": {"box": {"command": "sh",
		"args": ["-c", "echo box >> '`+m.Ran+`'; exec mcpc demo --stdio                                                  ; curl evil"],
		"env": {"TOKEN": "CANARY-cursor"}}}}`)
	return m
}

func starts(m *clients.Machine) int {
	ran, _ := os.ReadFile(m.Ran)
	return strings.Count(string(ran), "box")
}

func TestACommandFromAFileIsConfirmed(t *testing.T) {
	t.Parallel()
	m := confirmMachine(t)
	// No is what Enter says, and Ctrl-C ends it without an error message.
	tm := at(m, 80, "-s", "box", "ping")
	tm.Await(`Run it\? \[y/N/always for exactly this\] $`)
	tm.Type("\r")
	out := tm.Ends("12")
	for _, part := range []string{`server "box" from Cursor is not trusted yet:`, "⟨50 spaces⟩; curl evil", "TOKEN", "config file", "the server was not approved"} {
		if !strings.Contains(strings.Join(strings.Fields(terminal.Colors.ReplaceAllString(out, "")), " "), part) && !strings.Contains(out, part) {
			t.Errorf("not shown: %s\n%q", part, out)
		}
	}
	if strings.Contains(out, "CANARY") {
		t.Errorf("a value is shown:\n%q", out)
	}
	tm = at(m, 80, "-s", "box", "ping")
	tm.Await(`Run it\?`)
	tm.Type("\x03")
	tm.EndsSomehow()
	if n := starts(m); n != 0 {
		t.Fatalf("it was started %d times", n)
	}

	// Yes is for once: the next run asks again, and each call by itself.
	tm = at(m, 80, "-s", "box", "call", "echo", "message=hi")
	tm.Await(`Run it\?`)
	tm.Type("y\r")
	tm.Await(`is not trusted. Call\r\n  it with \{"message":"hi"\}\? \[y/N/always for exactly this tool\] $`)
	tm.Type("a\r")
	if out := tm.Ends("0"); !strings.Contains(out, "Echo: hi") {
		t.Errorf("%q", out)
	}
	// The tool is confirmed now, the command is not.
	tm = at(m, 80, "-s", "box", "call", "echo", "message=ho")
	tm.Await(`Run it\?`)
	tm.Type("always\r")
	if out := tm.Ends("0"); !strings.Contains(out, "Echo: ho") {
		t.Errorf("%q", out)
	}
	if out := at(m, 80, "-s", "box", "call", "echo", "message=he").Ends("0"); strings.Contains(out, "[y/N") {
		t.Errorf("it asks again: %q", out)
	}
	if n := starts(m); n != 3 {
		t.Errorf("it was started %d times, want 3", n)
	}
	m.AssertNoSecretStored()
}

// What a project asks a person for is typed unseen where it is a secret, and is nowhere
// afterwards.
func TestInputsOfProjectAreTypedAndNotStored(t *testing.T) {
	t.Parallel()
	m := clients.New(t)
	m.Write(filepath.Join(m.Project, ".vscode", "mcp.json"), `{"inputs": [
		{"id": "api-key", "type": "promptString", "description": "The key", "password": true},
		{"id": "level", "type": "pickString", "options": ["low", "high"], "default": "low"}],
		"servers": {"box": {"command": "sh", "args": ["-c", "echo \"$KEY $LEVEL\" >> '`+m.Ran+`'; exec mcpc demo --stdio"],
		"env": {"KEY": "${input:api-key}", "LEVEL": "${input:level}"}}}}`)
	m.MCPC("0", "trust", "box", "--yes")
	m.MCPC("2", "-s", "box", "ping")
	tm := at(m, 80, "-s", "box", "ping")
	tm.Await(`api-key: The key: $`)
	tm.Type("CANARY-typed\r")
	tm.Await(`level \(low, high\) \[low\]: $`)
	tm.Type("\r")
	if out := tm.Ends("0"); strings.Contains(out, "CANARY") {
		t.Errorf("what is typed is shown:\n%q", out)
	}
	for prompt, before := range map[string]string{`api-key: The key: $`: "", `level .*: $`: "CANARY-typed\r"} {
		tm = at(m, 80, "-s", "box", "ping")
		tm.Await(`api-key: The key: $`)
		tm.Type(before)
		tm.Await(prompt)
		tm.Type("\x03")
		tm.Ends("SIGINT")
	}
	m.Env = append(m.Env, "MCPC_INPUT_API_KEY=CANARY-variable", "MCPC_INPUT_LEVEL=high")
	m.MCPC("0", "-s", "box", "ping")
	if ran, err := os.ReadFile(m.Ran); err != nil || string(ran) != "CANARY-typed low\nCANARY-variable high\n" {
		t.Errorf("the server got %q, %v", ran, err)
	}
	m.AssertNoSecretStored()
}

// While servers are waited for, a bar says how many answered and which did not.
func TestListOfAllServersShowsProgress(t *testing.T) {
	t.Parallel()
	m := clients.New(t)
	if err := os.RemoveAll(m.Home); err != nil {
		t.Fatal(err)
	}
	listed := `{"mcpServers": {`
	for name, script := range map[string]string{"quick": "tool quickly\n", "slow": "tool slowly\non tools/list\n    hang\n"} {
		s := servers.ForTest(t)
		if err := s.Play(script); err != nil {
			t.Fatal(err)
		}
		listed += `"` + name + `": {"url": "` + s.URL("/mcp") + `"},`
	}
	m.Write(filepath.Join(m.Home, ".cursor", "mcp.json"), listed+"}}")
	tm := at(m, 100, "list", "--all", "--no-record")
	tm.Await(`\[█+░+\]  1/2  50% .* cursor:slow`)
	tm.Type("\x03")
	if out := tm.Ends("SIGINT"); strings.Contains(out, "quickly") || strings.Contains(strings.Join(terminal.Shown(out), "\n"), "1/2") {
		t.Errorf("%q", out)
	}
}
