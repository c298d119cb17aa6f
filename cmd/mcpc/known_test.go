//go:build unix

package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mcpc/internal/connect/host"
	"mcpc/internal/tests/program"
)

// Configurations in the shapes that their programs write, with a secret wherever they
// have a place for one. A person checked testdata/clients/servers.txt against them.

// A machine is a user's folder with the configurations of all programs, a project, and
// programs in the PATH that tell when they are run.
type machine struct {
	t                  *testing.T
	home, project, ran string
	env                []string
	dialled            atomic.Int64
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	dir := t.TempDir()
	m := &machine{t: t, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), ran: filepath.Join(dir, "ran")}
	for _, part := range []string{"home", "project"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join("testdata", "clients", part))); err != nil {
			t.Fatal(err)
		}
	}
	m.replace(filepath.Join(m.home, ".claude.json"), "$PROJECT", m.project)
	bin := filepath.Join(dir, "bin")
	for _, name := range []string{"npx", "uvx", "docker", "python3", "noisy"} {
		m.write(filepath.Join(bin, name), "#!/bin/sh\necho "+name+" >> '"+m.ran+"'\n")
	}
	// Every connection to a server that is not on this machine arrives here.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			m.dialled.Add(1)
			c.Close()
		}
	}()
	proxy := "http://" + l.Addr().String()
	m.env = append(program.CleanEnv(), "HOME="+m.home, "MCPC_STATE="+m.state(), "LC_ALL=C.UTF-8", "XDG_CONFIG_HOME=", "CODEX_HOME=",
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HTTPS_PROXY="+proxy, "HTTP_PROXY="+proxy)
	return m
}

func (m *machine) state() string { return filepath.Join(filepath.Dir(m.home), "state") }

func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) replace(name, old, now string) {
	m.t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		m.t.Fatal(err)
	}
	m.write(name, strings.ReplaceAll(string(text), old, now))
}

// mcpc runs it in a folder of the project and gives all that it writes.
func (m *machine) mcpc(want string, args ...string) (stdout string) {
	m.t.Helper()
	cmd := exec.Command("mcpc", args...)
	cmd.Dir, cmd.Env = filepath.Join(m.project, ".vscode"), m.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	if got := program.Ending(cmd.ProcessState); got != want {
		m.t.Errorf("%q ended with %s, want %s\n%s", args, got, want, errs.String())
	}
	if all := out.String() + errs.String(); strings.Contains(all, "CANARY") {
		m.t.Errorf("%q shows a secret:\n%s", args, all)
	}
	return out.String()
}

// untouched checks that no program was run, no connection was opened, and no secret is
// kept.
func (m *machine) untouched() {
	m.t.Helper()
	if ran, err := os.ReadFile(m.ran); err == nil {
		m.t.Errorf("these ran: %s", ran)
	}
	if n := m.dialled.Load(); n > 0 {
		m.t.Errorf("%d connections were opened", n)
	}
	m.keepsNoSecret()
}

func (m *machine) keepsNoSecret() {
	m.t.Helper()
	_ = filepath.WalkDir(m.state(), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if raw, err := os.ReadFile(path); err != nil || bytes.Contains(raw, []byte("CANARY")) {
				m.t.Errorf("%s holds a secret (%v)", path, err)
			}
		}
		return nil
	})
}

const asLines = `.servers[] | [.id, .kind, (.command // [] | join(" ")), .url, .cwd, (.env // [] | join(",")), (.headers // [] | join(",")),
	(.variables // [] | join(",")), (if .disabled then "disabled" else "" end), .problem] | map(. // "") | join("|")`

func TestConfigurationsAreReadRightly(t *testing.T) {
	m := newMachine(t)
	want, err := os.ReadFile(filepath.Join("testdata", "clients", "servers.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(m.mcpc("0", "servers", "--jq", asLines), "\n")
	wanted := strings.Split(string(want), "\n")
	for i := range max(len(got), len(wanted)) {
		if g, w := lineAt(got, i), lineAt(wanted, i); g != w {
			t.Errorf("line %d\ngot  %s\nwant %s", i+1, g, w)
		}
	}
	m.untouched()
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(none)"
}

// Nothing of a configuration runs, is spoken to or is kept before it was confirmed.
func TestConfigurationsAreOnlyRead(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.mcpc("0", "servers")
	m.mcpc("0", "servers", "--json")
	m.mcpc("0", "servers", "github")
	for _, name := range []string{"claude-desktop:github", "claude-desktop:postgres", "claude-code-user:airtable", "claude-code:github", "claude-code:db",
		"vscode-project:Perplexity", "vscode-project:fetch", "vscode:playwright", "cursor:github", "cline:github.com/upstash/context7-mcp",
		"codex:context7", "gemini:python", "zed:local", "zed:older", "goose:github", "inspector:everything-server-default"} {
		for _, args := range [][]string{{"list"}, {"call", "x", "--yes"}, {"init"}, {"info"}, {"raw", "ping"}, {"-vvv", "read", "x:y"}, {"listen", "--for", "1s"}} {
			m.mcpc("12", append(args, "-s", name)...)
		}
		m.mcpc("12", "trust", name)
	}
	for _, name := range []string{"zed:postgres-context-server", "goose:developer", "inspector:broken"} {
		m.mcpc("2", "list", "-s", name)
		m.mcpc("2", "trust", name, "--yes")
	}
	for _, name := range []string{"github", "remote"} {
		m.mcpc("2", "list", "-s", name)
	}
	m.mcpc("0", "-s", "cline:old", "call", "x", "--dry-run", "--offline")
	if got := strings.Fields(m.mcpc("0", "__completeNoDesc", "-s", "fi")); strings.Join(got, " ") != "figma figma dev filesystem :4" {
		t.Errorf("TAB offers %q", got)
	}
	if got := strings.Fields(m.mcpc("0", "__completeNoDesc", "list", "-s", "cursor:")); strings.Join(got, " ") != "cursor:github cursor:internal cursor:linear :4" {
		t.Errorf("TAB offers %q", got)
	}
	m.untouched()
}

func TestABrokenConfigurationHidesNoOther(t *testing.T) {
	m := newMachine(t)
	for _, broken := range [][2]string{
		{".cursor/mcp.json", `{"mcpServers": {"a": {"command": "CANARY"} oops`},
		{".codex/config.toml", "[mcp_servers.a]\nx = CANARY\n"},
		{".config/goose/config.yaml", "extensions:\n  - a\n CANARY: [\n"},
		{".gemini/settings.json", strings.Repeat("[", 100_000)},
		{".codeium/windsurf/mcp_config.json", "{\"mcpServers\": {\"a\": {\"command\": \"CANARY\x01\"}}}"},
	} {
		m.write(filepath.Join(m.home, filepath.FromSlash(broken[0])), broken[1])
	}
	cmd := exec.Command("mcpc", "servers")
	cmd.Dir, cmd.Env = m.project, m.env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "\tzed\t") || strings.Contains(string(out), "\tcursor\t") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, says := range []string{"Cursor: ~/.cursor/mcp.json is omitted: the file is not JSON: line 1, column ", "Codex: ~/.codex/config.toml is omitted: the file is not TOML at line 2",
		"Goose: ~/.config/goose/config.yaml is omitted: unsupported YAML at line ", "Windsurf: ~/.codeium/windsurf/mcp_config.json is omitted: the file is not JSON: line 1, column 34",
		"Gemini CLI: ~/.gemini/settings.json is omitted: the file is not JSON: too many brackets are open"} {
		if strings.Count(errs.String(), says) != 1 {
			t.Errorf("not once: %s\n%s", says, errs.String())
		}
	}
	if strings.Contains(errs.String()+string(out), "CANARY") {
		t.Errorf("a broken file is quoted:\n%s", errs.String())
	}
	m.untouched()
}

// A command cannot push its end out of sight.
func TestWhatIsConfirmedIsSeenWhole(t *testing.T) {
	for word, want := range map[string]string{
		"plain": "plain", "a b": "'a b'", "a   b": "'a   b'", "a" + strings.Repeat(" ", 4096) + ";curl": "'a⟨4096 spaces⟩;curl'",
		"a" + strings.Repeat("\u2003", 9) + "b": "'a⟨9 spaces⟩b'", strings.Repeat("\u2800", 9): "'⟨9 spaces⟩'", "": "''",
		"a\r\nb": `"$(printf 'a\015\012b')"`, "\x1b[2J": `"$(printf '\033[2J')"`, "x\u202ey": `"$(printf 'x\342\200\256y')"`,
	} {
		if got := host.ShownWord(word); got != want {
			t.Errorf("%q is shown as %s, want %s", word, got, want)
		}
	}
}

func TestDotenv(t *testing.T) {
	text := "# all of it\nA=1\n export B = 'two words' \r\nC=\"$A\"\nD=\nE=a=b # c\nno\n=x\nF='\n"
	want := "A=1|B=two words|C=$A|D=|E=a=b # c|F='|"
	got := ""
	for _, e := range host.Dotenv(text) {
		got += e.Name + "=" + e.Value + "|"
	}
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A server has the variables of its file, in the folder that the file says, and what it
// has is hidden everywhere.
func TestAServerOfAFileHasWhatStandsThere(t *testing.T) {
	m := newMachine(t)
	m.write(filepath.Join(m.project, ".vscode", "mcp.json"), `{"servers": {"box": {"command": "sh", "cwd": "${workspaceFolder}/tools",
		"args": ["-c", "pwd > '`+m.ran+`'; env >> '`+m.ran+`'; echo the key is $KEY >&2; exit 3"], "envFile": "${workspaceFolder}/.env", "env": {"KEY": "CANARYkey1234", "LEVEL": "high"}}}}`)
	m.write(filepath.Join(m.project, ".env"), "TOKEN='CANARYtoken1234'\nLEVEL=low\n")
	m.write(filepath.Join(m.project, "tools", "keep"), "")
	m.env = append(m.env, "GITHUB_TOKEN=CANARYgithub1234")
	m.mcpc("0", "trust", "box", "--yes")
	m.mcpc("7", "-s", "box", "ping")
	m.mcpc("7", "-s", "box", "ping", "-vvv", "--json")
	ran, err := os.ReadFile(m.ran)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(ran), "\n")
	if folder, err := filepath.EvalSymlinks(filepath.Join(m.project, "tools")); err != nil || lines[0] != folder {
		t.Errorf("it runs in %s, want %s (%v)", lines[0], folder, err)
	}
	for _, want := range []string{"KEY=CANARYkey1234", "TOKEN=CANARYtoken1234", "LEVEL=high", "HOME=" + m.home} {
		if !slices.Contains(lines, want) {
			t.Errorf("it has no %s:\n%s", want, ran)
		}
	}
	if strings.Contains(string(ran), "GITHUB_TOKEN") || strings.Contains(string(ran), "MCPC_STATE") {
		t.Errorf("it has what lies in the shell:\n%s", ran)
	}
	m.keepsNoSecret()
}
