//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"mcpc/internal/tests/program"
)

// A machine is a user's home directory and a project where other programs are configured.
type machine struct {
	t                    *testing.T
	home, project, state string
	env                  []string
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		m.t.Fatal(err)
	}
}

// mcpc runs mcpc in a directory of the project, and checks how it ends and that it shows no secret.
func (m *machine) mcpc(want string, args ...string) {
	m.t.Helper()
	cmd := exec.Command("mcpc", args...)
	cmd.Dir = filepath.Join(m.project, ".vscode")
	cmd.Env = m.env
	out, _ := cmd.CombinedOutput()
	if got := program.Ending(cmd.ProcessState); got != want {
		m.t.Errorf("%q ended with %s, want %s\n%s", args, got, want, out)
	}
	if bytes.Contains(out, []byte("CANARY")) {
		m.t.Errorf("%q shows a secret:\n%s", args, out)
	}
}

func (m *machine) keepsNoSecret() {
	m.t.Helper()
	_ = filepath.WalkDir(m.state, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if raw, err := os.ReadFile(path); err != nil || bytes.Contains(raw, []byte("CANARY")) {
				m.t.Errorf("%s holds a secret (%v)", path, err)
			}
		}
		return nil
	})
}

// All stdio peers are in one project's file, and all peers that listen in the user's own: each is
// used by its name, and one command asks all of them.
func TestPeersFromAConfiguration(t *testing.T) {
	t.Parallel()
	type entry struct {
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
	}
	dir := t.TempDir()
	m := &machine{t: t, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), state: filepath.Join(dir, "state")}
	m.env = append(program.CleanEnv(), "HOME="+m.home, "MCPC_STATE="+m.state, "LC_ALL=C.UTF-8", "XDG_CONFIG_HOME=", "CODEX_HOME=")
	own, brought, tools := map[string]entry{}, map[string]entry{}, map[string]int{}
	for _, p := range peers(t) {
		words := p.start(t)
		if words[0] == "--" {
			brought[p.name] = entry{Command: words[1], Args: words[2:], Env: map[string]string{"PEER_TOKEN": "CANARY-peer-1234"}}
			tools["claude-code:"+p.name] = p.tools
		} else {
			own[p.name] = entry{URL: words[1]}
			tools["cursor:"+p.name] = p.tools
		}
	}
	write := func(name string, servers map[string]entry) {
		raw, err := json.Marshal(map[string]any{"mcpServers": servers})
		if err != nil {
			t.Fatal(err)
		}
		m.write(name, string(raw))
	}
	write(filepath.Join(m.home, ".cursor", "mcp.json"), own)
	write(filepath.Join(m.project, ".mcp.json"), brought)
	m.write(filepath.Join(m.project, ".vscode", "keep"), "")
	for name := range brought {
		m.mcpc("12", "-s", name, "list")
		m.mcpc("0", "trust", name, "--yes")
	}
	cmd := exec.Command("mcpc", "list", "--all", "--json", "--parallel", "4")
	cmd.Dir, cmd.Env = m.project, m.env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, errs.String())
	}
	type listed struct {
		ID    string
		Same  []string
		Tools []json.RawMessage
	}
	var doc struct{ Servers []listed }
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	for id, want := range tools {
		i := slices.IndexFunc(doc.Servers, func(s listed) bool { return s.ID == id || slices.Contains(s.Same, id) })
		if i < 0 || len(doc.Servers[i].Tools) != want {
			t.Errorf("%s: want %d tools\n%s", id, want, errs.String())
		}
	}
	m.keepsNoSecret()
}
