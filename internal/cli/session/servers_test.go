package session_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/tests/clients"
	"mcpc/internal/tests/module"
)

const asLines = `.servers[] | [.id, .kind, (.command // [] | join(" ")), .url, .cwd, (.env // [] | join(",")), (.headers // [] | join(",")),
	(.variables // [] | join(",")), (if .disabled then "disabled" else "" end), .problem] | map(. // "") | join("|")`

func TestConfigurationsAreReadRightly(t *testing.T) {
	m := clients.NewInProcess(t)
	want, err := os.ReadFile(module.Path(t, "internal/tests/clients/testdata/servers.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(m.MCPC("0", "servers", "--jq", asLines), "\n")
	wanted := strings.Split(string(want), "\n")
	for i := range max(len(got), len(wanted)) {
		if g, w := lineAt(got, i), lineAt(wanted, i); g != w {
			t.Errorf("line %d\ngot  %s\nwant %s", i+1, g, w)
		}
	}
	m.AssertUntouched()
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(none)"
}

// Nothing of a configuration runs, is spoken to or is kept before it was confirmed.
func TestConfigurationsAreOnlyRead(t *testing.T) {
	m := clients.NewInProcess(t)
	m.MCPC("0", "servers")
	m.MCPC("0", "servers", "--json")
	m.MCPC("0", "servers", "github")
	for _, name := range []string{
		"claude-desktop:github", "claude-desktop:postgres", "claude-code-user:airtable", "claude-code:github", "claude-code:db",
		"vscode-project:Perplexity", "vscode-project:fetch", "vscode:playwright", "cursor:github", "cline:github.com/upstash/context7-mcp",
		"codex:context7", "gemini:python", "zed:local", "zed:older", "goose:github", "inspector:everything-server-default",
	} {
		for _, args := range [][]string{{"list"}, {"call", "x", "--yes"}, {"init"}, {"info"}, {"raw", "ping"}, {"-vvv", "read", "x:y"}, {"listen", "--for", "1s"}} {
			m.MCPC("12", append(args, "-s", name)...)
		}
		m.MCPC("12", "trust", name)
	}
	for _, name := range []string{"zed:postgres-context-server", "goose:developer", "inspector:broken"} {
		m.MCPC("2", "list", "-s", name)
		m.MCPC("2", "trust", name, "--yes")
	}
	for _, name := range []string{"github", "remote"} {
		m.MCPC("2", "list", "-s", name)
	}
	m.MCPC("0", "-s", "cline:old", "call", "x", "--dry-run", "--offline")
	if got := strings.Fields(m.MCPC("0", "__completeNoDesc", "-s", "fi")); strings.Join(got, " ") != "figma figma dev filesystem :4" {
		t.Errorf("TAB offers %q", got)
	}
	if got := strings.Fields(m.MCPC("0", "__completeNoDesc", "list", "-s", "cursor:")); strings.Join(got, " ") != "cursor:github cursor:internal cursor:linear :4" {
		t.Errorf("TAB offers %q", got)
	}
	m.AssertUntouched()
}

func TestABrokenConfigurationHidesNoOther(t *testing.T) {
	m := clients.NewInProcess(t)
	for _, broken := range [][2]string{
		{".cursor/mcp.json", `{"mcpServers": {"a": {"command": "CANARY"} oops`},
		{".codex/config.toml", "[mcp_servers.a]\nx = CANARY\n"},
		{".config/goose/config.yaml", "extensions:\n  - a\n CANARY: [\n"},
		{".gemini/settings.json", strings.Repeat("[", 100_000)},
		{".codeium/windsurf/mcp_config.json", "{\"mcpServers\": {\"a\": {\"command\": \"CANARY\x01\"}}}"},
	} {
		m.Write(filepath.Join(m.Home, filepath.FromSlash(broken[0])), broken[1])
	}
	got := m.Output("servers")
	if got.Code != 0 || !strings.Contains(got.Stdout, "\tzed\t") || strings.Contains(got.Stdout, "\tcursor\t") {
		t.Errorf("%+v", got)
	}
	for _, says := range []string{
		"Cursor: ~/.cursor/mcp.json is omitted: the file is not JSON: line 1, column ", "Codex: ~/.codex/config.toml is omitted: the file is not TOML at line 2",
		"Goose: ~/.config/goose/config.yaml is omitted: unsupported YAML at line ", "Windsurf: ~/.codeium/windsurf/mcp_config.json is omitted: the file is not JSON: line 1, column 34",
		"Gemini CLI: ~/.gemini/settings.json is omitted: the file is not JSON: too many brackets are open",
	} {
		if strings.Count(got.Stderr, says) != 1 {
			t.Errorf("not once: %s\n%s", says, got.Stderr)
		}
	}
	if strings.Contains(got.Stdout+got.Stderr, "CANARY") {
		t.Errorf("a broken file is quoted:\n%s", got.Stderr)
	}
	m.AssertUntouched()
}

// A server has the variables of its file, in the folder that the file says, and what it
// has is hidden everywhere.
func TestServerOfFileGetsItsVariablesAndFolder(t *testing.T) {
	m := clients.NewInProcess(t)
	m.Write(filepath.Join(m.Project, ".vscode", "mcp.json"), `{"servers": {"box": {"command": "sh", "cwd": "${workspaceFolder}/tools",
		"args": ["-c", "pwd > '`+m.Ran+`'; env >> '`+m.Ran+`'; echo the key is $KEY >&2; exit 3"], "envFile": "${workspaceFolder}/.env", "env": {"KEY": "CANARYkey1234", "LEVEL": "high"}}}}`)
	m.Write(filepath.Join(m.Project, ".env"), "TOKEN='CANARYtoken1234'\nLEVEL=low\n")
	m.Write(filepath.Join(m.Project, "tools", "keep"), "")
	m.Env = append(m.Env, "GITHUB_TOKEN=CANARYgithub1234")
	m.MCPC("0", "trust", "box", "--yes")
	m.MCPC("7", "-s", "box", "ping")
	m.MCPC("7", "-s", "box", "ping", "-vvv", "--json")
	ran, err := os.ReadFile(m.Ran)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(ran), "\n")
	if folder, err := filepath.EvalSymlinks(filepath.Join(m.Project, "tools")); err != nil || lines[0] != folder {
		t.Errorf("it runs in %s, want %s (%v)", lines[0], folder, err)
	}
	for _, want := range []string{"KEY=CANARYkey1234", "TOKEN=CANARYtoken1234", "LEVEL=high", "HOME=" + m.Home} {
		if !slices.Contains(lines, want) {
			t.Errorf("it has no %s:\n%s", want, ran)
		}
	}
	if strings.Contains(string(ran), "GITHUB_TOKEN") || strings.Contains(string(ran), "MCPC_STATE") {
		t.Errorf("it has what lies in the shell:\n%s", ran)
	}
	m.AssertNoSecretStored()
}
